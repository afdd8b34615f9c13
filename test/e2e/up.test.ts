import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { PrivateMariaDb } from '../../src/devnet/processes/mariadb.ts';
import { askService } from '../../src/installation/ask.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import { certify } from '../support/certificates.ts';
import { atEnd } from '../support/cleanup.ts';
import { runCommandLine } from '../support/command-line.ts';
import { startTestLitecoind, type TestLitecoind } from '../support/litecoin.ts';
import { startOwnServer } from '../support/mariadb.ts';
import { startProgram } from '../support/service-process.ts';
import { sql } from '../support/sql.ts';
import { eventually } from '../support/sync/sync-process.ts';

const COMMAND_LINE = new URL('../../scripts/platform-node', import.meta.url).pathname;
const START_MS = 120_000;
const SOURCE = 'Platform_LTC_Regtest_';

let mariadb: PrivateMariaDb;
let coin: TestLitecoind;
let directory: string;
let settings: Record<string, string>;

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'platform-up-'));
  certify(directory, 'authority', 'localhost');
  const certificate = [
    `--ssl-cert=${join(directory, 'localhost.pem')}`,
    `--ssl-key=${join(directory, 'localhost.key')}`
  ];
  [mariadb, coin] = await Promise.all([
    startOwnServer(['--log-bin=binlog', '--binlog-format=ROW', ...certificate]),
    startTestLitecoind()
  ]);
  atEnd(async () => rmSync(directory, { recursive: true, force: true }));
  const { user, pass, port } = mariadb.root;
  const { node } = coin;
  const names = [
    'HUB_PORT',
    'DECODER_API_PORT',
    'INDEXER_API_PORT',
    'UTXO_TRACKER_API_PORT',
    'ENCODER_API_PORT',
    'EXPLORER_API_PORT',
    'SYNC_API_PORT',
    'UP_REPLICA_PORT',
    'REGTEST_MINER_API_PORT'
  ];
  settings = {
    UP_MARIADB_URL: `mysql://${user}:${pass}@127.0.0.1:${port}`,
    UP_NODE_URL: `http://${node.user}:${node.password}@127.0.0.1:${node.rpcPort}`,
    NETWORK: 'RLTC',
    UP_STATE_DIR: join(directory, 'state'),
    DECODER_POLL_INTERVAL: '200',
    ...Object.fromEntries(await Promise.all(names.map(async (name) => [name, String(await freePort())])))
  };
  await node.fund(3);
  await node.pay({ action: 'ISSUE|0|UPTOKEN|1000|0|2||100' });
  await node.mine(1);
});

/** @param ready what it prints when all services answer */
const startUp = async (words: readonly string[] = ['up'], ready = 'all services answer') => {
  const up = startProgram(COMMAND_LINE, words, settings);
  await eventually('all services answer', START_MS, async () => {
    assert.equal(up.child.exitCode, null, up.output());
    return up.output().includes(ready);
  });
  return up;
};

const heightOf = async (name: string) => {
  const found = await sql({ ...mariadb.root, name: 'mysql' }, `SELECT MAX(block_index) AS height FROM ${name}.blocks`);
  return Number(found[0]?.['height']);
};

async function replicasAreEqual(): Promise<void> {
  const tip = await coin.node.height();
  for (const kind of ['Indexer', 'Decoder']) {
    const [source, replica] = [`${SOURCE}${kind}`, `replica_${SOURCE}${kind}`];
    const on = (name: string) => ({ ...mariadb.root, name });
    // Refused while the client makes tables.
    const isEqual = async () => (await compareDatabases(on(source), on(replica)).catch(() => null))?.equal === true;
    const isThere = async () => (await heightOf(replica).catch(() => -1)) === tip && (await isEqual());
    await eventually(`${replica} equals its source at block ${tip}`, START_MS, isThere);
  }
}

test('up: from MariaDB and a coin node to an equal replica with four settings; a service that dies comes back', async () => {
  const up = await startUp();
  await replicasAreEqual();
  assert.equal(await heightOf('Platform_LTC_Regtest_Indexer'), await coin.node.height());
  const [issued] = await sql({ ...mariadb.root, name: `${SOURCE}Indexer` }, 'SELECT COUNT(*) AS n FROM issues');
  assert.equal(Number(issued?.['n']), 1);

  const { UP_STATE_DIR: state = '' } = settings;
  assert.equal(statSync(state).mode & 0o777, 0o700);
  for (const name of readdirSync(join(state, 'passwords')))
    assert.equal(statSync(join(state, 'passwords', name)).mode & 0o777, 0o600, name);
  const grants = await sql(
    { ...mariadb.root, name: 'mysql' },
    "SHOW GRANTS FOR 'platform_ltc_regtest_explorer'@'127.0.0.1'"
  );
  const lines = grants.map((line) => String(Object.values(line)[0]));
  assert.equal(lines.filter((line) => line.startsWith('GRANT SELECT ON `Platform\\_LTC\\_Regtest\\_')).length, 2);
  assert.equal(lines.length, 3, lines.join('\n'));

  const again = await runCommandLine(['up'], settings);
  assert.equal(again.code, 73, again.stderr);
  assert.match(again.stderr, /is in use by process .*STATE_LOCKED/);
  const children = readFileSync(`/proc/${up.child.pid}/task/${up.child.pid}/children`, 'utf8').trim().split(' ');
  assert.equal(children.length, 9);
  for (const pid of children.slice(0, 3)) process.kill(Number(pid), 'SIGKILL');
  await coin.node.mine(1);
  await replicasAreEqual();
  // The key of all services is found in the installation's directory.
  await eventually('status --all says that all are ready', START_MS, async () => {
    const { code } = await runCommandLine(['status', '--all'], settings);
    return code === 0;
  });
  await operate('indexer/litecoin/regtest');
  up.child.kill('SIGTERM');
  assert.equal(await up.exited, 0, up.output());
});

/** Pauses and resumes an actor of the replica by the command line, as an operator does who has the settings of `up` alone. */
async function operate(actor: string): Promise<void> {
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await runCommandLine(words, settings);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const stateOf = async () => {
    const actors = JSON.parse(await run('actor', 'list', '--json')) as {
      service: string;
      name: string;
      state: string;
    }[];
    return actors.find(({ service, name }) => service === 'replica' && name === actor)?.state;
  };
  const why = ['--service', 'replica', '--confirm', actor, '--reason', 'to look at it'];
  assert.equal(await stateOf(), 'running');
  await run('actor', 'pause', actor, ...why);
  assert.equal(await stateOf(), 'paused');
  await run('actor', 'resume', actor, '--service', 'replica');
  await eventually('the actor runs again', async () => (await stateOf()) === 'running');
  assert.equal(await run('halt', 'list'), 'nothing is halted\n');
  assert.match(await run('halt', 'clear', actor, ...why), /^there is no halt of indexer/);
  assert.match(
    await run('logs', '--service', 'replica', '--lines', '200'),
    /replica WARN .*audit: POST \/debug\/actors/
  );
}

/** Configuration of the hub, and the tracker's coins with what it has of each script: what restored ones must have again. */
async function toldBoth(): Promise<unknown> {
  const apiKey = readFileSync(join(settings['UP_STATE_DIR']!, 'api-key'), 'utf8').trim();
  const hub = {
    name: 'hub',
    url: `http://127.0.0.1:${settings['HUB_PORT']}/`,
    apiKey,
    fault: 'HUB_UNREACHABLE'
  } as const;
  const tracker = { ...mariadb.root, name: `${SOURCE}Tracker` };
  const { configs } = (await askService(hub, 'getallconfigs', {})) as { configs: unknown };
  return {
    configs,
    coins: await sql(tracker, 'CHECKSUM TABLE coins, scripts, blocks')
  };
}

/** Lets `up` reach MariaDB by TLS; its accounts take no other connection from now on. */
async function requireTls(): Promise<void> {
  const { user, pass, port } = mariadb.root;
  settings['UP_MARIADB_URL'] = `mysql://${user}:${pass}@localhost:${port}?ca=${join(directory, 'authority.pem')}`;
  const on = { ...mariadb.root, name: 'mysql' };
  for (const part of ['hub', 'decoder', 'indexer', 'tracker', 'explorer', 'server', 'client']) {
    const account = `'platform_ltc_regtest_${part}'@'127.0.0.1'`;
    await sql(on, `CREATE USER IF NOT EXISTS ${account}`);
    await sql(on, `ALTER USER ${account} REQUIRE SSL`);
  }
}

test('up: the second start continues, over TLS to MariaDB; databases that are dumped while all runs are restored: source, replica, hub and tracker go on from there', async () => {
  const { socketPath } = mariadb;
  const account = ['--no-defaults', `--socket=${socketPath}`, '-uroot'];
  const dump = join(directory, 'backup.sql');
  const names = [
    `${SOURCE}Indexer`,
    `${SOURCE}Decoder`,
    `${SOURCE}Tracker`,
    `${SOURCE}Hub`,
    `replica_${SOURCE}Indexer`
  ];
  await requireTls();
  await coin.node.mine(2);
  const up = await startUp(['up', '--json'], '"event":"ready"');
  const steps = up.output().match(/^\{"event":.*\}$/gm) ?? [];
  const urls = steps.map((line) => (JSON.parse(line) as { url?: string }).url).filter((url) => url !== undefined);
  assert.equal(urls.length, 9, steps.join('\n'));
  await replicasAreEqual();
  execFileSync('mariadb-dump', [...account, '--single-transaction', `--result-file=${dump}`, '--databases', ...names]);
  await coin.node.mine(2);
  await replicasAreEqual();
  const tip = await coin.node.height();
  const trackerIsThere = async () => (await heightOf(`${SOURCE}Tracker`)) === tip;
  await eventually('the tracker is there', START_MS, trackerIsThere);
  const before = await toldBoth();
  up.child.kill('SIGTERM');
  assert.equal(await up.exited, 0, up.output());

  for (const name of names) execFileSync('mariadb', [...account, '-e', `DROP DATABASE ${name}`]);
  execFileSync('mariadb', account, { input: readFileSync(dump) });
  assert.equal(await heightOf(`${SOURCE}Indexer`), tip - 2);
  assert.equal(await heightOf(`replica_${SOURCE}Decoder`), tip, 'this replica is ahead of the restored source');
  const secrets = ['api-key', 'passwords/indexer'].map((name) => join(settings['UP_STATE_DIR']!, name));
  const former = secrets.map((file) => readFileSync(file, 'utf8'));
  for (const file of secrets) rmSync(file);
  const again = await startUp();
  for (const [at, file] of secrets.entries()) assert.notEqual(readFileSync(file, 'utf8'), former[at], 'made anew');
  await replicasAreEqual();
  await eventually('the tracker is there again', START_MS, trackerIsThere);
  assert.deepEqual(await toldBoth(), before);
  await coin.node.mine(1);
  await replicasAreEqual();
  again.child.kill('SIGTERM');
  assert.equal(await again.exited, 0, again.output());
});

test('PORT_IN_USE: up starts nothing where another program listens', async () => {
  const taken = await runCommandLine(['up'], { ...settings, HUB_PORT: String(mariadb.port) });
  assert.equal(taken.code, 71, taken.stderr);
  assert.match(taken.stderr, new RegExp(`hub: 127\\.0\\.0\\.1:${mariadb.port} \\(EADDRINUSE\\)`));
});
