import { readFileSync } from 'node:fs';

/**
 * Reads the facts of a service that existing clients rely on: facts about paths, methods, fields and types in `apis.json`.
 *
 * Fields are one text: `tick:text legs:list legs[].amount:decimal info.tick_id:int`. A value may be null, but for those that end in
 * `!`.
 */
export function readFacts<T>(service: string): T {
  const all = JSON.parse(readFileSync(new URL('../foreign/apis.json', import.meta.url), 'utf8')) as Record<string, T>;
  const facts = all[service];
  if (facts === undefined) throw new Error(`apis.json has no ${service}`);
  return facts;
}

/** Each type of a value by its name. */
const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  text: (value) => typeof value === 'string',
  digits: (value) => typeof value === 'string' && /^\d+$/.test(value),
  decimal: (value) => typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value),
  hash: (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value),
  int: Number.isInteger,
  number: (value) => typeof value === 'number',
  bool: (value) => typeof value === 'boolean',
  list: Array.isArray,
  object: (value) => typeof value === 'object' && !Array.isArray(value)
};

/** Returns the differences of a value from its fields; empty: it has them all, of their types. */
export function faultsOf(value: unknown, fields: string): string[] {
  return fields
    .split(' ')
    .filter((field) => field !== '')
    .flatMap((field) => {
      const [, path = '', types = ''] = /^([^:]+):(.*)$/.exec(field) ?? [];
      return faultsAt(value, path.split('.'), types);
    });
}

function faultsAt(value: unknown, [part = '', ...rest]: readonly string[], types: string): string[] {
  const isList = part.endsWith('[]');
  const name = isList ? part.slice(0, -2) : part;
  const found = (value as Record<string, unknown>)[name];
  if (rest.length === 0) return isOf(found, types) ? [] : [`${name} is ${JSON.stringify(found)} and no ${types}`];
  if (found === null || (isList && !Array.isArray(found))) return [];
  if (typeof found !== 'object') return [`${name} is ${JSON.stringify(found)} and has no ${rest.join('.')}`];
  const inner = isList
    ? (found as unknown[]).flatMap((each) => faultsAt(each, rest, types))
    : faultsAt(found, rest, types);
  return [...new Set(inner)].map((fault) => `${name}: ${fault}`);
}

function isOf(value: unknown, types: string): boolean {
  const isFilled = types.endsWith('!');
  if (value === undefined) return false;
  if (value === null) return !isFilled;
  const [kind = '', of] = (isFilled ? types.slice(0, -1) : types).split(/:(.*)/);
  if (kind === 'list') return Array.isArray(value) && value.every((each) => of === undefined || isOf(each, of));
  return kind.split('|').some((type) => TYPES[type]!(value));
}

/** Frames of `/api/websocket` that clients in use do not know, and pass over. */
export const OWN_FRAMES = { REORG: 'block_index:digits!', GAP: 'block_index:digits!' } as const;
