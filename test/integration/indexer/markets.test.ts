import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../src/db/connection.ts';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { readMarketsById, writeMarketRows } from '../../../src/indexer/store/markets/market-rows.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { addAllBlocks, dumpIndexer } from '../../support/indexer-database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const TIME = 1_700_000_000;
const DAY = 86_400;

type Action = readonly [source: string, text: string];

/** Blocks from a height on, each of a time and some actions. */
function blocksOf(first: number, ...blocks: readonly (readonly [time: number, ...actions: readonly Action[]])[]) {
  return blocks.map(([time, ...actions], place): ChainBlock => {
    const height = first + place;
    const transactions = actions.map(([source, data], at) => {
      return { hash: `${height}${String(at).padStart(3, '0')}`.padStart(64, '0'), source, fee: null, data };
    });
    return { height, time: TIME + time, hash: String(height).padStart(64, 'a'), transactions };
  });
}

/** A has 1000 TOKA, B 1000 TOKB, of two places and none. */
const ISSUED: readonly [number, ...Action[]] = [0, ['A', 'ISSUE|0|TOKA|||2||1000'], ['B', 'ISSUE|0|TOKB|||0||1000']];
const GIVES_A = (amount: string, wanted: string): Action => ['A', `ORDER|0|BTC|TOKA|${amount}|0|BTC|TOKB|${wanted}`];
const GIVES_B = (amount: string, wanted: string): Action => ['B', `ORDER|0|BTC|TOKB|${amount}|0|BTC|TOKA|${wanted}`];

/** Indexes blocks in groups. @param perGroup  blocks of each */
async function indexed(blocks: readonly ChainBlock[], perGroup = 1): Promise<DatabaseCoordinates> {
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, TEST_RULES, 30);
  for (let at = 0; at < blocks.length; at += perGroup) await addAllBlocks(store, blocks.slice(at, at + perGroup));
  store.close();
  return database;
}

/** The row of each market, its columns of a side without their prefix. */
async function marketsOf(database: DatabaseCoordinates) {
  const found = await sql(
    database,
    `SELECT m.*, COALESCE(a.tick, 'coin') AS name1, COALESCE(b.tick, 'coin') AS name2 FROM markets m
     LEFT JOIN index_tickers a ON a.id = m.tick1_id LEFT JOIN index_tickers b ON b.id = m.tick2_id ORDER BY m.id`
  );
  const figures = ['price', 'bid', 'ask', '24hr_price', '24hr_high', '24hr_low', '24hr_change', '24hr_volume'];
  return found.map((row) => ({
    id: row['id'],
    updated: Number(row['last_updated']) - TIME,
    ...Object.fromEntries(
      (['1', '2'] as const).map((side) => [
        String(row[`name${side}`]),
        figures.map((name) => row[`tick${side}_${name}`]).join(' ')
      ])
    )
  }));
}

test('a pair has one row, its first order says which side is first; prices of what is open, of either direction', async () => {
  const database = await indexed(
    blocksOf(1, ISSUED, [600, GIVES_A('10', '40'), GIVES_A('10', '30'), GIVES_B('15', '10')])
  );
  // In block 2: 10 TOKA stand for 40 TOKB and for 30, and 15 TOKB for 10 TOKA, which is too little for either.
  assert.deepEqual(await marketsOf(database), [
    { id: 1, updated: 600, TOKB: '0 0.66666667 0.25 0 0 0 0 0', TOKA: '0 4 1.5 0 0 0 0 0' }
  ]);
  const [coins] = await sql(
    database,
    'SELECT a.coin AS a, b.coin AS b FROM markets m JOIN index_coins a ON a.id = m.coin1_id JOIN index_coins b ON b.id = m.coin2_id'
  );
  assert.deepEqual(coins, { a: 'BTC', b: 'BTC' });
});

test('the last price, and of a day the price before it, the highest, the lowest, volumes and change', async () => {
  const chain = blocksOf(
    1,
    ISSUED,
    [600, GIVES_A('10', '40'), GIVES_B('40', '10')],
    [600 + DAY - 100, GIVES_A('1.5', '9'), GIVES_B('9', '1.5')],
    [600 + DAY, GIVES_A('2', '10'), GIVES_B('10', '2')]
  );
  // The match at 600 is just a day old at the end: it is the price before, and one of the day.
  assert.deepEqual(await marketsOf(await indexed(chain)), [
    {
      id: 1,
      updated: 600 + DAY,
      TOKB: '0.2 0 0 0.25 0.25 0.16666667 -20 59',
      TOKA: '5 0 0 4 6 4 25 13.5'
    }
  ]);
});

test('an ownership has no price; the side of the coin is 0; what nobody has paid for is no price', async () => {
  const chain = blocksOf(
    1,
    ISSUED,
    [
      600,
      ['A', 'ORDER|0|BTC|TOKA|10|0|BTC||0.5'],
      ['B', 'ORDER|0|BTC|TOKB||1|BTC|TOKA|5'],
      ['B', 'ORDER|0|BTC||0.5|0|BTC|TOKA|10']
    ],
    [700, ['B', 'COINPAY|0|6']]
  );
  const amount = 5n * 10n ** 17n;
  const [payment] = chain[2]!.transactions;
  chain[2] = { ...chain[2]!, transactions: [{ ...payment!, outputs: [{ vout: 0, address: 'A', amount }] }] };
  const nothing = '0 0 0 0 0 0 0 0';
  const ownership = { id: 2, updated: 600, TOKA: nothing, TOKB: nothing };
  assert.deepEqual(await marketsOf(await indexed(chain.slice(0, 2))), [
    { id: 1, updated: 600, coin: '0 20 20 0 0 0 0 0', TOKA: '0 0.05 0.05 0 0 0 0 0' },
    ownership
  ]);
  const database = await indexed(chain);
  assert.deepEqual(await marketsOf(database), [
    { id: 1, updated: 700, coin: '20 0 0 0 20 20 0 0.5', TOKA: '0.05 0 0 0 0.05 0.05 0 10' },
    ownership
  ]);
  const [pair] = await sql(database, 'SELECT tick1_id FROM markets WHERE id = 1');
  assert.equal(Number(pair!['tick1_id']), 0);
});

test('markets more than a day old are refreshed, the oldest first, 25 in a block', async () => {
  const pairs = Array.from(
    { length: 30 },
    (_, at): Action => ['A', `ISSUE|0|TOK${String.fromCharCode(67 + (at % 20))}${at}`]
  );
  const orders = pairs.map(([, text]): Action => ['A', `ORDER|0|BTC|TOKA|1|0|BTC|${text.split('|')[2]}|1`]);
  const chain = blocksOf(1, ISSUED, [1, ...pairs], [2, ...orders], [2 + DAY], [3 + DAY], [4 + DAY]);
  const updated = async (blocks: readonly ChainBlock[], perGroup: number) =>
    (await marketsOf(await indexed(blocks, perGroup))).map((market) => market.updated);
  assert.deepEqual(await updated(chain.slice(0, 4), 1), Array(30).fill(2), 'a day old is not more');
  const swept = [...Array(25).fill(3 + DAY), ...Array(5).fill(4 + DAY)];
  assert.deepEqual(await updated(chain, 1), swept);
  assert.deepEqual(await updated(chain, 6), swept, 'in one group');
});

test('figures count each match of a day that has many, and the newest before it', async () => {
  const tradeOf = (amount: string, wanted: string) => [GIVES_A(amount, wanted), GIVES_B(wanted, amount)];
  const many = (count: number, wanted: string) => Array.from({ length: count }, () => tradeOf('1', wanted)).flat();
  const before = blocksOf(1, ISSUED, [600, ...many(25, '4')]);
  for (const [count, wanted] of [
    [20, '5'],
    [21, '5'],
    [40, '8']
  ] as const) {
    const chain = [...before, ...blocksOf(3, [600 + 3 * DAY, ...many(count, wanted)])];
    const price = (1 / Number(wanted)).toString();
    const change = [(100 * 4) / Number(wanted) - 100, 25 * Number(wanted) - 100].map(String);
    assert.deepEqual(await marketsOf(await indexed(chain)), [
      {
        id: 1,
        updated: 600 + 3 * DAY,
        TOKB: `${price} 0 0 0.25 ${price} ${price} ${change[0]} ${count * Number(wanted)}`,
        TOKA: `${wanted} 0 0 4 ${wanted} ${wanted} ${change[1]} ${count}`
      }
    ]);
  }
});

test('a block that touches very many pairs reads their figures in few statements', async () => {
  const names = Array.from({ length: 30 }, (_, at) => `TOK${String.fromCharCode(67 + (at % 20))}${at}`);
  const pairs = names.flatMap((one, at) => names.slice(at + 1).map((other) => [one, other] as const));
  const issues = names.map((name): Action => ['A', `ISSUE|0|${name}|||0||1000`]);
  const orders = pairs.map(([one, other]): Action => ['A', `ORDER|0|BTC|${one}|1|0|BTC|${other}|1`]);
  const takers = pairs.slice(0, 40).map(([one, other]): Action => ['B', `ORDER|0|BTC|${other}|1|0|BTC|${one}|1`]);
  const paid = names.map((name): Action => ['A', `SEND|0|${name}|100|B`]);
  const database = await indexed(blocksOf(1, [0, ...issues], [600, ...paid, ...orders], [700, ...takers]));
  const connection = await connect(database);
  try {
    const ids = Array.from(pairs, (_, at) => at + 1);
    const markets = await readMarketsById(connection, ids);
    const dump = async () => await marketsOf(database);
    const written = await dump();
    let statements = 0;
    const query = ((...given: Parameters<typeof connection.query>) => {
      statements += 1;
      return connection.query(...given);
    }) as typeof connection.query;
    await writeMarketRows({ query }, markets);
    assert.equal(markets.length, 435);
    assert.ok(statements < 30, `${statements} statements`);
    assert.deepEqual(await dump(), written);
  } finally {
    connection.destroy();
  }
});

test('rows are the same in groups of any size and after a rollback', async () => {
  const chain = blocksOf(
    1,
    ISSUED,
    [600, GIVES_A('10', '40'), GIVES_A('3', '6')],
    [1_200, GIVES_B('20', '5')],
    [1_300 + DAY, ['A', 'ORDER|1|4']],
    [1_400 + DAY, ['A', 'ORDER|0|BTC|TOKA|10|0|BTC||0.5'], GIVES_B('2', '1')],
    [1_500 + DAY],
    [1_600 + 2 * DAY],
    [1_700 + 4 * DAY, GIVES_A('1', '1')]
  );
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, TEST_RULES, 30);
  const rowsNow = async () => (await dumpIndexer(database))['markets'] ?? [];
  const after = [[] as string[]];
  for (const block of chain) {
    await store.addBlocks([block]);
    after.push(await rowsNow());
  }
  assert.deepEqual(await dumpIndexer(await indexed(chain, chain.length)), await dumpIndexer(database), 'one group');
  for (let height = 1; height <= chain.length; height++) {
    await store.rollBack(height);
    assert.deepEqual(await rowsNow(), after[height - 1], `taken back from ${height}`);
    await addAllBlocks(store, chain.slice(height - 1));
    assert.deepEqual(await rowsNow(), after.at(-1), `and written again from ${height}`);
  }
  store.close();
});

test('a ledger of an earlier release gets its markets at the start, and their figures with the next block', async () => {
  const chain = blocksOf(1, ISSUED, [600, GIVES_A('10', '40'), GIVES_B('20', '5')], [700]);
  const database = await indexed(chain.slice(0, 2));
  await sql(database, 'DELETE FROM markets', 'DROP TABLE open_orders', 'DROP TABLE market_undo');
  const store = await IndexerStore.open(database, TEST_RULES, 30);
  await addAllBlocks(store, chain.slice(2));
  assert.deepEqual(await marketsOf(database), [
    { id: 1, updated: 700, TOKB: '0.25 0.25 0.25 0 0.25 0.25 0 20', TOKA: '4 4 4 0 4 4 0 5' }
  ]);
  await store.rollBack(2);
  store.close();
  assert.deepEqual(await marketsOf(database), [], 'a pair whose first order is taken back has no row');
});

test('behind a rollback of more blocks than are noted markets are made anew, and filled by the next block', async () => {
  const empty = Array.from({ length: 1_010 }, (_, at): readonly [number] => [700 + at]);
  const chain = blocksOf(1, ISSUED, [600, GIVES_A('10', '40'), GIVES_B('20', '5')], [700, GIVES_A('1', '1')], ...empty);
  const database = await indexed(chain, 200);
  const store = await IndexerStore.open(database, TEST_RULES, 30);
  await store.rollBack(3);
  await addAllBlocks(store, blocksOf(3, [650]));
  store.close();
  assert.deepEqual(await marketsOf(database), [
    { id: 1, updated: 650, TOKB: '0.25 0.25 0.25 0 0.25 0.25 0 20', TOKA: '4 4 4 0 4 4 0 5' }
  ]);
});
