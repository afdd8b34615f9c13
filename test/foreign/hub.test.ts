import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runHub } from '../support/hub/run-hub.ts';
import { readFacts } from './shape.ts';

/** A caller on another machine: what a proxy on this one passes on. */
const STRANGER = { 'x-forwarded-for': '203.0.113.7' };
const SECRET = 'a-password-of-a-database';
const METHODS = readFacts<Readonly<Record<string, { readonly params?: object; readonly key?: true }>>>('hub');

test('a stranger is refused every method that needs the key in use, and no other one tells a password', async () => {
  const hub = await runHub({ HUB_API_KEY: 'k' });
  const config = { LTC: { regtest: { 'platform-indexer': { host: '127.0.0.1', user: 'u', pass: SECRET } } } };
  const written = await hub.call('updateconfig', { config }, { 'x-api-key': 'k' });
  assert.equal(written.json.result.status, 'success', JSON.stringify(written.json));
  const own = JSON.stringify((await hub.call('getallconfigs', {}, { ...STRANGER, 'x-api-key': 'k' })).json);
  assert.match(own, new RegExp(SECRET));
  for (const [method, { params = {}, key = false }] of Object.entries(METHODS)) {
    const { status, json } = await hub.call(method, params, STRANGER);
    assert.equal(status === 401, key, `${method} ${status} ${JSON.stringify(json)}`);
    assert.doesNotMatch(JSON.stringify(json), new RegExp(SECRET), method);
  }
  await hub.stop();
});

test('what a wallet asks a hub of networks counts as a request, and tells a stranger no place of the deployment', async () => {
  const hub = await runHub({ HUB_API_KEY: 'k', HUB_RATE_LIMIT_RPM: '3' });
  const statuses: number[] = [];
  let text = '';
  for (let n = 0; n < 4; n++) {
    const answer = await fetch(`${hub.url}/api/v1/chain-registry`, { headers: STRANGER });
    statuses.push(answer.status);
    text += await answer.text();
  }
  assert.deepEqual(statuses, [200, 200, 200, 429]);
  assert.doesNotMatch(text, /127\.0\.0\.1|localhost/);
  await hub.stop();
});
