import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type { PlatformError } from '../../../src/errors.ts';
import { askService } from '../../../src/installation/ask.ts';

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  after(() => server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const ask = (url: string) => askService({ name: 'miner', url, fault: 'NODE_REFUSED' }, 'generate_blocks', { count: 1 });
const refusal = (reason: RegExp) => (error: PlatformError) => {
  assert.equal(error.code, 'NODE_REFUSED');
  assert.match(error.message, /generate_blocks of the miner at http:/);
  assert.match(error.message, reason);
  return true;
};

test('NODE_REFUSED: a call that fails names service, method, place and what came instead', async () => {
  const answers = (status: number, body: string) => serve((_, response) => response.writeHead(status).end(body));
  assert.equal(await ask(await answers(200, '{"jsonrpc":"2.0","id":1,"result":"ok"}')), 'ok');
  const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"count: too small"}}';
  await assert.rejects(ask(await answers(200, error)), refusal(/count: too small/));
  await assert.rejects(ask(await answers(400, error)), refusal(/HTTP 400: .*count: too small/));
  await assert.rejects(ask(await answers(502, '<html>')), refusal(/HTTP 502/));
  await assert.rejects(ask(await answers(200, '7')), refusal(/no JSON-RPC reply/));
  await assert.rejects(ask('http://127.0.0.1:1/'), refusal(/ECONNREFUSED|bad port/));
});
