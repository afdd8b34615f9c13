import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { runCommandLine } from '../../support/command-line.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { recordPipes } from '../../support/records.ts';
import { INHERITED } from '../../support/service-process.ts';
import { sql } from '../../support/sql.ts';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const API_KEY = 'key-of-the-shared-hub';
const NODE = { NETWORK: 'RLTC', NODE_USER: 'u', NODE_PASSWORD: 'password-of-the-node', NODE_PORT: '9' };

/** A service as a process of its own, in an empty directory. */
function startService(t: TestContext, name: string, env: Readonly<Record<string, string>>) {
  const directory = mkdtempSync(join(tmpdir(), 'platform-settings-'));
  const child = spawn(process.execPath, [MAIN, name, '--no-guardian'], {
    cwd: directory,
    env: { ...INHERITED, ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  });
  recordPipes(child, env);
  const output = { text: '' };
  for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (chunk) => (output.text += String(chunk)));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(directory, { recursive: true, force: true });
  });
  return { output, ended };
}

/** A real hub on a database of its own. */
async function startHub(t: TestContext, port: number) {
  const database = await createDatabase('hub');
  const hub = startService(t, 'hub', {
    HUB_HOST: '127.0.0.1',
    HUB_PORT: String(port),
    HUB_API_KEY: API_KEY,
    HUB_DB_HOST: database.host,
    HUB_DB_PORT: String(database.port),
    HUB_DB_NAME: database.name,
    HUB_DB_USER: database.user,
    HUB_DB_PASS: database.pass
  });
  const isUp = async () => ((await call(port, 'ping'))['result'] as { db: boolean }).db;
  await eventually('the hub has its database', isUp, hub.output);
  return database;
}

async function call(port: number, method: string, params = {}): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': API_KEY },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  });
  return (await response.json()) as Record<string, unknown>;
}

/** Registers a decoder with the hub, as an operator would. */
async function register(port: number, { host, port: dbPort, name, user, pass }: DatabaseCoordinates, apiPort: number) {
  const module = { db_host: host, db_port: dbPort, name, user, pass, service_port: apiPort };
  const config = { LTC: { regtest: { 'platform-decoder': module } } };
  assert.deepEqual((await call(port, 'updateconfig', { config }))['result'], { status: 'success' });
}

async function eventually(what: string, isTrue: () => Promise<boolean>, output: { readonly text: string }) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await isTrue().catch(() => false))) {
    assert.ok(Date.now() < deadline, `not in time: ${what}; ${output.text}`);
    await sleep(50);
  }
}

const isDecoderUp = (port: number) => async () =>
  ((await (await fetch(`http://127.0.0.1:${port}/status`)).json()) as { db: boolean }).db === true;

test('a decoder finds its database and its port at the hub; it waits for a hub, and for what the hub lacks', async (t) => {
  const [hubPort, apiPort] = [await freePort(), await freePort()];
  const database = await createDatabase('decoder');
  const decoder = startService(t, 'decoder', {
    ...NODE,
    DECODER_API_HOST: '127.0.0.1',
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: String(hubPort),
    HUB_API_KEY: API_KEY,
    MAX_HUB_WAIT_MS: '60000'
  });
  const hasSaid = (words: string) => eventually(words, async () => decoder.output.text.includes(words), decoder.output);
  await hasSaid('asking again for');
  await startHub(t, hubPort);
  await hasSaid('the hub has no DECODER_DB_HOST, ');
  await register(hubPort, database, apiPort);
  await eventually('the decoder has its database', isDecoderUp(apiPort), decoder.output);
  assert.match(decoder.output.text, /settings taken from the hub: DECODER_DB_HOST, /);
  assert.ok(!decoder.output.text.includes(database.pass));
});

test('hubs are asked in their order; indexer, encoder and sync find their databases and ports there', async (t) => {
  const [hubPort, indexerPort, encoderPort] = [await freePort(), await freePort(), await freePort()];
  await startHub(t, hubPort);
  const moduleOf = ({ host, port, name, user, pass }: DatabaseCoordinates, service_port: number) => ({
    db_host: host,
    db_port: port,
    name,
    user,
    pass,
    service_port
  });
  const indexed = await createDatabase('indexer');
  const modules = {
    'platform-decoder': moduleOf(await createDatabase('decoder'), 13_002),
    'platform-indexer': moduleOf(indexed, indexerPort),
    'platform-encoder': { host: '127.0.0.1', service_port: encoderPort }
  };
  const config = { LTC: { regtest: modules } };
  const reply = await call(hubPort, 'updateconfig', { config });
  assert.deepEqual(reply['result'], { status: 'success' }, JSON.stringify(reply));
  const hub = { HUB_VALIDATORS: `127.0.0.1:9,127.0.0.1:${hubPort}`, HUB_API_KEY: API_KEY }; // the first one is down
  const syncPort = await freePort();
  const starts = [
    ['indexer', indexerPort, { INDEXER_COIN: 'LTC', INDEXER_NETWORK: 'regtest', INDEXER_API_HOST: '127.0.0.1' }],
    ['encoder', encoderPort, { ...NODE, ENCODER_API_HOST: '127.0.0.1' }],
    [
      'sync',
      syncPort,
      {
        SYNC_MODE: 'server',
        SYNC_API_HOST: '127.0.0.1',
        SYNC_API_PORT: String(syncPort),
        SYNC_API_KEY: API_KEY,
        SYNC_STATE_DIR: '.'
      }
    ]
  ] as const;
  for (const [name, port, env] of starts) {
    const { output } = startService(t, name, { ...hub, ...env });
    await eventually(`${name} answers`, async () => (await fetch(`http://127.0.0.1:${port}/livez`)).ok, output);
    assert.ok(!output.text.includes(indexed.pass), `${name} logs a password`);
  }
});

test('--check-config shows the origin of each value, and none that is secret', async (t) => {
  const hubPort = await freePort();
  const database = await startHub(t, hubPort);
  const env = { ...NODE, HUB_VALIDATORS: `127.0.0.1:9,127.0.0.1:${hubPort}`, DECODER_DB_NAME: 'Mine' };
  const absent = await runCommandLine(['decoder', '--check-config'], env);
  assert.equal(absent.code, 78);
  assert.match(
    absent.stderr,
    /missing required environment variable DECODER_DB_HOST: .*; the hub names no module <prefix>-decoder of litecoin-regtest/
  );
  const pass = 'password-of-the-decoder';
  await register(hubPort, { host: 'db.example', port: 3307, name: 'D', user: 'theirs', pass }, 13002);
  const keyless = await runCommandLine(['decoder', '--check-config'], env);
  assert.deepEqual([keyless.code, keyless.stdout.includes(pass)], [78, false]);
  assert.match(keyless.stderr, /the hub tells DECODER_DB_PASS to callers with its key alone: set HUB_API_KEY/);
  const keyed = { ...env, HUB_API_KEY: API_KEY };
  const { code, stdout, stderr } = await runCommandLine(['decoder', '--check-config'], keyed);
  assert.equal(code, 0, stderr);
  for (const line of [
    /^DECODER_DB_HOST +. db\.example {2}\(hub\)$/m,
    /^DECODER_DB_PORT +. 3307 {2}\(hub\)$/m,
    /^DECODER_DB_NAME +. Mine {2}\(environment\)$/m,
    /^DECODER_DB_USER +. theirs {2}\(hub\)$/m,
    /^DECODER_DB_PASS +. \*{8} {2}\(hub\)$/m,
    /^DECODER_API_PORT +. 13002 {2}\(hub\)$/m,
    /^DECODER_API_HOST +. .*\(unset\)$/m,
    /^NETWORK +. litecoin-regtest {2}\(environment\)$/m
  ])
    assert.match(stdout, line);
  assert.ok(!(stdout + stderr).includes(pass));

  // As a hub of an earlier release took it.
  await sql(database, "UPDATE configs SET param_value = '70000' WHERE param_name = 'db_port'");
  const look = () => runCommandLine(['decoder', '--check-config'], keyed);
  let wrong = await look();
  for (let tries = 0; wrong.code === 0 && tries < 10; tries++) wrong = await look(); // a hub may answer what it read just before
  assert.equal(wrong.code, 78);
  assert.match(wrong.stderr, /DECODER_DB_PORT="70000" must be a port number.*, and comes from the hub/);
});

test('an account that is set here is not taken to a place that the hub names', async (t) => {
  const hubPort = await freePort();
  await startHub(t, hubPort);
  await register(hubPort, { host: 'db.example', port: 3307, name: 'D', user: 'theirs', pass: 'their password' }, 13002);
  const config = { LTC: { regtest: { 'platform-node': { host: 'node.example', port: 1, user: 'n', pass: 'n' } } } };
  assert.deepEqual((await call(hubPort, 'updateconfig', { config }))['result'], { status: 'success' });
  const env = { ...NODE, HUB_VALIDATORS: `127.0.0.1:${hubPort}`, DECODER_DB_PASS: 'password-of-mine' };
  const parted = await runCommandLine(['decoder', '--check-config'], env);
  assert.equal(parted.code, 78);
  const reason =
    /missing required environment variable DECODER_DB_HOST: .*must both come from the hub.*: DECODER_DB_PASS set here, so set/;
  assert.match(parted.stderr, reason);
  const own = { ...env, DECODER_DB_HOST: 'mine.example', DECODER_DB_USER: 'mine' };
  const { code, stdout, stderr } = await runCommandLine(['decoder', '--check-config'], own);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^NODE_URL +. http:\/\/127\.0\.0\.1 {2}\(default\)$/m);
  assert.match(stdout, /^DECODER_DB_NAME +. D {2}\(hub\)$/m);
  const none = { NETWORK: 'RLTC', HUB_VALIDATORS: `127.0.0.1:${hubPort}`, HUB_API_KEY: API_KEY };
  const whole = await runCommandLine(['decoder', '--check-config'], none);
  assert.match(whole.stdout, /^NODE_URL +. http:\/\/node\.example {2}\(hub\)$/m);
});

test('HUB_UNREACHABLE: a start without what it needs ends with 69 after MAX_HUB_WAIT_MS, and names it', async () => {
  const hub = { HUB_API_HOST: '127.0.0.1', HUB_PORT: String(await freePort()), MAX_HUB_WAIT_MS: '1200' };
  const { code, stderr } = await runCommandLine(['decoder', '--no-guardian'], { ...NODE, ...hub });
  assert.equal(code, 69, stderr);
  assert.match(stderr, /DECODER_DB_HOST, .*: set neither in the environment nor in a file; .*127\.0\.0\.1:\d+/);
});

test('a hub that is away holds up no start that needs nothing of it', async (t) => {
  const apiPort = await freePort();
  const encoder = startService(t, 'encoder', {
    ...NODE,
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: String(await freePort()),
    ENCODER_API_HOST: '127.0.0.1',
    ENCODER_API_PORT: String(apiPort)
  });
  const words = 'starting without settings of the hub';
  await eventually('it goes on', async () => encoder.output.text.includes(words), encoder.output);
  const isListening = async () => (await fetch(`http://127.0.0.1:${apiPort}/livez`)).ok;
  await eventually('it listens', isListening, encoder.output);
});
