/** The number in `^12`; null for any other text: an id has one spelling, without zeros in front. */
export function readReference(text: string): number | null {
  const [, digits] = /^\^([1-9]\d{0,14})$/.exec(text) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** A whole number as blocks, actions and seconds are counted; null for any other text. */
export function readIndex(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Fields in groups of a fixed size; the last group is filled up with empty fields. */
export function groupFields(fields: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(fields.length / size) }, (_, group) =>
    Array.from({ length: size }, (_, place) => fields[group * size + place] ?? '')
  );
}

/** Groups with a memo at the end of each. A last field too many is the memo of all; without it each has an empty one. */
export function groupWithMemo(fields: readonly string[], size: number): string[][] {
  const hasMemo = fields.length % size === 1;
  const memo = hasMemo ? (fields.at(-1) ?? '') : '';
  return groupFields(hasMemo ? fields.slice(0, -1) : fields, size).map((group) => [...group, memo]);
}

/** The fields of an action by name; a format that repeats has them in `all` only. */
export interface FormatFields {
  readonly all: readonly string[];
  /** The field of that name in the action's format; empty when it is missing or the format has none. */
  readonly get: (name: string) => string;
  /** The text after the version, unsplit. */
  readonly rest: string;
}

/** The fields of a text by the names of its format. */
export function nameFields(all: readonly string[], format: string, rest: string): FormatFields {
  const places = placesOf(format);
  return { all, rest, get: (name) => all[places.get(name) ?? -1] ?? '' };
}

/** By format, of which there are as many as actions have. */
const PLACES = new Map<string, ReadonlyMap<string, number>>();

function placesOf(format: string): ReadonlyMap<string, number> {
  const known = PLACES.get(format);
  if (known) return known;
  const places = new Map(format.split('|').map((name, place) => [name, place]));
  PLACES.set(format, places);
  return places;
}
