import { readNumber } from '../../../src/cli/options.ts';
import { PlatformError } from '../../../src/errors.ts';

/** The parts of a bench that `--only` names; all without it. @throws {PlatformError} COMMAND_INVALID */
export function chooseParts<P>(only: string | undefined, parts: Readonly<Record<string, P>>): P[] {
  const wanted = only?.split(',') ?? Object.keys(parts);
  const unknown = wanted.filter((name) => !Object.hasOwn(parts, name));
  if (unknown.length > 0) {
    const reason = `no part ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`;
    throw new PlatformError('COMMAND_INVALID', { reason });
  }
  return Object.keys(parts).flatMap((name) => (wanted.includes(name) ? [parts[name]!] : []));
}

/** Rows of an invented dataset, or the size of an indexer of the tables in use. */
export type DatasetSize = number | 'small' | '1M' | '10M';

/** `--rows 100000,1M`: a number of rows of nine invented tables, or the size of a database of the tables in use. @throws {PlatformError} COMMAND_INVALID */
export const readRows = (text: string): DatasetSize[] =>
  text
    .split(',')
    .map((rows) => (rows === '1M' || rows === '10M' ? rows : readNumber('--rows', rows, 1_000, 100_000_000)));

/** Returns the name of a size in a figure. */
export const sizeText = (size: DatasetSize): string =>
  typeof size === 'number' ? `${size / 1000}k rows` : `tables in use, ${size}`;
