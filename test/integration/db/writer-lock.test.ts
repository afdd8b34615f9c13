import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../../src/db/connection.ts';
import { lookAtWriter, replicaLock, type WriterLook, WriterWatch } from '../../../src/db/writer-lock.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { createDatabase } from '../../support/mariadb.ts';

const alarmOf = ({ alarm }: WriterWatch) => alarm;
const HELD: WriterLook = { isHeld: true, isWaiting: false, isOwn: true };
const GONE: WriterLook = { isHeld: false, isWaiting: false, isOwn: true };
const FOREIGN: WriterLook = { isHeld: false, isWaiting: false, isOwn: false };

test('UPSTREAM_STOPPED: a look tells whether a writer or a replica holds a database, and whether it goes on', async () => {
  const database = await createDatabase('decoder');
  const connection = await connect(database);
  const look = () => lookAtWriter((sql) => rows(connection, sql), 'decoder', database);
  assert.deepEqual(await look(), FOREIGN);
  const store = await openDecoderStore(database);
  assert.deepEqual(await look(), HELD);
  await store.database.tellWaiting(true);
  assert.deepEqual(await look(), { ...HELD, isWaiting: true });
  await store.database.tellWaiting(false);
  assert.deepEqual(await look(), HELD);
  await store.database.tellWaiting(true);
  await store.database.close();
  while ((await look()).isHeld); // the server ends the session when it sees that its connection is gone
  assert.deepEqual(await look(), GONE);
  await rows(connection, 'SELECT GET_LOCK(?, 0)', [replicaLock(database.name)]);
  assert.deepEqual(await look(), HELD);
  await connection.end();
});

test('UPSTREAM_STOPPED: a writer that is gone for 5 s has stopped, also where it was never seen', () => {
  for (const before of [[], [HELD]]) {
    const watch = new WriterWatch('decoder');
    for (const look of before) watch.note(look, 7, 0);
    watch.note(GONE, 8, 1_000);
    watch.note(GONE, 8, 4_900);
    assert.equal(alarmOf(watch), null);
    watch.note(GONE, 8, 6_000);
    assert.deepEqual(
      [alarmOf(watch)?.code, alarmOf(watch)?.reason],
      ['UPSTREAM_STOPPED', 'no decoder writes the database']
    );
    watch.note(GONE, 8, 60_000);
    assert.equal(alarmOf(watch)?.since, before.length === 0 ? 1_000 : 0);
    watch.note(HELD, 8, 61_000);
    assert.equal(alarmOf(watch), null);
    watch.note({ ...HELD, isWaiting: true }, 8, 62_000);
    assert.equal(alarmOf(watch)?.reason, 'the decoder does not go on');
  }
});

test('nothing is told of a database whose writer holds no lock, or none that this server sees', () => {
  const foreign = new WriterWatch('decoder');
  for (let second = 0; second < 100; second++) foreign.note(FOREIGN, 7, second * 1_000);
  assert.equal(alarmOf(foreign), null);

  const copied = new WriterWatch('indexer');
  for (let second = 0; second < 10; second++) copied.note(GONE, 7, second * 1_000);
  assert.notEqual(alarmOf(copied), null);
  for (let second = 10; second < 100; second++) copied.note(GONE, 8, second * 1_000);
  assert.equal(alarmOf(copied), null);
});
