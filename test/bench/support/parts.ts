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

/** `--rows 100000,1100000`. @throws {PlatformError} COMMAND_INVALID */
export const readRows = (text: string): number[] =>
  text.split(',').map((rows) => readNumber('--rows', rows, 1_000, 100_000_000));
