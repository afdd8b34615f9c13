import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { MACHINES } from '../../../machines/all.ts';
import { readWebFiles } from '../../../src/process/program.ts';
import { prepareConsoleFiles } from '../../../src/service/routes/console-files.ts';
import { openFrontDoor } from '../../support/sync/front-door.ts';

const MAX_PAGE_BYTES = 150_000;
const consoleFiles = await prepareConsoleFiles(readWebFiles());

test('200: the page and all that it names are open without the key, confined by a policy, and small', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' }, consoleFiles });
  const page = await app.inject('/');
  assert.equal(page.statusCode, 200);
  assert.match(String(page.headers['content-type']), /^text\/html/);
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'; script-src 'self'/);
  const named = [...page.body.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path!);
  const charts = Object.keys(MACHINES).map((name) => `/console/charts/${name}.svg`);
  let total = 0;
  for (const path of ['/', ...named, ...charts]) {
    const answer = await app.inject({ url: path, headers: { 'accept-encoding': 'gzip' } });
    assert.equal(answer.statusCode, 200, path);
    assert.ok(gunzipSync(answer.rawPayload).length > 100, path);
    total += answer.rawPayload.length;
  }
  assert.ok(total < MAX_PAGE_BYTES, `${total} bytes`);
  assert.equal((await app.inject('/console/console.ts')).statusCode, 401);
});

test('304: a file that the browser has is not sent again; 404 tells how to build what is missing', async () => {
  const { app } = await openFrontDoor({ consoleFiles });
  const { headers } = await app.inject('/console/console.js');
  const again = await app.inject({ url: '/console/console.js', headers: { 'if-none-match': String(headers.etag) } });
  assert.equal(again.statusCode, 304);
  assert.equal(again.body, '');
  const { app: bare } = await openFrontDoor();
  const missing = await bare.inject('/');
  assert.equal(missing.statusCode, 404);
  assert.match(missing.json().error, /npm run build:web/);
});

test('the charts show every state of every machine', () => {
  for (const [name, machine] of Object.entries(MACHINES)) {
    const chart = consoleFiles.get(`charts/${name}.svg`)!.body.toString();
    for (const state of Object.keys(machine.root.states))
      assert.ok(chart.includes(`data-state="${state}"`), `${name} ${state}`);
  }
});
