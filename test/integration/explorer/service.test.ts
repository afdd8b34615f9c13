import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ClientOptions, WebSocket } from 'ws';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { cursorsOf, markOf } from '../../../src/explorer/read/cursor.ts';
import { accessibilityFaults } from '../../support/accessibility.ts';
import { openBrowser } from '../../support/browser.ts';
import { createExplored } from '../../support/explorer-database.ts';
import { startExplorer } from '../../support/explorer-process.ts';
import { RawClient } from '../../support/raw-client.ts';
import { startProgram } from '../../support/service-process.ts';
import { sql } from '../../support/sql.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const CURSOR_KEY = 'c'.repeat(64);
let explored: Awaited<ReturnType<typeof createExplored>>;
let explorer: Awaited<ReturnType<typeof startExplorer>>;
before(async () => {
  explored = await createExplored();
  explorer = await startExplorer(explored, {
    EXPLORER_RATE_LIMIT_RPM: '100000',
    EXPLORER_CURSOR_KEY: CURSOR_KEY,
    EXPLORER_HTTPS_PORT: '8443'
  });
});
after(() => explored.store.close());

type Body = { data: never; error?: string; code?: string; next?: string | null };

async function get(path: string, init: RequestInit = {}) {
  const response = await fetch(`${explorer.url}${path}`, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

test('answers under its code and without it, and says how fresh it is', async () => {
  assert.deepEqual((await get('/RBTC/api/ping')).body, { status: 'success' });
  assert.deepEqual((await get('/api/ping')).body, { status: 'success' });
  const { status, headers, body } = await get('/rbtc/api/balances/A');
  assert.equal(status, 200);
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  assert.deepEqual([headers.get('x-block-height'), headers.get('x-lag-blocks')], [String(explored.blocks.length), '2']);
  assert.match(headers.get('ratelimit') ?? '', /^"explorer";r=\d+;t=\d+$/);
  const expected = await sql(
    explored.indexer,
    "SELECT amount FROM balances b JOIN index_addresses a ON a.id = b.address_id WHERE a.address = 'A' ORDER BY (SELECT t.tick FROM index_tickers t WHERE t.id = b.tick_id)"
  );
  assert.deepEqual(
    (body.data as { amount: string }[]).map(({ amount }) => amount),
    expected.map(({ amount }) => amount)
  );
});

test('a setting that works only beside another one is named where that is not set', () => {
  const lines = explorer.output().split('\n');
  const named = lines.filter((line) => line.includes('is set and not used'));
  assert.equal(named.length, 1, named.join('\n'));
  assert.match(named[0]!, /EXPLORER_HTTPS_PORT is set and not used: set EXPLORER_TLS_CERT and EXPLORER_TLS_KEY/);
});

test('status tells every public network, served or not', async () => {
  const { data } = (await get('/api/status')).body;
  const { etag } = Object.fromEntries((await get('/api/blocks')).headers) as { etag: string };
  assert.deepEqual(Object.keys(data).sort(), ['BTC', 'DOGE', 'LTC', 'RBTC', 'RDOGE', 'RLTC', 'TBTC', 'TDOGE', 'TLTC']);
  assert.deepEqual(data['RBTC'], {
    supported: true,
    available: true,
    stale: false,
    last_block: explored.blocks.length,
    last_block_mark: /^W\/"(\w+)-/.exec(etag)?.[1],
    decoder_tip: explored.blocks.length + 2,
    decoder_lag_blocks: 2,
    hub_config_age_seconds: null
  });
});

test('a block whose second is still to come is told as such, and its age is none', async () => {
  const tip = `block_index = ${explored.blocks.length}`;
  const [known] = await sql(explored.indexer, `SELECT block_time AS time FROM blocks WHERE ${tip}`);
  const ages = async () => {
    const { tip_age_seconds: age, tip_future_seconds: future } = (await get('/api/status')).body as unknown as Record<
      string,
      Record<string, number>
    >;
    return [age!['RBTC']!, future!['RBTC']!] as const;
  };
  assert.ok((await ages())[0] > 0);
  await sql(explored.indexer, `UPDATE blocks SET block_time = UNIX_TIMESTAMP() + 3600 WHERE ${tip}`);
  await eventually('the next look', async () => (await ages())[1] > 3_500);
  assert.equal((await ages())[0], 0);
  await sql(explored.indexer, `UPDATE blocks SET block_time = ${known?.['time']} WHERE ${tip}`);
  await eventually('the next look', async () => (await ages())[1] === 0);
});

test('the example client, typed by /openapi.json, prints every balance of an address', async () => {
  const path = (name: string) => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
  const { exited, output } = startProgram(path('scripts/run-node'), [
    path('docs/examples/holdings.ts'),
    explorer.url,
    'RBTC',
    'A'
  ]);
  assert.equal(await exited, 0, output());
  const held = await sql(
    explored.indexer,
    `SELECT CONCAT(b.amount, ' ', t.tick) AS line FROM balances b JOIN index_addresses a ON a.id = b.address_id
     JOIN index_tickers t ON t.id = b.tick_id WHERE a.address = 'A' ORDER BY t.tick`
  );
  const lines = [...held.map(({ line }) => line), `at block ${explored.blocks.length}`];
  assert.deepEqual(output().trim().split('\n'), lines);
});

test('pubkey and mempool come from the decoder', async () => {
  const { pubkey } = (await get('/api/pubkey/A')).body as unknown as { pubkey: string };
  assert.equal(pubkey, '02ab');
  const hashes = async (path: string) =>
    ((await get(path)).body.data as { tx_hash: string }[]).map(({ tx_hash }) => tx_hash);
  assert.deepEqual(await hashes('/api/mempool'), ['bb', 'aa']);
  assert.deepEqual(await hashes('/api/mempool/A'), ['aa']);
  assert.deepEqual(await hashes('/api/mempool/TOKB/token'), ['bb']);
});

test('the mempool of an address has what it says and what names it, in any spelling, under the names of ledgers', async () => {
  const [own, other] = ['bcrt1q5n2k3frgpxces3dsw4qfpqk4kksv0cz96pldxdwxrrw0d5ud5hcqzzx7zt', 'C'];
  const rows = [
    ['c1', own, 'send|0|TOKA|1|C'],
    ['c2', other, `TRANSFER|0|TOKA|1|${own}`],
    ['c3', other, `BATCH|0|SEND|0|TOKC|1|${own};MINT|0|TOKD|1`]
  ].map(([hash, source, data]) => `('${hash}', '${source}', '${data}')`);
  await sql(explored.decoder, `INSERT INTO mempool_transactions (tx_hash, source, data) VALUES ${rows.join()}`);
  const found = async (path: string) =>
    ((await get(`/api/mempool/${path}?sortorder=asc`)).body.data as { tx_hash: string; action: string }[]).map(
      ({ tx_hash, action }) => `${tx_hash} ${action}`
    );
  await sleep(500); // reads of a moment share a snapshot, which is older than these rows
  for (const spelled of [own, own.toUpperCase()])
    assert.deepEqual(await found(`${spelled}/address`), ['c1 SEND', 'c2 SEND', 'c3 BATCH'], spelled);
  assert.deepEqual(await found('tokd/token'), ['c3 BATCH']);
  await sql(explored.decoder, "DELETE FROM mempool_transactions WHERE tx_hash IN ('c1', 'c2', 'c3')");
});

const VALID = "(SELECT s.id FROM index_statuses s WHERE s.status = 'valid')";

test('a record of a dispenser tells who cancelled it, and one of a validator what all its positions have at stake', async () => {
  const { indexer } = explored;
  const [own] = await sql(
    indexer,
    `SELECT t.action_index AS at, i.id, i.address FROM dispensers t JOIN actions a ON a.action_index = t.action_index
     JOIN index_addresses i ON i.id = a.source_id WHERE t.status_id = ${VALID} LIMIT 1`
  );
  const record = async (path: string) => (await get(`/api/${path}`)).body as unknown as Record<string, unknown>;
  assert.equal((await record(`action/${own!['at']}`))['cancelled_by'], null);
  const before = await record('validator/A');
  const later = 9_000_000;
  const [newest] = await sql(
    indexer,
    `SELECT MAX(IF(t.status_id = ${VALID}, t.action_index, 0)) AS valid, MAX(t.action_index) AS any FROM stakes t
     WHERE t.source_id = (SELECT i.id FROM index_addresses i WHERE i.address = 'A')`
  );
  assert.equal(before['stake_action_index'], String(newest!['valid']));
  assert.ok(Number(newest!['any']) > Number(newest!['valid']), 'a later one was refused');
  await sql(
    indexer,
    `INSERT INTO dispenser_statuses (action_index, dispenser_action_index, cancelled_by_id, status_id)
     VALUES (${later}, ${own!['at']}, ${own!['id']}, ${VALID})`,
    ...[1, later].map(
      (from, place) =>
        `INSERT INTO stakes (action_index, source_id, version, signing_pubkey_id, amount, block_index, activation_block, status_id)
         SELECT ${later + place}, source_id, 2, signing_pubkey_id, '2.5', block_index, ${from}, status_id
         FROM stakes WHERE action_index = ${before['stake_action_index']}`
    )
  );
  await sleep(500); // reads of a moment share a snapshot, which is older than these rows
  // Under another name: the answers of before are kept until the next block.
  assert.equal((await record(`action/0${own!['at']}`))['cancelled_by'], own!['address']);
  const [{ id } = {}] = await sql(indexer, "SELECT id FROM index_addresses WHERE address = 'A'");
  const topped = await record(`validator/%5E${id}`);
  assert.equal(Number(topped['active_stake']), Number(before['active_stake']) + 2.5, 'what counts by now');
  assert.equal(topped['position_count'], Number(before['position_count']) + 2);
  await sql(
    indexer,
    `DELETE FROM dispenser_statuses WHERE action_index = ${later}`,
    `DELETE FROM stakes WHERE action_index >= ${later}`
  );
});

test('start and length page as page and limit do; a path may end with a slash', async () => {
  const rows = async (path: string) => {
    const { status, body } = await get(path);
    assert.equal(status, 200, `${path} ${JSON.stringify(body)}`);
    return body.data as { action_index: string }[];
  };
  for (const [asked = '', same = ''] of [
    ['start=4&length=2', 'page=3&limit=2'],
    ['start=0&length=3&draw=1', 'limit=3'],
    ['start=6&limit=3', 'page=3&limit=3'],
    ['start=0&length=-1', 'limit=100'],
    ['start=x&length=y', 'limit=100']
  ])
    assert.deepEqual(await rows(`/api/actions?${asked}`), await rows(`/RBTC/api/actions/?${same}`), asked);
  for (const wrong of ['start=3&length=2', 'start=4&length=2&page=3'])
    assert.equal((await get(`/api/actions?${wrong}`)).body.code, 'BAD_REQUEST', wrong);
  assert.deepEqual(await rows('/RBTC/api/sends/A/address/'), await rows('/RBTC/api/sends/A/address'));
  assert.equal((await fetch(`${explorer.url}/RBTC/`)).status, 200);
});

const REFUSED: readonly (readonly [path: string, status: number, code: string])[] = [
  ['/XYZ/api/ping', 404, 'UNKNOWN_COIN'],
  ['/LTC/api/ping', 503, 'COIN_NOT_AVAILABLE'],
  ['/RBTC/api/nothing', 404, 'NOT_FOUND'],
  ['/RBTC/api/token/A%2FB', 404, 'NOT_FOUND'],
  ['/RBTC/api/token/%25', 404, 'NOT_FOUND'],
  ['/RBTC/api/action/x', 400, 'INVALID_ACTION_INDEX'],
  ['/RBTC/api/block/x', 400, 'INVALID_BLOCK_INDEX'],
  ['/RBTC/api/blocks?page=999999&limit=100', 400, 'BAD_REQUEST'],
  ['/RBTC/api/blocks?cursor=x', 400, 'CURSOR_INVALID'],
  ['/RBTC/api/blocks?page=1&cursor=x', 400, 'BAD_REQUEST'],
  ['/RBTC/api/balances/A?height=999999', 400, 'INVALID_BLOCK_INDEX'],
  ['/RBTC/api/balances/unknown?height=999999', 400, 'INVALID_BLOCK_INDEX'],
  ['/RBTC/api/balances/%F0%9F%A6%8A?height=999999', 400, 'INVALID_BLOCK_INDEX'],
  ['/RBTC/api/balances/A?height=-1', 400, 'BAD_REQUEST'],
  ['/RBTC/api/blocks?height=1', 400, 'BAD_REQUEST'],
  ['/RBTC/api/sends/A/nothing', 404, 'NOT_FOUND'],
  ['/RBTC/api/preflight?action=SEND', 501, 'INDEXER_NOT_CONFIGURED'],
  ['/RBTC/api/checkpoint/1/verify', 404, 'CHECKPOINT_NOT_FOUND'],
  ['/RBTC/api/proof/balance/A/TOKA', 404, 'NO_CHECKPOINT'],
  ['/RBTC/api/checkpoints/range?from=5&to=1', 400, 'INVALID_RANGE'],
  ...['history', 'dispensers', 'orders', 'sends'].map(
    (method) => [`/api/${method}/A`, 400, 'MISSING_PARAMETER'] as const
  ),
  ['/api/sends', 400, 'MISSING_PARAMETER'],
  ['/api/token', 400, 'MISSING_PARAMETER'],
  [`/api/token/${'x'.repeat(251)}`, 400, 'BAD_REQUEST']
];
for (const [path, status, code] of REFUSED)
  test(`${path.slice(0, 60)} is refused with ${code}`, async () => {
    const refused = await get(path);
    assert.deepEqual([refused.status, refused.body.code], [status, code], refused.body.error ?? path);
    assert.ok((refused.body.error ?? '').length > 5);
  });

test('a cursor of another query is CURSOR_INVALID', async () => {
  const { next } = (await get('/api/actions?limit=1')).body;
  assert.equal((await get(`/api/actions?limit=5&cursor=${next}`)).status, 200);
  assert.equal((await get(`/api/blocks?cursor=${next}`)).body.code, 'CURSOR_INVALID');
  const { next: ofBlock } = (await get('/api/actions?blockIndex=5&limit=1')).body;
  assert.equal((await get(`/api/actions?tick=5&cursor=${ofBlock}`)).body.code, 'CURSOR_INVALID');
});

test('a cursor is good at every explorer of a database, also after a restart; one that nobody signed is not', async () => {
  const { next } = (await get('/api/actions?limit=1')).body;
  const other = await startExplorer(explored, { EXPLORER_CURSOR_KEY: CURSOR_KEY });
  assert.equal((await fetch(`${other.url}/api/actions?cursor=${next}`)).status, 200);
  assert.equal(await other.stop(), 0, other.output());
  const made = cursorsOf(CURSOR_KEY, 'bitcoin-regtest').write(
    ...([markOf({ method: 'actions', order: 'desc', parameters: {} }, ''), { height: 1, mark: '' }] as const),
    { key: '1', given: 1 }
  );
  assert.equal((await get(`/api/actions?cursor=${made}`)).body.code, 'CURSOR_STALE', 'nothing but its key signs one');
  const [text, signature = ''] = next!.split('.');
  for (const cursor of [text, `${text}.${'A'.repeat(signature.length)}`])
    assert.equal((await get(`/api/actions?cursor=${cursor}`)).body.code, 'CURSOR_INVALID');
});

test('an answer is not sent again before the next block; what no reorg can reach is kept for ever', async () => {
  for (const path of ['/api/balances/A', '/api/blocks', '/api/token/TOKA', '/api/search/TOKA']) {
    const first = await fetch(explorer.url + path);
    const etag = first.headers.get('etag');
    assert.match(etag ?? '', /^W\/"[0-9a-f]{16}-[0-9a-f]{8}"$/);
    assert.equal(first.headers.get('cache-control'), 'public, no-cache');
    const again = await fetch(explorer.url + path, { headers: { 'if-none-match': etag! } });
    assert.deepEqual([again.status, await again.text()], [304, ''], path);
    for (const name of ['etag', 'cache-control', 'vary', 'x-block-height', 'x-lag-blocks'])
      assert.equal(again.headers.get(name), first.headers.get(name), `${name} of ${path}`);
    for (const tags of [etag!.replace('W/', ''), `"x", ${etag}`, `W/"a,b" , ${etag!.slice(2)}`, '*']) {
      const known = await fetch(explorer.url + path, { headers: { 'if-none-match': tags } });
      assert.deepEqual([known.status, known.headers.get('etag')], [304, etag], `${tags} ${path}`);
    }
    for (const tags of ['"x"', etag!.slice(3, -1), `"${etag!.slice(2)}"`]) {
      const known = await fetch(explorer.url + path, { headers: { 'if-none-match': tags } });
      assert.equal(known.status, 200, `${tags} ${path}`);
    }
    const other = await fetch(`${explorer.url}/api/balances/B`, { headers: { 'if-none-match': etag! } });
    assert.equal(other.status, 200);
  }
  const nothing = await fetch(`${explorer.url}/api/token/NOPE`, { headers: { 'if-none-match': '*' } });
  assert.equal(nothing.status, 404);
  for (const path of ['/api/mempool', '/api/pubkey/A'])
    assert.equal((await fetch(explorer.url + path)).headers.get('cache-control'), 'no-store', path);
});

test('other origins that are allowed read its headers, and caches keep answers apart by origin and form', async () => {
  const origin = 'https://wallet.example';
  const open = await startExplorer(explored, { CORS_ORIGINS: origin });
  for (const path of ['/api/blocks', '/api/history/1/block', '/api/search/TOKA']) {
    const { headers } = await fetch(open.url + path, { headers: { origin } });
    assert.equal(headers.get('access-control-allow-origin'), origin);
    const vary = (headers.get('vary') ?? '').toLowerCase().split(/, */);
    assert.deepEqual(vary.sort(), path === '/api/search/TOKA' ? ['origin'] : ['accept', 'origin']);
    const exposed = (headers.get('access-control-expose-headers') ?? '').toLowerCase();
    for (const name of ['etag', 'link', 'ratelimit', 'retry-after', 'x-block-height', 'x-lag-blocks'])
      assert.ok(exposed.split(/, */).includes(name), `${name} in ${exposed}`);
  }
  assert.equal(await open.stop(), 0, open.output());
});

test('text/csv: the rows of a list with the cursor in Link', async () => {
  const asked = '/api/history/A/address?limit=2&sortorder=asc';
  const response = await fetch(explorer.url + asked, { headers: { accept: 'text/csv' } });
  assert.match(response.headers.get('content-type') ?? '', /^text\/csv/);
  const [names = '', ...lines] = (await response.text()).trimEnd().split('\r\n');
  const { body } = await get(asked);
  const rows = body.data as Record<string, unknown>[];
  assert.deepEqual(
    names.split(','),
    Object.keys(rows[0]!).filter((name) => !['status', 'details'].includes(name))
  );
  assert.deepEqual(
    lines,
    rows.map(({ status: _, details: __, ...row }) => Object.values(row).join(','))
  );
  const [, next = ''] = /^<(.*)>; rel="next"$/.exec(response.headers.get('link') ?? '') ?? [];
  const { body: following } = await get(`/api/history/A/address${next}`);
  const { body: expected } = await get('/api/history/A/address?limit=2&sortorder=asc&page=2');
  assert.deepEqual(following.data, expected.data);
});

/** The answer to bytes of a request, as they come. */
async function answerTo(bytes: string): Promise<{ readonly status: number; readonly body: Body }> {
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connectSocket(explorer.port, '127.0.0.1', () => socket.write(bytes));
    socket.once('data', (chunk) => resolve(String(chunk)));
    socket.once('error', reject);
  });
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body: JSON.parse(body) as Body };
}

test('requests that reach no route are refused with a code too: a URL of 3 MB, a path that cannot be decoded, no HTTP', async () => {
  for (const [bytes, status, code] of [
    [`GET /api/token/${'x'.repeat(3_000_000)} HTTP/1.1\r\n`, 431, 'REQUEST_HEADER_FIELDS_TOO_LARGE'],
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'REQUEST_HEADER_FIELDS_TOO_LARGE'],
    ['GET / HTTP/1.1\r\n\r\n', 400, 'BAD_REQUEST'],
    ['GET /api/ping HTTP/1.1\r\nHost: x\r\nExpect: y\r\n\r\n', 417, 'EXPECTATION_FAILED'],
    ['nonsense\r\n\r\n', 400, 'BAD_REQUEST'],
    ['GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'BAD_REQUEST'],
    ['GET /api/token/%E0%A4%A HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'BAD_REQUEST'],
    ['GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n', 404, 'NOT_FOUND']
  ] as const) {
    const answer = await answerTo(bytes);
    assert.deepEqual([answer.status, answer.body.code], [status, code], bytes.slice(0, 60));
  }
  assert.equal((await get('/api/ping')).status, 200);
});

test('a limit and a page that are none count as left out; too many as the most', async () => {
  const rowsOf = async (query: string) => ((await get(`/api/actions?${query}`)).body.data as unknown[]).length;
  const all = await rowsOf('');
  assert.equal(all, 100);
  for (const [query, rows] of [
    ['limit=0', 1],
    ['limit=-7', 1],
    ['limit=5', 5],
    ['limit=many', 100],
    ['limit=1e9&page=0&sortorder=up', 100],
    ['limit=99999999999999999999', 100]
  ] as const)
    assert.equal(await rowsOf(query), rows, query);
});

test('ping by JSON-RPC, and balances of several addresses by POST, each as its own answer', async () => {
  const post = (path: string, body: object) =>
    get(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  for (const path of ['/', '/RBTC/']) {
    const { body } = await post(path, { jsonrpc: '2.0', id: 1, method: 'ping' });
    assert.equal((body as unknown as { result: { status: string } }).result.status, 'success');
  }
  const { data } = (await post('/RBTC/api/balances', { addresses: ['A', 'nobody'] })).body as unknown as {
    data: { address: string; data: unknown[] }[];
  };
  assert.deepEqual(
    data.map(({ address }) => address),
    ['A', 'nobody']
  );
  assert.deepEqual(data[0]!.data, (await get('/RBTC/api/balances/A')).body.data);
  for (const addresses of [[], Array.from({ length: 21 }, () => 'A'), 'A'])
    assert.equal((await post('/RBTC/api/balances', { addresses })).body.code, 'BAD_REQUEST');
});

test('axe-core finds no serious fault on any page, light or dark, wide or narrow', async () => {
  const page = await (await openBrowser()).newPage();
  const [market] = await sql(
    explored.indexer,
    'SELECT a.tick AS one, b.tick AS two FROM markets m JOIN index_tickers a ON a.id = m.tick1_id JOIN index_tickers b ON b.id = m.tick2_id LIMIT 1'
  );
  assert.ok(market, 'no pair was traded');
  const pair = `/market/${market['one']}/${market['two']}`;
  const found: string[] = [];
  for (const path of ['/', '/address/A', '/token/TOKA', '/block/1', '/action/9', pair, '/search?q=TOK', '/block/x']) {
    await page.goto(explorer.url + path, { waitUntil: 'load' });
    found.push(...(await accessibilityFaults(page, path)));
  }
  assert.deepEqual(found, []);
});

test('its account may SELECT alone, nobody needs a key; it reads and never writes: other methods are not there', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'])
    for (const path of ['/api/blocks', '/api/status', '/nowhere/at/all']) {
      const { status, body } = await get(path, { method });
      assert.deepEqual([status, body.code], [404, 'NOT_FOUND'], `${method} ${path}`);
    }
  const malformed = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' };
  assert.equal((await get('/api/blocks', malformed)).body.code, 'BAD_REQUEST');
});

test('a slip of a parameter that changes the answer is refused, and what tools add is not', async () => {
  for (const [path, meant] of [
    ['/api/holders/TOKA?hight=1', 'height'],
    ['/api/holders/TOKA?Height=1', 'height'],
    ['/api/holders/TOKA?height[]=1', 'height'],
    ['/api/blocks?limits=3', 'limit'],
    ['/api/actions?blockindex=1', 'blockIndex']
  ] as const) {
    const { status, body } = await get(path);
    assert.deepEqual([status, body.code], [400, 'BAD_REQUEST'], path);
    assert.match(String(body.error), new RegExp(`did you mean ${meant}\\?`));
  }
  assert.match(String((await get('/api/token/TOKA?height=1')).body.error), /token has no past values/);
  assert.equal((await get('/api/blocks?_=1700000000&utm_source=x')).status, 200);
});

test('prices that come between two blocks are in the next answer: network has no ETag', async () => {
  const first = await fetch(`${explorer.url}/api/network`);
  assert.deepEqual([first.headers.get('etag'), first.headers.get('cache-control')], [null, 'no-store']);
  await sql(
    explored.indexer,
    `INSERT INTO price_snapshots (round_number, coin_pair, price, reference_block, block_timestamp, status, validator_count, consensus_round, consensus_proof)
     VALUES (70, 'BTC/USD', '91234', 3, 1700000000, 'finalized', 4, 1, '')`
  );
  await sleep(1_100); // a snapshot serves for a moment
  const { prices } = (await get('/api/network')).body as unknown as { prices: { price: string }[] };
  assert.deepEqual(
    prices.map(({ price }) => price),
    ['91234']
  );
});

test('refusals are kept by no cache: 404 and 400 say no-store', async () => {
  for (const [path, status] of [
    ['/api/token/NOPE', 404],
    ['/nowhere', 404],
    ['/XYZ/api/blocks', 404],
    ['/api/blocks?cursor=x', 400]
  ] as const) {
    const answer = await fetch(explorer.url + path);
    assert.deepEqual([answer.status, answer.headers.get('cache-control')], [status, 'no-store'], path);
  }
});

test('HTTPS is served where a certificate is set, by the same routes; a pair that does not fit is CONFIG_INVALID', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'platform-tls-'));
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  try {
    execFileSync('openssl', [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost',
      '-keyout',
      key,
      '-out',
      cert
    ]);
    const port = await freePort();
    const env = { EXPLORER_TLS_CERT: cert, EXPLORER_TLS_KEY: key, EXPLORER_HTTPS_PORT: String(port) };
    const secure = await startExplorer(explored, env);
    const ca = readFileSync(cert);
    const asked = request({ host: '127.0.0.1', servername: 'localhost', port, path: '/api/balances/A', ca }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const { data } = JSON.parse(Buffer.concat(await Array.fromAsync(response)).toString()) as Body;
    assert.deepEqual(data, (await get('/api/balances/A')).body.data);
    const socket = new WebSocket(`wss://127.0.0.1:${port}/api/stream`, {
      ca,
      servername: 'localhost'
    } as ClientOptions);
    const [message] = (await once(socket, 'message')) as [Buffer];
    assert.equal((JSON.parse(String(message)) as { type: string }).type, 'ready');
    socket.terminate();
    const junk = await RawClient.open(`127.0.0.1:${port}`);
    await junk.say('GET / HTTP/1.1\r\n\r\n').ended;
    assert.equal(await secure.stop(), 0, secure.output());
    await assert.rejects(
      startExplorer(explored, { ...env, EXPLORER_TLS_KEY: cert }),
      /EXPLORER_TLS_CERT and EXPLORER_TLS_KEY/
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('an actor that is down is not available, whatever it said last: no answer is kept, and the service is not ready', async () => {
  const key = 'k'.repeat(16);
  const down = await startExplorer(explored, { EXPLORER_API_KEY: key });
  const ask = (path: string, headers: Record<string, string> = {}) => fetch(down.url + path, { headers });
  const etag = (await ask('/api/blocks')).headers.get('etag')!;
  assert.equal((await ask('/api/blocks', { 'if-none-match': etag })).status, 304);
  const actor = `${down.url}/debug/actors/explorer/bitcoin/regtest`;
  await fetch(`${actor}/pause`, { method: 'POST', headers: { 'x-api-key': key } });
  await eventually('the service says so', async () => (await ask('/readyz')).status === 503);
  for (const headers of [{}, { 'if-none-match': etag }] as Record<string, string>[])
    assert.equal((await ask('/api/blocks', headers)).status, 503);
  const { data, available } = (await (await ask('/api/status')).json()) as Record<string, Record<string, unknown>>;
  assert.equal((data!['RBTC'] as { available: boolean }).available, false);
  assert.deepEqual(available, {});
  await fetch(`${actor}/restart`, { method: 'POST', headers: { 'x-api-key': key } });
  await eventually('it answers again', async () => (await ask('/api/blocks')).status === 200);
  assert.equal((await ask('/readyz')).status, 200, 'though no block came since');
  assert.equal(await down.stop(), 0, down.output());
});

test('RATE_LIMITED: the 501st request of a minute', async () => {
  const limited = await startExplorer(explored);
  const statuses: number[] = [];
  const asked = ['/api/ping', '/api/blocks', '/', '/block/1'];
  for (let at = 0; at < 501; at++) statuses.push((await fetch(limited.url + asked[at % asked.length]!)).status);
  assert.deepEqual([statuses[499], statuses[500]], [200, 429], 'pages and answers have one limit');
  const socket = new WebSocket(`${limited.url.replace('http', 'ws')}/api/websocket`);
  const [, { statusCode }] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
  socket.on('error', () => undefined);
  socket.terminate();
  assert.equal(statusCode, 429, 'and so have connections');
  for (const path of ['/livez', '/readyz']) assert.equal((await fetch(limited.url + path)).status, 200, path);
  const refused = await fetch(`${limited.url}/api/ping`);
  assert.equal(((await refused.json()) as Body).code, 'RATE_LIMITED');
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal(await limited.stop(), 0, limited.output());
});
