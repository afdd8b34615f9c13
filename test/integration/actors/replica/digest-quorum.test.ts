import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { appendBlocks, createIndexer } from '../../../support/sync/generated-indexer.ts';
import { startLyingSource } from '../../../support/sync/lying-source.ts';
import { startIndexerServer } from '../../../support/sync/one-server.ts';
import { ReplicaThread } from '../../../support/sync/replica-thread.ts';

const SIZE = { seed: 'quorum', blocks: 10, rows: 300 };
const EPOCH = 5;

// Two databases of the same blocks. One lies about rows that no hash and no root covers.
const [honestRows, falseRows] = [await createDatabase('quorum'), await createDatabase('quorum_false')];
for (const to of [honestRows, falseRows]) await createIndexer(to, SIZE);
await sql(falseRows, 'UPDATE tokens SET supply = supply + 1 ORDER BY id LIMIT 1');
let tip = 109;
const [honest, liar] = [await startIndexerServer(honestRows), await startIndexerServer(falseRows)];
/** Another way to the honest rows. */
const second = (await startLyingSource(honest)).url;

async function follow(sources: readonly string[]): Promise<ReplicaThread> {
  return new ReplicaThread(await createDatabase('quorum_replica'), 'indexer', sources, { epochSize: EPOCH });
}

const standingOf = ({ report }: ReplicaThread) => report!.replica!;

test('one of three sources is followed and lies about rows that no root covers: unverified, by name', async () => {
  const replica = await follow([liar, honest, second]);
  await replica.until('compared', ({ replica: standing }) => standing!.verification !== 'pending');
  const { verification, verifiedHeight, unconfirmed } = standingOf(replica);
  assert.deepEqual([verification, verifiedHeight, unconfirmed], ['unverified', null, ['tokens']]);
  assert.ok(replica.source(liar)!.dissents > 0, 'who is followed is in the minority');
  for (const url of [honest, second]) {
    assert.equal(replica.source(url)!.digests, `differs at block ${tip}: tokens`);
    assert.equal(replica.source(url)!.dissents, 0);
  }
  await replica.end();
});

test('one of three lies and is not followed: verified, and the liar is named in its turn', async () => {
  const replica = await follow([honest, liar, second]);
  await replica.until('verified', ({ replica: standing }) => standing!.verification === 'verified');
  assert.deepEqual([standingOf(replica).verifiedHeight, standingOf(replica).unconfirmed], [tip, []]);
  await replica.handle.ask('verify.request', {});
  await replica.until('the liar is named', () => replica.source(liar)!.dissents > 0);
  await replica.until('verified again', ({ replica: standing }) => standing!.verification === 'verified');
  for (const url of [honest, second]) assert.equal(replica.source(url)!.dissents, 0);
  await replica.end();
});

test('a source without digests confirms nothing; when it has them, the replica is verified', async () => {
  let isThere = false;
  const silent = await startLyingSource(honest, undefined, (path) => !isThere && path.startsWith('/digest/'));
  const replica = await follow([honest, silent.url]);
  await replica.until('compared', ({ replica: standing }) => standing!.verification !== 'pending');
  assert.deepEqual([standingOf(replica).verification, standingOf(replica).verifiedHeight], ['unverified', null]);
  assert.ok(standingOf(replica).unconfirmed.length > 0);
  assert.equal(replica.source(silent.url)!.digests, 'offers no digests');
  isThere = true;
  tip = await appendBlocks(honestRows, EPOCH, 'more');
  await replica.until('verified', ({ replica: standing }) => standing!.verifiedHeight === tip);
  assert.deepEqual([standingOf(replica).verification, standingOf(replica).unconfirmed], ['verified', []]);
  await replica.end();
});
