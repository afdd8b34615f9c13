import assert from 'node:assert/strict';
import { get } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { atEnd } from '../support/cleanup.ts';
import { createExplored } from '../support/explorer-database.ts';
import { startExplorer } from '../support/explorer-process.ts';

const DELAY_MS = 30;
const QUERY_TIMEOUT_MS = 3_000;

/** A way to MariaDB on which each answer takes its time, as a heavy question does there. @returns its port */
async function openSlowWay(to: number): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => [near, far].forEach((each) => void each.destroy()));
    }
    near.pipe(far);
    far.on('data', (bytes) => setTimeout(() => near.writable && near.write(bytes), DELAY_MS));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly tookMs: number;
}

/** Asks from an address of the loopback. */
function ask(url: string, localAddress: string): Promise<Answer> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { localAddress, agent: false }, async (response) => {
      const pieces: Buffer[] = [];
      for await (const piece of response) pieces.push(piece as Buffer);
      const { code } = JSON.parse(Buffer.concat(pieces).toString()) as { code?: string };
      resolve({ status: response.statusCode!, code, tookMs: performance.now() - began });
    }).on('error', reject);
  });
}

test('sixty heavy questions of one address leave the circuit closed, and other addresses get their answers meanwhile', async () => {
  const { indexer, decoder } = await createExplored();
  const port = await openSlowWay(indexer.port);
  const explorer = await startExplorer(
    { indexer: { ...indexer, port }, decoder: { ...decoder, port } },
    { DB_QUERY_TIMEOUT: String(QUERY_TIMEOUT_MS), EXPLORER_CACHE_MB: '0' }
  );
  const heavy = (n: number) => ask(`${explorer.url}/api/actions?limit=${n + 1}&order=asc`, '127.0.0.2');
  let isOver = false;
  const crowd = Promise.all(Array.from({ length: 60 }, (_, n) => heavy(n))).finally(() => {
    isOver = true;
  });
  const others: Answer[] = [];
  while (!isOver) others.push(await ask(`${explorer.url}/api/blocks?limit=${(others.length % 50) + 1}`, '127.0.0.3'));
  for (const { status, code, tookMs } of others)
    assert.ok(status === 200 && tookMs < 4_000, JSON.stringify({ status, code, tookMs }));
  assert.ok(others.length > 1, 'others asked while the crowd did');
  for (const { status, code } of await crowd)
    assert.ok(status === 200 || code === 'ANSWERS_WAITING', `${status} ${code}`);
  assert.equal((await ask(`${explorer.url}/readyz`, '127.0.0.3')).status, 200);
  assert.ok(!explorer.output().includes('circuit'), 'the database was never taken for down');
});
