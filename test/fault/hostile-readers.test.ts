import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { closeGate, countBuilds, database, open, PATH, type Site } from '../integration/replication/snapshot/site.ts';

/** A caller from some address; who only leaves has no answer. */
function ask({ place }: Site, path: string, localAddress: string) {
  const { promise: answer, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const asked = request({ ...place, path, localAddress, agent: false })
    .on('response', resolve)
    .on('error', reject);
  asked.end();
  answer.catch(() => undefined);
  return { answer, leave: () => void asked.destroy() };
}

async function download(site: Site, path: string, localAddress: string) {
  const response = await ask(site, path, localAddress).answer;
  return { status: response.statusCode, bytes: await buffer(response) };
}

const since = (height: number) => `${PATH}/since/${height}`;

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    assert.ok(tries < 500, what);
    await sleep(20);
  }
}

test('slow readers of many snapshots hold no more than their cap and a few, and another address gets its own', async () => {
  const site = await open(await database(24), { store: { maxBytes: 2 ** 20 } });
  const heldBytes = () =>
    readdirSync(site.directory).reduce((sum, name) => sum + statSync(join(site.directory, name)).size, 0);
  const size = (await download(site, PATH, '127.0.0.3')).bytes.length;
  assert.ok(size > 10_000_000, 'more than the sockets between them take');
  const answers: IncomingMessage[] = [];
  let largest = 0;
  for (let n = 0; n < 12; n++) {
    const response = await ask(site, since(n % 8), `127.0.0.${4 + (n >> 3)}`).answer;
    response.pause();
    response.on('error', () => undefined);
    answers.push(response);
    largest = Math.max(largest, heldBytes(), site.artifacts.counts.bytes);
  }
  assert.ok(largest < 5 * size, `${largest} bytes of ${size} each`);
  assert.ok(answers.some(({ statusCode }) => statusCode === 503));
  let honest = await download(site, PATH, '127.0.0.3');
  for (let tries = 0; honest.status === 503 && tries < 6; tries++) {
    await sleep(2_000);
    honest = await download(site, PATH, '127.0.0.3');
  }
  assert.equal(honest.status, 200);
  assert.equal(JSON.parse(gunzipSync(honest.bytes).toString()).tables.blocks.length, 9);
  for (const response of answers) response.destroy();
  await until(() => readdirSync(site.directory).length <= 1, 'what nobody reads has gone, but for the newest');
});

test('callers that leave at the first byte keep no place: their builds give way to one that is waited for', async () => {
  const coordinates = await database(1);
  const site = await open(coordinates);
  const openGate = await closeGate(coordinates);
  for (const height of [1, 2]) {
    const caller = ask(site, since(height), `127.0.0.${3 + height}`);
    await until(async () => (await countBuilds(coordinates)) === height, 'a build waits at the gate');
    caller.leave();
  }
  const honest = download(site, since(3), '127.0.0.3');
  await until(() => site.builds() === 3, 'the one that is waited for has begun');
  await openGate();
  assert.equal((await honest).status, 200);
});

test('a build that nobody reads is ended, and the request counts', async () => {
  const coordinates = await database(1);
  const site = await open(coordinates, { store: { unreadMs: 50 }, config: { SNAPSHOT_RATE_INCR: 1 } });
  const openGate = await closeGate(coordinates);
  const caller = ask(site, since(1), '127.0.0.4');
  await until(async () => (await countBuilds(coordinates)) === 1, 'its build waits at the gate');
  caller.leave();
  await until(async () => (await countBuilds(coordinates)) === 0, 'its build is ended');
  await until(() => readdirSync(site.directory).length === 0, 'and its file is gone');
  assert.deepEqual([site.artifacts.counts.running, site.artifacts.counts.failed], [0, 0]);
  await openGate();
  assert.equal((await download(site, since(2), '127.0.0.4')).status, 429);
  assert.equal((await download(site, since(2), '127.0.0.3')).status, 200);
});

test('an address that builds in every place shares them with the next address', async () => {
  const coordinates = await database(1);
  const site = await open(coordinates);
  const openGate = await closeGate(coordinates);
  const first = download(site, since(1), '127.0.0.4');
  await until(async () => (await countBuilds(coordinates)) === 1, 'the first build waits at the gate');
  const second = download(site, since(2), '127.0.0.4').catch(() => ({ status: 'cut' }));
  await until(async () => (await countBuilds(coordinates)) === 2, 'so does the second');
  const other = download(site, since(3), '127.0.0.3');
  assert.notEqual((await second).status, 200, 'the newer of two has given way');
  await openGate();
  assert.deepEqual([(await first).status, (await other).status], [200, 200]);
});
