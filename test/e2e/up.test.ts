import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { PrivateMariaDb } from '../../src/devnet/processes/mariadb.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
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
  [mariadb, coin] = await Promise.all([
    startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']),
    startTestLitecoind()
  ]);
  directory = mkdtempSync(join(tmpdir(), 'platform-up-'));
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

const startUp = async () => {
  const up = startProgram(COMMAND_LINE, ['up'], settings);
  await eventually('all services answer', START_MS, async () => {
    assert.equal(up.child.exitCode, null, up.output());
    return up.output().includes('all services answer');
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
  const SYNC_API_KEY = readFileSync(join(state, 'api-key'), 'utf8').trim();
  const keys = Object.fromEntries(
    ['HUB', 'DECODER', 'INDEXER', 'EXPLORER', 'UTXO_TRACKER', 'ENCODER'].map((name) => [
      `${name}_API_KEY`,
      SYNC_API_KEY
    ])
  );
  await eventually('status --all says that all are ready', START_MS, async () => {
    const { code } = await runCommandLine(['status', '--all'], { ...settings, ...keys, SYNC_API_KEY });
    return code === 0;
  });
  up.child.kill('SIGTERM');
  assert.equal(await up.exited, 0, up.output());
});

test('up: the second start continues with accounts, passwords and data', async () => {
  await coin.node.mine(2);
  const up = await startUp();
  await replicasAreEqual();
  up.child.kill('SIGTERM');
  assert.equal(await up.exited, 0, up.output());
});

test('PORT_IN_USE: up starts nothing where another program listens', async () => {
  const taken = await runCommandLine(['up'], { ...settings, HUB_PORT: String(mariadb.port) });
  assert.equal(taken.code, 71, taken.stderr);
  assert.match(taken.stderr, new RegExp(`hub: 127\\.0\\.0\\.1:${mariadb.port} \\(EADDRINUSE\\)`));
});
