import { findAction } from './names.ts';

/** One command of an action text. */
export interface Command {
  /** Full name of the action; for an unknown action its text in capitals. */
  readonly name: string;
  /** Null when the version is not a whole number from 0 to 255. */
  readonly format: number | null;
  /** Fields after the version, without surrounding spaces. */
  readonly fields: readonly string[];
  /** Text after the version, unsplit. A BATCH holds its commands there. */
  readonly rest: string;
}

/** Most commands of a BATCH. One with more is refused as a whole. */
export const MAX_COMMANDS = 250;

/** Actions whose oldest texts have no version. */
const ONCE_WITHOUT_VERSION: ReadonlySet<string> = new Set(['ISSUE', 'MINT', 'SEND']);
const MAX_FORMAT = 255;

/**
 * Splits `ACTION
 * VERSION
 * FIELD
 * …`. Never throws: the action's own rules judge the fields.
 *
 * An empty version is 0. The oldest actions get version 0 when their first field is longer than two characters or not a
 * number.
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

/** Returns the texts of a BATCH's commands as written; none when nothing follows the version. */
export function splitBatch({ rest }: Pick<Command, 'rest'>): string[] {
  return rest === '' ? [] : rest.split(';');
}

/**
 * Returns the command of a text and, for a BATCH, the commands that it runs. A BATCH with more than MAX_COMMANDS runs
 * none.
 */
export function commandsIn(text: string): Command[] {
  const first = parseCommand(text);
  const texts = first.name === 'BATCH' ? splitBatch(first) : [];
  if (texts.length > MAX_COMMANDS) return [first];
  return [first, ...texts.filter((command) => command !== '').map(parseCommand)];
}

/** Reads a version: `2`, `'2'` and `"2"` are 2. Null when it is invalid. */
function readFormat(version: string): number | null {
  const digits = version.replaceAll(/['"]/g, '');
  if (digits === '') return 0;
  const format = /^\d{1,3}$/.test(digits) ? Number(digits) : null;
  return format !== null && format <= MAX_FORMAT ? format : null;
}
