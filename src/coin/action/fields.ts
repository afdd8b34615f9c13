/** Reads the id in `^12`; null for any other text. An id has one spelling, without leading zeros. */
export function readReference(text: string): number | null {
  const [, digits] = /^\^([1-9]\d{0,14})$/.exec(text) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** Reads a whole number of up to 15 digits, such as a height, an index or seconds; null for any other text. */
export function readIndex(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Splits fields into groups of a fixed size and fills the last group with empty fields. */
export function groupFields(fields: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(fields.length / size) }, (_, group) =>
    Array.from({ length: size }, (_, place) => fields[group * size + place] ?? '')
  );
}

/**
 * Splits fields into groups with a memo at the end of each. One surplus field at the end is the memo of all; otherwise
 * memos are empty.
 */
export function groupWithMemo(fields: readonly string[], size: number): string[][] {
  const hasMemo = fields.length % size === 1;
  const memo = hasMemo ? (fields.at(-1) ?? '') : '';
  return groupFields(hasMemo ? fields.slice(0, -1) : fields, size).map((group) => [...group, memo]);
}

/** The fields of an action, by name or in order. Only `all` has the repetitions of a format that repeats. */
export interface FormatFields {
  readonly all: readonly string[];
  /** Returns the field of that name; empty when it is missing or the format does not have it. */
  readonly get: (name: string) => string;
  /** Text after the version, unsplit. */
  readonly rest: string;
}

/** Returns the fields of an action by the names of its format. */
export function nameFields(all: readonly string[], format: string, rest: string): FormatFields {
  const places = placesOf(format);
  return { all, rest, get: (name) => all[places.get(name) ?? -1] ?? '' };
}

/** Positions of names, by format. There are as many entries as formats. */
const PLACES = new Map<string, ReadonlyMap<string, number>>();

function placesOf(format: string): ReadonlyMap<string, number> {
  const known = PLACES.get(format);
  if (known) return known;
  const places = new Map(format.split('|').map((name, place) => [name, place]));
  PLACES.set(format, places);
  return places;
}
