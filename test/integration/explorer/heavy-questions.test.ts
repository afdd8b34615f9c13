import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CircuitBreaker } from '../../../actors/runtime/thread/circuit.ts';
import { MOST_QUEUED } from '../../../src/db/connection.ts';
import { Reader } from '../../../src/explorer/read/reader.ts';
import { openLink } from '../../support/link.ts';
import { createDatabase } from '../../support/mariadb.ts';

const LIMIT_MS = 300;
const HEAVY = 'SELECT COUNT(*) AS n FROM seq_1_to_1000000 a JOIN seq_1_to_1000000 b ON a.seq + b.seq < 0';

test('QUESTION_TOO_HEAVY: questions that take too long leave the circuit closed, for the database answers', async (t) => {
  const breaker = new CircuitBreaker({
    failureThreshold: 2,
    cooldownMs: 60_000,
    trialTimeoutMs: 1_000,
    inspect: () => undefined,
    onChange: (state) => assert.fail(`the circuit is ${state}`)
  });
  const database = await createDatabase('heavy');
  const reader = new Reader({ database, connections: 2, limitMs: LIMIT_MS, breaker, opening: 'SELECT 1 AS one' });
  t.after(() => reader.close());
  for (let times = 0; times < 3; times++) {
    const asked = [
      reader.read((query) => query(HEAVY)),
      reader.read(async (query) => {
        for (let part = 0; part < 20; part++) await query(`SELECT SLEEP(${LIMIT_MS / 2_000}) AS part`);
      })
    ];
    for (const read of asked) await assert.rejects(read, { code: 'QUESTION_TOO_HEAVY' });
  }
  assert.equal(breaker.state, 'closed');
  assert.deepEqual(await reader.read((query) => query<{ one: number }>('SELECT 1 AS one')), [{ one: 1 }]);
});

test('ANSWERS_WAITING: as many wait for a connection as may, one more is refused at once, and no circuit opens', async (t) => {
  const breaker = new CircuitBreaker({
    failureThreshold: 2,
    cooldownMs: 60_000,
    trialTimeoutMs: 1_000,
    inspect: () => undefined,
    onChange: (state) => assert.fail(`the circuit is ${state}`)
  });
  const database = await createDatabase('crowded');
  const reader = new Reader({ database, connections: 1, limitMs: 5_000, breaker, opening: 'SELECT 1 AS one' });
  t.after(() => reader.close());
  const began = performance.now();
  const holding = reader.read((query) => query('SELECT SLEEP(1) AS slept'));
  const refusals: number[] = [];
  const crowd = Array.from({ length: 300 }, () =>
    reader
      .read(async () => null)
      .catch((caught) => {
        assert.equal(caught.code, 'ANSWERS_WAITING');
        refusals.push(performance.now() - began);
      })
  );
  await holding;
  assert.equal(refusals.length, 300 - MOST_QUEUED);
  assert.ok(Math.max(...refusals) < 900, 'at once');
  await Promise.all(crowd);
  assert.deepEqual([refusals.length, breaker.state], [300 - MOST_QUEUED, 'closed']);
});

test('a statement on a connection that says nothing any more fails with its read, so that nothing behind it waits for ever', async (t) => {
  const database = await createDatabase('silent');
  const link = await openLink(`http://127.0.0.1:${database.port}`);
  const port = Number(new URL(link.url).port);
  const breaker = { refuses: false, tell: () => undefined };
  const reader = new Reader({
    database: { ...database, host: '127.0.0.1', port },
    connections: 1,
    limitMs: 3_000,
    breaker,
    opening: 'SELECT 1 AS one'
  });
  t.after(() => reader.close());
  const statement = 'SELECT 1 AS one';
  let waiting: Promise<unknown> | undefined;
  const read = reader.read(async (query) => {
    await query(statement);
    link.hold(60_000);
    waiting = query(statement);
    return await waiting;
  });
  await assert.rejects(read, { code: 'QUESTION_TOO_HEAVY' });
  await assert.rejects(Promise.race([waiting, sleep(5_000)]), /the connection was ended here/);
  await reader.read((query) => query(statement));
  link.hold(60_000); // the end of its snapshot may be under way
  const until = performance.now() + 20_000;
  while (!(await reader.read((query) => query(statement)).catch(() => null)))
    assert.ok(performance.now() < until, 'its place in the pool is lost');
});
