import { readFileSync } from 'node:fs';
import { PlatformError } from '../errors.ts';

/** Variables by name, with values of any kind. */
export type ConfigFile = Readonly<Record<string, unknown>>;

/** Reads config.json of the service directory; empty when there is none. @throws {PlatformError} CONFIG_INVALID */
export function readConfigFile(path = 'config.json'): ConfigFile {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw PlatformError.from(caught, 'CONFIG_INVALID', { file: path });
  }
  try {
    const parsed: unknown = JSON.parse(content.replace(/^\uFEFF/, ''), exactNumber);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as ConfigFile;
  } catch (caught) {
    throw PlatformError.from(caught, 'CONFIG_INVALID', { file: path });
  }
  throw new PlatformError('CONFIG_INVALID', {
    reason: 'must hold one JSON object of variable names and values',
    file: path
  });
}

/** Keeps the text of a number that a double cannot hold exactly: a key or password of digits would change. */
function exactNumber(_: string, value: unknown, ...[context]: readonly { readonly source?: string }[]): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) ? (context?.source ?? value) : value;
}

/**
 * Returns a value of config.json in the form that the environment has: a list of words joined by commas, other
 * structures as JSON. Undefined when there is none.
 */
export function textIn(file: ConfigFile, name: string): string | undefined {
  const value = file[name];
  if (value === undefined || value === null) return undefined;
  const isPlain = (each: unknown) => typeof each !== 'object' || each === null;
  return isPlain(value) || (Array.isArray(value) && value.every(isPlain)) ? String(value) : JSON.stringify(value);
}
