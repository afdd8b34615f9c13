import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { BlockRows } from '../../../src/decoder/block-rows.ts';
import { readDispenser } from '../../../src/decoder/dispenser-action.ts';
import { type DecoderStore, openDecoderStore } from '../../../src/decoder/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { query } from '../../support/decoder/loop.ts';
import { rowsOf } from '../../support/decoder/rows.ts';
import { createDatabase } from '../../support/mariadb.ts';

const { addresses } = chainNetwork('bitcoin', 'regtest');
const COINS = ['BTC', 'RBTC'];
const OTHER = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';

/** A block each ten minutes, in which these actions are said by `owner`. */
function block(height: number, ...actions: string[]): BlockRows {
  return {
    height,
    time: height * 600,
    hash: `hash ${height}`,
    previousHash: `hash ${height - 1}`,
    findings: [],
    transactions: actions.map((data, position) => ({
      ...{ hash: `${height}/${position}`, source: 'owner', data, rawData: null, pubkey: null, outputs: [] },
      dispensers: readDispenser(data, COINS, addresses)
    }))
  };
}

const open = (expiration: number | '', getAddress = '', oracle = '') =>
  `DISPENSER|0|BTC|T|1|0|10|BTC||5|${getAddress}|||${oracle}|${expiration}`;
const dispensers = (database: DatabaseCoordinates) =>
  query(
    database,
    `SELECT tx_index, a.address, expiration, o.address AS oracle, expired_block_index AS expired FROM dispensers
     JOIN index_addresses a ON a.id = address_id LEFT JOIN index_addresses o ON o.id = oracle_address_id ORDER BY tx_index`
  );

async function withStore(name: string, work: (store: DecoderStore, database: DatabaseCoordinates) => Promise<void>) {
  const database = await createDatabase(name);
  const store = await openDecoderStore(database);
  await work(store, database);
  await store.database.close();
}

test('RDD-04: a dispenser of this chain has a row; one of another chain or for no address has none', async () => {
  await withStore('dispensers', async (store, database) => {
    const foreign = open('').replace('BTC', 'LTC');
    await store.writeBlocks([block(1, open(''), open(5_000, OTHER, OTHER), foreign, open('', 'nobody'), 'SEND|0')]);
    assert.deepEqual(await dispensers(database), [
      { tx_index: 0, address: 'owner', expiration: 600 + 90 * 86_400, oracle: null, expired: null },
      { tx_index: 1, address: OTHER, expiration: 5_000, oracle: OTHER, expired: null }
    ]);
  });
});

test('RDD-04: it expires in the first block after its time, a rollback opens it again, and 126 blocks later it is gone', async () => {
  await withStore('dispensers_expiry', async (store, database) => {
    const expired = async () => (await dispensers(database)).map((row) => row['expired']);
    await store.writeBlocks([block(1, open(1_300)), block(2)]);
    assert.deepEqual(await expired(), [null]);
    await store.writeBlocks([block(3)]);
    assert.deepEqual(await expired(), [3]);
    await store.rollBackTip();
    assert.deepEqual(await expired(), [null]);
    await store.writeBlocks(Array.from({ length: 126 }, (_, index) => block(3 + index)));
    assert.deepEqual(await expired(), [3]);
    await store.writeBlocks([block(129)]);
    assert.deepEqual(await expired(), []);
  });
});

test('RDD-04: version 2 extends the dispensers of its source, also expired ones, and a rollback takes that back', async () => {
  await withStore('dispensers_extension', async (store, database) => {
    await store.writeBlocks([block(1, open(1_300)), block(2), block(3)]);
    const before = await rowsOf(database);
    await store.writeBlocks([block(4, 'DISPENSER|2|7|0|9000', 'DISPENSER|2|7|0|9500')]);
    assert.deepEqual(
      (await dispensers(database)).map(({ expiration, expired }) => ({ expiration, expired })),
      [{ expiration: 9_500, expired: null }]
    );
    await store.rollBackTip();
    assert.deepEqual(await rowsOf(database), before);
    await store.writeBlocks([block(4, 'DISPENSER|2|7|0|')]);
    assert.deepEqual((await dispensers(database))[0]?.['expiration'], 1_300);
  });
});

test('D-50: blocks written one by one and in groups are equal to the row, ids included', async () => {
  const chain = Array.from({ length: 200 }, (_, index) => {
    const height = index + 1;
    if (height % 7 === 0) return block(height, open(height * 600 + 3_000, height % 2 ? OTHER : ''), 'SEND|0');
    if (height % 31 === 0) return block(height, `DISPENSER|2|1|0|${height * 600 + 9_000}`);
    return block(height);
  });
  await withStore('dispensers_single', async (single, one) => {
    await withStore('dispensers_groups', async (grouped, many) => {
      for (const each of chain) await single.writeBlocks([each]);
      for (let from = 0; from < chain.length; from += 37) await grouped.writeBlocks(chain.slice(from, from + 37));
      assert.deepEqual(await rowsOf(many), await rowsOf(one));
    });
  });
});

test('D-50: blocks of a branch that was left leave nothing behind, ids and keys included', async () => {
  const said = (height: number, source: string): BlockRows => {
    const { transactions, ...rest } = block(height, open('', OTHER), 'SEND|0');
    const own = { source, pubkey: Buffer.from(source).toString('hex').padEnd(66, '0') };
    return { ...rest, transactions: transactions.map((row) => ({ ...row, ...own })) };
  };
  const chain = [1, 2, 3, 4].map((height) => said(height, `owner ${height}`));
  await withStore('dispensers_left', async (changed, one) => {
    await withStore('dispensers_kept', async (straight, other) => {
      await changed.writeBlocks(chain.slice(0, 2));
      await changed.writeBlocks([said(3, 'left 3'), said(4, 'left 4'), said(5, 'left 5')]);
      for (let left = 0; left < 3; left++) await changed.rollBackTip();
      assert.deepEqual(await changed.readTip(), { height: 2, hash: 'hash 2' });
      await changed.writeBlocks(chain.slice(2));
      await straight.writeBlocks(chain);
      assert.deepEqual(await rowsOf(one), await rowsOf(other));
    });
  });
});
