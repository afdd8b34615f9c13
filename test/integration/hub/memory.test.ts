import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { RawClient } from '../../support/raw-client.ts';
import { databaseEnv, startServiceProcess } from '../../support/service-process.ts';
import { sql } from '../../support/sql.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const MB = 2 ** 20;

/** The most memory that a process has had. */
const peakOf = (pid: number) =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

/** Reads some bytes of an answer, then leaves. */
async function readSome(response: Response, bytes: number): Promise<number> {
  let read = 0;
  for await (const piece of response.body!) {
    read += piece.length;
    if (read >= bytes) break;
  }
  return read;
}

/** A hub in a process of its own that has 1,500 rounds of 20 KB. */
async function startFull() {
  const database = await createDatabase('hub');
  const port = await freePort();
  const env = { ...databaseEnv('HUB', database), HUB_HOST: '127.0.0.1', HUB_PORT: String(port) };
  const hub = startServiceProcess('hub', { ...env, NODE_OPTIONS: '--max-old-space-size=256' });
  const url = `http://127.0.0.1:${port}`;
  const ping = async () => (await fetch(`${url}/readyz`)).status === 200;
  await eventually('the hub is ready', () => ping().catch(() => false));
  await sql(
    database,
    `INSERT INTO price_snapshots (round_number, coin_pair, price, block_timestamp, validator_count, status, consensus_proof, origin)
     SELECT seq, 'BTC/USD', 1, 1700000000, 100, 'finalized', REPEAT('x', 20000), 'validators' FROM seq_1_to_1500`
  );
  return { hub, url, ping };
}

test('one request for a gigabyte of price rounds costs the hub a few pages of memory', async () => {
  const { hub, url, ping } = await startFull();
  const before = peakOf(hub.child.pid!);
  const call = { jsonrpc: '2.0', method: 'getpricesnapshots', params: { limit: 1_500 } };
  const batch = Array.from({ length: 40 }, (_, id) => ({ ...call, id }));
  const body = JSON.stringify(batch);
  const headers = { 'content-type': 'application/json' };
  const all = [
    ...[1, 2, 3].map(() => fetch(url, { method: 'POST', headers, body })),
    ...[1, 2].map(() => fetch(`${url}/hub-db/snapshot/price_snapshots`))
  ];
  const read = await Promise.all(all.map(async (answer) => await readSome(await answer, 10 * MB)));
  for (const bytes of read) assert.ok(bytes >= 10 * MB, String(bytes));
  assert.ok(await ping(), 'it answers others');
  assert.equal(hub.child.exitCode, null);
  const grown = (peakOf(hub.child.pid!) - before) / MB;
  assert.ok(grown < 250, `${grown.toFixed(0)} MB more`);
  const whole = (await (await fetch(`${url}/hub-db/snapshot/price_snapshots?limit=250`)).json()) as {
    readonly count: number;
    readonly rows: readonly { readonly id: number }[];
  };
  assert.deepEqual([whole.count, whole.rows.length, whole.rows.at(-1)?.id], [250, 250, 250]);
});

test('a hundred subscribers who resume far behind and read nothing cost the hub a few pages of memory', async (t) => {
  const { hub, url, ping } = await startFull();
  const subscribe = async (count: number) => {
    const sockets = Array.from({ length: count }, () => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/hub-db/subscribe?since_id=price_snapshots:0`);
      socket.on('open', () => socket.pause());
      return socket;
    });
    t.after(() => sockets.forEach((socket) => void socket.terminate()));
    await Promise.all(sockets.map((socket) => once(socket, 'open')));
  };
  // A process that has just begun grows by what any work takes.
  await subscribe(10);
  await sleep(3_000);
  const before = peakOf(hub.child.pid!);
  await subscribe(90);
  await sleep(7_000);
  assert.ok(await ping(), 'it answers others');
  assert.equal(hub.child.exitCode, null);
  const grown = (peakOf(hub.child.pid!) - before) / MB;
  t.diagnostic(`${grown.toFixed(0)} MB more`); // 22 on a busy machine
  assert.ok(grown < 64, `${grown.toFixed(0)} MB more`);
});

test('request bodies that never end, of three addresses, cost the hub a few pages of memory', async (t) => {
  const { hub, url, ping } = await startFull();
  const { host } = new URL(url);
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n';
  const say = async (from: string, count: number) => {
    const clients = await Promise.all(Array.from({ length: count }, () => RawClient.open(host, { from })));
    t.after(() => clients.forEach(({ socket }) => void socket.destroy()));
    for (const client of clients) client.say(head + ' '.repeat(95_000));
  };
  await say('127.0.0.5', 5);
  await sleep(2_000);
  const before = peakOf(hub.child.pid!);
  for (const from of ['127.0.0.2', '127.0.0.3', '127.0.0.4']) await say(from, 95);
  await sleep(2_000);
  const grown = (peakOf(hub.child.pid!) - before) / MB;
  t.diagnostic(`${grown.toFixed(0)} MB more`);
  assert.ok(grown < 48, `${grown.toFixed(0)} MB more`);
  const call = { jsonrpc: '2.0', method: 'getpricesnapshots', params: { limit: 1 }, id: 1, note: ' '.repeat(50_000) };
  const headers = { 'content-type': 'application/json' };
  const began = performance.now();
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(call) });
  assert.equal(answer.status, 200, await answer.text());
  assert.ok(performance.now() - began < 2_000, 'another address has a share of its own');
  assert.ok(await ping());
});
