import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createHubClient } from '../../../src/hub/client.ts';

/** A hub that answers as a test says; `asked` are the params it was sent. */
async function hubThat(t: TestContext, respond: RequestListener) {
  const server = createServer(respond);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

async function hubWith(t: TestContext, results: unknown[]) {
  const asked: unknown[] = [];
  const address = await hubThat(t, (request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      asked.push(JSON.parse(body).params);
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: results.shift() }));
    });
  });
  return { address, asked };
}

const plain = (tree: unknown) => JSON.parse(JSON.stringify(tree));
const tree = (host: string, user = 'u') => ({ bitcoin: { mainnet: { 'x-indexer': { host, user } } } });

test('the second question is for changes since the watermark, and they are merged', async (t) => {
  const delta = { bitcoin: { mainnet: { 'x-indexer': { host: 'b' } } } };
  const { address, asked } = await hubWith(t, [
    { configs: tree('a'), seq: 1, watermark: 50 },
    { configs: delta, seq: 1, watermark: 60 },
    { configs: {}, seq: 1, watermark: 60 }
  ]);
  const client = createHubClient({ hosts: [address], timeoutMs: 1000 });
  assert.deepEqual(plain(await client.fetchConfigs()), tree('a'));
  assert.deepEqual(plain(await client.fetchConfigs()), tree('b'));
  assert.deepEqual(plain(await client.fetchConfigs()), tree('b'));
  assert.deepEqual(asked, [{}, { since_updated_at: 50 }, { since_updated_at: 60 }]);
});

test('a bare tree is taken whole each time', async (t) => {
  const { address, asked } = await hubWith(t, [tree('a'), tree('b')]);
  const client = createHubClient({ hosts: [address], timeoutMs: 1000 });
  await client.fetchConfigs();
  assert.deepEqual(plain(await client.fetchConfigs()), tree('b'));
  assert.deepEqual(asked, [{}, {}]);
});

test('a watermark that went back is another history: everything is asked anew', async (t) => {
  const { address, asked } = await hubWith(t, [
    { configs: tree('a'), watermark: 50 },
    { configs: {}, watermark: 10 },
    { configs: tree('old'), watermark: 10 }
  ]);
  const client = createHubClient({ hosts: [address], timeoutMs: 1000 });
  await client.fetchConfigs();
  assert.deepEqual(plain(await client.fetchConfigs()), tree('old'));
  assert.deepEqual(asked, [{}, { since_updated_at: 50 }, {}]);
});

test('changes that do not add up are asked for in full: another count of entries, a seq that went back or brought nothing', async (t) => {
  const first = { configs: tree('a'), seq: 4, watermark: 50, entries: 2 };
  const odd = [
    { configs: {}, seq: 5, watermark: 50, entries: 1 },
    { configs: tree('a'), seq: 3, watermark: 50, entries: 2 },
    { configs: {}, seq: 5, watermark: 50 }
  ];
  for (const changes of odd) {
    const { address, asked } = await hubWith(t, [first, changes, { configs: tree('whole'), seq: 5, watermark: 50 }]);
    const client = createHubClient({ hosts: [address], timeoutMs: 1000 });
    await client.fetchConfigs();
    assert.deepEqual(plain(await client.fetchConfigs()), tree('whole'), JSON.stringify(changes));
    assert.deepEqual(asked, [{}, { since_updated_at: 50 }, {}]);
  }
});

test('every tenth time everything is asked for', async (t) => {
  const { address, asked } = await hubWith(
    t,
    Array.from({ length: 12 }, () => ({ configs: tree('a'), watermark: 50 }))
  );
  const client = createHubClient({ hosts: [address], timeoutMs: 1000 });
  for (let n = 0; n < 12; n++) await client.fetchConfigs();
  assert.deepEqual(
    asked.flatMap((params, n) => (plain(params).since_updated_at === undefined ? [n] : [])),
    [0, 10]
  );
});

test('the next hub is asked in full when the first one fails', async (t) => {
  const second = await hubWith(t, [{ configs: tree('second'), watermark: 5 }]);
  let isUp = true;
  const first = await hubThat(t, (_, response) => {
    if (isUp) response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { configs: tree('first'), watermark: 9 } }));
    else response.writeHead(503).end('{}');
  });
  const client = createHubClient({ hosts: [first, second.address], timeoutMs: 1000 });
  assert.deepEqual(plain(await client.fetchConfigs()), tree('first'));
  isUp = false;
  assert.deepEqual(plain(await client.fetchConfigs()), tree('second'));
  assert.deepEqual(second.asked, [{}]);
});

test('HUB_UNREACHABLE: says of each hub where it is and why', async (t) => {
  const closed = { host: '127.0.0.1', port: 1 };
  const cases: [respond: RequestListener, reason: RegExp, timeoutMs?: number][] = [
    [(_, response) => response.writeHead(429).end('{}'), /answered HTTP 429/],
    [(_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), /redirect/],
    [(_, response) => response.end('<html>'), /not valid JSON/],
    [
      (_, response) => response.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}'),
      /-32603/
    ],
    [(_, response) => response.end('{"jsonrpc":"2.0","id":1,"result":[]}'), /no object/],
    [(_, response) => response.end(Buffer.alloc(17 * 1024 * 1024, 0x20)), /more than 16777216 bytes/],
    [() => undefined, /did not answer within 200 ms/, 200]
  ];
  for (const [respond, reason, timeoutMs = 10_000] of cases) {
    const hub = await hubThat(t, respond);
    const fetching = createHubClient({ hosts: [hub], timeoutMs }).fetchConfigs();
    await assert.rejects(fetching, (error: Error & { code: string }) => {
      assert.equal(error.code, 'HUB_UNREACHABLE');
      assert.match(error.message, reason);
      assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${hub.port} `));
      return true;
    });
  }
  await assert.rejects(
    createHubClient({ hosts: [closed], timeoutMs: 200 }).fetchConfigs(),
    /error connecting to the hub: 127\.0\.0\.1:1 /
  );
});

test('the caller can end the asking, and no further hub is asked', async (t) => {
  const silent = await hubThat(t, () => undefined);
  const second = await hubWith(t, [tree('a')]);
  const client = createHubClient({ hosts: [silent, second.address], timeoutMs: 5000 });
  await assert.rejects(client.fetchConfigs(AbortSignal.timeout(50)), { code: 'HUB_UNREACHABLE' });
  assert.deepEqual(second.asked, []);
});

test('the API key is sent as x-api-key', async (t) => {
  const hub = await hubThat(t, (request, response) =>
    response.end(JSON.stringify({ result: tree(String(request.headers['x-api-key'])) }))
  );
  assert.deepEqual(
    plain(await createHubClient({ hosts: [hub], apiKey: 'k1', timeoutMs: 1000 }).fetchConfigs()),
    tree('k1')
  );
});
