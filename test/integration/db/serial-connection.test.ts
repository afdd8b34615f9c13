import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect, rows } from '../../../src/db/connection.ts';
import { SerialConnection } from '../../../src/db/serial-connection.ts';
import { createDatabase } from '../../support/mariadb.ts';

async function openLine(deadlineMs?: number): Promise<{ line: SerialConnection; opened: () => number }> {
  const database = await createDatabase('line');
  let count = 0;
  const open = () => {
    count += 1;
    return connect(database);
  };
  return { line: new SerialConnection(open, deadlineMs), opened: () => count };
}

const idOf = async (connection: Connection) => (await rows(connection, 'SELECT CONNECTION_ID() AS id'))[0]?.['id'];

test('one connection serves one use after another', async (t) => {
  const { line, opened } = await openLine();
  t.after(() => line.destroy());
  const order: string[] = [];
  const slow = line.use(async (connection) => {
    await connection.query('SELECT SLEEP(0.1)');
    order.push('slow');
    return idOf(connection);
  });
  const fast = line.use(async (connection) => {
    order.push('fast');
    return idOf(connection);
  });
  assert.equal(await slow, await fast);
  assert.deepEqual([order, opened()], [['slow', 'fast'], 1]);
});

test('a connection that saw an error is never used again, and the next use is not harmed', async (t) => {
  const { line, opened } = await openLine();
  t.after(() => line.destroy());
  const before = await line.use(idOf);
  await assert.rejects(
    line.use((connection) => connection.query('SELECT nonsense FROM nowhere')),
    { code: 'DATABASE_UNAVAILABLE' }
  );
  await assert.rejects(
    line.use(async () => (undefined as unknown as string).length),
    TypeError
  );
  assert.notEqual(await line.use(idOf), before);
  assert.equal(opened(), 3);
});

test('a statement that is not answered fails at its deadline', async (t) => {
  const { line } = await openLine(100);
  t.after(() => line.destroy());
  await assert.rejects(
    line.use((connection) => connection.query('SELECT SLEEP(?)', [2])),
    { code: 'DATABASE_UNAVAILABLE' }
  );
  assert.ok(await line.use(idOf));
});

test('a connection that MariaDB ended while it rested is replaced, and its work is done on another', async (t) => {
  const database = await createDatabase('line_rest');
  const line = new SerialConnection(() => connect(database));
  const other = await connect(database);
  t.after(() => {
    line.destroy();
    other.destroy();
  });
  const end = async (id: unknown) => void (await other.query(`KILL CONNECTION ${String(id)}`));
  const first = await line.use(idOf);
  await sleep(1_100);
  await end(first);
  const second = await line.use(idOf); // its end may not have been heard of yet
  assert.notEqual(second, first);
  await end(second);
  await sleep(200);
  const third = await line.use(idOf);
  assert.notEqual(third, second);
  // In the middle of its work it is not tried again.
  await assert.rejects(
    line.use(async (connection) => {
      await end(await idOf(connection));
      await connection.query('DO 1').catch(() => undefined);
      await sleep(50);
      await connection.query('DO 1');
    }),
    { code: 'DATABASE_UNAVAILABLE', message: /closed state/ }
  );
  assert.ok(await line.use(idOf));
});

test('work whose rested connection is lost after an answer fails: what it kept of the answer is not read twice', async (t) => {
  const database = await createDatabase('line_middle');
  const line = new SerialConnection(() => connect(database));
  const other = await connect(database);
  t.after(() => {
    line.destroy();
    other.destroy();
  });
  await line.use(idOf);
  await sleep(1_100);
  const read: unknown[] = [];
  const work = line.use(async (connection) => {
    read.push(await idOf(connection));
    await other.query(`KILL CONNECTION ${String(read[0])}`);
    await connection.query('DO SLEEP(1)');
  });
  await assert.rejects(work, { code: 'DATABASE_UNAVAILABLE' });
  assert.equal(read.length, 1);
});
