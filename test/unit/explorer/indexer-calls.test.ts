import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { PlatformError } from '../../../src/errors.ts';
import { askIndexer } from '../../../src/explorer/indexer-calls.ts';

test('an indexer that is late, away or refuses is told apart', async (t) => {
  let answer: RequestListener = () => undefined;
  const server = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
  t.after(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = (at: string, patienceMs = 10_000) =>
    askIndexer({ url: at, apiKey: undefined }, 'feequote', {}, patienceMs);
  await assert.rejects(ask(url, 100), { code: 'INDEXER_LATE' });
  answer = (_, response) => void response.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no source"}}');
  await assert.rejects(ask(url), { code: 'REQUEST_INVALID', message: /no source/ });
  answer = (_, response) => void response.writeHead(500).end();
  await assert.rejects(ask(url), { code: 'INDEXER_UNREACHABLE', message: /answered HTTP 500/ });
  answer = (_, response) => void response.writeHead(429, { 'retry-after': '17' }).end();
  await assert.rejects(ask(url), (refused: PlatformError) => {
    assert.deepEqual([refused.code, refused.detail['retryAfterS']], ['RATE_LIMITED', 17]);
    return true;
  });
  await assert.rejects(ask('http://127.0.0.1:9'), { code: 'INDEXER_UNREACHABLE' });
});
