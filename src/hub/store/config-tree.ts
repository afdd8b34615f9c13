import { PlatformError } from '../../errors.ts';

/** Parameters of one module, e.g. `{host, port, name, user, pass}`. */
export type ModuleParams = Readonly<Record<string, string>>;

/** The hub's configuration: coin, network, module, parameter. Its objects have no prototype: any name is safe in it. */
export type ConfigTree = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, ModuleParams>>>>>>;

/** One value of the tree and the way to it. */
export interface ConfigEntry {
  readonly coin: string;
  readonly network: string;
  readonly module: string;
  readonly param: string;
  readonly value: string;
}

/** Answer of `getallconfigs`. */
export interface ConfigAnswer {
  readonly configs: ConfigTree;
  /** Epoch seconds of the newest change; missing when the server sent a bare tree. */
  readonly watermark: number | undefined;
  /** Number of the last committed write, where the server says it. */
  readonly seq: number | undefined;
  /** Entries of the whole configuration, where the server says it. */
  readonly entries: number | undefined;
}

/** Stands for a password where a hub tells it to a caller without its key. */
export const MASK = '<needs HUB_API_KEY>';

/** Returns whether a parameter is a password: `pass`, or that of one role, such as `pass_indexer`. */
export const isPassword = (param: string): boolean => param === 'pass' || param.startsWith('pass_');

/** Far above any deployment; keeps a hostile hub from growing a tree for ever. */
const MAX_ENTRIES = 100_000;

type WritableTree = Record<string, Record<string, Record<string, Record<string, string>>>>;

/** Builds a tree of entries; a later entry replaces an earlier one of the same name. */
export function buildTree(entries: Iterable<ConfigEntry>): ConfigTree {
  const tree: WritableTree = Object.create(null);
  const branch = <T>(parent: Record<string, T>, name: string): T => {
    parent[name] ??= Object.create(null) as T;
    return parent[name];
  };
  for (const { coin, network, module, param, value } of entries) {
    branch(branch(branch(tree, coin), network), module)[param] = value;
  }
  return tree;
}

/** Yields every value of a tree, in its order. */
export function* entriesOf(tree: ConfigTree): Generator<ConfigEntry> {
  for (const [coin, networks] of Object.entries(tree))
    for (const [network, modules] of Object.entries(networks))
      for (const [module, params] of Object.entries(modules))
        for (const [param, value] of Object.entries(params)) yield { coin, network, module, param, value };
}

/** Returns the number of values in a tree. */
export function countEntries(tree: ConfigTree): number {
  let count = 0;
  for (const _ of entriesOf(tree)) count++;
  return count;
}

/** Merges the newer values over the base. @throws {PlatformError} HUB_UNREACHABLE above 100000 entries */
export function mergeTrees(base: ConfigTree, newer: ConfigTree): ConfigTree {
  const merged = buildTree([...entriesOf(base), ...entriesOf(newer)]);
  if (countEntries(merged) > MAX_ENTRIES)
    throw new PlatformError('HUB_UNREACHABLE', { reason: `sent more than ${MAX_ENTRIES} configuration entries` });
  return merged;
}

/**
 * Reads the result of `getallconfigs` from a server that is not trusted: an envelope, or the bare tree of older
 * servers.
 *
 * Values that are not text, number or boolean are left out.
 * @throws {PlatformError} HUB_UNREACHABLE naming what is not a tree
 * @see the section "Hub configuration store" of the specification
 */
export function readConfigAnswer(result: unknown): ConfigAnswer {
  const answer = objectAt(result, 'the result');
  const isBare = !Object.hasOwn(answer, 'configs');
  const { configs, watermark, seq, entries } = isBare ? { configs: answer } : answer;
  return {
    configs: buildTree(readEntries(objectAt(configs, 'configs'))),
    watermark: countOf(watermark),
    seq: countOf(seq),
    entries: countOf(entries)
  };
}

const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

function* readEntries(tree: Readonly<Record<string, unknown>>): Generator<ConfigEntry> {
  for (const [coin, networks] of Object.entries(tree))
    for (const [network, modules] of Object.entries(objectAt(networks, coin)))
      for (const [module, params] of Object.entries(objectAt(modules, `${coin}/${network}`)))
        for (const [param, value] of Object.entries(objectAt(params, `${coin}/${network}/${module}`)))
          if (['string', 'number', 'boolean'].includes(typeof value))
            yield { coin, network, module, param, value: String(value) };
}

function objectAt(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new PlatformError('HUB_UNREACHABLE', {
      reason: `answered a configuration in which ${JSON.stringify(place.slice(0, 120))} is no object`
    });
  return value as Record<string, unknown>;
}
