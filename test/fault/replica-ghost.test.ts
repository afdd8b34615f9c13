import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { reap } from '../../actors/runtime/supervision/reaper.ts';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import { readReplicaState } from '../../src/replication/replica/database/state.ts';
import { openWriter } from '../../src/replication/replica/database/writer-connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { startOwnServer } from '../support/mariadb.ts';
import { apply, content, createReplica, FIRST, SECOND } from '../support/sync/small-replica.ts';
import { eventually } from '../support/sync/sync-process.ts';

const THREAD = new URL('../fixtures/applying-thread.ts', import.meta.url);
const GHOST = 7;
const PAUSE_MS = 300;

/** Locks of another client, in which the ghost's statement hangs. */
const ROW = { take: ['BEGIN', 'SELECT * FROM tokens FOR UPDATE'], release: 'ROLLBACK', hangs: 'tokens' };
/** Holds back every COMMIT of the server. */
const COMMIT = {
  take: ['START', 'FLUSH', 'BLOCK_DDL', 'BLOCK_COMMIT'].map((stage) => `BACKUP STAGE ${stage}`),
  release: 'BACKUP STAGE END',
  hangs: 'COMMIT'
};

interface Haunted {
  readonly to: DatabaseCoordinates;
  readonly before: Record<string, string[]>;
  /** Lets the ghost's statement go on. */
  release(): Promise<void>;
  /** Opens the successor's writer; pending while the ghost is there. */
  readonly successor: Promise<Connection>;
}

let server: ReturnType<typeof startOwnServer> | undefined;
let count = 0;

/** A replica at height 1 whose actor's thread was ended while a statement of its group of blocks 2 and 3 runs. */
async function haunted({ take, release, hangs }: typeof ROW): Promise<Haunted> {
  server ??= startOwnServer();
  const { root } = await server;
  const { to, writer } = await createReplica({ ...root, name: `ghost_${++count}` });
  await apply(writer, [FIRST]);
  const before = await content(writer);
  await writer.end();
  const blocker = await connect(to);
  const thread = new Worker(THREAD, { workerData: { coordinates: to, generation: GHOST } });
  await once(thread, 'message');
  for (const statement of take) await blocker.query(statement);
  thread.postMessage('go');
  const isStuck = async () => {
    const found = await rows<{ info: string }>(
      blocker,
      'SELECT INFO AS info FROM information_schema.PROCESSLIST WHERE DB = ? AND TIME_MS > 100 AND INFO LIKE ?',
      [to.name, `/* platform ${to.name} ${GHOST} */%`]
    );
    return found.some(({ info }) => info.includes(hangs));
  };
  await eventually('the statement hangs', isStuck).catch(async (fault: unknown) => {
    blocker.destroy();
    await thread.terminate();
    throw fault;
  });
  await thread.terminate();
  const successor = openWriter(to, { generation: GHOST + 1 });
  await sleep(PAUSE_MS);
  assert.ok(await isStuck(), 'a thread that ends does not end its statement');
  assert.equal(await Promise.race([successor, sleep(0, 'waits')]), 'waits');
  return {
    to,
    before,
    successor,
    release: async () => {
      await blocker.query(release);
      await blocker.end();
    }
  };
}

/** The successor finds all or nothing of the ghost's group, and the group is in once when it has done what is left. */
async function assertWhole(writer: Connection, before: Record<string, string[]>): Promise<number> {
  const { height } = await readReplicaState(writer);
  if (height === 1) {
    assert.deepEqual(await content(writer), before);
    await apply(writer, SECOND);
  }
  assert.equal((await readReplicaState(writer)).height, 3);
  const { sends, transactions, tokens } = await content(writer);
  assert.deepEqual([sends!.length, transactions!.length, tokens!.length], [3, 4, 1]);
  await writer.end();
  return height!;
}

test('a statement that a dead thread left running keeps its successor out; when it ends nothing of its group is there', async () => {
  const { before, successor, release } = await haunted(ROW);
  await release();
  assert.equal(await assertWhole(await successor, before), 1);
});

test('a COMMIT that a dead thread left running may still take effect: the successor waits, and reads the height after it', async () => {
  const { before, successor, release } = await haunted(COMMIT);
  await release();
  assert.equal(await assertWhole(await successor, before), 3);
});

for (const [name, lock] of Object.entries({ statement: ROW, COMMIT })) {
  test(`the reaper ends a dead thread's ${name}: the successor is in at once, and the group is in once`, async () => {
    const { to, before, successor, release } = await haunted(lock);
    assert.equal(await reap(to, to.name, GHOST), 1);
    const writer = await Promise.race([successor, sleep(2_000, null)]);
    assert.ok(writer, 'the successor still waits');
    await release();
    await assertWhole(writer, before);
  });
}

test('REPLICA_LOCKED: a statement that nobody ends keeps the replica, and the successor says which connection it is', async () => {
  const { to, successor, release } = await haunted(ROW);
  await assert.rejects(openWriter(to, { generation: 9, lockPatienceS: 0 }), {
    code: 'REPLICA_LOCKED',
    message: /^another client writes to ghost_\d+: connection \d+ of its server \(.+\) holds the lock/
  });
  await release();
  await (await successor).end();
});
