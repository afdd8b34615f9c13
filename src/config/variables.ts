import { readFileSync } from 'node:fs';
import { PlatformError } from '../errors.ts';

/** One variable: how its text is read, what it means, and what stands in when it is unset. */
export interface Variable<T> {
  readonly doc: string;
  /** Shown in --help and in the error when the value is wrong; empty where no value is right. */
  readonly example: string;
  readonly fallback: T | undefined;
  readonly required: boolean;
  readonly secret: boolean;
  /** @throws {Error} whose message is the reason, as "must be ..." */
  readonly parse: (text: string) => T;
  /** How a value is printed where all of it would be too long. */
  show?(value: T): string;
  /** Its name stands for many, `NAME_<CHAIN>_<NETWORK>`; the value is the list of those that are set. */
  readonly family?: true;
}

/** One variable of a family: what it is set to, and the words in its name. */
export interface ChainSetting<T> {
  readonly variable: string;
  readonly chain: string;
  readonly network: string;
  readonly value: T;
}

export type Variables = Readonly<Record<string, Variable<unknown>>>;
export type Values<V extends Variables> = { readonly [K in keyof V]: V[K] extends Variable<infer T> ? T : never };
export type Origin = 'environment' | 'config.json' | 'default' | 'unset';

/** Names and values as the process was started with. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What a service asks of its variables together. */
export interface Checks<V extends Variables> {
  /** Unknown names that begin so are warned about, e.g. `SYNC_`. */
  readonly prefixes?: readonly string[];
  /** Names that are known though no row names them. */
  readonly patterns?: readonly RegExp[];
  /** What one variable alone cannot tell, one sentence a fault; a wrong value is undefined here. */
  readonly findFaults?: (values: Values<V>) => readonly string[];
}

export interface LoadedConfig<V extends Variables> {
  readonly values: Values<V>;
  readonly origins: Readonly<Record<string, Origin>>;
  /** What to tell the operator though it is no error: unknown names with the nearest known one. */
  readonly warnings: readonly string[];
}

interface Options<T> {
  readonly doc: string;
  readonly example?: string;
  readonly default?: T;
  readonly secret?: boolean;
  readonly show?: (value: T) => string;
}

type Shape<T, O> = O extends { readonly required: true } | { readonly default: T }
  ? Variable<T>
  : Variable<T | undefined>;
type WithNeed<T> = Options<T> & { readonly required?: true };

function variable<T, O extends WithNeed<T>>(parse: (text: string) => T, example: string, options: O): Shape<T, O> {
  const row: Variable<T | undefined> = {
    doc: options.doc,
    example: options.example ?? example,
    fallback: options.default,
    required: options.required === true,
    secret: options.secret === true,
    ...(options.show && { show: (value) => (value === undefined ? '' : options.show!(value)) }),
    parse
  };
  return row as Shape<T, O>;
}

/** Any text but the empty one. */
export const text = <O extends WithNeed<string>>(options: O) => variable<string, O>((value) => value, 'text', options);

/** A text in a form that `parse` checks. */
export const parsed = <T, O extends WithNeed<T>>(parse: (text: string) => T, options: O) =>
  variable<T, O>(parse, 'text', options);

/** What this program cannot do yet: to ignore it would be worse than not to start. @param reason why, and what to do */
export const unsupported = ({ doc, reason }: { readonly doc: string; readonly reason: string }) => ({
  ...text({ doc }),
  example: '',
  parse: (): undefined => {
    throw new Error(`is refused: ${reason}`);
  }
});

/** A whole number within bounds. */
export const integer = <O extends WithNeed<number> & { readonly min?: number; readonly max?: number }>(options: O) =>
  variable<number, O>(
    (value) => {
      const min = options.min ?? 0;
      const max = options.max ?? Number.MAX_SAFE_INTEGER;
      const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
      if (!(number >= min && number <= max)) {
        throw new Error(
          max === Number.MAX_SAFE_INTEGER
            ? `must be a whole number, at least ${min}`
            : `must be a whole number from ${min} to ${max}`
        );
      }
      return number;
    },
    String(options.default ?? options.min ?? 1),
    options
  );

/** A TCP port. Kubernetes injects `tcp://10.0.0.1:10000` under names like HUB_PORT: said when it is met. */
export const port = <O extends WithNeed<number>>(options: O) =>
  variable<number, O>(
    (value) => {
      if (/^tcp:\/\//.test(value)) {
        throw new Error(
          'must be a port number; Kubernetes injects tcp://... for a service of that name: set enableServiceLinks: false or set the variable in the pod'
        );
      }
      const number = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
      if (!(number >= 0 && number <= 65_535)) throw new Error('must be a port number from 0 to 65535');
      return number;
    },
    String(options.default ?? 3006),
    options
  );

/** true or false; 1, yes and on count as true. */
export const flag = <O extends WithNeed<boolean>>(options: O) =>
  variable<boolean, O>(
    (value) => {
      const word = value.toLowerCase();
      if (['1', 'true', 'yes', 'on'].includes(word)) return true;
      if (['0', 'false', 'no', 'off'].includes(word)) return false;
      throw new Error('must be true or false');
    },
    'true',
    options
  );

/** One of a few words. */
export const choice = <const C extends readonly string[], O extends WithNeed<C[number]>>(words: C, options: O) =>
  variable<C[number], O>(
    (value) => {
      if (words.includes(value)) return value as C[number];
      throw new Error(`must be one of ${words.join(', ')}`);
    },
    words[0] ?? '',
    options
  );

/** A JSON value, checked by `read`, which throws the reason. */
export const json = <T, O extends WithNeed<T>>(read: (value: unknown) => T, options: O) =>
  variable<T, O>(
    (value) => {
      let parsed: unknown;
      try {
        parsed = JSON.parse(value);
      } catch (caught) {
        throw new Error(`must be JSON: ${(caught as Error).message}`);
      }
      return read(parsed);
    },
    '{}',
    options
  );

/** Comma-separated entries, trimmed, empty ones dropped, each read by `item`. */
export const list = <T, O extends WithNeed<readonly T[]>>(item: (entry: string) => T, options: O) =>
  variable<readonly T[], O>(
    (value) =>
      value
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== '')
        .map(item),
    'a,b',
    options
  );

/** One setting for each chain and network, under names like `NAME_<CHAIN>_<NETWORK>`; each text is read by `of`. */
export const perChain = <T>(of: Variable<T | undefined>): Variable<readonly ChainSetting<T>[]> =>
  ({ ...of, fallback: [], required: false, family: true }) as unknown as Variable<readonly ChainSetting<T>[]>;

const FAMILY_WORDS = '_<CHAIN>_<NETWORK>';

/** The members of a family among some names. */
function readFamily(name: string, known: readonly string[]): { variable: string; chain: string; network: string }[] {
  const prefix = name.slice(0, -FAMILY_WORDS.length);
  const member = new RegExp(`^${prefix}_([A-Za-z0-9]+)_([A-Za-z0-9]+)$`);
  return known.flatMap((variable) => {
    const [, chain, network] = member.exec(variable) ?? [];
    return chain && network ? [{ variable, chain, network }] : [];
  });
}

/** Base URL, http or https, without query, fragment or credentials; no trailing slash. */
export function readBaseUrl(entry: string): string {
  const url = URL.canParse(entry) ? new URL(entry) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw new Error(`must be base URLs such as http://host:3006, not "${entry}"`);
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
}

/**
 * Reads a service's configuration: environment first, then config.json, then defaults.
 *
 * @throws {PlatformError} CONFIG_INVALID listing every wrong or missing variable at once
 */
export function loadConfig<V extends Variables>(
  variables: V,
  {
    env,
    file = {},
    prefixes = [],
    patterns = [],
    findFaults = () => []
  }: {
    readonly env: Environment;
    readonly file?: Readonly<Record<string, unknown>>;
  } & Checks<V>
): LoadedConfig<V> {
  const values: Record<string, unknown> = {};
  const origins: Record<string, Origin> = {};
  const faults: string[] = [];
  const read = (name: string): { raw: string | undefined; origin: Origin } => {
    const fromEnv = env[name]?.trim();
    if (fromEnv) return { raw: fromEnv, origin: 'environment' };
    const fromFile = file[name];
    const raw = fromFile === undefined || fromFile === null ? undefined : textOf(fromFile).trim();
    return raw ? { raw, origin: 'config.json' } : { raw: undefined, origin: 'unset' };
  };
  const parse = (name: string, row: Variable<unknown>, raw: string): unknown => {
    try {
      return row.parse(raw);
    } catch (reason) {
      const shown = row.secret ? '[secret]' : JSON.stringify(raw.slice(0, 80));
      const example = row.example === '' ? '' : `; example: ${name}=${row.example}`;
      faults.push(`${name}=${shown} ${(reason as Error).message}${example}`);
      return undefined;
    }
  };
  const families: string[] = [];
  for (const [name, row] of Object.entries(variables)) {
    if (row.family) {
      const members = readFamily(name, [...new Set([...Object.keys(env), ...Object.keys(file)])]).flatMap((member) => {
        const { raw, origin } = read(member.variable);
        families.push(member.variable);
        if (raw) origins[name] = origin;
        return raw ? [{ ...member, value: parse(member.variable, row, raw) }] : [];
      });
      origins[name] ??= 'unset';
      values[name] = members.filter(({ value }) => value !== undefined);
      continue;
    }
    const { raw, origin } = read(name);
    origins[name] = origin === 'unset' && row.fallback !== undefined ? 'default' : origin;
    values[name] = raw ? parse(name, row, raw) : row.fallback;
    if (!raw && row.required)
      faults.push(`missing required environment variable ${name}: ${row.doc}; example: ${name}=${row.example}`);
  }
  // A variable that is faulted already is not faulted twice.
  const reported = faults.map((fault) => fault.split(/[=:]/, 1)[0]);
  faults.push(
    ...findFaults(values as Values<V>).filter(
      (fault) => !reported.some((head) => fault.startsWith(`missing required environment variable ${head}:`))
    )
  );
  if (faults.length > 0) throw new PlatformError('CONFIG_INVALID', { reason: faults.join('\n') });
  const names = Object.keys(variables);
  const warnings = Object.keys(env)
    .filter((name) => prefixes.some((prefix) => name.startsWith(prefix)))
    .filter(
      (name) => !names.includes(name) && !families.includes(name) && !patterns.some((pattern) => pattern.test(name))
    )
    .map((name) => `unknown variable ${name}; did you mean ${nearest(name, names)}?`);
  return { values: values as Values<V>, origins, warnings };
}

/** A value of config.json as the environment would have it: a list of words with commas between them, all else that is no word as JSON. */
function textOf(value: unknown): string {
  const isPlain = (each: unknown) => typeof each !== 'object' || each === null;
  return isPlain(value) || (Array.isArray(value) && value.every(isPlain)) ? String(value) : JSON.stringify(value);
}

/** config.json of the service directory, or nothing when there is none. @throws {PlatformError} CONFIG_INVALID */
export function readConfigFile(path = 'config.json'): Readonly<Record<string, unknown>> {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw PlatformError.from(caught, 'CONFIG_INVALID', { file: path });
  }
  try {
    const parsed: unknown = JSON.parse(content);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return parsed as Record<string, unknown>;
  } catch (caught) {
    throw PlatformError.from(caught, 'CONFIG_INVALID', { file: path });
  }
  throw new PlatformError('CONFIG_INVALID', {
    reason: 'must hold one JSON object of variable names and values',
    file: path
  });
}

/** Name, default and meaning of each variable. */
export function variableRows(variables: Variables): (readonly [name: string, state: string, doc: string])[] {
  return Object.entries(variables).map(([name, row]) => {
    const hasDefault = row.fallback !== undefined && !row.family;
    return [name, row.required ? 'required' : hasDefault ? shown(row, row.fallback) : 'unset', row.doc];
  });
}

/** The variables as a table for --help. */
export function helpTable(variables: Variables): string {
  const rows = variableRows(variables).map(
    ([name, state, doc]) => [name, ['required', 'unset'].includes(state) ? state : `default ${state}`, doc] as const
  );
  const width = (column: 0 | 1) => Math.max(0, ...rows.map((row) => row[column].length));
  return rows.map(([name, state, doc]) => `  ${name.padEnd(width(0))}  ${state.padEnd(width(1))}  ${doc}`).join('\n');
}

/** What --check-config prints: every effective value, secrets masked, and where it came from. */
export function describeConfig<V extends Variables>(variables: V, loaded: LoadedConfig<V>): string {
  const width = Math.max(...Object.keys(variables).map((name) => name.length));
  return Object.entries(variables)
    .map(([name, row]) => {
      const value = (loaded.values as Record<string, unknown>)[name];
      const text = value === undefined ? '(unset)' : row.secret ? '********' : shown(row, value);
      return `${name.padEnd(width)} = ${text}  (${loaded.origins[name]})`;
    })
    .join('\n');
}

function shown(row: Variable<unknown>, value: unknown): string {
  return row.show ? row.show(value) : printable(value);
}

function printable(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : value.map(printable).join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The known name with the smallest edit distance. */
export function nearest(name: string, known: readonly string[]): string {
  const distance = (a: string, b: string): number => {
    let row = Array.from({ length: b.length + 1 }, (_, index) => index);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
      }
      row = next;
    }
    return row[b.length]!;
  };
  return known.reduce(
    (best, candidate) => (distance(name, candidate) < distance(name, best) ? candidate : best),
    known[0] ?? ''
  );
}
