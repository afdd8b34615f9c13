import { createHash } from 'node:crypto';
import { quoteText } from '../../../src/db/sql-literal.ts';
import type { BlockMessage, WireRow } from '../../../src/wire/messages.ts';
import { ROWS_PER_BLOCK } from './dataset.ts';

/** Above every index of the dataset. */
const FIRST_INDEX = 10_000_000;
const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const list = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

/** Messages of blocks as large as those of the dataset, each of which credits one address among others. */
export function inventBlocks(first: number, count: number, hotAddress: number): BlockMessage[] {
  return list(count, (n) => inventBlock(first + n, n * ROWS_PER_BLOCK + FIRST_INDEX, hotAddress));
}

function inventBlock(height: number, base: number, hotAddress: number): BlockMessage {
  const hashes = { ledger_hash: sha(`l${height}`), actions_hash: sha(`c${height}`), contract_hash: sha(`k${height}`) };
  const amount = (n: number) => `${base + n}.000000000700000001`;
  const move = (n: number): WireRow => ({
    action_index: base + (n % 20),
    address_id: n === 0 ? hotAddress : 1 + ((base + n * 31) % 50_000),
    tick_id: n === 0 ? 1 : (base + n) % 700,
    amount: amount(n),
    event: `event-${sha(`e${base + n}`).slice(0, 32)}`
  });
  const credits = list(20, move);
  const data = {
    index_addresses: list(5, (n) => ({
      id: base + n,
      block_index: height,
      address: `bc1q${sha(`a${base + n}`).slice(0, 38)}`
    })),
    index_transactions: list(16, (n) => ({ id: base + n, hash: sha(`t${base + n}`) })),
    blocks: [{ block_index: height, block_time: 1_700_000_000 + height, ...hashes }],
    transactions: list(16, (n) => ({
      tx_index: base + n,
      tx_hash_id: base + n,
      block_index: height,
      block_time: 1_700_000_000 + height,
      source_id: n,
      fee: n % 5 === 0 ? null : base + n,
      data: `7c${sha(`d${base + n}`).slice(0, 30)}`
    })),
    actions: list(20, (n) => ({
      action_index: base + n,
      tx_index: base + (n % 16),
      block_index: height,
      action: 'SEND',
      status: 'valid',
      memo: n % 3 ? null : `memo "${n}" für ${sha(`m${base + n}`)}`
    })),
    credits,
    debits: list(16, (n) => move(n + 30))
  };
  const balances = credits.slice(0, 6).map((row, n) => ({
    id: base + n,
    address_id: row['address_id'],
    tick_id: row['tick_id'],
    amount: row['amount']
  }));
  return {
    type: 'block',
    ...{ chain: 'litecoin', network: 'regtest', dbType: 'indexer', schema_version: 7 },
    ...{ block_index: height, block_time: 1_700_000_000 + height, ...hashes, group: { first: height, last: height } },
    data,
    updated_rows: { balances }
  } as BlockMessage;
}

/** The statements that put the same rows in: one INSERT a table, balances replaced. */
export function insertsOf({ data, updated_rows }: BlockMessage): string[] {
  const values = (rows: readonly WireRow[]) =>
    rows.map((row) => `(${Object.values(row).map(literal).join(',')})`).join(',');
  const head = (verb: string, table: string, [row]: readonly WireRow[]) =>
    `${verb} INTO ${table} (${Object.keys(row!).join(',')}) VALUES `;
  const inserts = Object.entries(data).map(([table, rows]) => head('INSERT', table, rows) + values(rows));
  const { balances = [] } = updated_rows ?? {};
  const withoutId = balances.map(({ id: _, ...row }) => row);
  return [...inserts, head('REPLACE', 'balances', withoutId) + values(withoutId)];
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  return typeof value === 'number' ? String(value) : quoteText(String(value));
}
