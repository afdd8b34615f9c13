import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { TaskPool } from '../../actors/runtime/task-pool.ts';
import { readNumber } from '../../src/cli/options.ts';
import { connect } from '../../src/db/connection.ts';
import { silentLogger } from '../../src/log.ts';
import { StateTracker } from '../../src/replication/commitment/state-tracker.ts';
import { readLeaves } from '../../src/replication/tables/state-reader.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { sql } from '../../test/support/sql.ts';
import type { SyncTasks } from '../../workers/sync/tasks.ts';

const BALANCES = readArguments(
  'npm run bench -- state-commitment [--balances 1000000]',
  { balances: { type: 'string', default: '1000000' } },
  ({ balances }) => readNumber('--balances', balances, 100, 100_000_000)
);
const SIDE = Math.ceil(Math.sqrt(BALANCES));
const TOUCHED = 10;
const BLOCKS = 300;
const NAMES = { chain: 'litecoin', network: 'mainnet' };

const median = (list: number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1]!;
const timed = async (work: () => unknown): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

/** Measures 256 hashes for each touched key, each over the one before it. */
function reference(): number {
  const node = Buffer.alloc(65, 1);
  const began = performance.now();
  for (let count = 0; count < TOUCHED * 256; count++) node.write(hash('sha256', node, 'latin1'), 1, 'latin1');
  return performance.now() - began;
}

const memory = () => {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

test(`state commitment over ${BALANCES} balances`, async (t) => {
  const to = await createDatabase('bench');
  await sql(
    to,
    'CREATE TABLE index_addresses (id INT UNSIGNED PRIMARY KEY, address VARCHAR(120) NOT NULL)',
    'CREATE TABLE index_tickers (id INT UNSIGNED PRIMARY KEY, tick VARCHAR(250) NOT NULL)',
    'CREATE TABLE balances (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, address_id INT UNSIGNED NOT NULL, tick_id INT UNSIGNED NOT NULL, amount VARCHAR(250) NOT NULL, UNIQUE (address_id, tick_id))',
    `INSERT INTO index_addresses SELECT seq, CONCAT('ltc1q', LEFT(SHA2(seq, 256), 38)) FROM seq_0_to_${SIDE}`,
    `INSERT INTO index_tickers SELECT seq, CONCAT('TICK', seq) FROM seq_0_to_${SIDE}`,
    `INSERT INTO balances SELECT NULL, seq DIV ${SIDE}, seq MOD ${SIDE}, seq / 8 FROM seq_1_to_${BALANCES}`
  );
  const pool = new TaskPool<SyncTasks>();
  const tracker = new StateTracker({
    names: NAMES,
    domain: 'PLATFORM',
    log: silentLogger,
    inspect: () => undefined,
    computeTops: (batch) => pool.run('sync/balance-tops', batch),
    changed: () => undefined
  });
  const before = memory();
  const first = await timed(async () => {
    const connection = await connect(to);
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
    tracker.begin(connection, 0);
    while (tracker.report.phase === 'building') await new Promise((resolve) => setTimeout(resolve, 100));
  });
  assert.deepEqual([tracker.report.phase, tracker.report.balances], ['ready', BALANCES]);
  await pool.close();
  const bytes = (memory() - before) / BALANCES;
  t.diagnostic(`first tree: ${(first / 1000).toFixed(1)} s, ${bytes.toFixed(0)} bytes a balance`);

  const connection = await connect(to);
  const [references, reads, trees]: [number[], number[], number[]] = [[], [], []];
  for (let height = 1; height <= BLOCKS; height++) {
    const ids = Array.from({ length: TOUCHED }, (_, index) => (height * 7919 + index * 104_729) % BALANCES);
    const keys = ids.map((id) => [String(Math.floor(id / SIDE)), String(id % SIDE)] as const);
    await connection.query(
      `UPDATE balances SET amount = amount + 1 WHERE (address_id, tick_id) IN (${keys.map((key) => `(${key.join()})`).join()})`
    );
    references.push(reference());
    let leaves: Awaited<ReturnType<typeof readLeaves>> = [];
    reads.push(await timed(async () => (leaves = await readLeaves(connection, tracker.hashes, NAMES, keys))));
    trees.push(
      await timed(async () => {
        await tracker.advance({ base: height - 1, last: height }, leaves, null);
        await tracker.settle(true);
      })
    );
  }
  connection.destroy();
  const [byDefinition, read, tree] = [median(references), median(reads), median(trees)];
  t.diagnostic(
    `block of ${TOUCHED} touched balances: ${tree.toFixed(2)} ms, by 256 hashes each ${byDefinition.toFixed(2)} ms, ratio ${(tree / byDefinition).toFixed(2)}; reading them ${read.toFixed(2)} ms`
  );
  assert.ok(tree / byDefinition <= 3);
});
