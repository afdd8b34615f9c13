import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { readNumber } from '../../src/cli/options.ts';
import { readArguments } from '../support/arguments.ts';
import { checkByDescription } from '../support/explorer-client.ts';
import { createExplored } from '../support/explorer-database.ts';
import { startExplorer } from '../support/explorer-process.ts';
import { runProgram } from '../support/program.ts';

/*
 * npm run explorer-check -- --minutes M --seed S
 *
 * Asks an explorer for whatever its /openapi.json describes, with made-up parameters, for so many minutes, while the newest blocks of its
 * ledger are taken back and come again. A status of 500 and above or an answer that breaks its schema ends it, with seed and path.
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
  const until = performance.now() + minutes * 60_000;
  let reorgs = 0;
  const churn = async () => {
    const newest = explored.blocks.slice(-CHURN_BLOCKS);
    for (; performance.now() < until; reorgs++) {
      await sleep(CHURN_MS);
      await explored.store.rollBack(newest[0]!.height);
      await sleep(CHURN_MS);
      await explored.store.addBlocks(newest);
    }
  };
  const statuses = new Map<number, number>();
  let requests = 0;
  let unanswered: ReadonlySet<string> | undefined;
  const check = async () => {
    for (let round = 0; performance.now() < until; round++) {
      const checked = await checkByDescription({ url: explorer.url, runs: RUNS, seed: seed + round, until });
      requests += checked.requests;
      unanswered = unanswered?.intersection(checked.unanswered) ?? checked.unanswered;
      for (const [status, count] of checked.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count);
    }
  };
  await Promise.all([check(), churn()]);
  explored.store.close();
  assert.deepEqual([...(unanswered ?? [])], [], 'operations that had no answer of status 200');
  for (const [status, count] of [...statuses].sort()) console.log(`${String(count).padStart(9)} ${status}`);
  console.log(
    `seed ${seed}: ${requests} requests in ${minutes} min, ${reorgs} reorgs, 0 server errors, 0 broken schemas`
  );
});
