import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SnapshotReaders } from '../../../../src/replication/source/feed/readers.ts';

const STANDING = { height: 5, tables: {}, lookups: {} };

/** Readers of a source at block 5, and what became of them, in order. */
function open(patienceMs = 10_000) {
  const seen: string[] = [];
  const readers: SnapshotReaders = new SnapshotReaders({
    patienceMs,
    height: () => 5,
    reconcile: ({ height }) => void seen.push(`met at ${height}`),
    keep: async () => void seen.push(readers.isUncertain ? 'uncertain' : 'certain')
  });
  const group = () => readers.between(async () => void seen.push('group'));
  return { readers, seen, group };
}

test('a group begins when every snapshot that ended before it is noted', async () => {
  const { readers, seen, group } = open();
  await readers.pauseGroups('one', 5);
  await readers.pauseGroups('two', 5);
  const sent = group();
  await readers.reconcile('one', STANDING);
  await readers.reconcile('two', null);
  await sent;
  assert.deepEqual(seen, ['uncertain', 'uncertain', 'met at 5', 'uncertain', 'certain', 'group']);
});

test('a snapshot that ends while a group waits does not keep it waiting, and ends after it', async () => {
  const { readers, seen, group } = open();
  await readers.pauseGroups('one', 5);
  const sent = group();
  const later = readers.pauseGroups('two', 5).then(() => seen.push('held'));
  await readers.reconcile('one', STANDING);
  await sent;
  await later;
  assert.deepEqual(seen, ['uncertain', 'met at 5', 'certain', 'group', 'uncertain', 'held']);
});

test('a snapshot is not noted while a group is read', async () => {
  const { readers, seen } = open();
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const sent = readers.between(async () => {
    begun.resolve();
    await ended.promise;
    seen.push('group');
  });
  await begun.promise;
  const noted = readers.reconcile('one', STANDING);
  ended.resolve();
  await Promise.all([sent, noted]);
  assert.deepEqual(seen, ['group', 'met at 5', 'certain']);
});

test('a group that fails lets those go on who wait for its end', async () => {
  const { readers, seen } = open();
  const failed = readers.between(async () => Promise.reject(new Error('lost')));
  const held = readers.pauseGroups('one', 5);
  await assert.rejects(failed, /lost/);
  await held;
  assert.deepEqual(seen, ['uncertain']);
});

test('neither a build that dies nor a block that is never reached is waited for without end', async () => {
  const { readers, seen, group } = open(20);
  await readers.pauseGroups('dead', 5);
  const sent = group();
  const orphaned = readers.pauseGroups('orphaned', 6);
  await Promise.all([sent, orphaned]);
  assert.ok(seen.includes('group'));
  assert.equal(readers.isUncertain, false);
});
