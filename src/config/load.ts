import type { ChainNetwork } from '../coin/chains.ts';
import { PlatformError } from '../errors.ts';
import { type ConfigFile, readConfigFile, textIn } from './config-file.ts';
import { isNearOne, nearest } from './nearest.ts';
import { type FiledSecret, fileVariableOf, readSecretFiles } from './secret-files.ts';
import { type Environment, type Values, type Variable, type Variables, withoutAccounts } from './variables.ts';

/** Place where a value was found. The first place in this order that has one wins. */
type Origin = 'environment' | 'secret file' | 'config file' | 'hub' | 'default' | 'unset';

/** Places to look for the texts of variables. */
export interface Sources {
  readonly env: Environment;
  /** Secrets that stand in files of their own, by their names. */
  readonly secrets?: Readonly<Record<string, FiledSecret>>;
  readonly file?: ConfigFile;
  readonly hub?: HubTexts;
}

/**
 * Reads what this machine says: the environment, files of secrets, the configuration file. @throws {PlatformError}
 * CONFIG_INVALID
 */
export function readLocal(variables: Variables, env: Environment): Sources {
  const file = readConfigFile(env);
  return { env, file, secrets: readSecretFiles(variables, env, file) };
}

/** Values from the hub's configuration. */
export interface HubTexts {
  /** Texts by the name of the variable. */
  readonly texts: Readonly<Record<string, string>>;
  /** Reason why some are missing; added to the fault of a required variable. */
  readonly reason?: string | undefined;
  /** Variables that the hub was asked for although their rows name no place there. */
  readonly asked?: readonly string[];
}

/** Rules that concern several variables of a service. */
export interface Checks<V extends Variables> {
  /** Prefixes of the service's variables, such as `SYNC_`. Unknown names with one are warned about. */
  readonly prefixes?: readonly string[];
  /** Patterns of names that are known although no row has them. */
  readonly patterns?: readonly RegExp[];
  /** Finds faults that concern several variables, one sentence each. A wrong value is undefined here. */
  readonly findFaults?: (values: Values<V>) => readonly string[];
  /** Returns required variables that may be missing because of the values of others. */
  readonly unneeded?: (textOf: (name: string) => string | undefined) => readonly string[];
  /** Returns the service's network, for which the hub may have values; undefined while no text names one. */
  readonly networkOf?: (textOf: (name: string) => string | undefined) => ChainNetwork | undefined;
  /** Way to take the network from the hub, used when no variable names it. */
  readonly networkFromHub?: NetworkFromHub;
  /**
   * For a service without a network: returns the variables that a module `<prefix>-<service>` of any network may have.
   */
  readonly fromAnyNetwork?: (textOf: (name: string) => string | undefined) => readonly string[];
}

/** Takes the network for which the hub has a module `<prefix>-<service>`. */
export interface NetworkFromHub {
  readonly service: string;
  /** Returns the texts of all variables that name a network. */
  readonly textsOf: (network: ChainNetwork) => Readonly<Record<string, string>>;
}

/** A checked configuration. */
export interface LoadedConfig<V extends Variables> {
  readonly values: Values<V>;
  readonly origins: Readonly<Record<string, Origin>>;
  /** Warnings: unknown names, with the nearest known one. */
  readonly warnings: readonly string[];
}

/** Result of reading one row. */
interface Reading {
  readonly value: unknown;
  readonly origin: Origin;
  /** Names of variables that were read. */
  readonly names: readonly string[];
  readonly faults: readonly string[];
}

const FAMILY_WORDS = '_<CHAIN>_<NETWORK>';

/**
 * Reads a service's configuration: environment first, then files of secrets, the configuration file, the hub, defaults.
 *
 * @throws {PlatformError} CONFIG_INVALID that lists every wrong or missing variable
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
  // Report a variable only once.
  const reported = faults.map((fault) => missing(fault.split('=', 1)[0]!));
  const together = findFaults(values).filter((fault) => !reported.some((head) => fault.startsWith(head)));
  if (faults.length + together.length > 0)
    throw new PlatformError('CONFIG_INVALID', { reason: [...faults, ...together].join('\n') });
  const names = readings.flatMap(([, reading]) => reading.names);
  const isKnown = (name: string) => names.includes(name) || patterns.some((pattern) => pattern.test(name));
  const all = namesOf(variables);
  const unknown = Object.keys(sources.env).filter(
    (name) => !isKnown(name) && (prefixes.some((prefix) => name.startsWith(prefix)) || isNearOne(name, all))
  );
  return {
    values,
    origins: Object.fromEntries(readings.map(([name, { origin }]) => [name, origin])),
    warnings: unknown.map((name) => `unknown variable ${name}; did you mean ${nearest(name, all)}?`)
  };
}

/** Returns the names of variables, and of those that name the file of a secret. */
export function namesOf(variables: Variables): readonly string[] {
  return Object.entries(variables).flatMap(([name, { secret }]) => (secret ? [name, fileVariableOf(name)] : [name]));
}

/** Returns the text of a variable and its origin. Empty text counts as none. */
export function findText(
  name: string,
  { env, file = {}, hub, secrets = {} }: Sources
): { readonly text: string | undefined; readonly origin: Origin } {
  const secret = secrets[name];
  const found: readonly (readonly [Origin, string | undefined])[] = [
    ['environment', env[name]?.trim()],
    ['secret file', secret && 'text' in secret ? secret.text : undefined],
    ['config file', textIn(file, name)?.trim()],
    ['hub', hub?.texts[name]] // not trimmed, as in other readers of the hub: a password may end in a space
  ];
  const [origin, text] = found.find(([, each]) => each) ?? ['unset'];
  return { text, origin };
}

function readVariable(name: string, row: Variable<unknown>, sources: Sources): Reading {
  const { text, origin } = findText(name, sources);
  const names = row.secret ? [name, fileVariableOf(name)] : [name];
  const secret = sources.secrets?.[name];
  if (secret && 'fault' in secret) return { value: undefined, origin, names, faults: [secret.fault] };
  if (text !== undefined) return { ...parseText(name, row, text, origin), origin, names };
  const isAsked = row.hub !== undefined || sources.hub?.asked?.includes(name);
  const reason = isAsked && sources.hub?.reason ? `; ${sources.hub.reason}` : '';
  return {
    value: row.fallback,
    origin: row.fallback === undefined ? 'unset' : 'default',
    names,
    faults: row.required ? [`${missing(name)} ${row.doc}; example: ${name}=${row.example}${reason}`] : []
  };
}

/** Reads every member of a family that is set. */
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
