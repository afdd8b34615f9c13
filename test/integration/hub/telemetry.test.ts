import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { connect, rows } from '../../../src/db/connection.ts';
import { openPlaces } from '../../../src/hub/telemetry/places.ts';
import { writeAddressDatabase } from '../../support/hub/address-database.ts';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { startProgram } from '../../support/service-process.ts';
import { eventually, temporaryDirectory } from '../../support/sync/sync-process.ts';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const PING = {
  event: 'start',
  node_version: '1.2.3',
  os_platform: 'linux',
  os_release: '6.1',
  arch: 'x64',
  modules: [{ module: 'sync', coin: 'litecoin', network: 'mainnet', version: '1.2.3', running: true }]
};
const ping = (more: object = {}) => ({ install_id: randomUUID(), ...PING, ...more });

async function start(t: TestContext, env: Record<string, string> = {}, log?: pino.Logger) {
  const hub = await runHub({ TRUST_PROXY: '127.0.0.1', ...env }, log ? { log } : {});
  t.after(hub.stop);
  return hub;
}

/** @param from the address that the proxy names */
async function send(hub: RunningHub, body: unknown, from = '203.0.113.7') {
  const response = await fetch(`${hub.url}/telemetry`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
    body: typeof body === 'string' ? body : JSON.stringify(body)
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

type Group = Record<string, string | number>;
/** A summary, or the list of installations. */
interface Told extends Readonly<Record<string, unknown>> {
  readonly operators?: number | readonly Group[];
}

async function get(hub: RunningHub, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${hub.url}/telemetry/${path}`, { headers });
  return { status: response.status, json: (await response.json()) as Told };
}

async function sql(hub: RunningHub, statement: string) {
  const connection = await connect(hub.database);
  const found = await rows(connection, statement);
  await connection.end();
  return found;
}

test('a ping is taken, and its installation counted once', async (t) => {
  const hub = await start(t, { TELEMETRY_ADMIN_KEY: 'admin' });
  const first = ping();
  assert.deepEqual(await send(hub, first), { status: 200, json: { status: 'success' } });
  await send(hub, { ...first, event: 'odd', node_version: "1'; DROP TABLE telemetry_pings" });
  const { operators } = (await get(hub, 'operators', { 'x-api-key': 'admin' })).json;
  assert.ok(Array.isArray(operators) && operators.length === 1);
  const { install_id, pings, node_version, chains, modules, ip_hash, country } = operators[0];
  assert.deepEqual([install_id, pings, node_version], [first.install_id, 2, 'other']);
  assert.deepEqual([chains, modules, ip_hash, country], [['litecoin-mainnet'], PING.modules, null, null]);
  const events = await sql(hub, 'SELECT event FROM telemetry_pings ORDER BY id');
  assert.deepEqual(events, [{ event: 'heartbeat' }], 'of its newest ping');
});

test('a service reports its start to /telemetry of the hub that it asks', async (t) => {
  const hub = await start(t);
  const home = temporaryDirectory('home');
  const { child } = startProgram(process.execPath, [MAIN, 'decoder'], {
    HOME: home,
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: String(hub.port),
    NETWORK: 'LTC:testnet',
    DECODER_API_HOST: '127.0.0.1'
  });
  const pings = () => sql(hub, 'SELECT install_id, event, modules FROM telemetry_pings');
  await eventually('the ping', async () => (await pings()).length > 0);
  child.kill('SIGTERM');
  const [{ install_id, event, modules }] = (await pings()) as [Record<string, string>];
  const kept = JSON.parse(readFileSync(join(home, '.platform-node', 'telemetry.json'), 'utf8'));
  assert.deepEqual([install_id, event], [kept.installId, 'install']);
  const running = JSON.parse(modules!).filter((module: { running: boolean }) => module.running);
  assert.deepEqual(
    running.map(({ module, coin, network }: Record<string, string>) => [module, coin, network]),
    [['decoder', 'litecoin', 'testnet']]
  );
});

test('REQUEST_INVALID: an id that is missing or no UUID v4, too much, what is nested, and unknown fields', async (t) => {
  const hub = await start(t);
  const cases: [body: unknown, status: number][] = [
    [PING, 400],
    [ping({ install_id: 'x' }), 400],
    [ping({ install_id: '00000000-0000-1000-8000-000000000000' }), 400],
    [ping({ modules: Array.from({ length: 101 }, () => ({ module: 'm' })) }), 400],
    [ping({ node_version: { nested: true } }), 400],
    [ping({ modules: [{ module: 'm'.repeat(65) }] }), 400],
    [ping({ hostname: 'h' }), 400],
    [ping({ modules: [{ module: 'hub', path: '/home/somebody' }] }), 400],
    ['{', 400],
    [ping({ os_release: 'x'.repeat(9_000) }), 413]
  ];
  for (const [at, [body, status]] of cases.entries()) {
    const answer = await send(hub, body, `203.0.113.${at}`);
    assert.equal(answer.status, status, JSON.stringify(body).slice(0, 100));
    assert.equal(typeof answer.json['error'], 'string');
  }
  assert.deepEqual(await sql(hub, 'SELECT 1 FROM telemetry_pings'), []);
});

test('an address may send ten pings a minute', async (t) => {
  const hub = await start(t);
  const statuses = [];
  for (let n = 0; n < 11; n++) statuses.push((await send(hub, ping())).status);
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429]);
  assert.equal((await send(hub, ping(), '203.0.113.8')).status, 200);
});

test('the census tells of no group of fewer than five', async (t) => {
  const hub = await start(t);
  const same = (version: string, length: number) => Array.from({ length }, () => version);
  const versions = [...same('1.0.0', 6), ...same('other', 5), '0.9.0', '0.8.0'];
  for (const [at, node_version] of versions.entries())
    await send(hub, ping({ node_version, arch: at < 4 ? 'arm64' : 'x64' }), `203.0.113.${at}`);
  const { json } = await get(hub, 'summary?days=7');
  assert.deepEqual([json['enabled'], json['window_days'], json.operators], [true, 7, 13]);
  assert.deepEqual(json['byVersion'], [
    { key: '1.0.0', count: 6 },
    { key: 'other', count: 7 }
  ]);
  assert.deepEqual(json['byArch'], [{ key: 'x64', count: 9 }], 'the others are fewer than five');
  assert.deepEqual(json['chainModules'], [{ coin: 'litecoin', network: 'mainnet', module: 'sync', count: 13 }]);
  assert.equal((await get(hub, 'summary?days=366')).status, 400);
});

test('the census counts addresses and not pings, and repeats no text of a sender', async (t) => {
  const hub = await start(t, { TELEMETRY_IP_SALT: 'salt-of-this-hub' });
  await send(hub, ping({ arch: 'riscv64' }), '203.0.113.1');
  for (let n = 0; n < 9; n++) await send(hub, ping({ arch: 'riscv64' }), '203.0.113.2');
  const groups = async (days: number) => (await get(hub, `summary?days=${days}`)).json;
  const forged = await groups(7);
  const totals = [forged.operators, forged['byArch'], forged['byOs'], forged['chains']];
  assert.deepEqual(totals, [undefined, [], [], []], 'of two addresses');
  const odd = {
    arch: 'riscv64',
    os_platform: 'buy now',
    node_version: 'see https://spam.example',
    docker_version: 'x',
    modules: [{ module: 'https://spam.example', coin: 'spam', network: 'spam' }]
  };
  for (let n = 0; n < 5; n++) await send(hub, ping(odd), `198.51.100.${n}`);
  const more = await groups(30);
  assert.deepEqual(more['byArch'], [{ key: 'riscv64', count: 15 }]);
  for (const part of ['byOs', 'byVersion', 'byDocker', 'modules', 'chains', 'chainModules'])
    assert.ok(
      (more[part] as readonly Group[]).every(({ key, module }) => [key, module].includes('other') || key === 'unknown'),
      part
    );
  assert.ok(!JSON.stringify(more).includes('spam'));
});

test('UNAUTHORIZED: installations are told to TELEMETRY_ADMIN_KEY alone, and to nobody without one', async (t) => {
  const [open, keyed] = [await start(t, { HUB_API_KEY: 'k' }), await start(t, { TELEMETRY_ADMIN_KEY: 'admin' })];
  for (const key of ['', 'k', 'undefined'])
    assert.equal((await get(open, 'operators', { 'x-api-key': key })).status, 401);
  assert.equal((await get(keyed, 'operators', { 'x-api-key': 'wrong' })).status, 401);
  assert.equal((await get(keyed, 'operators', { 'x-api-key': 'admin' })).status, 200);
  const both = await start(t, { TELEMETRY_ADMIN_KEY: 'old,new' });
  for (const key of ['old', 'new', 'old,new'])
    assert.equal((await get(both, 'operators', { 'x-api-key': key })).status, 200, key);
});

test('TELEMETRY_ENABLED=false rejects pings', async (t) => {
  const hub = await start(t, { TELEMETRY_ENABLED: 'false' });
  assert.deepEqual(await send(hub, ping()), { status: 403, json: { status: 'disabled' } });
  assert.deepEqual((await get(hub, 'summary')).json, { enabled: false });
  assert.deepEqual(await sql(hub, 'SELECT 1 FROM telemetry_pings'), []);
});

/** Pings as an older hub stored them, or as this one does, by SQL. */
async function fill(hub: RunningHub, rows: number, columns: string) {
  await sql(
    hub,
    `INSERT INTO telemetry_pings (install_id, ip_hash, arch, modules, event, ${columns.split('=')[0]})
       SELECT UUID(), SHA2(seq, 256), 'x64', '${JSON.stringify(Array.from({ length: 19 }, () => PING.modules[0]))}', 'start',
              ${columns.split('=')[1]} FROM seq_1_to_${rows}`
  );
}

test('an installation has one row, whose texts are of closed lists, and an address a hundred installations', async (t) => {
  const hub = await start(t, { TELEMETRY_IP_SALT: 'salt-of-this-hub' });
  const first = ping();
  for (let n = 0; n < 3; n++) await send(hub, first, '198.51.100.1');
  const spam = { module: 'buy-now-sync', coin: 'SPAM'.repeat(4), network: 'MainNet', version: 'spam' };
  await send(hub, { ...first, os_platform: 'spam', modules: Array.from({ length: 40 }, () => spam) }, '198.51.100.1');
  const kept = await sql(hub, 'SELECT pings, os_platform, modules FROM telemetry_pings');
  const modules = '[{"module":"sync","coin":"other","network":"mainnet","version":"other"}]';
  assert.deepEqual(kept, [{ pings: 4, os_platform: 'other', modules }]);
  const [{ ip_hash: hash }] = (await sql(hub, 'SELECT ip_hash FROM telemetry_pings')) as [{ ip_hash: string }];
  await sql(
    hub,
    `INSERT INTO telemetry_pings (install_id, ip_hash, modules, event, last_seen)
       SELECT UUID(), '${hash}', '[]', 'start', NOW() + INTERVAL seq SECOND FROM seq_1_to_99`
  );
  await send(hub, ping(), '198.51.100.1');
  const [left] = await sql(
    hub,
    `SELECT COUNT(*) AS n, SUM(install_id = '${first.install_id}') AS old FROM telemetry_pings`
  );
  assert.deepEqual([left!['n'], Number(left!['old'])], [100, 0], 'the one that was heard of longest ago is gone');
});

test('networks of /64 of one line of IPv6 lift no group, and a window of days is one of five', async (t) => {
  const hub = await start(t, { TELEMETRY_IP_SALT: 'salt-of-this-hub' });
  for (let n = 0; n < 6; n++) await send(hub, ping({ arch: 'ppc64' }), `2001:db8:7:${n}::1`);
  assert.deepEqual((await get(hub, 'summary')).json['byArch'], []);
  for (const [days, window] of [
    [1, 1],
    [2, 7],
    [31, 90],
    [365, 365]
  ])
    assert.equal((await get(hub, `summary?days=${days}`)).json['window_days'], window);
});

test('twelve open summaries of a full table keep nobody waiting, and cost one reading of each window', async (t) => {
  const hub = await start(t, { HUB_API_KEY: 'a-key-of-this-hub', TELEMETRY_ADMIN_KEY: 'admin' });
  await fill(hub, 40_000, 'last_seen=NOW() - INTERVAL seq % 80 DAY');
  await sql(hub, 'SET GLOBAL userstat = 1');
  t.after(() => sql(hub, 'SET GLOBAL userstat = 0'));
  const rowsRead = async () => {
    const [counted] = await sql(
      hub,
      `SELECT ROWS_READ AS n FROM information_schema.TABLE_STATISTICS
         WHERE TABLE_SCHEMA = '${hub.database.name}' AND TABLE_NAME = 'telemetry_pings'`
    );
    return Number(counted?.['n'] ?? 0);
  };
  const ask = (n: number) =>
    fetch(`${hub.url}/telemetry/summary?days=${50 + n}`, { headers: { 'x-forwarded-for': `203.0.113.${n}` } });
  const askBoth = async () => {
    for (const method of ['getallconfigs', 'getprice'] as const) {
      const key = method === 'getallconfigs' ? { 'x-api-key': 'a-key-of-this-hub' } : {};
      const { json } = await hub.call(method, method === 'getprice' ? { pair: 'BTC/USD' } : {}, key);
      assert.ok(json.result || json.error.data.code === 'RECORD_UNKNOWN', JSON.stringify(json));
    }
  };
  await askBoth();
  const before = await rowsRead();
  const lock = await connect(hub.database);
  t.after(() => lock.destroy());
  await lock.query('LOCK TABLES telemetry_pings WRITE');
  let isOver = false;
  const all = Promise.all(Array.from({ length: 12 }, (_, n) => ask(n))).finally(() => (isOver = true));
  const waiting = `SELECT 1 FROM information_schema.PROCESSLIST
    WHERE DB = '${hub.database.name}' AND STATE LIKE 'Waiting for table%'`;
  await eventually('the reading waits', async () => (await sql(hub, waiting)).length > 0);
  for (let n = 0; n < 3; n++) await askBoth();
  assert.equal(isOver, false, 'others are answered while all summaries wait');
  await lock.query('UNLOCK TABLES');
  let answered = 0;
  for (; !isOver; answered++) await askBoth();
  assert.ok(answered >= 3, `others are answered between the pages of a reading: ${answered} times`);
  for (const answer of await all) {
    assert.equal(answer.status, 200);
    assert.equal(((await answer.json()) as { operators: number }).operators, 40_000);
  }
  const once = (await rowsRead()) - before;
  assert.ok(once >= 40_000 && once < 60_000, `${once} rows read for twelve`);
  await Promise.all(Array.from({ length: 12 }, (_, n) => ask(n)));
  assert.equal((await rowsRead()) - before, once, 'it is kept for a minute');
  const memory = process.memoryUsage().rss;
  const list = await fetch(`${hub.url}/telemetry/operators?days=365`, { headers: { 'x-api-key': 'admin' } });
  let bytes = 0;
  let rss = 0;
  for await (const part of list.body!) {
    bytes += part.length;
    rss = Math.max(rss, process.memoryUsage().rss);
  }
  assert.ok(bytes > 20_000_000, `${bytes} bytes: all that fit into the table`);
  assert.ok(rss - memory < 100e6, `${(rss - memory) / 1e6} MB in memory`);
});

test('a table of an older hub, with a row for each ping, is made one of installations', async (t) => {
  const first = await start(t);
  await first.stop();
  await sql(first, 'DROP TABLE telemetry_pings');
  await sql(
    first,
    `CREATE TABLE telemetry_pings (
      id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, install_id CHAR(36) NOT NULL, country CHAR(2) NULL,
      region VARCHAR(16) NULL, ip_hash CHAR(64) NULL, node_version VARCHAR(32) NULL, os_platform VARCHAR(32) NULL,
      os_release VARCHAR(64) NULL, arch VARCHAR(16) NULL, docker_version VARCHAR(32) NULL, modules TEXT NOT NULL,
      event ENUM('install', 'update', 'start', 'heartbeat') NOT NULL,
      created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
      KEY telemetry_pings_install (install_id, id), KEY telemetry_pings_created (created_at)) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`
  );
  const { install_id } = ping();
  const old = (at: string, arch: string) =>
    sql(
      first,
      `INSERT INTO telemetry_pings SET install_id = '${install_id}', arch = '${arch}', event = 'start', created_at = '${at}',
         modules = '[{"module":"spam-hub"},{"module":"hub","coin":null}]'`
    );
  await old('2026-11-01 10:00:00', 'x64');
  await old('2026-11-20 10:00:00', 'spam');
  await fill(first, 700, 'created_at=NOW()');
  const hub = await runHub({ TRUST_PROXY: '127.0.0.1' }, { database: first.database });
  t.after(hub.stop);
  const columns = 'first_seen, last_seen, pings, arch, modules';
  const kept = () => sql(hub, `SELECT ${columns} FROM telemetry_pings WHERE install_id = '${install_id}'`);
  const moved = { first_seen: '2026-11-01 10:00:00', last_seen: '2026-11-20 10:00:00', pings: 2, arch: 'other' };
  assert.deepEqual(await kept(), [{ ...moved, modules: '[{"module":"hub"}]' }]);
  assert.equal((await sql(hub, 'SELECT 1 FROM telemetry_pings')).length, 701);
  assert.equal((await send(hub, ping({ install_id, modules: [] }))).status, 200);
  const [{ pings, modules }] = (await kept()) as [{ pings: number; modules: string }];
  assert.deepEqual([pings, modules], [3, '[]']);
});

test("country and region come from the operator's database of addresses; elsewhere both are null", async (t) => {
  const path = join(temporaryDirectory('geo'), 'city.mmdb');
  writeAddressDatabase(path, '203.0.113.0/24', { country: { iso_code: 'DE' }, subdivisions: [{ iso_code: 'BW' }] });
  const hub = await start(t, { TELEMETRY_GEO_DB: path, TELEMETRY_ADMIN_KEY: 'admin' });
  for (const address of ['203.0.113.9', '198.51.100.1', '2001:db8::1']) await send(hub, ping(), address);
  const found = await sql(hub, 'SELECT country, region, ip_hash FROM telemetry_pings ORDER BY id');
  const nowhere = { country: null, region: null, ip_hash: null };
  assert.deepEqual(found, [{ country: 'DE', region: 'DE-BW', ip_hash: null }, nowhere, nowhere]);
  writeAddressDatabase(path, '32.1.0.0/16', { country: { iso_code: 'US' } }); // 2001:: begins with the same bits
  const placeOf = await openPlaces(path);
  assert.deepEqual([placeOf('32.1.2.3').country, placeOf('2001:db8:7:1::/64').country], ['US', null]);
});

test('CONFIG_INVALID: a database of addresses that is none is named', async (t) => {
  const path = join(temporaryDirectory('geo'), 'city.mmdb');
  for (const write of [() => undefined, () => writeFileSync(path, 'no database of addresses')]) {
    write();
    await assert.rejects(start(t, { TELEMETRY_GEO_DB: path }), (fault) => {
      assert.match(String(fault), /CONFIG_INVALID/);
      assert.ok(String(fault).includes(`TELEMETRY_GEO_DB=${path} cannot be used: `), String(fault));
      return true;
    });
  }
});

test('pings older than TELEMETRY_RETENTION_DAYS are deleted when a hub starts, and no others', async (t) => {
  const first = await start(t);
  const ages = [100, 91, 89, 0];
  for (const days of ages) {
    const { install_id } = ping();
    await sql(
      first,
      `INSERT INTO telemetry_pings SET install_id = '${install_id}', modules = '[]', event = 'start', last_seen = NOW() - INTERVAL ${days} DAY`
    );
  }
  await first.stop();
  const hub = await runHub({}, { database: first.database });
  t.after(hub.stop);
  const left = async () =>
    (await sql(hub, 'SELECT DATEDIFF(NOW(), last_seen) AS age FROM telemetry_pings ORDER BY id')).map(({ age }) => age);
  await eventually('the old ones are gone', async () => (await left()).length < ages.length);
  assert.deepEqual(await left(), [89, 0]);
});

/** Every file of some directories, those below them aside, that holds a text. */
function filesWith(directories: string[], text: string): string[] {
  return directories
    .flatMap((directory) => readdirSync(directory, { withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readIfThere(path)?.includes(text));
}

/** The server removes files of its own, such as an old log, while it runs. */
function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw caught;
  }
}

test('after 1,000 pings the address of the sender is in no log and no file of the database; its keyed hash is', async (t) => {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
  const hub = await start(t, { TELEMETRY_IP_SALT: 'salt-of-this-hub' }, log);
  // ten at a time: more would wait for each other on a busy machine, until they are refused
  for (let round = 0; round < 100; round++) {
    const addresses = Array.from({ length: 10 }, (_, at) => `198.51.100.${100 + (round % 10) * 10 + at}`);
    await Promise.all(
      addresses.map(async (address) => {
        const body = ping();
        assert.equal((await send(hub, body, address)).status, 200, address);
      })
    );
  }
  const [found] = await sql(hub, 'SELECT COUNT(*) AS pings, COUNT(DISTINCT ip_hash) AS hashes FROM telemetry_pings');
  assert.deepEqual(found, { pings: 1_000, hashes: 100 });
  const [{ directory }] = (await sql(hub, 'SELECT @@datadir AS directory')) as [{ directory: string }];
  await sql(hub, 'FLUSH TABLES telemetry_pings FOR EXPORT');
  // the server's own files, its logs among them, and those of this hub's database: others' come and go
  const directories = [directory, join(directory, hub.database.name)];
  assert.ok(
    filesWith(directories, PING.os_release).some((path) => path.includes('telemetry_pings')),
    'the rows are in the files'
  );
  assert.deepEqual(filesWith(directories, '198.51.100.'), []);
  assert.ok(!lines.join('').includes('198.51.100.'));
});
