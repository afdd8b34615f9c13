import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { checkByDescription } from '../../test/support/explorer-client.ts';
import { createExplored } from '../../test/support/explorer-database.ts';
import { startExplorer } from '../../test/support/explorer-process.ts';
import { runProgram } from '../../test/support/program.ts';
import { sql } from '../../test/support/sql.ts';
import { follow } from './follower.ts';
import { pathsAt, walk } from './walks.ts';

/*
 * npm run explorer-check -- --minutes M --seed S
 *
 * Asks an explorer for whatever its /openapi.json describes, with made-up parameters, for so many minutes, while the newest blocks of its
 * ledger are taken back and come again: with the same seconds and actions and other hashes. A status of 500 and above or an answer that
 * breaks its schema ends it, with seed and path. Beside that it walks every list by its cursors, and compares what it met of the blocks
 * that stay with the list at that height. A client follows every channel of the WebSocket, cuts its connection, and comes again.
 */
const RUNS = 40;
const CHURN_MS = 1_000;
const CHURN_BLOCKS = 3;

const { minutes, seed } = readArguments(
  'npm run explorer-check -- [--minutes 10] [--seed 1]',
  { minutes: { type: 'string', default: '10' }, seed: { type: 'string', default: '1' } },
  (given) => ({
    minutes: readNumber('--minutes', given.minutes, 1, 24 * 60),
    seed: readNumber('--seed', given.seed, 0, 2 ** 30)
  })
);

await runProgram(async () => {
  const explored = await createExplored();
  const explorer = await startExplorer(explored, { EXPLORER_RATE_LIMIT_RPM: '100000000', LOG_LEVEL: 'error' });
  let reorgs = 0;
  /** Duration of the slowest walk before the first reorg. */
  let slowestMs = 0;
  const newest = explored.blocks.slice(-CHURN_BLOCKS);
  const churn = async () => {
    for (; performance.now() < until; reorgs++) {
      await sleep(Math.max(CHURN_MS, 2 * slowestMs)); // on a busy machine too, a walk ends between two reorgs
      await explored.store.rollBack(newest[0]!.height);
      const letter = 'abcdef'[reorgs % 6]!;
      await explored.store.addBlocks(newest.map((block) => ({ ...block, hash: block.hash.replace(/^./, letter) })));
    }
  };
  const height = newest[0]!.height - 1;
  const [last] = await sql(
    explored.indexer,
    `SELECT MAX(action_index) AS action FROM actions WHERE block_index <= ${height}`
  );
  const isOld = (row: Readonly<Record<string, unknown>>) =>
    Number(row['block_index'] ?? 0) <= height && Number(row['action_index'] ?? 0) <= Number(last?.['action']);
  /** Returns the part of a row that later blocks leave as it is. */
  const keyOf = (path: string, row: Readonly<Record<string, unknown>>) =>
    JSON.stringify(
      path.includes('height=') ? row : [row['block_hash'], row['action_index'], row['tick'], row['address']]
    );
  const keysOf = async (path: string) =>
    (await walk(explorer.url, path, { isOld }))?.map((row) => keyOf(path, row)).join('\n') ?? null;
  const expected = new Map<string, string | null>();
  for (const path of pathsAt(height)) {
    const began = performance.now();
    expected.set(path, await keysOf(path));
    slowestMs = Math.max(slowestMs, performance.now() - began);
  }
  let walks = 0;
  /** Lists of which a walk ended, and of which one was given up: on a busy machine each has reorgs in its way at times. */
  const [ended, unended] = [new Set<string>(), new Set<string>()];
  const differences: string[] = [];
  const compare = async () => {
    while (performance.now() < until)
      for (const [path, rows] of expected) {
        const found = await keysOf(path);
        if (found === null) unended.add(path);
        else ended.add(path);
        if (found !== null && found !== rows) differences.push(path);
        walks++;
        if (performance.now() > until) return;
      }
  };
  const statuses = new Map<number, number>();
  let requests = 0;
  let unanswered: ReadonlySet<string> | undefined;
  const check = async () => {
    for (let round = 0; performance.now() < until; round++) {
      // The first round asks everything, however long that takes.
      const rest = round === 0 ? {} : { until };
      const checked = await checkByDescription({ url: explorer.url, runs: RUNS, seed: seed + round, ...rest });
      requests += checked.requests;
      unanswered = unanswered?.intersection(checked.unanswered) ?? checked.unanswered;
      for (const [status, count] of checked.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count);
    }
  };
  const until = performance.now() + minutes * 60_000;
  const [followed] = await Promise.all([follow(explorer.port, until), check(), churn(), compare()]);
  explored.store.close();
  assert.deepEqual([...(unanswered ?? [])], [], 'operations that had no answer of status 200');
  assert.deepEqual(differences, [], 'walks that differ from the list at one height');
  assert.deepEqual([...unended.difference(ended)], [], 'lists whose walks reorgs never let end');
  assert.deepEqual(followed.faults, [], 'frames that break their shape or order');
  for (const type of ['NEW_BLOCK', 'NEW_ACTION', 'ADDRESS_UPDATE', 'TOKEN_UPDATE', 'SNAPSHOT', 'CATCH_UP_COMPLETE'])
    assert.ok(followed.types.has(type), `no frame ${type} came: ${[...followed.types].join()}`);
  for (const [status, count] of [...statuses].sort()) console.log(`${String(count).padStart(9)} ${status}`);
  console.log(
    `seed ${seed}: ${requests} requests in ${minutes} min, ${reorgs} reorgs, 0 server errors, 0 broken schemas; ${walks} walks of ${expected.size} lists, 0 differences; ${followed.frames} frames over ${followed.cuts} connections`
  );
});
