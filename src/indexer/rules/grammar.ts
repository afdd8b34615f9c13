import { findAction } from '../../coin/actions.ts';

/** One command of an action text. */
export interface Command {
  /** The full name of an action, or what is written in capitals where it is none. */
  readonly name: string;
  /** Null when the version is no whole number of 0 to 255. */
  readonly format: number | null;
  /** What follows the version, without the spaces around each field. */
  readonly fields: readonly string[];
  /** The same text before it was split. A BATCH holds commands there. */
  readonly rest: string;
}

/** Actions whose oldest texts have no version. */
const ONCE_WITHOUT_VERSION: ReadonlySet<string> = new Set(['ISSUE', 'MINT', 'SEND']);
const MAX_FORMAT = 255;

/**
 * Splits `ACTION|VERSION|FIELD|…`. It never throws: what is wrong with the text is the action's to say.
 *
 * An empty version is 0. The oldest actions get 0 where their first field is longer than two characters or no number.
 */
export function parseCommand(text: string): Command {
  const [name = '', ...given] = text.split('|');
  const fullName = findAction(name) ?? name.trim().toUpperCase();
  const version = (given[0] ?? '').trim();
  const isImplied = ONCE_WITHOUT_VERSION.has(fullName) && (version.length > 2 || !/^\d*$/.test(version));
  const fields = isImplied ? given : given.slice(1);
  return {
    name: fullName,
    format: isImplied ? 0 : readFormat(version),
    fields: fields.map((field) => field.trim()),
    rest: fields.join('|')
  };
}

/** `2`, `'2'` and `"2"` are 2. */
function readFormat(version: string): number | null {
  const digits = version.replaceAll(/['"]/g, '');
  if (digits === '') return 0;
  const format = /^\d{1,3}$/.test(digits) ? Number(digits) : null;
  return format !== null && format <= MAX_FORMAT ? format : null;
}

/** The number in `^12`; null for any other text. */
export function readReference(text: string): number | null {
  const [, digits] = /^\^(\d{1,15})$/.exec(text) ?? [];
  return digits === undefined ? null : Number(digits);
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
