import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { appendBlocks, createDecoder } from '../../../support/sync/generated-decoder.ts';
import { startLyingSource } from '../../../support/sync/lying-source.ts';
import { ReplicaThread } from '../../../support/sync/replica-thread.ts';
import { type SyncPair, startPair } from '../../../support/sync/sync-pair.ts';
import { eventually } from '../../../support/sync/sync-process.ts';

const OPTIONS = { verifyHashes: false, dispensersIntervalMs: 200 };
let pair: SyncPair;
let tip = 119;
before(async () => {
  const source = await createDatabase('dispensers');
  await createDecoder(source, { seed: 'dispensers', blocks: 20, rows: 400 });
  await setDispensers(source, '(3, 8, NULL, NULL, 2, NULL)');
  pair = await startPair('decoder', source);
});

async function setDispensers(of: DatabaseCoordinates, values: string): Promise<void> {
  await sql(of, 'DELETE FROM dispensers', `INSERT INTO dispensers VALUES ${values}`);
}

const rowsOf = async (of: DatabaseCoordinates) => sql(of, 'SELECT * FROM dispensers ORDER BY tx_index, address_id');
const areSame = async (to: DatabaseCoordinates) =>
  JSON.stringify(await rowsOf(to)) === JSON.stringify(await rowsOf(pair.source));

test('replaced once the replica has caught up, and again from time to time, with or without a block', async () => {
  const to = await createDatabase('dispensers_replica');
  const replica = new ReplicaThread(to, 'decoder', [pair.server.url], OPTIONS);
  await replica.isLiveAt(tip);
  assert.ok(await areSame(to));
  assert.equal(replica.report?.replica?.dispensers?.height, tip);

  await setDispensers(pair.source, '(4, 8, 90, 3, 2, NULL), (5, 9, NULL, NULL, 2, 7)');
  await eventually('the new dispensers came', () => areSame(to));
  tip = await appendBlocks(pair.source, 2, 'more');
  await replica.isLiveAt(tip);
  await replica.until('it says as of which block', ({ replica: shown }) => shown?.dispensers?.height === tip);
  await replica.end();
});

test('wrong or missing answers of a source leave them as they are and the replica live', async () => {
  let answer: object | null = null;
  const liar = await startLyingSource(
    pair.server.url,
    (path, body) => (path.startsWith('/snapshot-dispensers') ? { ...body, ...answer } : body),
    (path) => answer === null && path.startsWith('/snapshot-dispensers')
  );
  const asked = () => liar.paths.filter((path) => path.startsWith('/snapshot-dispensers')).length;
  const askedAgain = async () => {
    const before = asked();
    await eventually('it asked twice more', async () => asked() >= before + 2);
  };
  const to = await createDatabase('dispensers_replica');
  const replica = new ReplicaThread(to, 'decoder', [liar.url], OPTIONS);
  await replica.isLiveAt(tip);
  const bootstrapped = await rowsOf(to);
  assert.equal(replica.report?.replica?.dispensers?.height, tip, 'as of the snapshot');
  await setDispensers(pair.source, '(6, 8, NULL, NULL, 2, NULL)');
  for (const wrong of [null, { has_more: true }, { rows: [{ tx_index: 1 }] }, { rows: {} }]) {
    answer = wrong;
    await askedAgain();
    assert.deepEqual(await rowsOf(to), bootstrapped, JSON.stringify(wrong));
    assert.equal(replica.report?.phase, 'live');
    assert.equal(replica.report?.lastError, null);
  }
  answer = {};
  await eventually('the right answer is taken', () => areSame(to));
  await replica.until('no height was told with it', ({ replica: shown }) => shown?.dispensers?.height === null);
  await replica.end();
});
