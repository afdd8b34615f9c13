import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { RawChain } from '../../../src/coin/node/raw-chain.ts';
import { hashId } from '../../../src/coin/raw/hash-id.ts';

const BLOCK = Buffer.alloc(100, 7);
const HASH = hashId(BLOCK.subarray(0, 80));

/** A node whose gateway answers GET in its own way, with one attempt at each call. */
async function startGated(get: { status: number; body: string | Buffer }) {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    asked.push(String(request.method));
    const body = Buffer.concat(await request.toArray()).toString();
    if (request.method === 'GET') return void response.writeHead(get.status).end(get.body);
    const calls = JSON.parse(body) as { id: number; params: readonly [string] }[];
    response.end(JSON.stringify(calls.map(({ id }) => ({ id, result: BLOCK.toString('hex'), error: null }))));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rpc = new NodeRpc({ url, user: 'u', password: 'p', retries: 0 });
  after(() => rpc.close());
  return { chain: new RawChain(rpc), asked };
}

test('behind a gateway that answers GET by a page of its own, blocks come by JSON-RPC, and GET is asked once', async () => {
  for (const body of ['<html>welcome</html>', '', Buffer.alloc(200, 9)]) {
    const { chain, asked } = await startGated({ status: 200, body });
    for (let round = 0; round < 2; round++) assert.deepEqual(await chain.block(HASH), BLOCK);
    assert.deepEqual(asked, ['GET', 'POST', 'POST']);
  }
});

test('behind a gateway that fails at GET, blocks come by JSON-RPC, and GET is tried for each', async () => {
  for (const status of [500, 502, 503]) {
    const { chain, asked } = await startGated({ status, body: 'no upstream' });
    for (let round = 0; round < 2; round++) assert.deepEqual(await chain.block(HASH), BLOCK);
    assert.deepEqual(asked, ['GET', 'POST', 'GET', 'POST']);
  }
});

test('a list of spent outputs of another form counts as none', async () => {
  const { chain, asked } = await startGated({ status: 200, body: '<html>welcome</html>' });
  for (let round = 0; round < 2; round++) assert.equal(await chain.spentScripts(HASH, new Set([1])), null);
  assert.deepEqual(asked, ['GET']);
  const failing = await startGated({ status: 502, body: 'no upstream' });
  assert.equal(await failing.chain.spentScripts(HASH, new Set([1])), null);
});
