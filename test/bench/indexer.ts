import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { connect, rows } from '../../src/db/core/connection.ts';
import type { ChainBlock } from '../../src/indexer/block/block.ts';
import { IndexerStore } from '../../src/indexer/store/store.ts';
import { VALID_STATUS } from '../../src/indexer/store/valid-status.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import { readArguments } from '../support/arguments.ts';
import { TEST_RULES } from '../support/indexer-ledger.ts';
import { createDatabase } from '../support/mariadb.ts';
import { type Figure, median, report } from './support/figures.ts';
import { SameRows } from './support/same-rows.ts';

const { groups, addresses } = readArguments(
  'npm run bench -- indexer [--short]',
  { short: { type: 'boolean' } },
  ({ short }) => ({
    groups: short ? 5 : 20,
    addresses: short ? 100_000 : 1_000_000
  })
);

const HOLDERS = 1_000;
const BLOCKS_PER_GROUP = 20;
const SENDS_PER_BLOCK = 100;
const RUNS_AT_THE_TIP = 5;
const MIB = 2 ** 20;
const RULES = { ...TEST_RULES, isAddress: (text: string) => /^A\d+$/.test(text) };
const LIMIT = { reference: 0, unit: 'ms', compare: 'above', most: 500, aim: 200 } as const;
const figures: Figure[] = [];
after(() => report('indexer', figures));

/** A block whose transactions are sends of one unit, each from one of many holders to another. */
function sendBlock(height: number, count: number): ChainBlock {
  const holder = (number: number) => `A${1 + (number % HOLDERS)}`;
  const first = height * SENDS_PER_BLOCK;
  return blockOf(
    height,
    Array.from({ length: count }, (_, place) => [
      holder((first + place) * 7),
      `SEND|0|TOKA|1|${holder((first + place) * 13 + 1)}`
    ])
  );
}

function blockOf(height: number, actions: readonly (readonly [source: string, data: string])[]): ChainBlock {
  const hash = (text: string) => text.padStart(64, '0');
  const transactions = actions.map(([source, data], place) => {
    return { hash: hash(`${height}f${place}`), source, fee: null, data };
  });
  return { height, time: height, hash: hash(String(height)), transactions };
}

test('valid sends through catch-up, and a block of 1,000 at the tip', async () => {
  const [database, copy] = [await createDatabase('bench_indexer'), await createDatabase('bench_copy')];
  const store = await IndexerStore.open(database, RULES, 60);
  (await IndexerStore.open(copy, RULES, 60)).close(); // makes the tables
  const same = await SameRows.open(database, copy);
  await store.addBlocks([blockOf(1, [['A0', 'ISSUE|0|TOKA|0|0|0||100000000']])]);
  const shares = Array.from({ length: HOLDERS }, (_, place) => ['A0', `SEND|0|TOKA|10000|A${place + 1}`] as const);
  await store.addBlocks([blockOf(2, shares)]);
  await same.copy();
  let height = 3;
  let [measured, reference] = [0, 0];
  for (let group = 0; group < groups; group++) {
    const blocks = Array.from({ length: BLOCKS_PER_GROUP }, () => sendBlock(height++, SENDS_PER_BLOCK));
    const began = performance.now();
    await store.addBlocks(blocks);
    measured += performance.now() - began;
    reference += await same.copy();
  }
  same.close();
  const perThousand = 1_000 / (groups * BLOCKS_PER_GROUP * SENDS_PER_BLOCK);
  // 500 ms are 2,000 sends a second, 200 ms are 5,000.
  figures.push({ ...LIMIT, what: '1,000 valid sends through catch-up', measured: measured * perThousand });
  figures.push({
    ...{
      what: 'the same against multi-row INSERTs of the same rows',
      unit: 'ms',
      compare: 'times',
      most: 1.5,
      aim: 1.2
    },
    ...{ measured: measured * perThousand, reference: reference * perThousand }
  });
  const times: number[] = [];
  for (let run = 0; run < RUNS_AT_THE_TIP; run++) {
    const start = performance.now();
    await store.addBlocks([sendBlock(height++, 1_000)]);
    times.push(performance.now() - start);
  }
  figures.push({ ...LIMIT, what: 'a block of 1,000 sends at the tip', measured: median(times) });
  store.close();
});

test('memory over idle with many addresses and a tenth as many tickers', async () => {
  const database = await createDatabase('bench_memory');
  (await IndexerStore.open(database, RULES, 60)).close(); // makes the tables
  const ticks = addresses / 10;
  await writeHolders(database, addresses, ticks);
  const idle = process.memoryUsage.rss();
  const store = await IndexerStore.open(database, RULES, 60);
  let most = idle;
  for (let group = 0; group < groups; group++) {
    const blocks = Array.from({ length: BLOCKS_PER_GROUP }, (_, place) => {
      const height = 2 + group * BLOCKS_PER_GROUP + place;
      const sends = Array.from({ length: SENDS_PER_BLOCK }, (_, send) => {
        const tick = 1 + (((height * SENDS_PER_BLOCK + send) * 7) % ticks);
        return [`A${tick}`, `SEND|0|T${tick}|1|A${1 + ((tick * 13) % addresses)}`] as const;
      });
      return blockOf(height, sends);
    });
    await store.addBlocks(blocks);
    most = Math.max(most, process.memoryUsage.rss());
  }
  store.close();
  assert.equal(await countValidSends(database), groups * BLOCKS_PER_GROUP * SENDS_PER_BLOCK);
  const [measured, reference] = [most / MIB, idle / MIB];
  const what = `memory with ${addresses} addresses and ${ticks} tickers`;
  figures.push({ what, measured, reference, unit: 'MiB', compare: 'above', most: 200, aim: 100 });
});

/** Addresses, of which each of the first ones holds ten units of a ticker of its own. */
async function writeHolders(database: DatabaseCoordinates, addresses: number, ticks: number): Promise<void> {
  const connection = await connect(database);
  const write = (into: string, values: string, count: number) =>
    connection.query(`INSERT INTO ${into} SELECT ${values} FROM seq_1_to_${count}`);
  await write('index_addresses (id, address, block_index)', "seq, CONCAT('A', seq), 1", addresses);
  await write('index_tickers (id, tick, block_index)', "seq, CONCAT('T', seq), 1", ticks);
  const caps = "'10', '0', '0', '0', 0, 0, 0";
  await write(
    'tokens (id, tick_id, action_index, last_action_index, owner_id, supply, max_supply, max_mint, mint_address_max, decimals, mint_start_block, mint_stop_block)',
    `seq, seq, seq, seq, seq, ${caps}`,
    ticks
  );
  await write('balances (address_id, tick_id, amount)', "seq, seq, '10'", ticks);
  await write('credits (action_index, address_id, tick_id, amount)', "seq, seq, seq, '10'", ticks);
  connection.destroy();
}

async function countValidSends(database: DatabaseCoordinates): Promise<number> {
  const connection = await connect(database);
  const [found] = await rows(connection, 'SELECT COUNT(*) AS count FROM sends WHERE status_id = ?', [VALID_STATUS]);
  connection.destroy();
  return Number(found?.['count']);
}
