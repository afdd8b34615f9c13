import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFrontDoor } from '../../support/sync/front-door.ts';

const ORIGIN = 'https://console.example';
const PREFLIGHT = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' };

test('CORS is off unless configured', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' } });
  const answer = await app.inject({ url: '/livez', headers: { origin: ORIGIN } });
  assert.equal(answer.headers['access-control-allow-origin'], undefined);
  const preflight = await app.inject({ method: 'OPTIONS', url: '/health', headers: { origin: ORIGIN, ...PREFLIGHT } });
  assert.equal(preflight.statusCode, 401);
});

test('204 to the preflight of a listed origin, without the key; its requests need the key and name the origin', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1', CORS_ORIGINS: [ORIGIN] } });
  const preflight = await app.inject({ method: 'OPTIONS', url: '/health', headers: { origin: ORIGIN, ...PREFLIGHT } });
  assert.equal(preflight.statusCode, 204);
  assert.equal(preflight.headers['access-control-allow-origin'], ORIGIN);
  assert.match(String(preflight.headers['access-control-allow-headers']), /Authorization/);
  const refused = await app.inject({ url: '/health', headers: { origin: ORIGIN } });
  assert.equal(refused.statusCode, 401);
  assert.equal(refused.headers['access-control-allow-origin'], ORIGIN);
  const answer = await app.inject({ url: '/health', headers: { origin: ORIGIN, authorization: 'Bearer k1' } });
  assert.equal(answer.statusCode, 200);
  assert.match(String(answer.headers['vary']), /Origin/);
});

test('401 to the preflight of another origin', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1', CORS_ORIGINS: [ORIGIN] } });
  for (const origin of ['https://evil.example', 'null', `${ORIGIN}.evil.example`]) {
    const preflight = await app.inject({ method: 'OPTIONS', url: '/health', headers: { origin, ...PREFLIGHT } });
    assert.equal(preflight.statusCode, 401, origin);
    assert.equal(preflight.headers['access-control-allow-origin'], undefined);
  }
});
