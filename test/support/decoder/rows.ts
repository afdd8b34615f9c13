import assert from 'node:assert/strict';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { query } from './loop.ts';

/** Tables that blocks decide to the row, in the order of their keys. */
const TABLES = {
  blocks: 'block_index',
  transactions: 'tx_index',
  transaction_outputs: 'tx_index, vout',
  dispensers: 'tx_index, address_id',
  index_addresses: 'id',
  index_transactions: 'id',
  pubkeys: 'id',
  dispenser_watches: 'tx_index, address_id, least',
  dispenser_payments: 'tx_index, address_id, block_index, least',
  dispenser_extensions: 'block_index, address_id',
  lookup_undo: 'block_index'
};

/** Tables whose rows are only ever added. */
const APPENDED = [
  ...(['blocks', 'transactions', 'transaction_outputs', 'index_addresses', 'index_transactions', 'pubkeys'] as const),
  'lookup_undo'
];

export type DecoderRows = Readonly<Record<string, readonly object[]>>;

/** All rows of a decoder database that its blocks decide, ids included. */
export async function rowsOf(database: DatabaseCoordinates): Promise<DecoderRows> {
  const found: Record<string, readonly object[]> = {};
  for (const [table, key] of Object.entries(TABLES)) {
    found[table] = await query(database, `SELECT * FROM ${table} ORDER BY ${key}`);
  }
  return found;
}

/** Two decoders of one chain hold the same rows, but for `events` and the mempool. */
export async function assertEqualRows(one: DatabaseCoordinates, other: DatabaseCoordinates): Promise<void> {
  assert.deepEqual(await rowsOf(one), await rowsOf(other));
}

/** Checks that a decoder holds of the blocks up to a height what another one, given by its rows, holds of them. */
export async function assertPrefix(database: DatabaseCoordinates, whole: DecoderRows, height: number): Promise<void> {
  const found = await rowsOf(database);
  assert.equal(found['blocks']!.length, height + 1);
  for (const table of APPENDED) assert.deepEqual(found[table], whole[table]!.slice(0, found[table]!.length));
  const expected = whole['transactions']!.filter(
    (row) => Number((row as { block_index: number }).block_index) <= height
  );
  assert.equal(found['transactions']!.length, expected.length);
}
