import type { ChainNetwork } from '../coin/chains.ts';
import { PlatformError } from '../errors.ts';
import { type ConfigFile, textIn } from './config-file.ts';
import { isNearOne, nearest } from './nearest.ts';
import { type Environment, type Values, type Variable, type Variables, withoutAccounts } from './variables.ts';

/** Where a value was found; the first of them that has one counts. */
export type Origin = 'environment' | 'config.json' | 'hub' | 'default' | 'unset';

/** Where the texts of variables are looked for. */
export interface Sources {
  readonly env: Environment;
  readonly file?: ConfigFile;
  readonly hub?: HubTexts;
}

/** What the hub's configuration has. */
export interface HubTexts {
  /** By the name of the variable. */
  readonly texts: Readonly<Record<string, string>>;
  /** Why it has no more than that; added to the fault where a required value is missing. */
  readonly reason?: string | undefined;
  /** What it was asked for beside the variables that have a place there. */
  readonly asked?: readonly string[];
}

/** What a service asks of its variables together. */
export interface Checks<V extends Variables> {
  /** Unknown names that begin so are warned about, e.g. `SYNC_`. */
  readonly prefixes?: readonly string[];
  /** Names that are known though no row names them. */
  readonly patterns?: readonly RegExp[];
  /** What one variable alone cannot tell, one sentence a fault; a wrong value is undefined here. */
  readonly findFaults?: (values: Values<V>) => readonly string[];
  /** Of the required variables those that it does without, by the texts of others. */
  readonly unneeded?: (textOf: (name: string) => string | undefined) => readonly string[];
  /** The service's network, of which the hub may have values; undefined while the texts name none. */
  readonly networkOf?: (textOf: (name: string) => string | undefined) => ChainNetwork | undefined;
  /** How the hub says which network it is, where no variable does. */
  readonly networkFromHub?: NetworkFromHub;
  /** Of a service without a network the variables that a module `<prefix>-<service>` of any network may have. */
  readonly fromAnyNetwork?: (textOf: (name: string) => string | undefined) => readonly string[];
}

/** The network is the one of which the hub names a module `<prefix>-<service>`. */
export interface NetworkFromHub {
  readonly service: string;
  /** The variables that name a network, all of them, by their names. */
  readonly textsOf: (network: ChainNetwork) => Readonly<Record<string, string>>;
}

export interface LoadedConfig<V extends Variables> {
  readonly values: Values<V>;
  readonly origins: Readonly<Record<string, Origin>>;
  /** Warnings: unknown names, with the nearest known one. */
  readonly warnings: readonly string[];
}

/** What came of one row. */
interface Reading {
  readonly value: unknown;
  readonly origin: Origin;
  /** The names that it was read from. */
  readonly names: readonly string[];
  readonly faults: readonly string[];
}

const FAMILY_WORDS = '_<CHAIN>_<NETWORK>';

/**
 * Reads a service's configuration: environment first, then config.json, then the hub, then defaults.
 *
 * @throws {PlatformError} CONFIG_INVALID listing every wrong or missing variable at once
 */
export function loadConfig<V extends Variables>(
  variables: V,
  { prefixes = [], patterns = [], findFaults = () => [], unneeded = () => [], ...sources }: Sources & Checks<V>
): LoadedConfig<V> {
  const spared = new Set(unneeded((name) => findText(name, sources).text));
  const readings = Object.entries(variables).map(([name, variable]) => {
    const row = spared.has(name) ? { ...variable, required: false } : variable;
    return [name, row.family ? readFamily(name, row, sources) : readVariable(name, row, sources)] as const;
  });
  const values = Object.fromEntries(readings.map(([name, { value }]) => [name, value])) as Values<V>;
  const faults = readings.flatMap(([, reading]) => reading.faults);
  // A variable that is faulted already is not faulted twice.
  const reported = faults.map((fault) => missing(fault.split('=', 1)[0]!));
  const together = findFaults(values).filter((fault) => !reported.some((head) => fault.startsWith(head)));
  if (faults.length + together.length > 0)
    throw new PlatformError('CONFIG_INVALID', { reason: [...faults, ...together].join('\n') });
  const names = readings.flatMap(([, reading]) => reading.names);
  const isKnown = (name: string) => names.includes(name) || patterns.some((pattern) => pattern.test(name));
  const all = Object.keys(variables);
  const findUnknown = (given: readonly string[], origin: 'environment' | 'config.json') =>
    given
      .filter((name) => !isKnown(name) && (prefixes.some((prefix) => name.startsWith(prefix)) || isNearOne(name, all)))
      .map((name) => {
        const what = origin === 'environment' ? `unknown variable ${name}` : `unknown name ${name} in config.json`;
        return `${what}; did you mean ${nearest(name, all)}?`;
      });
  return {
    values,
    origins: Object.fromEntries(readings.map(([name, { origin }]) => [name, origin])),
    warnings: [
      ...findUnknown(Object.keys(sources.env), 'environment'),
      ...findUnknown(Object.keys(sources.file ?? {}), 'config.json')
    ]
  };
}

/** The text of a variable and where it stands; empty text counts as none. */
export function findText(
  name: string,
  { env, file = {}, hub }: Sources
): { readonly text: string | undefined; readonly origin: Origin } {
  const found: readonly (readonly [Origin, string | undefined])[] = [
    ['environment', env[name]?.trim()],
    ['config.json', textIn(file, name)?.trim()],
    ['hub', hub?.texts[name]] // as others read it there: a password may end in a space
  ];
  const [origin, text] = found.find(([, each]) => each) ?? ['unset'];
  return { text, origin };
}

function readVariable(name: string, row: Variable<unknown>, sources: Sources): Reading {
  const { text, origin } = findText(name, sources);
  if (text !== undefined) return { ...parseText(name, row, text, origin), origin, names: [name] };
  const isAsked = row.hub !== undefined || sources.hub?.asked?.includes(name);
  const reason = isAsked && sources.hub?.reason ? `; ${sources.hub.reason}` : '';
  return {
    value: row.fallback,
    origin: row.fallback === undefined ? 'unset' : 'default',
    names: [name],
    faults: row.required ? [`${missing(name)} ${row.doc}; example: ${name}=${row.example}${reason}`] : []
  };
}

/** Every member of a family that is set. */
function readFamily(family: string, row: Variable<unknown>, sources: Sources): Reading {
  const prefix = family.slice(0, -FAMILY_WORDS.length);
  const member = new RegExp(`^${prefix}_([A-Za-z0-9]+)_([A-Za-z0-9]+)$`);
  const set = new Set([...Object.keys(sources.env), ...Object.keys(sources.file ?? {})]);
  const members = [...set].flatMap((name) => {
    const [, chain, network] = member.exec(name) ?? [];
    if (!chain || !network) return [];
    const { text, origin } = findText(name, sources);
    const found = text === undefined ? undefined : parseText(name, row, text, origin);
    return [{ variable: name, chain, network, origin, value: found?.value, faults: found?.faults ?? [] }];
  });
  return {
    value: members.flatMap(({ variable, chain, network, value }) =>
      value === undefined ? [] : [{ variable, chain, network, value }]
    ),
    origin: members.findLast((each) => each.origin !== 'unset')?.origin ?? 'unset',
    names: [family, ...members.map(({ variable }) => variable)],
    faults: members.flatMap(({ faults }) => faults)
  };
}

function parseText(
  name: string,
  row: Variable<unknown>,
  text: string,
  origin: Origin
): Pick<Reading, 'value' | 'faults'> {
  try {
    return { value: row.parse(text), faults: [] };
  } catch (reason) {
    const shown = row.secret ? '[secret]' : JSON.stringify(withoutAccounts(text).slice(0, 80));
    const from = origin === 'hub' ? ', and comes from the hub' : '';
    const example = row.example === '' ? '' : `; example: ${name}=${row.example}`;
    return { value: undefined, faults: [`${name}=${shown} ${(reason as Error).message}${from}${example}`] };
  }
}

function missing(name: string): string {
  return `missing required environment variable ${name}:`;
}
