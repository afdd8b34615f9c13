import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { Download } from '../../src/replication/client/download.ts';
import { SourceClient } from '../../src/replication/client/source-client.ts';
import { Subscription } from '../../src/replication/client/subscription.ts';
import { startHostileSource } from '../support/sync/hostile-source.ts';
import { temporaryDirectory } from '../support/sync/sync-process.ts';

const ID = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' } as const;
const BODY = randomBytes(600_000);
const HEADERS = { 'content-encoding': 'gzip', etag: '"one"', 'x-block-height': '12', 'x-block-hash': 'h12' };

function whole(response: ServerResponse, etag = '"one"', body = BODY): void {
  response.writeHead(200, { ...HEADERS, etag, 'content-length': body.length }).end(body);
}

/** The rest from where the client asks, or a part of it before the socket is cut. */
function rest(response: ServerResponse, range: string | undefined, cutAfter?: number): void {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1]);
  const headers = {
    ...HEADERS,
    'content-range': `bytes ${from}-${BODY.length - 1}/${BODY.length}`,
    'content-length': BODY.length - from
  };
  response.writeHead(206, headers);
  if (cutAfter === undefined) response.end(BODY.subarray(from));
  else response.write(BODY.subarray(from, from + cutAfter), () => response.socket?.end());
}

async function collect(download: Download): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of download.read()) parts.push(part);
  return Buffer.concat(parts);
}

const file = () => join(temporaryDirectory('download'), 'snapshot.gz');

test('a download that is cut twice arrives whole, and no byte of it is fetched twice', async () => {
  const source = await startHostileSource((request, response, count) => {
    assert.equal(request.headers['if-range'], count === 1 ? undefined : '"one"');
    if (count === 1) {
      response.writeHead(200, { ...HEADERS, 'content-length': BODY.length });
      response.write(BODY.subarray(0, 200_000), () => response.socket?.end());
    } else rest(response, request.headers.range, count === 2 ? 100_000 : undefined);
  });
  const client = new SourceClient(source.url, 'key', ID);
  const path = file();
  const download = await Download.open(client, path);
  assert.equal(download.head.height, 12);
  assert.deepEqual(await collect(download), BODY);
  assert.deepEqual(
    source.requests.map(({ range }) => range),
    [undefined, 'bytes=200000-', 'bytes=300000-']
  );
  assert.ok(source.requests.every(({ authorization }) => authorization === 'Bearer key'));
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await client.close();
});

test('a successor resumes what its predecessor left', async () => {
  const source = await startHostileSource((request, response, count) => {
    if (count > 1) return rest(response, request.headers.range);
    response.writeHead(200, { ...HEADERS, 'content-length': BODY.length });
    response.write(BODY.subarray(0, 250_000));
  });
  const path = file();
  const first = new SourceClient(source.url, undefined, ID);
  const download = await Download.open(first, path);
  for await (const _part of download.read()) if (download.sizeBytes === 250_000) break;
  download.abort();
  await first.close();
  const second = new SourceClient(source.url, undefined, ID);
  assert.deepEqual(await collect(await Download.open(second, path)), BODY);
  assert.deepEqual(
    source.requests.map(({ range }) => range),
    [undefined, 'bytes=250000-']
  );
  await second.close();
});

test('a finished download is read again without the source', async () => {
  const source = await startHostileSource((_request, response) => whole(response));
  const client = new SourceClient(source.url, undefined, ID);
  const path = file();
  await collect(await Download.open(client, path));
  assert.deepEqual(await collect(await Download.open(client, path)), BODY);
  assert.equal(source.requests.length, 1);
  await client.close();
});

test('SOURCE_TRUNCATED: the source built another snapshot meanwhile; the next download starts over', async () => {
  const other = randomBytes(1000);
  const source = await startHostileSource((_request, response, count) => {
    if (count > 1) return whole(response, '"two"', other);
    response.writeHead(200, { ...HEADERS, 'content-length': BODY.length });
    response.write(BODY.subarray(0, 1000), () => response.socket?.end());
  });
  const client = new SourceClient(source.url, undefined, ID);
  const path = file();
  await assert.rejects(collect(await Download.open(client, path)), { code: 'SOURCE_TRUNCATED' });
  assert.equal(existsSync(path), false);
  assert.deepEqual(await collect(await Download.open(client, path)), other);
  await client.close();
});

test('SOURCE_REFUSED: a redirect is not followed, and the key goes nowhere else', async () => {
  const elsewhere = await startHostileSource((_request, response) => whole(response));
  const source = await startHostileSource((_request, response) =>
    response.writeHead(302, { location: `${elsewhere.url}/x` }).end()
  );
  const client = new SourceClient(source.url, 'key', ID);
  await assert.rejects(Download.open(client, file()), { code: 'SOURCE_REFUSED' });
  await assert.rejects(client.status(), { code: 'SOURCE_REFUSED' });
  assert.equal(elsewhere.requests.length, 0);
  await client.close();
});

test('SOURCE_REFUSED: a 401 is told with the words of the source', async () => {
  const source = await startHostileSource((_request, response) =>
    response.writeHead(401).end('{"error":"wrong token"}')
  );
  const client = new SourceClient(source.url, undefined, ID);
  await assert.rejects(
    client.schema(),
    (fault: Error & { code?: string }) => fault.code === 'SOURCE_REFUSED' && /401.*wrong token/.test(fault.message)
  );
  await client.close();
});

test('SOURCE_INVALID: answers of another shape, without a height, or of another schema version', async () => {
  const source = await startHostileSource((request, response) => {
    if (request.url?.startsWith('/status')) response.end('{"block_height":"5"}');
    else if (request.url?.startsWith('/schema')) response.end('{"tables":[');
    else
      response
        .writeHead(200, { ...HEADERS, 'x-snapshot-schema-version': '99', 'content-length': BODY.length })
        .end(BODY);
  });
  const client = new SourceClient(source.url, undefined, ID);
  await assert.rejects(client.status(), { code: 'SOURCE_INVALID' });
  await assert.rejects(client.schema(), { code: 'SOURCE_INVALID' });
  await assert.rejects(Download.open(client, file()), { code: 'SOURCE_INVALID' });
  await client.close();
});

test('SOURCE_INVALID: a snapshot that is refused by its head is not waited for', async () => {
  const left = Promise.withResolvers<void>();
  const source = await startHostileSource((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).write(BODY);
    response.once('close', () => left.resolve());
  });
  const client = new SourceClient(source.url, undefined, ID);
  await assert.rejects(Download.open(client, file()), { code: 'SOURCE_INVALID', message: /without X-Block-Height/ });
  await left.promise;
  await client.close();
});

test('a receipt that says too little counts as absent', async () => {
  const source = await startHostileSource((_, response) => whole(response));
  const client = new SourceClient(source.url, undefined, ID);
  const path = file();
  const receipt = { source: source.url, path: client.modePath('snapshot'), headers: { etag: '"one"' }, complete: true };
  writeFileSync(path, 'x');
  writeFileSync(`${path}.json`, JSON.stringify(receipt));
  assert.deepEqual(await collect(await Download.open(client, path)), BODY);
  await client.close();
});

test('SOURCE_UNREACHABLE: messages without content fill the queue too', async () => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  const empty = Buffer.from([0x81, 0x00]);
  server.on('connection', (socket, { socket: raw }) => {
    socket.on('error', () => undefined);
    raw.on('error', () => undefined).write(Buffer.concat(Array.from({ length: 300_000 }, () => empty)));
  });
  await once(server, 'listening');
  const client = new SourceClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, undefined, ID);
  const stream = await Subscription.open(client);
  while (stream.fault === undefined) await new Promise((resolve) => setImmediate(resolve));
  assert.match(stream.fault.message, /bytes of messages wait/);
  assert.ok(stream.waiting <= 2 ** 18, `${stream.waiting} messages wait`);
  await client.close();
  server.close();
});

test('SOURCE_UNREACHABLE: a source that stalls twice in a row is given up, and what came of it stays', async () => {
  const source = await startHostileSource((request, response, count) => {
    const from = count === 1 ? 0 : 1000;
    assert.equal(request.headers.range, count === 1 ? undefined : 'bytes=1000-');
    const range = count === 1 ? {} : { 'content-range': `bytes 1000-${BODY.length - 1}/${BODY.length}` };
    response.writeHead(count === 1 ? 200 : 206, { ...HEADERS, ...range, 'content-length': BODY.length - from });
    if (count === 1) response.write(BODY.subarray(0, 1000));
    else response.flushHeaders();
  });
  const client = new SourceClient(source.url, undefined, ID);
  const waits: string[] = [];
  const path = file();
  const download = await Download.open(client, path, { stallMs: 60, onWait: (_, { message }) => waits.push(message) });
  await assert.rejects(collect(download), (fault: Error) =>
    /sent \d+ bytes in 60 ms: the download has stalled/.test(fault.message)
  );
  assert.equal(source.requests.length, 2);
  assert.equal(waits.length, 1);
  assert.equal(statSync(path).size, 1000);
  await client.close();
});

test('429 in mid-download is waited out as long as Retry-After says, and told; no byte is fetched twice', async () => {
  const source = await startHostileSource((request, response, count) => {
    if (count === 1) {
      response.writeHead(200, { ...HEADERS, 'content-length': BODY.length });
      response.write(BODY.subarray(0, 1000), () => response.socket?.end());
    } else if (count === 2) response.writeHead(429, { 'retry-after': '1' }).end('{"error":"slow down"}');
    else rest(response, request.headers.range);
  });
  const client = new SourceClient(source.url, undefined, ID);
  const waits: number[] = [];
  const began = performance.now();
  const download = await Download.open(client, file(), { onWait: (waitMs) => waits.push(waitMs) });
  assert.deepEqual(await collect(download), BODY);
  assert.deepEqual(waits, [0, 1000]);
  assert.ok(performance.now() - began >= 1_000);
  assert.deepEqual(
    source.requests.map(({ range }) => range),
    [undefined, 'bytes=1000-', 'bytes=1000-']
  );
  await client.close();
});

test('SOURCE_REFUSED: 404, 429 and 500 say their status, and how long the source wants to be left alone', async () => {
  const answers = [
    [404, undefined, undefined],
    [429, '90', 90],
    [429, new Date(Date.now() + 30_000).toUTCString(), 30],
    [503, '999999999', 3_600],
    [500, 'soon', undefined]
  ] as const;
  const source = await startHostileSource((_request, response, count) => {
    const [status, after] = answers[count - 1]!;
    response.writeHead(status, after === undefined ? {} : { 'retry-after': after }).end('nonsense');
  });
  const client = new SourceClient(source.url, undefined, ID);
  for (const [status, , expected] of answers) {
    await assert.rejects(
      Download.open(client, file()),
      (fault: { code?: string; detail?: Record<string, unknown> }) => {
        assert.equal(fault.code, 'SOURCE_REFUSED');
        assert.equal(fault.detail?.['status'], status);
        const seconds = fault.detail?.['retryAfterS'] as number | undefined;
        assert.ok(seconds === expected || Math.abs(seconds! - expected!) <= 1, `${seconds}`);
        return true;
      }
    );
  }
  await client.close();
});

test('DISK_FULL: what the disk cannot hold is not begun', async () => {
  const source = await startHostileSource((_request, response) => whole(response));
  const client = new SourceClient(source.url, undefined, ID);
  await assert.rejects(Download.open(client, file(), { expectedBytes: Number.MAX_SAFE_INTEGER }), {
    code: 'DISK_FULL'
  });
  assert.equal(source.requests.length, 0);
  await client.close();
});

test('an https source with a private authority: refused without SYNC_SOURCE_CA, taken with it, stream included', async () => {
  const [cert, key] = ['cert', 'key'].map((part) =>
    readFileSync(new URL(`../fixtures/tls.${part}.pem`, import.meta.url))
  );
  const server = createServer({ cert, key }, (_request, response) => response.end('{"block_height":5}'));
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.close(1012, 'enough'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stranger = new SourceClient(url, undefined, ID);
  await assert.rejects(stranger.status(), { code: 'SOURCE_UNREACHABLE', message: /self-signed certificate/ });
  await assert.rejects(Subscription.open(stranger), { code: 'SOURCE_UNREACHABLE', message: /self-signed certificate/ });
  const client = new SourceClient(url, undefined, ID, { ca: String(cert) });
  assert.equal((await client.status()).height, 5);
  (await Subscription.open(client)).close();
  await Promise.all([client.close(), stranger.close()]);
  server.closeAllConnections();
  server.close();
});

test('SOURCE_UNREACHABLE: nobody listens', async () => {
  const client = new SourceClient('http://127.0.0.1:9', undefined, ID);
  await assert.rejects(client.status(), { code: 'SOURCE_UNREACHABLE' });
  await client.close();
});
