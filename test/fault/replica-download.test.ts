import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { Download } from '../../src/source/download.ts';
import { SourceClient } from '../../src/source/source-client.ts';
import { startHostileSource } from '../support/hostile-source.ts';
import { temporaryDirectory } from '../support/sync-process.ts';

const ID = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' } as const;
const BODY = randomBytes(600_000);
const HEADERS = { 'content-encoding': 'gzip', etag: '"one"', 'x-block-height': '12', 'x-block-hash': 'h12' };

function whole(response: ServerResponse, etag = '"one"', body = BODY): void {
  response.writeHead(200, { ...HEADERS, etag, 'content-length': body.length }).end(body);
}

/** Sends bytes, and cuts the socket when the client has them: what it has not taken yet would be lost. */
function cutAfter(response: ServerResponse, bytes: Buffer, isTaken: () => boolean): void {
  response.write(bytes);
  const look = setInterval(() => {
    if (!isTaken()) return;
    clearInterval(look);
    response.destroy();
  }, 2);
}

/** The head of an answer with the rest from where the client asks. @returns the rest */
function beginRest(response: ServerResponse, range: string | undefined): Buffer {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1]);
  const headers = {
    ...HEADERS,
    'content-range': `bytes ${from}-${BODY.length - 1}/${BODY.length}`,
    'content-length': BODY.length - from
  };
  response.writeHead(206, headers);
  return BODY.subarray(from);
}

async function collect(download: Download): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of download.read()) parts.push(part);
  return Buffer.concat(parts);
}

const file = () => join(temporaryDirectory('download'), 'snapshot.gz');

test('a download that is cut twice arrives whole, and no byte of it is fetched twice', async () => {
  let download: Download | undefined;
  const has = (size: number) => () => download?.sizeBytes === size;
  const source = await startHostileSource((request, response, count) => {
    assert.equal(request.headers['if-range'], count === 1 ? undefined : '"one"');
    if (count === 1) {
      response.writeHead(200, { ...HEADERS, 'content-length': BODY.length });
      return cutAfter(response, BODY.subarray(0, 200_000), has(200_000));
    }
    const rest = beginRest(response, request.headers.range);
    if (count === 2) cutAfter(response, rest.subarray(0, 100_000), has(300_000));
    else response.end(rest);
  });
  const client = new SourceClient(source.url, 'key', ID);
  const path = file();
  download = await Download.open(client, path);
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
    if (count > 1) return void response.end(beginRest(response, request.headers.range));
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
    response.write(BODY.subarray(0, 1000), () => setTimeout(() => response.destroy(), 20));
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

test('SOURCE_UNREACHABLE: nobody listens', async () => {
  const client = new SourceClient('http://127.0.0.1:9', undefined, ID);
  await assert.rejects(client.status(), { code: 'SOURCE_UNREACHABLE' });
  await client.close();
});
