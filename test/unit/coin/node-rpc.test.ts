import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { NodeRpc, type NodeRpcOptions } from '../../../src/coin/node/node-rpc.ts';

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close().closeAllConnections();
});

/** A misbehaving coin node: real ones do not fail on demand. Each answer is used once, the last for ever. */
async function unrulyNode(answers: readonly RequestListener[], options: Partial<NodeRpcOptions> = {}) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(String(request.headers.authorization));
    answers[Math.min(requests.length, answers.length) - 1]!(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rpc = new NodeRpc({ url, user: 'u', password: 'p', retryDelayMs: 5, rateLimitDelayMs: 60, ...options });
  return { rpc, requests };
}

const say =
  (status: number, body: string): RequestListener =>
  (_, response) =>
    response.writeHead(status).end(body);
const works = say(200, '{"result":{"value":0.10000000},"error":null,"id":1}');

test('a result arrives with exact amounts, asked with Basic authentication', async () => {
  const { rpc, requests } = await unrulyNode([works]);
  assert.deepEqual(await rpc.call('getblock'), { value: '0.10000000' });
  assert.deepEqual(requests, [`Basic ${Buffer.from('u:p').toString('base64')}`]);
  assert.equal(rpc.errorCount, 0);
});

test('lost connections, pages of a proxy and a node that warms up are tried again', async () => {
  const warming = say(500, '{"result":null,"error":{"code":-28,"message":"Loading block index..."},"id":1}');
  const hangUp: RequestListener = (request) => request.socket.destroy();
  const { rpc, requests } = await unrulyNode([hangUp, say(503, '<html>busy'), warming, say(200, '{}'), works]);
  assert.deepEqual(await rpc.call('x'), { value: '0.10000000' });
  assert.equal(requests.length, 5);
  assert.equal(rpc.errorCount, 4);
});

test('NODE_UNREACHABLE: after ten retries, and when an attempt takes too long', async () => {
  const down = await unrulyNode([say(503, 'down')]);
  await assert.rejects(down.rpc.call('x'), { code: 'NODE_UNREACHABLE', message: /status=503/ });
  assert.equal(down.requests.length, 11);
  const silent = await unrulyNode([() => undefined], { timeoutMs: 300, retries: 1 });
  await assert.rejects(silent.rpc.call('x'), { code: 'NODE_UNREACHABLE', message: /timeout/ });
  assert.equal(silent.requests.length, 2);
});

test('NODE_UNREACHABLE: what a gateway says in place of the node is no refusal of it, in JSON too', async () => {
  const error = '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"upstream timed out"}}';
  for (const status of [429, 502, 503, 504]) {
    const { rpc, requests } = await unrulyNode([say(status, error), works], { rateLimitDelayMs: 5 });
    assert.deepEqual(await rpc.call('x'), { value: '0.10000000' });
    assert.equal(requests.length, 2);
    const lasting = await unrulyNode([say(status, error)], { retries: 0 });
    const asked = lasting.rpc.batch('getrawtransaction', [['aa']], { isPartial: true });
    await assert.rejects(asked, { code: 'NODE_UNREACHABLE', message: /upstream timed out/ });
  }
});

test('HTTP 429 is answered with the longer pause', async () => {
  const { rpc } = await unrulyNode([say(429, 'slow down'), works]);
  const startedAt = performance.now();
  await rpc.call('x');
  assert.ok(performance.now() - startedAt >= 55);
});

test("NODE_REFUSED: the node's own error and wrong credentials are not tried again", async () => {
  const error = say(500, '{"result":null,"error":{"code":-8,"message":"Block height out of range"},"id":1}');
  const { rpc, requests } = await unrulyNode([error, say(401, '')]);
  await assert.rejects(rpc.call('getblockhash', [9]), (caught: { code: string; detail: Record<string, unknown> }) => {
    assert.deepEqual([caught.code, caught.detail['rpcCode']], ['NODE_REFUSED', -8]);
    return true;
  });
  await assert.rejects(rpc.call('x'), { code: 'NODE_REFUSED', message: /NODE_PASSWORD/ });
  assert.equal(requests.length, 2);
});

test('an abort ends a call that waits, with the reason of the signal', async () => {
  const { rpc } = await unrulyNode([() => undefined]);
  const reason = new Error('enough');
  const stopping = new AbortController();
  setTimeout(() => stopping.abort(reason), 20);
  await assert.rejects(rpc.call('x', [], stopping.signal), reason);
});

test('NODE_REFUSED: of many calls only what the node says it does not have is null; any other refusal is one', async () => {
  const answers = (...errors: readonly (object | null)[]) =>
    say(200, JSON.stringify(errors.map((error, id) => ({ id, result: error ? null : 'aa', error }))));
  const ask = async (...errors: readonly (object | null)[]) => {
    const { rpc } = await unrulyNode([answers(...errors)], { retries: 0 });
    const calls = errors.map((_, place) => [place]);
    return await rpc.batch('getrawtransaction', calls, { isPartial: true }).catch(({ code }) => code);
  };
  const nodeError = (code: number, message: string) => ({ code, message });
  const core = 'No such mempool or blockchain transaction. Use gettransaction for wallet transactions.';
  const noIndex = 'No such mempool transaction. Use -txindex or provide a block hash to enable blockchain queries.';
  assert.deepEqual(await ask(null, nodeError(-5, core), null), ['aa', null, 'aa']);
  assert.deepEqual(
    await ask(nodeError(-5, 'Transaction not in mempool'), nodeError(-1, 'Transaction not in mempool.')),
    [null, null]
  );
  assert.deepEqual(await ask(nodeError(-1, 'Transaction not found.')), [null]);
  for (const refusal of [
    nodeError(-5, noIndex),
    nodeError(-5, 'No such mempool transaction. Blockchain transactions are still in the process of being indexed.'),
    nodeError(-32601, 'Method not found'),
    nodeError(-1, 'No mempool available.'),
    nodeError(-8, 'parameter 1 must be of length 64'),
    {}
  ])
    assert.equal(await ask(null, refusal), 'NODE_REFUSED', JSON.stringify(refusal));
  assert.equal(await ask(nodeError(-28, 'Loading block index...')), 'NODE_UNREACHABLE');
});
