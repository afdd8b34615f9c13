import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { BlockRows } from '../../../src/decoder/block-rows.ts';
import { NO_DISPENSERS, readDispenser } from '../../../src/decoder/dispensers/action.ts';
import { MAX_PAYMENTS } from '../../../src/decoder/dispensers/prices.ts';
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
      hash: `${height}/${position}`,
      source: 'owner',
      data,
      rawData: null,
      pubkey: null,
      outputs: [],
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

test('a dispenser of this chain has a row; one of another chain or for no address has none', async () => {
  await withStore('dispensers', async (store, database) => {
    const foreign = open('').replace('BTC', 'LTC');
    await store.writeBlocks([block(1, open(''), open(5_000, OTHER, OTHER), foreign, open('', 'nobody'), 'SEND|0')]);
    assert.deepEqual(await dispensers(database), [
      { tx_index: 0, address: 'owner', expiration: 600 + 90 * 86_400, oracle: null, expired: null },
      { tx_index: 1, address: OTHER, expiration: 5_000, oracle: OTHER, expired: null }
    ]);
  });
});

const chainOf = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => block(from + index));

test('it ends when no ledger has it open, a rollback opens it again, and 126 blocks later it is gone', async () => {
  await withStore('dispensers_expiry', async (store, database) => {
    const expired = async () => (await dispensers(database)).map((row) => row['expired']);
    // The median of block 14 is the time of block 9: an hour after the expiration it has passed.
    await store.writeBlocks([block(1, open(1_700)), ...chainOf(2, 15)]);
    assert.deepEqual(await expired(), [null]);
    await store.writeBlocks([block(15)]);
    assert.deepEqual(await expired(), [15]);
    await store.rollBackTip();
    assert.deepEqual(await expired(), [null]);
    await store.writeBlocks(chainOf(15, 15 + 126));
    assert.deepEqual(await expired(), [15]);
    await store.writeBlocks([block(15 + 126)]);
    assert.deepEqual(await expired(), []);
    assert.deepEqual(await query(database, 'SELECT * FROM dispenser_watches'), []);
  });
});

test('version 2 keeps the dispensers of its source open, and a rollback takes that back', async () => {
  await withStore('dispensers_extension', async (store, database) => {
    const isWatched = async () => (await dispensers(database)).some(({ expired }) => expired === null);
    await store.writeBlocks([block(1, open(1_700)), ...chainOf(2, 4)]);
    const before = await rowsOf(database);
    await store.writeBlocks([block(4, 'DISPENSER|2|7|0|9000', 'dispenser | "2" |7|0| 9500 ', 'DISPENSER|2|7|0|1')]);
    assert.deepEqual(await query(database, 'SELECT block_index, expiration FROM dispenser_extensions'), [
      { block_index: 4, expiration: 9_500 }
    ]);
    await store.writeBlocks(chainOf(5, 20));
    assert.equal(await isWatched(), true, 'also once the store has forgotten what it read');
    for (let height = 19; height >= 4; height--) await store.rollBackTip();
    assert.deepEqual(await rowsOf(database), before);
    await store.writeBlocks([block(4, 'DISPENSER|2|7|0|'), ...chainOf(5, 20)]);
    assert.equal(await isWatched(), false);
  });
});

test('edits hold any number of dispensers by one row, and end them together', async () => {
  await withStore('dispensers_held', async (store, database) => {
    const held = () =>
      query(database, 'SELECT COUNT(*) AS held FROM dispenser_tills WHERE due IS NULL AND ended IS NULL');
    const ended = () =>
      query(database, 'SELECT expired_block_index AS ended, COUNT(*) AS count FROM dispensers GROUP BY ended');
    const edit = (height: number, source: string) => {
      const { transactions, ...rest } = block(height, `DISPENSER|2|7|0|${(height + 2) * 600}`);
      return { ...rest, transactions: transactions.map((one) => ({ ...one, source })) };
    };
    const opened = Array.from({ length: 500 }, () => open(1_700, OTHER));
    await store.writeBlocks([block(1, ...opened), edit(2, OTHER)]);
    // Source and paid address take turns: at each time one of them has just let its edit pass.
    for (let height = 3; height < 40; height++) {
      await store.writeBlocks([edit(height, height % 2 === 0 ? OTHER : 'owner')]);
      if (height > 15) assert.deepEqual(await held(), [{ held: 500 }], `after block ${height}`);
    }
    assert.equal((await query(database, 'SELECT * FROM dispenser_holds')).length, 1);
    const before = await rowsOf(database);
    // The last edit is until the time of block 41. The median of block 53 is the time of block 48: over an hour later.
    await store.writeBlocks(chainOf(40, 55));
    assert.deepEqual(await ended(), [{ ended: 54, count: 500 }]);
    assert.deepEqual(await query(database, 'SELECT * FROM dispenser_holds'), []);
    for (let height = 54; height >= 40; height--) await store.rollBackTip();
    assert.deepEqual(await rowsOf(database), before);
    await store.writeBlocks(chainOf(40, 55));
    assert.deepEqual(await ended(), [{ ended: 54, count: 500 }]);
  });
});

const pay = (height: number, ...payments: readonly [source: string, address: string, amount: bigint][]): BlockRows => ({
  ...block(height),
  transactions: payments.map(([source, address, amount], position) => ({
    hash: `${height}/${position}`,
    source,
    data: '',
    rawData: null,
    pubkey: null,
    dispensers: NO_DISPENSERS,
    outputs: [{ vout: 0, address, amount, isPayment: true }]
  }))
});

test('a payment for nobody has no row and is told; one below what a dispenser asks is not stored', async () => {
  await withStore('dispensers_nobody', async (store, database) => {
    await store.writeBlocks([block(1, open('', OTHER))]);
    const [enough, little] = [500_000_000n, 499_999_999n];
    await store.writeBlocks([pay(2, ['', OTHER, enough], ['', OTHER, little], ['buyer', OTHER, little])]);
    await store.writeBlocks([pay(3, ['buyer', OTHER, enough])]);
    assert.deepEqual(await query(database, 'SELECT tx_index, vout, amount FROM transaction_outputs'), [
      { tx_index: 1, vout: 0, amount: '5.00000000' }
    ]);
    assert.deepEqual(
      (await query(database, 'SELECT code, data FROM events')).map(({ code, data }) => {
        return [code, (JSON.parse(String(data)) as { tx_hash: string }[])[0]!.tx_hash];
      }),
      [['PAYER_UNKNOWN', '2/0']]
    );
  });
});

test('a key is kept where a row before its transaction named the address', async () => {
  await withStore('pubkeys_known', async (store, database) => {
    const showing = (height: number, ...sources: string[]): BlockRows => {
      const { transactions, ...rest } = block(height, ...sources.map(() => 'SEND|0'));
      const own = transactions.map((row, place) => ({ ...row, source: sources[place]!, pubkey: `${height} ${place}` }));
      return { ...rest, transactions: own };
    };
    await store.writeBlocks([block(1, open('', OTHER)), showing(2, 'a', 'b', OTHER), showing(3, 'b', 'c', 'c')]);
    assert.deepEqual(
      await query(database, 'SELECT p.id, address, pubkey FROM pubkeys p JOIN index_addresses a ON a.id = address_id'),
      [
        { id: 1, address: OTHER, pubkey: '2 2' },
        { id: 2, address: 'b', pubkey: '3 0' },
        { id: 3, address: 'c', pubkey: '3 2' }
      ]
    );
  });
});

test("the cost of a stranger's dispenser ends with what a ledger would serve, in any grouping and after rollbacks", async () => {
  const paying = (height: number) =>
    pay(
      height,
      ...Array.from({ length: 710 }, (_, at): [string, string, bigint] => [
        at < 10 ? OTHER : 'buyer',
        OTHER,
        500_000_000n
      ])
    );
  const chain = [block(1, open(10 ** 12, OTHER)), ...Array.from({ length: 12 }, (_, index) => paying(index + 2))];
  const [one, many] = [await createDatabase('dispensers_limit_one'), await createDatabase('dispensers_limit_many')];
  const stored =
    'SELECT COUNT(*) AS count, MAX(block_index) AS last, COUNT(DISTINCT source_id) AS sources FROM transactions';
  for (const [database, size] of [
    [one, 1],
    [many, 13]
  ] as const) {
    const store = await openDecoderStore(database, { dispenserLimitHeight: 0 });
    for (let from = 0; from < chain.length; from += size) await store.writeBlocks(chain.slice(from, from + size));
    if (database === one) {
      for (let left = 0; left < 6; left++) await store.rollBackTip();
      for (const each of chain.slice(-6)) await store.writeBlocks([each]);
    }
    await store.database.close();
    assert.deepEqual(
      await query(database, stored),
      [{ count: 1 + MAX_PAYMENTS, last: 10, sources: 2 }],
      'the stranger pays himself'
    );
  }
  assert.deepEqual(await rowsOf(many), await rowsOf(one));
});

test('blocks written one by one and in groups are equal to the row, ids included', async () => {
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

test('blocks of a branch that was left leave nothing behind, ids and keys included', async () => {
  const broadcastRows = (height: number, source: string): BlockRows => {
    const { transactions, ...rest } = block(height, open('', OTHER), 'SEND|0');
    const own = { source, pubkey: Buffer.from(source).toString('hex').padEnd(66, '0') };
    return { ...rest, transactions: transactions.map((row) => ({ ...row, ...own })) };
  };
  const chain = [1, 2, 3, 4].map((height) => broadcastRows(height, `owner ${height}`));
  await withStore('dispensers_left', async (changed, one) => {
    await withStore('dispensers_kept', async (straight, other) => {
      await changed.writeBlocks(chain.slice(0, 2));
      await changed.writeBlocks([broadcastRows(3, 'left 3'), broadcastRows(4, 'left 4'), broadcastRows(5, 'left 5')]);
      for (let left = 0; left < 3; left++) await changed.rollBackTip();
      assert.deepEqual(await changed.readTip(), { height: 2, hash: 'hash 2' });
      await changed.writeBlocks(chain.slice(2));
      await straight.writeBlocks(chain);
      assert.deepEqual(await rowsOf(one), await rowsOf(other));
    });
  });
});
