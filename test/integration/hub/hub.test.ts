import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { pino } from 'pino';
import { CHAIN_NETWORKS } from '../../../src/coin/chains.ts';
import { connect, rows } from '../../../src/db/connection.ts';
import { createHubClient, discoverDatabases } from '../../../src/hub/client.ts';
import { pickSettings } from '../../../src/hub/settings.ts';
import { silentLogger } from '../../../src/log.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { runHub as openHub } from '../../support/hub/run-hub.ts';
import { createDatabase } from '../../support/mariadb.ts';

/** A hub that ends with the test. */
async function runHub(
  t: TestContext,
  database: DatabaseCoordinates,
  env: Record<string, string> = {},
  log = silentLogger
) {
  const hub = await openHub(env, { database, log });
  t.after(hub.stop);
  return hub;
}

async function sql(database: DatabaseCoordinates, statement: string) {
  const connection = await connect(database);
  const result = await rows(connection, statement);
  await connection.end();
  return result;
}

/** Without a client that decodes by itself. */
async function rawPost(port: number, body: unknown, coding: string) {
  const headers = { 'content-type': 'application/json', 'accept-encoding': coding };
  const asked = request({ host: '127.0.0.1', port, method: 'POST', path: '/', headers }).end(JSON.stringify(body));
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const bytes = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>));
  const text = (response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
  return { status: response.statusCode, headers: response.headers, text };
}

const MODULE = { db_host: '127.0.0.1', db_port: 3306, name: 'Platform_BTC_Mainnet_Indexer', user: 'u', pass: 'p ' };
const tree = (params: object) => ({ config: { bitcoin: { mainnet: { 'x-indexer': params } } } });

test('getallconfigs returns what updateconfig wrote, and a client discovers it, also after a restart', async (t) => {
  const database = await createDatabase('hub');
  const first = await runHub(t, database);
  assert.deepEqual((await first.call('getallconfigs')).json.result, { configs: {}, seq: 0, watermark: 0, entries: 0 });
  assert.deepEqual((await first.call('updateconfig', tree(MODULE))).json.result, { status: 'success' });
  await first.stop();

  const second = await runHub(t, database);
  const { result } = (await second.call('GetAllConfigs')).json;
  assert.deepEqual(result.configs, { bitcoin: { mainnet: { 'x-indexer': { ...MODULE, db_port: '3306' } } } });
  const again =
    "INSERT INTO configs SELECT 99, coin, network, module, param_name, 'other', updated_at FROM configs LIMIT 1";
  await assert.rejects(
    sql(database, again),
    /Duplicate entry 'bitcoin-mainnet-x-indexer-[a-z_]+' for key 'configs_name'/
  );
  assert.ok(Math.abs(result.watermark - Date.now() / 1000) < 60);
  const client = createHubClient({ hosts: [{ host: '127.0.0.1', port: second.port }], timeoutMs: 5000 });
  assert.deepEqual(discoverDatabases(await client.fetchConfigs()), {
    databases: [
      {
        id: { dbType: 'indexer', chain: 'bitcoin', network: 'mainnet' },
        coordinates: { host: '127.0.0.1', port: 3306, user: 'u', pass: 'p ', name: MODULE.name }
      }
    ],
    problems: []
  });
});

test('since_updated_at returns what changed at that second or later; writing the same again is no change', async (t) => {
  const database = await createDatabase('hub');
  const hub = await runHub(t, database);
  await hub.call('updateconfig', tree(MODULE));
  await sql(database, "UPDATE configs SET updated_at = '2020-01-01 00:00:00'");
  const past = (await hub.call('getallconfigs')).json.result.watermark;
  assert.equal(past, 1_577_836_800);
  assert.equal(
    Object.keys((await hub.call('getallconfigs', { since_updated_at: past })).json.result.configs).length,
    1
  );
  await hub.call('updateconfig', tree({ ...MODULE, user: 'v' }));
  const delta = (await hub.call('getallconfigs', { since_updated_at: past + 1 })).json.result;
  assert.deepEqual(delta.configs, { bitcoin: { mainnet: { 'x-indexer': { user: 'v' } } } });
  await hub.call('updateconfig', tree({ ...MODULE, user: 'v', pass: 'p' })); // only a trailing space less
  const next = (await hub.call('getallconfigs', { since_updated_at: past + 1 })).json.result;
  assert.deepEqual(next.configs, { bitcoin: { mainnet: { 'x-indexer': { user: 'v', pass: 'p' } } } });
});

test('getallconfigs: kept answers are those of the database, plain, as gzip and in a batch, and change with it', async (t) => {
  const database = await createDatabase('hub');
  const hub = await runHub(t, database);
  const modules = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`m${n}-indexer`, MODULE]));
  await hub.call('updateconfig', { config: { bitcoin: { mainnet: modules } } });
  const ask = async (id: unknown, coding: string) => {
    const { status, headers, text } = await rawPost(hub.port, { jsonrpc: '2.0', id, method: 'getallconfigs' }, coding);
    return { status, coding: headers['content-encoding'], reply: JSON.parse(text) };
  };
  const plain = await ask(1, 'identity');
  assert.deepEqual([plain.status, plain.coding], [200, undefined]);
  const wanted = Object.fromEntries(Object.keys(modules).map((name) => [name, { ...MODULE, db_port: '3306' }]));
  assert.deepEqual(plain.reply.result.configs, { bitcoin: { mainnet: wanted } });
  for (const id of [1, 'two"', null]) {
    const zipped = await ask(id, 'deflate, gzip');
    assert.deepEqual([zipped.status, zipped.coding, zipped.reply], [200, 'gzip', { ...plain.reply, id }]);
  }
  assert.equal((await ask(1, 'gzip;q=0, identity')).coding, undefined);
  const batch = (await hub.post([{ jsonrpc: '2.0', id: 7, method: 'getallconfigs' }])).json;
  assert.deepEqual(batch, [{ ...plain.reply, id: 7 }]);

  const { seq, watermark, entries } = plain.reply.result;
  const none = (await hub.call('getallconfigs', { since_updated_at: watermark + 1 })).json.result;
  assert.deepEqual(none, { configs: {}, seq, watermark, entries });
  await hub.call('updateconfig', { config: { bitcoin: { mainnet: { 'm0-indexer': { user: 'new' } } } } });
  const next = (await ask(1, 'gzip')).reply.result;
  assert.deepEqual([next.seq, next.configs.bitcoin.mainnet['m0-indexer'].user], [seq + 1, 'new']);
  await sql(database, "DELETE FROM configs WHERE module = 'm1-indexer'"); // by hand: no write of the hub
  const isThere = async () => 'm1-indexer' in (await ask(1, 'gzip')).reply.result.configs.bitcoin.mainnet;
  for (const end = Date.now() + 5_000; await isThere(); await sleep(50)) assert.ok(Date.now() < end, 'still there');
});

test('a change is never stamped older than one before it, though the clock steps back', async (t) => {
  const database = await createDatabase('hub');
  const hub = await runHub(t, database);
  await hub.call('updateconfig', tree(MODULE));
  await sql(database, 'UPDATE configs SET updated_at = NOW() + INTERVAL 1 HOUR');
  const { watermark } = (await hub.call('getallconfigs')).json.result;
  await hub.call('updateconfig', { config: { bitcoin: { testnet: { 'x-indexer': { host: 'late' } } } } });
  const delta = (await hub.call('getallconfigs', { since_updated_at: watermark })).json.result;
  assert.equal(delta.configs.bitcoin.testnet['x-indexer'].host, 'late');
});

test('every write is one seq; null removes a parameter, and a client that reads changes sees it go', async (t) => {
  const database = await createDatabase('hub');
  const hub = await runHub(t, database);
  const seq = async () => (await hub.call('getallconfigs')).json.result.seq;
  const client = createHubClient({ hosts: [{ host: '127.0.0.1', port: hub.port }], timeoutMs: 5000 });
  await hub.call('updateconfig', tree(MODULE));
  await hub.call('updateconfig', { config: { bitcoin: { mainnet: { gone: { host: 'h' } } } } });
  assert.equal(await seq(), 2);
  assert.equal((await client.fetchConfigs())['bitcoin']?.['mainnet']?.['gone']?.['host'], 'h');

  const edit = { gone: { host: null, port: null }, 'x-indexer': { user: 'v' } };
  assert.deepEqual((await hub.call('updateconfig', { config: { bitcoin: { mainnet: edit } } })).json.result, {
    status: 'success'
  });
  assert.equal(await seq(), 3);
  const left = { bitcoin: { mainnet: { 'x-indexer': { ...MODULE, db_port: '3306', user: 'v' } } } };
  assert.deepEqual((await hub.call('getallconfigs')).json.result.configs, left);
  assert.deepEqual(JSON.parse(JSON.stringify(await client.fetchConfigs())), left);
});

test('REQUEST_INVALID: each wrong input is named, and leaves nothing written', async (t) => {
  const hub = await runHub(t, await createDatabase('hub'));
  const module = (params: object, name = 'm') => ({ config: { bitcoin: { mainnet: { [name]: params } } } });
  type Case = [method: string, params: object, reason: RegExp];
  const wrong = (params: object, reason: RegExp): Case => ['updateconfig', module(params), reason];
  const cases: Case[] = [
    ['updateconfig', module({ host: 'fine', pass: 'x'.repeat(1025) }), /bitcoin\/mainnet\/m\/pass is longer than 1024/],
    [
      'updateconfig',
      module({ host: 'fine', pass: { nested: 1 } }),
      /m\/pass must be text, a number, a boolean, or null/
    ],
    ['updateconfig', module({ host: 'fine', pass: 'p\0' }), /m\/pass holds control characters/],
    ['updateconfig', module({ host: 'fine', pass: '\ud800' }), /m\/pass holds control characters, or half of/],
    ['updateconfig', module({ host: 'fine', prot: 1 }), /unknown parameter "prot"; there are host, port/],
    ['updateconfig', module({ host: 'x' }, 'a b'), /module "a b" must be 1 to 64/],
    ['updateconfig', { config: { ['c'.repeat(17)]: { n: { m: { host: 'x' } } } } }, /coin "c{17}" must be 1 to 16/],
    ...['__proto__', 'constructor', 'toString'].flatMap((name): Case[] => {
      const named = (config: string) => JSON.parse(`{"config":${config.replaceAll('?', name)}}`) as object;
      const reason = new RegExp(`"${name}" is a name that every object`);
      return [
        ['updateconfig', named('{"?":{"n":{"m":{"host":"h"}}}}'), reason],
        ['updateconfig', named('{"c":{"?":{"m":{"host":"h"}}}}'), reason],
        ['updateconfig', named('{"c":{"n":{"?":{"host":"h"}}}}'), reason]
      ];
    }),
    ...['', 'a b', 'h/', 'http://h', 'h;x', 'h:1', true, 1.5, '\u3002'].map((host) =>
      wrong({ host }, /m\/host must be a host name or an address/)
    ),
    ...['0', '99999999', '65536', '1e3', '-1', 3.5, true, ''].map((port) =>
      wrong({ port }, /m\/port must be a whole number from 1 to 65535/)
    ),
    ...['a;b', 'a`b', '', 'x'.repeat(65), 5].map((name) =>
      wrong({ name }, /m\/name must be 1 to 64 letters, digits or _/)
    ),
    ['updateconfig', { config: { '': { n: { m: { host: 'x' } } } } }, /coin "" must be 1 to 16/],
    ['updateconfig', { ...module({ host: 'x' }), force: true }, /params\/force is unknown here/],
    ['updateconfig', { config: { bitcoin: 'mainnet' } }, /\/config\/bitcoin/],
    ['updateconfig', {}, /config/],
    ['getallconfigs', { since_updated_at: 'five' }, /since_updated_at/],
    ['getallconfigs', { since_updated_at: Date.now() }, /must be seconds, not milliseconds/]
  ];
  for (const [method, params, reason] of cases) {
    const { error } = (await hub.call(method, params)).json;
    assert.ok(error, JSON.stringify(params));
    assert.deepEqual([error.code, error.data.code], [-32602, 'REQUEST_INVALID'], String(reason));
    assert.match(error.message, reason);
  }
  const { configs, seq } = (await hub.call('getallconfigs')).json.result;
  assert.deepEqual([configs, seq], [{}, 0]);
});

test('names of coins, networks and modules that differ in case only are one: another spelling is refused by name', async (t) => {
  const hub = await runHub(t, await createDatabase('hub'));
  const write = async (config: object) => (await hub.call('updateconfig', { config })).json;
  const at = (coin: string, network: string, module: string, host: string | null = 'h') => ({
    [coin]: { [network]: { [module]: { host } } }
  });
  assert.ok((await write(at('BTC', 'mainnet', 'btc-indexer'))).result);
  for (const [config, reason] of [
    [at('btc', 'mainnet', 'btc-indexer'), /btc differs in case only from BTC, which/],
    [at('BTC', 'Mainnet', 'btc-indexer'), /BTC\/Mainnet differs in case only from BTC\/mainnet/],
    [at('BTC', 'mainnet', 'BTC-indexer'), /BTC-indexer differs in case only from BTC\/mainnet\/btc-indexer/],
    [{ ...at('LTC', 'mainnet', 'm'), ...at('ltc', 'mainnet', 'm') }, /ltc differs in case only from LTC/]
  ] as const) {
    const { error } = await write(config);
    assert.equal(error?.code, -32602, JSON.stringify(config));
    assert.match(error.message, reason);
  }
  const read = async () => (await hub.call('getallconfigs')).json.result.configs;
  assert.deepEqual(await read(), at('BTC', 'mainnet', 'btc-indexer'), 'nothing was written');
  assert.ok((await write({ ...at('BTC', 'mainnet', 'btc-indexer', null), ...at('btc', 'mainnet', 'm') })).result);
  assert.deepEqual(await read(), at('btc', 'mainnet', 'm'), 'a name is spelled anew when the other one goes');
});

test('HUB_SENSITIVE_READ_AUTH: getallconfigs needs the key too', async (t) => {
  const env = { HUB_API_KEY: 'k', HUB_SENSITIVE_READ_AUTH: 'true' };
  const hub = await runHub(t, await createDatabase('hub'), env);
  const refused = await hub.call('getallconfigs');
  assert.deepEqual([refused.status, refused.json.error.code], [401, -32001]);
  assert.equal((await hub.call('getallconfigs', {}, { authorization: 'Bearer k' })).status, 200);
  assert.equal((await hub.call('ping')).status, 200);
});

test('with HUB_API_KEY passwords are masked for callers without it; HUB_SENSITIVE_READ_AUTH=false shows them, and says so', async (t) => {
  const database = await createDatabase('hub');
  const passOf = async (
    hub: Awaited<ReturnType<typeof runHub>>,
    headers: Record<string, string> = {},
    params: object = {}
  ) => (await hub.call('getallconfigs', params, headers)).json.result.configs.bitcoin?.mainnet['x-indexer'];
  const hub = await runHub(t, database, { HUB_API_KEY: 'k' });
  const module = { ...MODULE, pass: 'secret', user_indexer: 'i', pass_indexer: 'secret' };
  await hub.call('updateconfig', tree(module), { 'x-api-key': 'k' });
  const shown = { ...MODULE, db_port: '3306', user_indexer: 'i' };
  const passes = (pass: string) => ({ pass, pass_indexer: pass });
  for (const params of [{}, { since_updated_at: 1 }]) {
    assert.deepEqual(await passOf(hub, {}, params), { ...shown, ...passes('<needs HUB_API_KEY>') });
    assert.equal((await passOf(hub, { 'x-api-key': 'wrong' }, params)).pass, '<needs HUB_API_KEY>');
    assert.deepEqual(await passOf(hub, { 'x-api-key': 'k' }, params), { ...shown, ...passes('secret') });
  }
  const { problems } = discoverDatabases((await hub.call('getallconfigs')).json.result.configs);
  assert.equal(problems.length, 1);
  const settings = pickSettings(
    (await hub.call('getallconfigs')).json.result.configs,
    CHAIN_NETWORKS.find(({ name }) => name === 'bitcoin-mainnet')!,
    { INDEXER_DB_PASS: { service: 'indexer', params: ['pass'] } }
  );
  assert.deepEqual(settings, {
    texts: {},
    problems: ['the hub tells INDEXER_DB_PASS to callers with its key alone: set HUB_API_KEY']
  });
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const open = await runHub(t, database, { HUB_API_KEY: 'k', HUB_SENSITIVE_READ_AUTH: 'false' }, log);
  assert.equal((await passOf(open)).pass, 'secret');
  assert.match(lines.join(''), /HUB_SENSITIVE_READ_AUTH=false: ANYONE/);
});

test('writers at the same time take turns: nothing is lost', async (t) => {
  const hub = await runHub(t, await createDatabase('hub'));
  const write = (n: number) =>
    hub.call('updateconfig', {
      config: { bitcoin: { mainnet: { [`m${n}`]: { host: `h${n}` }, shared: { host: `h${n}` } } } }
    });
  const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => write(n)));
  assert.deepEqual(
    replies.filter(({ json }) => json.result?.status !== 'success'),
    []
  );
  assert.equal(Object.keys((await hub.call('getallconfigs')).json.result.configs.bitcoin.mainnet).length, 21);
});

test('with HUB_API_KEY writes need it, alone and in a batch; reads are open', async (t) => {
  const hub = await runHub(t, await createDatabase('hub'), { HUB_API_KEY: 'old,k' });
  const write = { jsonrpc: '2.0', id: 'w', method: 'updateconfig', params: tree(MODULE) };
  const read = { jsonrpc: '2.0', id: 'r', method: 'getallconfigs' };
  assert.deepEqual([(await hub.post(write)).status, (await hub.post([read, write])).status], [401, 401]);
  const statusWith = async (key: string) => (await hub.post({ ...write, params: {} }, { 'x-api-key': key })).status;
  assert.deepEqual(await Promise.all(['old', 'k', 'old,', 'wrong'].map(statusWith)), [200, 200, 401, 401]);
  assert.deepEqual((await hub.call('getallconfigs')).json.result.configs, {});
  const batch = await hub.post([write, read, { ...read, method: 'getnothing' }], { 'x-api-key': 'k' });
  assert.deepEqual(
    batch.json.map((reply: { id: string; error?: { code: number } }) => [reply.id, reply.error?.code]),
    [
      ['w', undefined],
      ['r', undefined],
      ['r', -32601]
    ]
  );
  assert.equal(batch.json[1].result.configs.bitcoin.mainnet['x-indexer'].user, 'u');
  const { id: _, ...notification } = read;
  assert.deepEqual(
    (await hub.post([notification, { ...read, id: 9 }])).json.map((reply: { id: number }) => reply.id),
    [9]
  );
});

test('the request above the limit of the minute gets HTTP 429 and -32029', async (t) => {
  const hub = await runHub(t, await createDatabase('hub'), { HUB_RATE_LIMIT_RPM: '2' });
  const statuses = [await hub.call('ping'), await hub.call('ping'), await hub.call('ping')];
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [200, 200, 429]
  );
  assert.equal(statuses[2]!.json.error.code, -32029);
});

test('ping and health of a hub whose database answers', async (t) => {
  const hub = await runHub(t, await createDatabase('hub'));
  assert.deepEqual((await hub.call('ping')).json.result, { status: 'success', db: true });
  assert.deepEqual(await hub.call('health'), {
    status: 200,
    json: {
      jsonrpc: '2.0',
      id: 1,
      result: {
        status: 'healthy',
        db: true,
        dbCircuit: 'closed',
        oracle_last_finalized_age_s: null,
        oracle_stale: false,
        oracle_staleness_threshold_s: null
      }
    }
  });
});

test('methods and their description are at the root and below each of nine codes', async (t) => {
  const hub = await runHub(t, await createDatabase('hub'));
  const ask = async (prefix: string) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    };
    const [answer, description] = await Promise.all([
      fetch(`${hub.url}${prefix}/`, init),
      fetch(`${hub.url}${prefix}/openrpc.json`)
    ]);
    const { openrpc } = (await description.json()) as { readonly openrpc?: string };
    await answer.body?.cancel();
    return [answer.status, description.status, openrpc];
  };
  for (const code of ['', '/BTC', '/TBTC', '/RBTC', '/LTC', '/TLTC', '/RLTC', '/DOGE', '/TDOGE', '/RDOGE'])
    assert.deepEqual(await ask(code), [200, 200, '1.3.2'], code);
  assert.deepEqual(await ask('/XMR'), [404, 404, undefined]);
});

test('pages of CORS_ORIGIN may read its answers, and others may not', async (t) => {
  const hub = await runHub(t, await createDatabase('hub'), { CORS_ORIGIN: 'https://console.example' });
  const allowed = async (origin: string) => {
    const { headers } = await fetch(`${hub.url}/openrpc.json`, { headers: { origin } });
    return headers.get('access-control-allow-origin');
  };
  assert.equal(await allowed('https://console.example'), 'https://console.example');
  assert.notEqual(await allowed('https://other.example'), 'https://other.example');
});

test('a hub without a key that others can reach is warned about, loudly; on the loopback it is not', async (t) => {
  const database = await createDatabase('hub');
  const warnings: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => warnings.push(line) });
  await (await runHub(t, database, {}, log)).stop();
  await (await runHub(t, database, { HUB_HOST: '0.0.0.0', HUB_API_KEY: 'k'.repeat(16) }, log)).stop();
  assert.deepEqual(warnings, []);
  await (await runHub(t, database, { HUB_HOST: '0.0.0.0' }, log)).stop();
  assert.match(warnings.join(''), /HUB_API_KEY is not set.*ANYONE/);
});
