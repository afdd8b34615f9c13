import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FastifyInstance, fastify } from 'fastify';
import { pino } from 'pino';
import Type from 'typebox';
import { PlatformError } from '../../../src/errors.ts';
import { type JsonRpcOptions, jsonRpc, RpcAnswer, rpcMethod } from '../../../src/service/jsonrpc.ts';
import fc from '../../support/fast-check.ts';

/** A service that remembers what was called and what was logged. */
async function service(options: Partial<JsonRpcOptions> = {}) {
  const called: string[] = [];
  const logged: string[] = [];
  const methods = {
    echo: rpcMethod({ params: Type.Object({ value: Type.Unknown() }), write: false, run: ({ value }) => value }),
    store: rpcMethod({
      params: Type.Object({ value: Type.Number() }),
      write: true,
      run: ({ value }) => called.push(`store ${value}`)
    }),
    broken: {
      write: false,
      run: () => {
        throw new Error('secret path /etc/x');
      }
    },
    picky: {
      write: false,
      run: () => {
        throw new PlatformError('REQUEST_INVALID', { reason: 'value is too old' });
      }
    },
    health: { write: false, run: () => new RpcAnswer(503, { status: 'degraded' }) },
    nothing: { write: false, run: () => undefined }
  };
  const log = pino({ level: 'error' }, { write: (line: string) => logged.push(line) });
  const app = fastify({ loggerInstance: log });
  await app.register(jsonRpc, { methods, requestsPerMinute: 1000, bodyLimitBytes: 10_000, ...options });
  return { app: app as unknown as FastifyInstance, called, logged };
}

async function post(app: FastifyInstance, body: unknown, headers: Record<string, string> = {}) {
  const payload = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await app.inject({
    method: 'POST',
    url: '/',
    payload,
    headers: { 'content-type': 'application/json', ...headers }
  });
  return { status: response.statusCode, text: response.body, json: response.body === '' ? undefined : response.json() };
}

const call = (method: string, params: unknown, id: unknown = 1) => ({ jsonrpc: '2.0', method, params, id });

test('-32700: what is not JSON, and JSON that is nested too deep', async () => {
  const { app } = await service({ bodyLimitBytes: 1_000_000 });
  for (const body of ['{"jsonrpc":', '', '['.repeat(400_000) + ']'.repeat(400_000)]) {
    const { status, json } = await post(app, body);
    assert.deepEqual([status, json.error.code, json.id], [200, -32700, null]);
  }
});

test('-32600: an empty batch, a batch above the cap, and what is no call', async () => {
  const { app, called } = await service({ batchLimit: 2 });
  for (const body of [
    '[]',
    'null',
    '1',
    '{}',
    '{"jsonrpc":"1.0","method":"echo","id":1}',
    '{"jsonrpc":"2.0","method":1,"id":{}}',
    '{"jsonrpc":"2.0","method":"echo","params":7}'
  ]) {
    const { status, json } = await post(app, body);
    assert.deepEqual([status, json.error.code], [200, -32600], body);
  }
  const flood = await post(
    app,
    [1, 2, 3].map((value) => call('store', { value }))
  );
  assert.deepEqual([flood.json.error.code, called], [-32600, []]);
  const mixed = await post(app, [1, call('echo', { value: 'a' }, 'x')]);
  assert.deepEqual(
    mixed.json.map((reply: { id: unknown; error?: { code: number } }) => [reply.id, reply.error?.code]),
    [
      [null, -32600],
      ['x', undefined]
    ]
  );
});

test('-32601: an unknown method, names of the prototype among them', async () => {
  const { app } = await service();
  for (const name of ['nonesuch', 'constructor', '__proto__'])
    assert.equal((await post(app, call(name, {}))).json.error.code, -32601);
});

test('-32602: params that break the schema, or that the method refuses', async () => {
  const { app, called } = await service();
  for (const params of [undefined, [], {}, { value: 'one' }, [1], { value: null }]) {
    assert.equal((await post(app, call('store', params))).json.error.code, -32602);
  }
  assert.deepEqual((await post(app, call('picky', {}))).json.error, { code: -32602, message: 'value is too old' });
  assert.deepEqual(called, []);
});

test('-32602: a number that a double would round', async () => {
  const { app, called } = await service();
  const { json } = await post(app, '{"jsonrpc":"2.0","method":"store","params":{"value":9007199254740993},"id":1}');
  assert.deepEqual([json.error.code, called], [-32602, []]);
});

test('-32603: says nothing of the inside; the log has the cause', async () => {
  const { app, logged } = await service();
  const { status, text, json } = await post(app, call('broken', {}));
  assert.deepEqual([status, json.error], [200, { code: -32603, message: 'internal error' }]);
  assert.ok(!text.includes('secret'));
  assert.match(logged.join(''), /secret path/);
});

test('-32001: a write without the key is HTTP 401; the gate looks at every call of a batch', async () => {
  const { app, called } = await service({ apiKey: 'right' });
  const write = call('STORE', { value: 1 }, 'mine');
  const single = await post(app, write, { 'x-api-key': 'wrong' });
  assert.deepEqual(
    [single.status, single.json],
    [401, { jsonrpc: '2.0', error: { code: -32001, message: 'Unauthorized' }, id: 'mine' }]
  );
  const batch = await post(app, [call('echo', { value: 1 }), write]);
  assert.deepEqual([batch.status, batch.json.id, batch.json.error.code], [401, null, -32001]);
  assert.deepEqual(called, []);
  assert.equal((await post(app, call('echo', { value: 1 }))).json.result, 1);
  assert.equal((await post(app, write, { 'x-api-key': 'right' })).status, 200);
  assert.deepEqual(called, ['store 1']);
});

test('-32029: one request too many in a minute is HTTP 429, counted by socket address', async () => {
  const { app } = await service({ requestsPerMinute: 2 });
  const ping = call('nothing', {});
  for (const forged of ['10.0.0.1', '10.0.0.2'])
    assert.equal((await post(app, ping, { 'x-forwarded-for': forged })).status, 200);
  const refused = await post(app, ping, { 'x-forwarded-for': '10.0.0.3' });
  assert.deepEqual([refused.status, refused.json.error.code, refused.json.id], [429, -32029, null]);
  await app.inject({ method: 'POST', url: '/', remoteAddress: '2001:db8::1', payload: ping });
  await app.inject({ method: 'POST', url: '/', remoteAddress: '2001:db8::2', payload: ping });
  const sameNetwork = await app.inject({ method: 'POST', url: '/', remoteAddress: '2001:db8::3', payload: ping });
  assert.equal(sameNetwork.statusCode, 429);
  const other = await app.inject({ method: 'POST', url: '/', remoteAddress: '10.9.9.9', payload: ping });
  assert.equal(other.statusCode, 200);
});

test('a notification has no reply: HTTP 204; in a batch the others have theirs', async () => {
  const { app, called } = await service();
  const notification = { jsonrpc: '2.0', method: 'store', params: { value: 5 } };
  const single = await post(app, notification);
  assert.deepEqual([single.status, single.text], [204, '']);
  assert.equal((await post(app, [notification, notification])).status, 204);
  assert.equal((await post(app, [notification, call('echo', { value: 1 }, null)])).json.length, 1);
  assert.equal(called.length, 4);
});

test('ids and results come back as they are', async () => {
  const { app } = await service();
  for (const id of ['"a"', '0', '-7', '12345678901234567890', 'null', '""']) {
    const { text } = await post(app, `{"jsonrpc":"2.0","method":"Echo","params":{"value":"0.10"},"id":${id}}`);
    assert.equal(text, `{"jsonrpc":"2.0","result":"0.10","id":${id}}`);
  }
  assert.equal((await post(app, call('nothing', {}))).json.result, null);
});

test('a method may answer with a status of its own; a batch answers 200', async () => {
  const { app } = await service();
  const single = await post(app, call('health', []));
  assert.deepEqual([single.status, single.json.result], [503, { status: 'degraded' }]);
  const batch = await post(app, [call('health', {})]);
  assert.deepEqual([batch.status, batch.json[0].result], [200, { status: 'degraded' }]);
});

test('413: a body above the limit; 415: a content type that a browser sends without asking', async () => {
  const { app, called } = await service();
  assert.equal((await post(app, call('echo', { value: 'x'.repeat(10_000) }))).status, 413);
  assert.equal((await post(app, call('store', { value: 1 }), { 'content-type': 'text/plain' })).status, 415);
  assert.equal(
    (await post(app, call('store', { value: 1 }), { 'content-type': 'application/json; charset=utf-8' })).status,
    200
  );
  assert.equal(called.length, 1);
});

test('any JSON gets replies that are JSON-RPC 2.0, one for each call with an id, or none', async () => {
  const { app } = await service({ requestsPerMinute: 1_000_000, bodyLimitBytes: 1_000_000 });
  const anyCall = fc.record(
    {
      jsonrpc: fc.constantFrom('2.0', '1.0', 2),
      method: fc.oneof(fc.constantFrom('echo', 'broken', 'picky'), fc.jsonValue()),
      params: fc.jsonValue(),
      id: fc.jsonValue()
    },
    { requiredKeys: [] }
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.jsonValue(), anyCall, fc.array(anyCall, { maxLength: 4 })), async (body) => {
      const { status, json } = await post(app, body);
      assert.equal(status, json === undefined ? 204 : 200);
      for (const reply of json === undefined ? [] : [json].flat()) {
        assert.deepEqual([reply.jsonrpc, 'id' in reply, 'result' in reply !== 'error' in reply], ['2.0', true, true]);
      }
    }),
    { numRuns: 200 }
  );
});
