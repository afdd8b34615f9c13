import { findAction } from './names.ts';

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

/** The most commands that a BATCH may hold; one with more is refused whole. */
export const MAX_COMMANDS = 250;

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

/** The texts of a BATCH's commands, as they are written; none where nothing follows the version. */
export function splitBatch({ rest }: Pick<Command, 'rest'>): string[] {
  return rest === '' ? [] : rest.split(';');
}

/**
 * The command of a text, and those that it would run after itself where it is a BATCH. A BATCH with more than a ledger takes runs none.
 */
export function commandsIn(text: string): Command[] {
  const first = parseCommand(text);
  const texts = first.name === 'BATCH' ? splitBatch(first) : [];
  if (texts.length > MAX_COMMANDS) return [first];
  return [first, ...texts.filter((command) => command !== '').map(parseCommand)];
}

/** `2`, `'2'` and `"2"` are 2. */
function readFormat(version: string): number | null {
  const digits = version.replaceAll(/['"]/g, '');
  if (digits === '') return 0;
  const format = /^\d{1,3}$/.test(digits) ? Number(digits) : null;
  return format !== null && format <= MAX_FORMAT ? format : null;
}
