import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import Type from 'typebox';
import { PlatformError } from '../../../src/errors.ts';
import type { RpcOptions } from '../../../src/service/rpc/json-rpc.ts';
import { RpcAnswer, rpcMethod } from '../../../src/service/rpc/method.ts';
import fc from '../../support/fast-check.ts';
import { openRpc } from '../../support/frame.ts';

/** A service that remembers what was called and what was logged. */
function service(options: Partial<RpcOptions> & { readonly key?: string } = {}) {
  const called: string[] = [];
  const logged: string[] = [];
  const [summary, result] = ['A method', Type.Unknown()];
  const methods = {
    echo: rpcMethod({
      summary,
      result,
      params: Type.Object({ value: Type.Unknown() }),
      write: false,
      run: ({ value }) => value
    }),
    store: rpcMethod({
      summary,
      result,
      params: Type.Object({ value: Type.Number() }),
      write: true,
      run: ({ value }) => called.push(`store ${value}`)
    }),
    broken: rpcMethod({
      summary,
      result,
      write: false,
      run: () => {
        throw new Error('secret path /etc/x');
      }
    }),
    picky: rpcMethod({
      summary,
      result,
      write: false,
      run: () => {
        throw new PlatformError('REQUEST_INVALID', { reason: 'value is too old' });
      }
    }),
    away: rpcMethod({
      summary,
      result,
      write: false,
      errors: ['DATABASE_UNAVAILABLE'],
      run: () => {
        throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'connect ECONNREFUSED 10.0.0.5:3306' });
      }
    }),
    unknown: rpcMethod({
      summary,
      result,
      write: false,
      errors: ['RECORD_UNKNOWN'],
      run: () => {
        throw new PlatformError('RECORD_UNKNOWN', { reason: 'no price of LTC yet' });
      }
    }),
    waits: rpcMethod({ summary, result, write: true, run: (_, { aside }) => aside(() => setTimeout(200, 'waited')) }),
    health: rpcMethod({ summary, result, write: false, run: () => new RpcAnswer(503, { status: 'degraded' }) }),
    nothing: rpcMethod({ summary, result, write: false, run: () => undefined })
  };
  const log = pino({ level: 'error' }, { write: (line: string) => logged.push(line) });
  const { key, ...rpc } = options;
  const keys = key === undefined ? {} : { readers: [key] };
  const app = openRpc(
    { methods, requestsPerMinute: 1000, bodyLimitBytes: 10_000, serves: (code) => code === 'LTC', ...rpc },
    { log, keys }
  );
  return { app, called, logged };
}

async function post(app: FastifyInstance, body: unknown, headers: Record<string, string> = {}) {
  const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
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
  const { app } = service({ bodyLimitBytes: 1_000_000 });
  for (const body of ['{"jsonrpc":', '', '['.repeat(400_000) + ']'.repeat(400_000)]) {
    const { status, json } = await post(app, body);
    assert.deepEqual([status, json.error.code, json.id], [200, -32700, null]);
  }
});

test('-32700: a caller without the key may send 100,000 values, one with it more; no reviver sees any of them', async (t) => {
  const many = (count: number, first: string) =>
    `{"jsonrpc":"2.0","id":${first},"method":"nonesuch","params":[${'{},'.repeat(count)}1]}`;
  const bodyLimitBytes = 1_000_000;
  const { app: open } = service({ bodyLimitBytes });
  const keyed = openRpc({ methods: {}, bodyLimitBytes }, { keys: { readers: ['k'] } });
  const parse = t.mock.method(JSON, 'parse');
  for (const [app, headers, count, first, code, revivers] of [
    [open, {}, 49_000, '1', -32601, 0],
    [open, {}, 10, '12345678901234567890', -32601, 0],
    [open, {}, 60_000, '1', -32700, 0],
    [keyed, { 'x-api-key': 'k' }, 60_000, '1', -32601, 0]
  ] as const) {
    parse.mock.resetCalls();
    const { json } = await post(app, many(count, first), { 'content-type': 'application/json', ...headers });
    assert.equal(json.error.code, code, json.error.message);
    assert.equal(parse.mock.calls.filter(({ arguments: given }) => given.length > 1).length, revivers);
  }
});

test('-32700: a body that is not UTF-8 is refused, not repaired', async () => {
  const { app } = service();
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
    const text = JSON.stringify(call('echo', { value: '?' })).split('?');
    const body = Buffer.concat([Buffer.from(text[0]!), Buffer.from(bytes), Buffer.from(text[1]!)]);
    const { json } = await post(app, body);
    assert.deepEqual([json.error.code, json.error.message], [-32700, 'parse error: the body is not UTF-8']);
  }
  const { json } = await post(app, call('echo', { value: 'päivää €' }));
  assert.equal(json.result, 'päivää €');
});

test('-32600: an empty batch, a batch above the cap, and what is no call', async () => {
  const { app, called } = service({ batchLimit: 2 });
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

test('-32600: an id of more than 1,024 letters, which every reply would repeat; compressed or not', async () => {
  const { app, called } = service({ bodyLimitBytes: 1_000_000 });
  for (const id of ['x'.repeat(100_000), '\u0000'.repeat(500)])
    for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
      const { status, json } = await post(app, { ...call('store', { value: 1 }), id }, headers);
      assert.deepEqual([status, json.id, json.error.code], [200, null, -32600]);
    }
  assert.deepEqual(called, []);
  const longest = 'x'.repeat(1_022);
  assert.equal((await post(app, { ...call('store', { value: 1 }), id: longest })).json.id, longest);
});

test('-32600: an id that no number holds, which would come back as null', async () => {
  const { app, called } = service();
  for (const id of ['1e400', '-1e400', '1'.repeat(400)]) {
    const payload = JSON.stringify({ ...call('store', { value: 1 }), id: 0 }).replace('"id":0', `"id":${id}`);
    const reply = await app.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/json' },
      payload
    });
    const { error, id: replyId } = reply.json();
    assert.deepEqual([error?.code, replyId], [-32600, null], id);
  }
  assert.deepEqual(called, []);
});

test('a caller that leaves before its body is whole is no failure of the service: nothing is logged', async (t) => {
  const { app, logged } = service();
  t.after(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  for (const body of ['Content-Length: 1000\r\n\r\n{', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n']) {
    const socket = connect({ host: '127.0.0.1', port });
    socket.write(head + body);
    await setTimeout(100);
    socket.destroy();
  }
  const open = () => new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));
  for (const until = Date.now() + 5_000; (await open()) > 0; await setTimeout(20)) assert.ok(Date.now() < until);
  await setTimeout(100);
  assert.deepEqual(logged, []);
});

test('-32601: an unknown method, names of the prototype among them', async () => {
  const { app } = service();
  for (const name of ['nonesuch', 'constructor', '__proto__'])
    assert.equal((await post(app, call(name, {}))).json.error.code, -32601);
});

test('-32602: params that break the schema, or that the method refuses', async () => {
  const { app, called } = service();
  for (const params of [undefined, [], {}, { value: 'one' }, [1], { value: null }]) {
    assert.equal((await post(app, call('store', params))).json.error.code, -32602);
  }
  const { error } = (await post(app, call('store', { value: 'one' }))).json;
  assert.deepEqual(error.data, { code: 'REQUEST_INVALID', reason: 'must be number', at: '/value' });
  assert.deepEqual((await post(app, call('picky', {}))).json.error, {
    code: -32602,
    message: 'value is too old',
    data: { code: 'REQUEST_INVALID', reason: 'value is too old' }
  });
  assert.deepEqual(called, []);
});

test('texts of numbers are numbers, numbers are texts, and null is absent where the schema says so; nothing else is guessed', async () => {
  const called: unknown[] = [];
  const params = Type.Object({
    count: Type.Optional(Type.Integer()),
    id: Type.Optional(Type.String({ pattern: '^[0-9]+$' })),
    isOn: Type.Optional(Type.Boolean()),
    either: Type.Optional(Type.Union([Type.Integer(), Type.String()])),
    coins: Type.Optional(Type.Array(Type.Object({ vout: Type.Integer() }))),
    fields: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Union([Type.String(), Type.Null()]))])),
    options: Type.Optional(
      Type.Object(
        {
          isFast: Type.Optional(Type.Boolean()),
          most: Type.Union([Type.Integer(), Type.Null()])
        },
        { additionalProperties: false }
      )
    )
  });
  const note = rpcMethod({
    summary: 'Notes',
    params,
    result: Type.Null(),
    write: false,
    run: (given) => {
      called.push(given);
      return null;
    }
  });
  const { app } = service({ methods: { note } });
  const ask = async (given: object) => (await post(app, call('note', given))).json;
  await ask({ count: '-7', id: 12, isOn: 'true', either: '7', coins: [{ vout: '1', more: '2' }], other: '3' });
  assert.deepEqual(called, [
    { count: -7, id: '12', isOn: true, either: '7', coins: [{ vout: 1, more: '2' }], other: '3' }
  ]);
  await ask({ options: { isFast: null, most: null, unknown: null }, id: null, fields: [0, 'T', 1.5, null] });
  assert.deepEqual(called.pop(), { options: { most: null }, fields: ['0', 'T', '1.5', null] });
  for (const given of [
    ...['', '1e3', '0x1', ' 1', '01', '1.5', '9007199254740993'].map((count) => ({ count })),
    ...[1e21, -1, true, [1]].map((id) => ({ id })),
    { isOn: 1 },
    { isOn: 'yes' },
    { coins: { vout: 1 } },
    { count: {} },
    { coins: [{ vout: null }] },
    { coins: [null] }
  ])
    assert.equal((await ask(given)).error?.code, -32602, JSON.stringify(given));
});

test('-32602: a number that a double would round', async () => {
  const { app, called } = service();
  const { json } = await post(app, '{"jsonrpc":"2.0","method":"store","params":{"value":9007199254740993},"id":1}');
  assert.deepEqual([json.error.code, called], [-32602, []]);
});

test('-32603: says nothing of the inside; the log has the cause', async () => {
  const { app, logged } = service();
  const { status, text, json } = await post(app, call('broken', {}));
  assert.equal(status, 200);
  assert.deepEqual(json.error, { code: -32603, message: 'internal error', data: { code: 'INTERNAL' } });
  assert.ok(!text.includes('secret'));
  assert.match(logged.join(''), /secret path/);
});

test('-32603 with data: of our own failures the remedy', async () => {
  const { app, logged } = service();
  const away = (await post(app, call('away', {}))).json.error;
  assert.deepEqual([away.code, away.data.code], [-32603, 'DATABASE_UNAVAILABLE']);
  assert.match(away.data.reason, /check MariaDB/);
  assert.doesNotMatch(JSON.stringify(away), /10\.0\.0\.5/);
  assert.match(logged.join(''), /10\.0\.0\.5/);
});

test('-32602 with data: a refusal of the call itself, whichever its code', async () => {
  const { app } = service();
  const unknown = (await post(app, call('unknown', {}))).json.error;
  assert.deepEqual(unknown, {
    code: -32602,
    message: 'no price of LTC yet',
    data: { code: 'RECORD_UNKNOWN', reason: 'no price of LTC yet' }
  });
});

test('COIN_NOT_AVAILABLE: the code of another network; its own is as good as none', async () => {
  const { app } = service();
  const ask = (url: string) =>
    app.inject({ method: 'POST', url, payload: call('echo', { value: 1 }) }).then((answer) => answer);
  for (const url of ['/LTC', '/LTC/']) assert.equal((await ask(url)).json().result, 1);
  const other = await ask('/BTC/');
  assert.deepEqual([other.statusCode, other.json().error.data.code], [404, 'COIN_NOT_AVAILABLE']);
  assert.equal((await app.inject('/LTC/openrpc.json')).json().openrpc, '1.3.2');
  assert.equal((await app.inject('/BTC/openrpc.json')).statusCode, 404);
});

test('-32001: a write without the key is HTTP 401; the gate looks at every call of a batch', async () => {
  const { app, called } = service({ key: 'right' });
  const write = call('STORE', { value: 1 }, 'mine');
  const single = await post(app, write, { 'x-api-key': 'wrong' });
  assert.deepEqual(
    [single.status, single.json],
    [
      401,
      {
        jsonrpc: '2.0',
        error: { code: -32001, message: 'Unauthorized', data: { code: 'UNAUTHORIZED' } },
        id: 'mine'
      }
    ]
  );
  const batch = await post(app, [call('echo', { value: 1 }), write]);
  assert.deepEqual([batch.status, batch.json.id, batch.json.error.code], [401, null, -32001]);
  assert.deepEqual(called, []);
  assert.equal((await post(app, call('echo', { value: 1 }))).json.result, 1);
  assert.equal((await post(app, write, { 'x-api-key': 'right' })).status, 200);
  assert.equal((await post(app, write, { authorization: 'Bearer right' })).status, 200);
  assert.deepEqual(called, ['store 1', 'store 1']);
});

test('-32029: one request too many in a minute is HTTP 429, counted by socket address', async () => {
  const { app } = service({ requestsPerMinute: 2 });
  const ping = call('nothing', {});
  for (const forged of ['10.0.0.1', '10.0.0.2'])
    assert.equal((await post(app, ping, { 'x-forwarded-for': forged })).status, 200);
  const refused = await post(app, ping, { 'x-forwarded-for': '10.0.0.3' });
  assert.deepEqual([refused.status, refused.json.error.code, refused.json.id], [429, -32029, null]);
  assert.ok(refused.json.error.data.retry_after_s > 0 && refused.json.error.data.retry_after_s <= 60);
  await app.inject({ method: 'POST', url: '/', remoteAddress: '2001:db8::1', payload: ping });
  await app.inject({ method: 'POST', url: '/', remoteAddress: '2001:db8::2', payload: ping });
  const sameNetwork = await app.inject({ method: 'POST', url: '/', remoteAddress: '2001:db8::3', payload: ping });
  assert.equal(sameNetwork.statusCode, 429);
  const other = await app.inject({ method: 'POST', url: '/', remoteAddress: '10.9.9.9', payload: ping });
  assert.equal(other.statusCode, 200);
});

test('-32029: a minute is over in time, also when the clock of the machine is set back by an hour', async (t) => {
  let [now, date] = [performance.now(), Date.now()];
  t.mock.method(performance, 'now', () => now);
  t.mock.method(Date, 'now', () => date);
  const { app } = service({ requestsPerMinute: 2 });
  const ask = async () => (await post(app, call('nothing', {}))).status;
  assert.deepEqual([await ask(), await ask(), await ask()], [200, 200, 429]);
  date -= 3_600_000;
  now += 59_000;
  assert.equal(await ask(), 429);
  now += 2_000;
  assert.deepEqual([await ask(), await ask(), await ask()], [200, 200, 429]);
});

test('-32029: a service with the key has a limit of its own, a hundred times as high, and strangers keep theirs', async () => {
  const { app } = service({ requestsPerMinute: 2, key: 'right' });
  const ping = call('nothing', {});
  const statuses = async (count: number, headers: Record<string, string>) => {
    const answers = await Promise.all(Array.from({ length: count }, () => post(app, ping, headers)));
    return answers.filter(({ status }) => status === 200).length;
  };
  assert.equal(await statuses(20, { 'x-api-key': 'right' }), 20);
  assert.equal(await statuses(20, { 'x-api-key': 'wrong' }), 2);
  assert.equal(await statuses(200, { 'x-api-key': 'right' }), 180);
});

test('-32029: where calls count, a batch costs as many requests', async () => {
  const ping = call('nothing', {});
  const batch = async (countsCalls: boolean, size: number) => {
    const { app } = service({ requestsPerMinute: 6, countsCalls });
    const batches = [Array(size).fill(ping), Array(size).fill(ping)];
    return await Promise.all(batches.map(async (calls) => (await post(app, calls)).status));
  };
  assert.deepEqual(await batch(true, 3), [200, 200]);
  assert.deepEqual((await batch(true, 4)).toSorted(), [200, 429]);
  assert.deepEqual(await batch(false, 7), [200, 200]);
});

test('a notification has no reply: HTTP 204; in a batch the others have theirs', async () => {
  const { app, called } = service();
  const notification = { jsonrpc: '2.0', method: 'store', params: { value: 5 } };
  const single = await post(app, notification);
  assert.deepEqual([single.status, single.text], [204, '']);
  assert.equal((await post(app, [notification, notification])).status, 204);
  assert.equal((await post(app, [notification, call('echo', { value: 1 }, null)])).json.length, 1);
  assert.equal(called.length, 4);
});

test('params that are null are none', async () => {
  const { app } = service();
  for (const params of ['null', '{}', '[]']) {
    const { json } = await post(app, `{"jsonrpc":"2.0","id":1,"method":"nothing","params":${params}}`);
    assert.deepEqual(json, { jsonrpc: '2.0', result: null, id: 1 }, params);
  }
});

test('ids and results come back as they are', async () => {
  const { app } = service();
  for (const id of ['"a"', '0', '-7', '12345678901234567890', 'null', '""']) {
    const { text } = await post(app, `{"jsonrpc":"2.0","method":"Echo","params":{"value":"0.10"},"id":${id}}`);
    assert.equal(text, `{"jsonrpc":"2.0","result":"0.10","id":${id}}`);
  }
  assert.equal((await post(app, call('nothing', {}))).json.result, null);
});

test('a method may answer with a status of its own; a batch answers 200', async () => {
  const { app } = service();
  const single = await post(app, call('health', []));
  assert.deepEqual([single.status, single.json.result], [503, { status: 'degraded' }]);
  const batch = await post(app, [call('health', {})]);
  assert.deepEqual([batch.status, batch.json[0].result], [200, { status: 'degraded' }]);
});

test('413: a body above the limit; 415: a content type that a browser sends without asking', async () => {
  const { app, called } = service();
  assert.equal((await post(app, call('echo', { value: 'x'.repeat(10_000) }))).status, 413);
  assert.equal((await post(app, call('store', { value: 1 }), { 'content-type': 'text/plain' })).status, 415);
  assert.equal(
    (await post(app, call('store', { value: 1 }), { 'content-type': 'application/json; charset=utf-8' })).status,
    200
  );
  assert.equal(called.length, 1);
});

test('any JSON gets replies that are JSON-RPC 2.0, one for each call with an id, or none', async () => {
  const { app } = service({ requestsPerMinute: 1_000_000, bodyLimitBytes: 1_000_000 });
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

test('a probe that fails is 503: who looks at the status alone must not take it for well', async () => {
  const fail = () => {
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'x' });
  };
  const method = { summary: 'A method', result: Type.Unknown(), write: false, run: fail };
  const methods = { health: rpcMethod({ ...method, isProbe: true }), read: rpcMethod(method) };
  const app = openRpc({ methods });
  for (const [name, status] of [
    ['health', 503],
    ['read', 200]
  ] as const) {
    const payload = { jsonrpc: '2.0', id: 1, method: name };
    const answer = await app.inject({ method: 'POST', url: '/', payload });
    assert.deepEqual([answer.statusCode, answer.json().error.code], [status, -32603]);
  }
  await app.close();
});

test('time in which another program works costs a caller nothing', async () => {
  const { app } = service();
  await Promise.all(Array.from({ length: 80 }, () => post(app, call('waits', {}))));
  const began = performance.now();
  await post(app, call('echo', { value: 1 }));
  const tookMs = performance.now() - began;
  assert.ok(tookMs < 1_000, `${tookMs} ms: 80 waits of 200 ms would be owed for 10,000`);
});
