import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../src/db/connection.ts';
import { openDecoderStore } from '../../src/decoder/store.ts';
import { VALID_STATUS } from '../../src/indexer/store/valid-status.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { type Cost, costOf } from '../../test/support/cost/cost.ts';
import { scaledBy } from '../../test/support/cost/scale.ts';
import { searchWorst } from '../../test/support/cost/search.ts';
import { createDatabase, startOwnServer } from '../../test/support/mariadb.ts';
import { type Figure, median, report } from './support/figures.ts';
import { actionCosts } from './support/indexer/action-costs.ts';
import { Field } from './support/indexer/field.ts';
import { SameRows } from './support/indexer/same-rows.ts';
import { startIndexer } from './support/indexer/service.ts';
import { writeWorst } from './support/indexer/worst-block.ts';

const { groups, addresses, work } = readArguments(
  'npm run bench -- indexer [--short | --worst | --actions]',
  { short: { type: 'boolean' }, worst: { type: 'boolean' }, actions: { type: 'boolean' } },
  ({ short, worst, actions }) => ({
    work: worst ? 'worst' : actions ? 'actions' : 'catch-up',
    groups: short ? 5 : 40,
    addresses: short ? 100_000 : 1_000_000
  })
);

/** As many as an indexer takes into one transaction. */
const BLOCKS_PER_GROUP = 20;
const TRANSACTIONS_PER_BLOCK = 100;
const BLOCKS_AT_THE_TIP = 5;
const TRANSACTIONS_AT_THE_TIP = 1_000;
/** After it nothing of the start is under way. */
const IDLE_MS = 5_000;
const MIB = 2 ** 20;
/** The search for the worst block tries this part of it. */
const SEARCHED_PART = 20;
const SERVER = ['--innodb-buffer-pool-size=2G', '--innodb-log-file-size=512M', '--innodb-sort-buffer-size=64M'];
const figures: Figure[] = [];
after(() => report('indexer', figures));

if (work === 'worst') test('the most expensive kilobyte that is found stays under the budget of a block', worstBlock);
else if (work === 'actions')
  test('cost of an action that meets very much of what others did', async () => {
    const { root } = await startOwnServer(SERVER);
    figures.push(...(await actionCosts((label) => createDatabase(label, root))));
  });
else test('catch-up, tip and memory of an indexer with many addresses and tickers', catchUp);

async function catchUp(): Promise<void> {
  const { root } = await startOwnServer(SERVER);
  const database = (label: string) => createDatabase(label, root);
  const field = new Field(addresses);
  const idle = await idleBytes(await database('no_decoder'), await database('no_indexer'));
  const [decoderDatabase, indexer, copy] = [
    await database('decoder'),
    await database('indexer'),
    await database('copy')
  ];
  for (const each of [indexer, copy]) await field.write(each);
  const decoder = await openDecoderStore(decoderDatabase, { queryTimeoutMs: 600_000 });
  await decoder.writeBlocks([field.firstBlock]);
  const blocks = Array.from({ length: groups * BLOCKS_PER_GROUP }, () => field.mixedBlock(TRANSACTIONS_PER_BLOCK));
  const last = blocks.at(-1)!.height;
  await decoder.writeBlocks(blocks);
  const service = await startIndexer(decoderDatabase, indexer);
  await service.until(BLOCKS_PER_GROUP); // what a start costs is none of a catch-up's
  const began = performance.now();
  await service.until(last);
  const measured = performance.now() - began;
  const caughtUp = service.peakBytes;
  const sends = await countValidSends(indexer, BLOCKS_PER_GROUP);
  assert.ok(sends > 0.8 * (groups - 1) * BLOCKS_PER_GROUP * TRANSACTIONS_PER_BLOCK, `${sends} valid SENDs`);

  const same = await SameRows.open(indexer, copy);
  let reference = 0;
  for (let group = 0; group < groups; group++) {
    const first = 1 + group * BLOCKS_PER_GROUP;
    const tookMs = await same.copy({ first, last: first + BLOCKS_PER_GROUP - 1 });
    if (group > 0) reference += tookMs;
  }
  await same.compare();
  same.close();

  const times: number[] = [];
  for (let run = 0; run < BLOCKS_AT_THE_TIP; run++) {
    const block = field.sendBlock(TRANSACTIONS_AT_THE_TIP);
    await decoder.writeBlocks([block]);
    const start = performance.now();
    await service.until(block.height);
    times.push(performance.now() - start);
  }
  await service.hasLogged('"percent":10'); // all leaves of the tree are in memory by then
  const peak = service.peakBytes;
  await service.stop();
  await decoder.database.close();

  const perThousand = 1_000 / sends;
  // 500 ms are 2,000 sends a second, 200 ms are 5,000.
  const limit = { reference: 0, unit: 'ms', compare: 'above', most: 500, aim: 200 } as const;
  figures.push(
    { ...limit, what: '1,000 valid SENDs of a mixed catch-up', measured: measured * perThousand },
    {
      what: 'the same against multi-row INSERTs of the same rows',
      unit: 'ms',
      compare: 'times',
      measured: measured * perThousand,
      reference: reference * perThousand,
      most: 1.5,
      aim: 1.2
    },
    { ...limit, what: `a block of ${TRANSACTIONS_AT_THE_TIP} SENDs at the tip`, measured: median(times) },
    {
      what: `memory of the catch-up with ${addresses} addresses and ${field.tickers} tickers`,
      unit: 'MiB',
      measured: caughtUp / MIB,
      reference: idle / MIB,
      compare: 'above',
      most: 200,
      aim: 100
    },
    {
      what: 'the same at the tip, where the tree over all balances is built',
      unit: 'MiB',
      measured: peak / MIB,
      reference: idle / MIB,
      compare: 'above',
      most: 200,
      aim: 100
    }
  );
}

async function worstBlock(): Promise<void> {
  const { root } = await startOwnServer(SERVER);
  const log = ({ name, rows: made, ms }: Cost) =>
    console.log(`${String(made).padStart(9)} rows ${String(Math.round(ms)).padStart(6)} ms  ${name}`);
  console.log(`a part of ${SEARCHED_PART}:`);
  const found = searchWorst(scaledBy(SEARCHED_PART), log);
  console.log('whole:');
  const full = scaledBy(1);
  const names = new Map([...found.rows, ...found.ms].map((cost) => [cost.name, cost]));
  const whole = Array.from(names.values(), (shape) => costOf(shape, full));
  whole.forEach(log);
  const most = (by: 'rows' | 'ms') => whole.reduce((worst, one) => (one[by] > worst[by] ? one : worst));
  for (const worst of new Set([most('rows'), most('ms')])) {
    const { seconds, mebibytes, storedMebibytes } = await writeWorst(worst, await createDatabase('worst', root));
    const what = `1 MB of ${worst.name}`;
    figures.push(
      {
        what: `${what}: rows`,
        unit: 'rows',
        compare: 'above',
        reference: 0,
        measured: worst.rows,
        most: full.blockBytes / 2,
        aim: full.blockBytes / 4
      },
      { what, unit: 's', compare: 'above', reference: 0, measured: seconds, most: 60, aim: 30 },
      {
        what: `${what}: memory`,
        unit: 'MiB',
        compare: 'above',
        reference: 0,
        measured: mebibytes,
        most: 512,
        aim: 256
      },
      {
        what: `${what}: growth of the tables`,
        unit: 'MiB',
        compare: 'above',
        reference: 0,
        measured: storedMebibytes,
        most: 256,
        aim: 128
      }
    );
  }
}

/** Returns the memory of an indexer that has no block to do. */
async function idleBytes(decoder: DatabaseCoordinates, indexer: DatabaseCoordinates): Promise<number> {
  const store = await openDecoderStore(decoder);
  const service = await startIndexer(decoder, indexer);
  await sleep(IDLE_MS);
  const bytes = service.residentBytes;
  await service.stop();
  await store.database.close();
  return bytes;
}

/** SENDs of blocks above a height of which each leg is valid. */
async function countValidSends(database: DatabaseCoordinates, height: number): Promise<number> {
  const connection = await connect(database);
  const [found] = await rows(
    connection,
    `SELECT COUNT(*) AS count FROM (SELECT 1 FROM sends s JOIN actions a ON a.action_index = s.action_index
       WHERE a.block_index > ? GROUP BY s.action_index HAVING MAX(s.status_id) = ?) valid`,
    [height, VALID_STATUS]
  );
  connection.destroy();
  return Number(found?.['count']);
}
