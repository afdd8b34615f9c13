import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDatabase } from '../../../support/mariadb.ts';
import { appendBlocks, createIndexer, reorg } from '../../../support/sync/generated-indexer.ts';
import { ReplicaWatch } from '../../../support/sync/replica-watch.ts';

/** Forks are above it. */
const START = 129;
/** Blocks taken back, and blocks of the other branch: to a higher, an equal and a lower height. */
const FORKS: readonly (readonly [what: string, depth: number, count: number])[] = [
  ['higher height', 3, 5],
  ['equal height', 1, 1],
  ['lower height', 6, 2],
  ['lower height, deep', 20, 8]
];

test('every fork is told by its true height, once, and its branch follows without a gap: live and after a restart', async (t) => {
  const database = await createDatabase('continuity');
  await createIndexer(database, { seed: 'a', blocks: 30, rows: 400 });
  const watch = await ReplicaWatch.start(t, database, 'indexer');
  let height = START;
  await watch.settle(height);
  for (const isDown of [false, true]) {
    for (const [what, depth, count] of FORKS) {
      await t.test(`${what}, the actor ${isDown ? 'down' : 'live'}`, async () => {
        const grown = await appendBlocks(database, Math.max(0, START + depth - height), `${what} ${isDown}`);
        await watch.settle(grown);
        const fork = grown - depth + 1;
        const before = watch.source.messages.length;
        if (isDown) await watch.kill();
        height = await reorg(database, depth, count, `${what} ${isDown}`);
        assert.equal(height, fork + count - 1);
        if (isDown) watch.resume();
        const heard = () => watch.source.messages.slice(isDown ? 0 : before);
        await watch.source.until(() => heard().some(({ type }) => type === 'reorg'), 'the reorg');
        await watch.settle(height);
        const [first, ...rest] = heard().map(({ type, block_index }) => ({ type, block_index }));
        assert.deepEqual(first, { type: 'reorg', block_index: fork });
        const branch = Array.from({ length: count }, (_, index) => ({ type: 'block', block_index: fork + index }));
        assert.deepEqual(rest, branch);
      });
    }
  }
});
