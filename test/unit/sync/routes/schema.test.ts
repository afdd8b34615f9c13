import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SnapshotQuery } from '../../../../src/wire/data/snapshot.ts';
import { INDEXER, openFrontDoor } from '../../../support/sync/front-door.ts';

const PATH = `/schema/${INDEXER.dbType}/${INDEXER.chain}/${INDEXER.network}`;

/** A front door whose source has a schema that the test changes, and answers when the test says. */
async function openSource() {
  const asked: { known?: string }[] = [];
  const waiting: (() => void)[] = [];
  const state = { fingerprint: 'one' };
  const frontDoor = await openFrontDoor({
    answers: {
      'schema.read': async (ask: { known?: string }) => {
        const { fingerprint } = state;
        asked.push(ask);
        await new Promise<void>((resolve) => waiting.push(resolve));
        return { body: ask.known === fingerprint ? null : JSON.stringify({ fingerprint }), fingerprint };
      }
    }
  });
  const answerAll = async (answers: readonly Promise<unknown>[]) => {
    let isDone = false;
    const done = Promise.all(answers).then(() => {
      isDone = true;
    });
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      waiting.shift()?.();
    }
    await done;
  };
  return { ...frontDoor, asked, state, answerAll };
}

test('many requests for the schema at once are two questions, and the source sends its text once', async () => {
  const { app, asked, answerAll } = await openSource();
  const answers = Array.from({ length: 200 }, () => app.inject(PATH));
  await answerAll(answers);
  for (const { statusCode, body, headers } of await Promise.all(answers)) {
    assert.equal(statusCode, 200);
    assert.deepEqual(JSON.parse(body), { fingerprint: 'one' });
    assert.equal(headers['x-schema-fingerprint'], 'one');
  }
  assert.deepEqual(asked, [{}, { known: 'one' }]);
});

test('a caller gets the schema as it was after it asked', async () => {
  const { app, asked, state, answerAll } = await openSource();
  const before = app.inject(PATH).then((answer) => answer);
  while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
  state.fingerprint = 'two';
  const after = app.inject(PATH).then((answer) => answer);
  await answerAll([before, after]);
  assert.equal((await before).headers['x-schema-fingerprint'], 'one');
  assert.equal((await after).headers['x-schema-fingerprint'], 'two');
});

test('RATE_LIMITED: what an address asks of a source has limits, 600 a minute, and no other pays for it', async () => {
  const { app } = await openFrontDoor({
    answers: {
      'schema.read': () => ({ body: '{}', fingerprint: 'f' }),
      'snapshot.describe': ({ query }: { query: SnapshotQuery }) => ({ key: 'k', id: INDEXER, query })
    }
  });
  for (const [method, url] of [
    ['GET', PATH],
    ['HEAD', PATH.replace('schema', 'snapshot')]
  ] as const) {
    const ask = async (remoteAddress: string) => (await app.inject({ method, url, remoteAddress })).statusCode;
    for (let n = 0; n < 600; n++) assert.equal(await ask('10.0.0.1'), 200, `${method} ${n}`);
    assert.equal(await ask('10.0.0.1'), 429);
    assert.equal(await ask('10.0.0.2'), 200);
  }
});
