import Type from 'typebox';
import type { Query } from '../read/reader.ts';
import { findAddress, readHash } from '../read/subject.ts';
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
  read: async ({ query, question: { query: name = '', type } }) => {
    const finders: Readonly<Record<(typeof FOUND)[number], () => Promise<readonly string[]>>> = {
      address: async () => ((await findAddress(query, name)) === null ? [] : [name]),
      token: () => findTickers(query, name),
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

async function findTickers(query: Query, name: string): Promise<string[]> {
  const prefix = name.replace(/[\\%_]/g, (sign) => `\\${sign}`);
  const found = await query<{ tick: string }>(
    `SELECT i.tick FROM index_tickers i JOIN tokens t ON t.tick_id = i.id
     WHERE LOWER(i.tick) LIKE LOWER(?) ORDER BY CHAR_LENGTH(i.tick), i.tick LIMIT ${MAX_TICKERS}`,
    [`${prefix}%`]
  );
  return found.map(({ tick }) => tick);
}

async function exists(query: Query, from: string, column: string, value: string | number | null): Promise<string[]> {
  const found = await query(`SELECT 1 FROM ${from} WHERE ${column} = ? LIMIT 1`, [value]);
  return found.length > 0 ? [String(value)] : [];
}

async function existsNumber(query: Query, table: string, column: string, name: string): Promise<string[]> {
  return /^\d{1,15}$/.test(name) ? await exists(query, table, column, Number(name)) : [];
}
