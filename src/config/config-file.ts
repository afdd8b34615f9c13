import { readFileSync } from 'node:fs';
import { PlatformError } from '../errors.ts';
import type { Environment } from './variables.ts';

/** Variables by name, with values of any kind. */
export type ConfigFile = Readonly<Record<string, unknown>>;

/** Variable that names the configuration file; the option --config sets it. */
export const CONFIG_VARIABLE = 'PLATFORM_NODE_CONFIG';
const DEFAULT_PATH = 'config.json';

/**
 * Reads the configuration file: the one that PLATFORM_NODE_CONFIG names, else config.json of the working directory, which
 * may be missing. A name that ends in `.json` is read as one JSON object, any other as lines of NAME=value.
 *
 * @throws {PlatformError} CONFIG_INVALID
 */
export function readConfigFile(env: Environment = {}): ConfigFile {
  const named = env[CONFIG_VARIABLE]?.trim() || undefined;
  const path = named ?? DEFAULT_PATH;
  let content: string;
  try {
    content = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (caught) {
    if (named === undefined && (caught as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw PlatformError.from(caught, 'CONFIG_INVALID', { file: path });
  }
  return path.endsWith('.json') ? readJson(content, path) : readLines(content, path);
}

function readJson(content: string, path: string): ConfigFile {
  try {
    const parsed: unknown = JSON.parse(content, exactNumber);
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

const LINE = /^(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)$/;

/** Reads lines of NAME=value as systemd does: comments have lines of their own, and a value may stand in quotes. */
function readLines(content: string, path: string): ConfigFile {
  const found = new Map<string, string>();
  for (const [at, line] of content.split('\n').entries()) {
    const text = line.trim();
    if (text === '' || text.startsWith('#') || text.startsWith(';')) continue;
    const [, name, value = ''] = LINE.exec(text) ?? [];
    const fault = name === undefined ? 'must be NAME=value' : found.has(name) ? `sets ${name} again` : null;
    // The line is not shown: it may hold a secret.
    if (fault !== null) throw new PlatformError('CONFIG_INVALID', { reason: `line ${at + 1} ${fault}`, file: path });
    found.set(name!, unquoted(value));
  }
  return Object.fromEntries(found);
}

function unquoted(value: string): string {
  const [, quote, inner = ''] = /^(["'])(.*)\1$/.exec(value) ?? [];
  if (quote === undefined) return value;
  return quote === '"' ? inner.replaceAll(/\\(["\\$`])/g, '$1') : inner;
}

/**
 * Returns a value of the configuration file in the form that the environment has: a list of words joined by commas,
 * other structures as JSON. Undefined when there is none.
 */
export function textIn(file: ConfigFile, name: string): string | undefined {
  const value = file[name];
  if (value === undefined || value === null) return undefined;
  const isPlain = (each: unknown) => typeof each !== 'object' || each === null;
  return isPlain(value) || (Array.isArray(value) && value.every(isPlain)) ? String(value) : JSON.stringify(value);
}
