import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INDEXER, openFrontDoor, reportOf } from '../../../support/sync/front-door.ts';

const AT = 'bitcoin/regtest';

test('403 WRONG_MODE in client mode for what only a server has, after 400 and before 404', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_MODE: 'client' }, reports: [reportOf(INDEXER)] });
  for (const path of ['schema', 'snapshot', 'digest', 'subscribe']) {
    for (const database of [`indexer/${AT}`, 'indexer/no/where']) {
      const answer = await app.inject(`/${path}/${database}`);
      assert.equal(answer.statusCode, 403, path);
      assert.equal(answer.json().code, 'WRONG_MODE');
    }
    assert.equal((await app.inject(`/${path}/nonsense/${AT}`)).statusCode, 400, path);
  }
  assert.equal((await app.inject(`/snapshot/indexer/${AT}/since/5`)).statusCode, 403);
});

test('no path without its dbType, as paths were once, is answered', async () => {
  const { app } = await openFrontDoor({ reports: [reportOf(INDEXER)] });
  const paths = ['schema', 'snapshot', 'status', 'digest', 'subscribe', 'validator-status'].map(
    (path) => `/${path}/${AT}`
  );
  for (const path of [...paths, `/snapshot/${AT}/since/5`, `/transparency/${AT}/sth`]) {
    const { statusCode } = await app.inject(path);
    assert.ok(statusCode === 404 || statusCode === 400, `${path}: ${statusCode}`);
  }
});

test('subscribe without an upgrade is 400, a wrong sync_mode too', async () => {
  const { app } = await openFrontDoor();
  assert.equal((await app.inject(`/subscribe/indexer/${AT}`)).statusCode, 400);
  assert.equal((await app.inject(`/subscribe/indexer/${AT}?sync_mode=some`)).statusCode, 400);
  assert.equal((await app.inject(`/subscribe/decoder/${AT}?sync_mode=infra-only`)).statusCode, 400);
});

test("200 schema: the actor's text is passed on", async () => {
  const { app } = await openFrontDoor({
    answers: { 'schema.read': () => ({ body: '{"tables":{}}', fingerprint: 'f1' }) }
  });
  const answer = await app.inject(`/schema/indexer/${AT}`);
  assert.equal(answer.body, '{"tables":{}}');
  assert.match(String(answer.headers['content-type']), /^application\/json/);
});
