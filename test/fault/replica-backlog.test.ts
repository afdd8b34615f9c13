import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { connect, rows } from '../../src/db/connection.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase } from '../support/mariadb.ts';
import { appendBlocks, createIndexer, reorg } from '../support/sync/generated-indexer.ts';
import { ReplicaThread } from '../support/sync/replica-thread.ts';
import { differences, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';

let source: DatabaseCoordinates;
let replica: DatabaseCoordinates;
let pair: SyncPair;
let thread: ReplicaThread;
before(async () => {
  source = await createDatabase('backlog');
  await createIndexer(source, { seed: 'backlog', blocks: 20, rows: 400 });
  pair = await startPair('indexer', source, { BLOCK_POLL_INTERVAL: 100 });
  replica = await createDatabase('backlog_replica');
  thread = new ReplicaThread(replica, 'indexer', [pair.server.url], { verifyHashes: false });
  await thread.isLiveAt(119);
});

/** Holds the replica's next transaction up while something happens at the source. */
async function meanwhile(work: () => Promise<number>): Promise<void> {
  const holder = await connect(replica);
  await holder.query('BEGIN');
  await holder.query('SELECT * FROM sync_state FOR UPDATE');
  const tip = await work();
  await isServed(tip);
  await holder.query('COMMIT');
  holder.destroy();
  await thread.isLiveAt(tip);
  const verdict = await compareDatabases(source, replica);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
}

function isServed(tip: number): Promise<void> {
  return eventually('the server is there', async () => (await pair.status(pair.server))['block_height'] === tip);
}

/** Writes blocks, each of which the server finds by itself. */
async function oneByOne(count: number, seed: string): Promise<number> {
  let tip = 0;
  for (let each = 1; each <= count; each += 1) {
    tip = await appendBlocks(source, 1, `${seed} ${each}`);
    await isServed(tip);
  }
  return tip;
}

async function groupsInJournal(): Promise<number> {
  const connection = await connect(replica);
  const [found] = await rows(connection, "SELECT COUNT(*) AS n FROM sync_undo WHERE kind = 'group'");
  connection.destroy();
  return Number(found!['n']);
}

test('groups that waited for the database are applied, each with its own undo images', async () => {
  const before = await groupsInJournal();
  await meanwhile(() => oneByOne(12, 'waiting'));
  assert.ok((await groupsInJournal()) - before >= 10);
});

test('a reorg among groups that wait is followed', async () => {
  await meanwhile(async () => {
    await oneByOne(4, 'before the reorg');
    await reorg(source, 2, 4, 'reorg');
    return oneByOne(3, 'after the reorg');
  });
});
