import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BlockRows, TransactionRow } from '../../../src/decoder/block-rows.ts';
import { NO_DISPENSERS } from '../../../src/decoder/dispensers/action.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { query } from '../../support/decoder/loop.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { startPair } from '../../support/sync/sync-pair.ts';

const hashOf = (height: number, branch: string) => Buffer.from(`${branch} ${height}`).toString('hex').padEnd(64, '0');

/** A block with as many transactions, each from another address and to another one. */
function block(height: number, branch: string, count: number, parent = branch): BlockRows {
  const transactions = Array.from({ length: count }, (_, place): TransactionRow => {
    const name = `${branch}-${height}-${place}`;
    return {
      hash: Buffer.from(name).toString('hex').padEnd(64, 'f'),
      source: `from-${name}`,
      data: 'COINPAY|0|1',
      rawData: null,
      pubkey: Buffer.from(name).toString('hex').padEnd(66, '0'),
      outputs: [{ vout: 0, address: `to-${name}`, amount: 5n }],
      dispensers: NO_DISPENSERS
    };
  });
  return {
    height,
    time: 1_700_000_000 + height,
    hash: hashOf(height, branch),
    previousHash: hashOf(height - 1, parent),
    transactions,
    findings: []
  };
}

test('ids that a rollback took and the new branch was given name the same in a live replica', async () => {
  const database = await createDatabase('decoder_source');
  const store = await openDecoderStore(database);
  const write = async (from: number, to: number, branch: string, parent: string) => {
    for (let height = from; height <= to; height++) {
      await store.writeBlocks([block(height, branch, 40, height === from ? parent : branch)]);
    }
  };
  await write(1, 30, 'a', 'a');
  const pair = await startPair('decoder', database);
  const client = await pair.startClient();
  const settle = async (height: number) => {
    const { equal, ...verdict } = await pair.settle(client, height);
    assert.ok(equal, JSON.stringify(verdict));
    for (const table of ['index_addresses', 'index_transactions', 'pubkeys']) {
      const read = (of: typeof database) => query(of, `SELECT * FROM ${table} ORDER BY id`);
      assert.deepEqual(await read(pair.replica), await read(database));
    }
  };
  await settle(30);
  await write(31, 33, 'a', 'a');
  await settle(33);
  const nameOf = async (id: unknown) =>
    (await query(database, `SELECT hash FROM index_transactions WHERE id = ${id}`))[0]?.['hash'];
  const [{ id } = {}] = await query(database, 'SELECT MAX(id) AS id FROM index_transactions');
  const before = await nameOf(id);
  for (const depth of [1, 6]) {
    const branch = `b${depth}`;
    for (let block = 0; block < depth; block++) await store.rollBackTip();
    const fork = (await store.readTip())!;
    const parent = Buffer.from(fork.hash, 'hex').toString().split(' ')[0]!;
    await write(fork.height + 1, fork.height + depth + 1, branch, parent);
    await settle(fork.height + depth + 1);
  }
  assert.notEqual(await nameOf(id), before);
  await store.database.close();
});
