import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect, rows } from '../../../src/db/core/connection.ts';
import { SerialConnection } from '../../../src/db/core/serial-connection.ts';
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
