import Type from 'typebox';
import type { Query } from '../read/reader.ts';
import { findAddress, type ReadNames, readHash } from '../read/subject.ts';
import type { RecordMethod } from './record.ts';

const FOUND = ['address', 'token', 'transaction', 'block', 'action'] as const;

export const search: RecordMethod = {
  summary: 'What a text names: an address, tokens that begin so, a transaction, a block, an action',
  tag: 'State',
  takes: 'text',
  types: FOUND,
  schema: Type.Object({
    results: Type.Array(
      Type.Object({
        type: Type.Unsafe<string>({ type: 'string', enum: [...FOUND] }),
        value: Type.String({ description: 'what the method of that name takes' })
      })
    )
  }),
  read: async ({ query, names, question: { query: name = '', type } }) => {
    const finders: Readonly<Record<(typeof FOUND)[number], () => Promise<readonly string[]>>> = {
      address: async () => ((await findAddress(query, name)) === null ? [] : [name]),
      token: () => findTickers(names, name),
      transaction: () =>
        exists(query, 'transactions x JOIN index_transactions i ON i.id = x.tx_hash_id', 'i.hash', readHash(name)),
      block: () => existsNumber(query, 'blocks', 'block_index', name),
      action: () => existsNumber(query, 'actions', 'action_index', name)
    };
    const results: { type: string; value: string }[] = [];
    for (const each of FOUND.filter((found) => type === undefined || found === type))
      for (const value of await finders[each]()) results.push({ type: each, value });
    return { results };
  }
};

const MAX_TICKERS = 10;

/** Tokens whose names begin so in any case, the shortest first. */
async function findTickers(names: ReadNames, name: string): Promise<string[]> {
  const wanted = name.toLowerCase();
  const found = (await names()).filter(({ lower }) => lower.startsWith(wanted));
  const first: string[] = [];
  for (const { tick } of found) {
    const place = first.findIndex((other) => isBefore(tick, other));
    if (place >= 0) first.splice(place, 0, tick);
    else if (first.length < MAX_TICKERS) first.push(tick);
    first.length = Math.min(first.length, MAX_TICKERS);
  }
  return first;
}

const isBefore = (one: string, other: string) =>
  one.length < other.length || (one.length === other.length && one < other);

async function exists(query: Query, from: string, column: string, value: string | number | null): Promise<string[]> {
  const found = await query(`SELECT 1 FROM ${from} WHERE ${column} = ? LIMIT 1`, [value]);
  return found.length > 0 ? [String(value)] : [];
}

async function existsNumber(query: Query, table: string, column: string, name: string): Promise<string[]> {
  return /^\d{1,15}$/.test(name) ? await exists(query, table, column, Number(name)) : [];
}
