import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { atEnd } from '../support/cleanup.ts';
import { runCommandLine } from '../support/command-line.ts';
import { createDatabase, testServer } from '../support/mariadb.ts';
import { createDecoder } from '../support/sync/generated-decoder.ts';
import { openTestHub, startPair } from '../support/sync/sync-pair.ts';
import { eventually, startSyncProcess, temporaryDirectory } from '../support/sync/sync-process.ts';

const AT = 'litecoin/regtest';
const KEY = 'key-of-the-pair';
let source: DatabaseCoordinates;
before(async () => {
  source = await createDatabase('bad_input');
  await createDecoder(source, { seed: 'bad input', blocks: 5, rows: 50 });
});

/** The whole complaint of a command that cannot start: one line, a final exit code, no secret. */
async function assertRefused(command: string, env: Readonly<Record<string, string>>, code: number, line: RegExp) {
  const outcome = await runCommandLine([command, '--no-guardian'], env);
  assert.equal(outcome.code, code, outcome.stderr);
  assert.match(outcome.stderr, line);
  assert.equal(outcome.stderr.trimEnd().split('\n').length, 1, outcome.stderr);
  assert.doesNotMatch(outcome.stderr + outcome.stdout, /not-the-password/);
}

async function syncEnv(): Promise<Record<string, string>> {
  return {
    SYNC_MODE: 'server',
    SYNC_API_HOST: '127.0.0.1',
    SYNC_API_PORT: '0',
    SYNC_STATE_DIR: join(temporaryDirectory('bad-input'), 'state'),
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: String(await freePort()),
    MAX_HUB_WAIT_MS: '500'
  };
}

async function hubEnv(): Promise<Record<string, string>> {
  const { host, port, user } = await testServer();
  return {
    HUB_HOST: '127.0.0.1',
    HUB_PORT: '0',
    HUB_DB_HOST: host,
    HUB_DB_PORT: String(port),
    HUB_DB_NAME: 'hub_that_is_never_made',
    HUB_DB_USER: user,
    HUB_DB_PASS: 'not-the-password'
  };
}

test('a hub that does not answer ends the service with 69', async () => {
  const env = await syncEnv();
  const line = new RegExp(
    `error connecting to the hub: 127\\.0\\.0\\.1:${env['HUB_PORT']} .*check HUB_API_HOST, HUB_PORT`
  );
  await assertRefused('sync', env, 69, line);
});

test('credentials that MariaDB refuses end hub and client with 77', async () => {
  const { host, port, user } = await testServer();
  const line = (pass: string) =>
    new RegExp(`Access denied for user '${user}'.*host=${host}:${port}.*its GRANTs \\([^)]*${pass}[^)]*\\)`);
  await assertRefused('hub', await hubEnv(), 77, line('HUB_DB_PASS'));
  const replica = { REPLICA_DB_HOST: host, REPLICA_DB_PORT: String(port), REPLICA_DB_USER: user };
  const client = { SYNC_MODE: 'client', SYNC_SOURCES: 'http://127.0.0.1:9', REPLICA_DB_PASS: 'not-the-password' };
  await assertRefused('sync', { ...(await syncEnv()), ...replica, ...client }, 77, line('REPLICA_DB_PASS'));
});

function decoderEnv(): Record<string, string> {
  return {
    NETWORK: 'litecoin-regtest',
    NODE_USER: 'node',
    NODE_PASSWORD: 'not-the-password',
    DECODER_API_HOST: '127.0.0.1',
    DECODER_API_PORT: '0',
    DECODER_DB_HOST: '127.0.0.1',
    DECODER_DB_NAME: 'decoder_that_is_never_made',
    DECODER_DB_USER: 'nobody',
    DECODER_DB_PASS: 'not-the-password'
  };
}

test('a port where somebody listens ends each service with 71', async () => {
  const occupant = createServer().listen(0, '127.0.0.1');
  atEnd(async () => void occupant.close());
  await once(occupant, 'listening');
  const port = String((occupant.address() as AddressInfo).port);
  const line = (variable: string) =>
    new RegExp(`${variable}=${port}: another process listens on 127\\.0\\.0\\.1:${port} .*choose another port`);
  const decoder = { ...decoderEnv(), DECODER_API_PORT: port };
  await assertRefused('sync', { ...(await syncEnv()), SYNC_API_PORT: port }, 71, line('SYNC_API_PORT'));
  await assertRefused('hub', { ...(await hubEnv()), HUB_PORT: port }, 71, line('HUB_PORT'));
  await assertRefused('decoder', decoder, 71, line('DECODER_API_PORT'));
});

test('an address that this machine does not have ends each service with 78, by the name of its variable', async () => {
  const [host, line] = ['192.0.2.1', (variable: string) => new RegExp(`${variable}=192\\.0\\.2\\.1: cannot listen `)];
  const decoder = { ...decoderEnv(), DECODER_API_HOST: host };
  await assertRefused('sync', { ...(await syncEnv()), SYNC_API_HOST: host }, 78, line('SYNC_API_HOST'));
  await assertRefused('hub', { ...(await hubEnv()), HUB_HOST: host }, 78, line('HUB_HOST'));
  await assertRefused('decoder', decoder, 78, line('DECODER_API_HOST'));
});

test('73: a directory that others can write to, by the name of its variable; it stays as it is', async () => {
  const open = temporaryDirectory('open-to-all');
  chmodSync(open, 0o1777);
  const line = (variable: string) => new RegExp(`${variable}=\\S+ can be written to by other users \\(mode 1777\\)`);
  await assertRefused('sync', { ...(await syncEnv()), SNAPSHOT_CACHE_DIR: open }, 73, line('SNAPSHOT_CACHE_DIR'));
  await assertRefused('sync', { ...(await syncEnv()), SYNC_STATE_DIR: open }, 73, line('SYNC_STATE_DIR'));
  assert.equal(statSync(open).mode & 0o7777, 0o1777);
});

test('a hub without entries, an unknown dbType, and credentials of the hub that the authoritative MariaDB refuses', async () => {
  const hub = await openTestHub();
  const server = await startSyncProcess({
    SYNC_MODE: 'server',
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hub.port,
    HUB_REPOLL_INTERVAL: 200,
    BLOCK_POLL_INTERVAL: 50,
    CIRCUIT_FAILURES: 2
  });
  const missing = 'no indexer databases found in hub config';
  await eventually('the empty hub is told', async () => server.log().includes(missing));
  assert.equal(server.log().split(missing).length, 2, 'told once');
  for (const route of ['status', 'schema', 'snapshot']) {
    const { status, body } = await server.get(`/${route}/ledger/${AT}`);
    assert.deepEqual([status, body['error']], [400, 'dbType must be indexer or decoder']);
  }
  const unknown = await server.get(`/status/decoder/${AT}`);
  assert.deepEqual([unknown.status, unknown.body['error']], [404, 'chain/network not found']);

  await hub.name([['decoder', { ...source, pass: 'not-the-password' }]]);
  await eventually('the circuit opens', async () => (await server.get('/health')).status === 503);
  assert.match(
    server.log(),
    /"hint":"check the database's name, the user, its password and its GRANTs".*Access denied for user/
  );
  assert.equal((await server.get(`/snapshot/decoder/${AT}`)).status, 503);
  assert.doesNotMatch(server.log(), /not-the-password/);
  assert.equal((await runCommandLine(['status', '--url', server.url])).code, 1);

  await hub.name([['decoder', source]]);
  await eventually('right credentials are taken', async () => (await server.get('/health')).status === 200);
  await server.end();
});

test('a second client of one replica is refused, says so, and takes over when the first has gone', async () => {
  const pair = await startPair('decoder', source);
  const first = await pair.startClient();
  await pair.settle(first, 104);
  const second = await pair.startClient({ HUB_REPOLL_INTERVAL: 3_000 });
  await eventually('the second client is refused', async () => second.log().includes('REPLICA_LOCKED'));
  const warning = new RegExp(`another client writes to ${pair.replica.name}: connection \\d+`);
  assert.match(second.log(), warning);
  // It is parked, started again within three seconds, and waits ten seconds for the writer's lock: status says why each time.
  const looks: string[] = [];
  for (let look = 0; look < 8; look += 1) {
    const { code, stdout } = await runCommandLine(['status', '--url', second.url], { SYNC_API_KEY: KEY });
    assert.equal(code, 1, stdout);
    assert.match(stdout, warning);
    assert.match(stdout, / {2}no +another client/, 'it waits, and is not halted');
    looks.push(stdout);
    await sleep(1_500);
  }
  assert.match(looks.join('\n'), /holds the lock; stop the other client of this replica/);
  assert.equal((await runCommandLine(['status', '--url', second.url], { SYNC_API_KEY: 'another-key' })).code, 77);
  await first.end();
  assert.equal((await pair.settle(second, 104)).equal, true);
  await second.end();
  await pair.server.end();
});
