import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { type AddressInfo, connect as connectSocket, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { exitCodeOf } from '../../../src/cli/exit-codes.ts';
import { connect, rows } from '../../../src/db/connection.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { PRIVATE_ACCOUNT, startMariaDb } from '../../../src/devnet/processes/mariadb.ts';
import { service } from '../../../src/hub/service.ts';
import { startHub } from '../../../src/hub/start.ts';
import { openHubDatabase } from '../../../src/hub/store/database.ts';
import { silentLogger } from '../../../src/log.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { runCommandLine } from '../../support/command-line.ts';
import { FaultyLink } from '../../support/faulty-link.ts';
import { freeze, thaw } from '../../support/freeze.ts';
import { hubConfigOf } from '../../support/hub-config.ts';
import { createDatabase, makeServerDirectory, testServer } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { recordPipes } from '../../support/records.ts';
import { INHERITED } from '../../support/service-process.ts';
import { hadEnded, sql } from '../../support/sql.ts';

const HUB_PASSWORD = 'password-of-a-hub';
const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** `platform-node hub` as a process of its own. */
function spawnHub(t: TestContext, database?: DatabaseCoordinates, port = 0) {
  const env = database && {
    HUB_HOST: '127.0.0.1',
    HUB_PORT: String(port),
    HUB_DB_HOST: database.host,
    HUB_DB_PORT: String(database.port),
    HUB_DB_NAME: database.name,
    HUB_DB_USER: database.user,
    HUB_DB_PASS: database.pass
  };
  const child = spawn(process.execPath, [MAIN, 'hub', '--no-guardian'], {
    env: { ...INHERITED, ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  });
  recordPipes(child, { ...env });
  const output = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.err += text));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  t.after(() => child.kill('SIGKILL'));
  return { child, output, ended };
}

async function eventually(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await isTrue())) {
    assert.ok(Date.now() < deadline, `not in time: ${what}`);
    await sleep(25);
  }
}

async function ask(port: number, method: string, params = {}) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body
  });
  return { status: response.status, json: JSON.parse(await response.text()) };
}

/** An account with what `grants` says and nothing more. */
async function createAccount(t: TestContext, grants: (user: string) => string[]) {
  const server = await testServer();
  const user = `hub${process.pid}${Math.trunc(Math.random() * 1e6)}`;
  const admin = await connect(server);
  await admin.query(`CREATE USER '${user}'@'127.0.0.1' IDENTIFIED BY '${HUB_PASSWORD}'`);
  for (const grant of grants(`'${user}'@'127.0.0.1'`)) await admin.query(grant);
  t.after(async () => {
    await admin.query(`DROP USER '${user}'@'127.0.0.1'`);
    await admin.end();
  });
  return { ...server, user, pass: HUB_PASSWORD };
}

test('connections that MariaDB ended while they rested fail no call, neither reads nor writes: each is done once, on another', async (t) => {
  const database = await createDatabase('hub');
  const hub = await startHub({ service, config: hubConfigOf(database), log: silentLogger });
  t.after(hub.stop);
  const admin = await connect(await testServer());
  t.after(() => admin.end());
  const rounds = 15;
  for (let round = 1; round <= rounds; round++) {
    const written = { config: { bitcoin: { mainnet: { m: { host: `h${round}` } } } } };
    await Promise.all(Array.from({ length: 5 }, () => ask(hub.port, 'getallconfigs'))); // several connections rest
    const resting = await rows<{ id: number }>(
      admin,
      `SELECT id FROM information_schema.processlist WHERE db = '${database.name}'`
    );
    await Promise.all(resting.map(({ id }) => admin.query(`KILL CONNECTION ${id}`).catch(hadEnded)));
    const update = await ask(hub.port, 'updateconfig', written);
    assert.deepEqual(update.json.result, { status: 'success' }, JSON.stringify(update.json));
    const read = await ask(hub.port, 'getallconfigs');
    assert.equal(read.json.result?.configs.bitcoin.mainnet.m.host, `h${round}`, JSON.stringify(read.json));
    assert.equal(read.json.result.seq, round, 'no write is done twice');
  }
});

test('a write that loses its connection at any statement is done once or not at all; where its commit was not answered, its caller is told', async (t) => {
  const database = await createDatabase('hub');
  const link = await FaultyLink.open(await testServer());
  const hub = await startHub({ service, config: hubConfigOf(link.through(database)), log: silentLogger });
  t.after(hub.stop);
  const write = (host: string) => ask(hub.port, 'updateconfig', { config: { bitcoin: { mainnet: { m: { host } } } } });
  const admin = await connect(database);
  t.after(() => admin.end());
  const seq = async () =>
    Number((await rows(admin, "SELECT value FROM consensus_state WHERE key_name = 'last_seq'"))[0]?.['value']);
  const lost = new Set<string>();
  // The hub's own looks at its database count too: once more from the first one, should they hide the commit.
  for (let nth = 1, tries = 0; nth > 0; tries++) {
    assert.ok(tries < 100, [...lost].join());
    assert.deepEqual((await write(`warm${tries}`)).json.result, { status: 'success' });
    const before = await seq();
    link.fail(nth, { when: 'after', errno: null });
    const answer = await write(`lost${tries}`);
    const statement = link.statements[nth - 1];
    link.watch();
    const isDone = answer.json.result?.status === 'success';
    const times = (await seq()) - before;
    // The commit that was lost stands, and nobody knows; one of the hub's own looks loses no write.
    const isOwnCommit = statement === 'COMMIT' && !isDone;
    assert.equal(times, isDone || isOwnCommit ? 1 : 0, `${statement}: ${JSON.stringify(answer.json)}`);
    if (statement !== undefined && (statement !== 'COMMIT' || isOwnCommit)) lost.add(statement.split(' ')[0]!);
    const isEnd = statement === undefined;
    const isWhole = ['START', 'INSERT', 'COMMIT'].every((word) => lost.has(word));
    nth = isEnd ? (isWhole ? 0 : 1) : nth + 1;
  }
});

test('the exits below are final for a guardian: 64 to 78', () => {
  for (const code of ['DATABASE_REFUSED', 'PORT_IN_USE', 'CONFIG_INVALID'] as const) {
    assert.ok(exitCodeOf(code) >= 64 && exitCodeOf(code) <= 78);
  }
});

test('final exit and one line: wrong credentials', async (t) => {
  const hub = spawnHub(t, { ...(await createDatabase('hub')), pass: 'not-the-password' });
  assert.equal(await hub.ended, exitCodeOf('DATABASE_REFUSED'));
  assert.match(hub.output.err, /^platform-node hub: Access denied[^\n]*DATABASE_REFUSED[^\n]*\n$/);
});

test('final exit and one line: the account may not create the database', async (t) => {
  const account = await createAccount(t, () => []);
  const hub = spawnHub(t, { ...account, name: 'hub_never_made' });
  assert.equal(await hub.ended, exitCodeOf('DATABASE_REFUSED'));
  assert.match(hub.output.err, /^platform-node hub: Access denied[^\n]*hub_never_made[^\n]*\n$/);
});

test('an account without CREATE serves a database that is there', async (t) => {
  const database = await createDatabase('hub');
  await (await startHub({ service, config: hubConfigOf(database), log: silentLogger })).stop();
  const account = await createAccount(t, (user) => [
    `GRANT SELECT, INSERT, UPDATE, DELETE ON \`${database.name}\`.* TO ${user}`
  ]);
  const hub = await startHub({ service, config: hubConfigOf({ ...account, name: database.name }), log: silentLogger });
  t.after(hub.stop);
  const written = await ask(hub.port, 'updateconfig', { config: { bitcoin: { mainnet: { m: { host: 'h' } } } } });
  assert.deepEqual(written.json.result, { status: 'success' });
});

test('final exit and one line: the port is taken', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const address = other.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const hub = spawnHub(t, await createDatabase('hub'), port);
  assert.equal(await hub.ended, exitCodeOf('PORT_IN_USE'));
  assert.match(
    hub.output.err,
    new RegExp(
      `^platform-node hub: HUB_PORT=${port}: another process listens on 127\\.0\\.0\\.1:${port} \\(PORT_IN_USE\\)[^\\n]*\\n$`
    )
  );
});

test('final exit: every missing variable is named at once', async (t) => {
  const hub = spawnHub(t);
  assert.equal(await hub.ended, exitCodeOf('CONFIG_INVALID'));
  for (const name of ['HUB_DB_HOST', 'HUB_DB_PORT', 'HUB_DB_NAME', 'HUB_DB_USER', 'HUB_DB_PASS']) {
    assert.match(hub.output.err, new RegExp(`missing required environment variable ${name}:`));
  }
});

test('while MariaDB is away the hub waits, says so, is degraded; SIGTERM ends it with 0', async (t) => {
  const [hubPort, databasePort] = [await freePort(), await freePort()];
  const hub = spawnHub(t, { host: '127.0.0.1', port: databasePort, ...PRIVATE_ACCOUNT, name: 'hub' }, hubPort);
  await eventually('says that it waits twice', () => hub.output.out.split('waiting for MariaDB').length > 2);
  const health = await ask(hubPort, 'health');
  assert.deepEqual([health.status, health.json.result.status, health.json.result.db], [503, 'degraded', false]);
  assert.equal((await ask(hubPort, 'getallconfigs')).json.error.code, -32603);
  hub.child.kill('SIGTERM');
  assert.equal(await hub.ended, 0);
});

test('MariaDB comes, freezes, goes and comes back: ready, degraded with the circuit open, healthy; SIGINT ends it with 0', async (t) => {
  const directory = makeServerDirectory();
  let server = await startMariaDb(directory);
  t.after(() => server.stop());
  const { port } = server;
  await server.stop(); // it has its accounts now
  const database = { host: '127.0.0.1', port, ...PRIVATE_ACCOUNT, name: 'hub' };
  const breaker = { failureThreshold: 3, cooldownMs: 100, trialTimeoutMs: 5_000 };
  const starting = startHub({ service, config: hubConfigOf(database), log: silentLogger, breaker });
  server = await startMariaDb(directory, [], port);
  const hub = await starting;
  t.after(hub.stop);
  const child = spawnHub(t, database);
  await eventually('the process is ready', () => child.output.out.includes('hub ready'));
  await ask(hub.port, 'updateconfig', { config: { bitcoin: { mainnet: { m: { host: 'kept' } } } } });

  await freeze(server.pid);
  const frozen = await ask(hub.port, 'health');
  thaw(server.pid);
  assert.deepEqual([frozen.status, frozen.json.result.db], [503, false]);
  const thawed = await ask(hub.port, 'health');
  assert.deepEqual([thawed.status, thawed.json.result.dbCircuit], [200, 'closed']);

  await server.stop('SIGKILL');
  await eventually('the circuit opens', async () => {
    const { status, json } = await ask(hub.port, 'health');
    assert.equal(status, 503);
    return json.result.dbCircuit === 'open';
  });
  assert.equal((await ask(hub.port, 'ping')).status, 503);
  child.child.kill('SIGINT');
  assert.equal(await child.ended, 0);

  server = await startMariaDb(directory, [], port);
  await eventually('healthy again', async () => (await ask(hub.port, 'health')).json.result.dbCircuit === 'closed');
  assert.equal((await ask(hub.port, 'getallconfigs')).json.result.configs.bitcoin.mainnet.m.host, 'kept');
});

test('DATABASE_READ_ONLY: while MariaDB takes no writes reads go on, no ping is lost in silence, and health says so', async (t) => {
  const server = await startMariaDb(makeServerDirectory());
  t.after(() => server.stop());
  const admin = await connect(server.root);
  t.after(() => admin.end());
  await admin.query("CREATE USER 'hub'@'127.0.0.1' IDENTIFIED BY 'password-of-a-hub'");
  await admin.query("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX ON `hub`.* TO 'hub'@'127.0.0.1'");
  const database = { host: '127.0.0.1', port: server.port, user: 'hub', pass: HUB_PASSWORD, name: 'hub' };
  const hub = await startHub({ service, config: hubConfigOf(database), log: silentLogger });
  t.after(hub.stop);
  const write = (host: string) => ask(hub.port, 'updateconfig', { config: { bitcoin: { mainnet: { m: { host } } } } });
  const kept = async () => (await ask(hub.port, 'getallconfigs')).json.result?.configs.bitcoin.mainnet.m.host;
  await write('before');
  await admin.query('SET GLOBAL read_only = 1');
  const unwritten = await ask(hub.port, 'health');
  assert.deepEqual([unwritten.status, unwritten.json.result.writes], [503, false], 'although nobody wrote');
  for (let n = 0; n < 10; n++) {
    const ping = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const body = JSON.stringify({ install_id: `0000000${n}-1111-4111-8111-111111111111` });
    assert.equal((await fetch(`http://127.0.0.1:${hub.port}/telemetry`, { ...ping, body })).status, 503);
  }
  for (let n = 0; n < 12; n++) {
    const { error } = (await write('during')).json;
    assert.equal(error.data.code, 'DATABASE_READ_ONLY', error.message);
    assert.match(error.message, /read.only/);
  }
  assert.equal(await kept(), 'before');
  const { status, json } = await ask(hub.port, 'health');
  const { db, dbCircuit, writes } = json.result;
  assert.deepEqual([status, db, dbCircuit, writes], [503, true, 'closed', false]);
  await admin.query('SET GLOBAL read_only = 0');
  await eventually('health sees it', async () => (await ask(hub.port, 'health')).status === 200);
  await write('after');
  assert.equal(await kept(), 'after');
});

test('while MariaDB hangs, what services read and write fails before they give up, and the log is short', async (t) => {
  const server = await startMariaDb(makeServerDirectory());
  t.after(async () => {
    thaw(server.pid);
    await server.stop();
  });
  const port = await freePort();
  const hub = spawnHub(t, { host: '127.0.0.1', port: server.port, ...PRIVATE_ACCOUNT, name: 'hub' }, port);
  await eventually('it is ready', () => hub.output.out.includes('hub ready'));
  const write = () => ask(port, 'updateconfig', { config: { bitcoin: { mainnet: { m: { host: 'h' } } } } });
  await write();
  await freeze(server.pid);
  const began = performance.now();
  const read = () => ask(port, 'getallconfigs');
  const answers = await Promise.all([read(), sleep(100).then(read), write()]);
  const tookMs = performance.now() - began;
  for (const { json } of answers) assert.equal(json.error.data.code, 'DATABASE_UNAVAILABLE');
  assert.ok(tookMs < 5_000, `${tookMs} ms`);
  const before = hub.output.out.length;
  const batch = Array.from({ length: 50 }, () => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'getprice',
    params: { pair: 'BTC/USD' }
  }));
  for (let n = 0; n < 4; n++)
    void fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(batch)
    }).catch(() => undefined);
  await sleep(10_000);
  const lines = hub.output.out.slice(before);
  assert.ok(lines.length < 4_000, `${lines.length} bytes: ${lines.slice(0, 2_000)}`);
  assert.ok(!hub.output.out.includes('"stack"'), 'stacks are for LOG_LEVEL=debug');
});

test('QUESTION_TOO_HEAVY: an answer that is late by its own length says nothing of the database: the circuit stays closed', async (t) => {
  const coordinates = await createDatabase('hub');
  const proxy = createServer((client) => {
    const server = connectSocket({ host: coordinates.host, port: coordinates.port });
    client.pipe(server);
    for (const socket of [client, server]) socket.on('error', () => socket.destroy());
    client.once('close', () => server.destroy());
    server.on('data', (piece: Buffer) => {
      client.write(piece);
      server.pause();
      setTimeout(() => server.resume(), piece.length / 500); // half a megabyte a second
    });
    server.once('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
  t.after(() => proxy.close());
  const { port } = proxy.address() as AddressInfo;
  const database = openHubDatabase(
    { ...coordinates, host: '127.0.0.1', port },
    { log: silentLogger, breaker: { failureThreshold: 1, cooldownMs: 60_000, trialTimeoutMs: 1_000 } }
  );
  t.after(() => database.close());
  await database.prepare(AbortSignal.timeout(30_000));
  await sql(
    coordinates,
    `INSERT INTO configs (coin, network, module, param_name, param_value)
     SELECT 'bitcoin', 'mainnet', 'm', CONCAT('p', seq), REPEAT('x', 30000) FROM seq_1_to_200`
  );
  await assert.rejects(database.read('selectConfigState'), { code: 'QUESTION_TOO_HEAVY' });
  assert.equal(database.circuit(), 'closed');
  assert.equal((await database.read('countConfigs')) as unknown, 200);
});

test('connections that the database kills cost a request at most', async (t) => {
  const database = await createDatabase('hub');
  const hub = await startHub({ service, config: hubConfigOf(database), log: silentLogger });
  t.after(hub.stop);
  assert.equal((await ask(hub.port, 'ping')).status, 200);
  const admin = await connect(database);
  const [list] = await admin.query(
    `SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '${database.name}' AND ID <> CONNECTION_ID()`
  );
  for (const { ID } of list as { ID: number }[]) await admin.query(`KILL ${ID}`);
  await admin.end();
  assert.ok((list as unknown[]).length > 0);
  await ask(hub.port, 'ping');
  assert.equal((await ask(hub.port, 'ping')).status, 200);
});

test('a request that is under way when the hub stops is finished, and the stop waits for nothing else', async () => {
  const database = await createDatabase('hub');
  const hub = await startHub({ service, config: hubConfigOf(database), log: silentLogger });
  const other = await connect(database);
  await other.query('START TRANSACTION');
  await other.query("INSERT INTO consensus_state (key_name, value) VALUES ('last_seq', '0')");
  const writing = ask(hub.port, 'updateconfig', { config: { bitcoin: { mainnet: { m: { host: 'h' } } } } });
  const waiting =
    "SELECT 1 FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'INSERT INTO consensus_state%'";
  await eventually('the write waits', async () => (await rows(other, waiting)).length > 0);
  const stopping = hub.stop();
  await other.query('COMMIT');
  const released = Date.now();
  assert.deepEqual((await writing).json.result, { status: 'success' });
  await stopping;
  assert.ok(Date.now() - released < 5_000);
  assert.equal((await rows(other, 'SELECT * FROM configs')).length, 1);
  await other.end();
});

test('78: P2P_VALIDATOR_ADDR without a key to sign with is refused by name, before a database is made', async () => {
  const { host, port, user, pass } = await testServer();
  const env = {
    HUB_HOST: '127.0.0.1',
    HUB_PORT: '0',
    HUB_DB_NAME: 'hub_never_made',
    HUB_DB_HOST: host,
    HUB_DB_PORT: String(port),
    HUB_DB_USER: user,
    HUB_DB_PASS: pass,
    P2P_VALIDATOR_ADDR: '10.0.0.5:10001'
  };
  const { code, stderr } = await runCommandLine(['hub', '--no-guardian'], env);
  assert.equal(code, 78, stderr);
  assert.match(stderr, /P2P_VALIDATOR_ADDR turns validator mode on, which needs SIGNING_PRIVKEY_HEX/);
});
