import { setTimeout as sleep } from 'node:timers/promises';
import { readNumber } from '../../src/cli/options.ts';
import { type Connection, connect, rows } from '../../src/db/core/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { readArguments } from '../support/arguments.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';
import { createLedger } from '../support/tables-in-use/ledger.ts';
import { alternate, report } from './support/figures.ts';

const RUNS = 3;
const DEADLINE_MS = 600_000;
const { count, json } = readArguments(
  'npm run bench -- settled [--rows N] [--json FILE]',
  { rows: { type: 'string' }, json: { type: 'string' } },
  ({ rows: text = '250000', json }) => ({ count: readNumber('--rows', text, 1_000, 10_000_000), json })
);

/** A MariaDB that follows another one by its own replication. */
async function startFollower(of: DatabaseCoordinates): Promise<Connection> {
  const server = await startOwnServer(['--server-id=2']);
  const follower = await connect({ ...server.root, name: 'mysql' });
  const [at] = await sql(of, 'SHOW MASTER STATUS');
  await follower.query(
    `CHANGE MASTER TO MASTER_HOST = '${of.host}', MASTER_PORT = ${of.port}, MASTER_USER = 'follower', MASTER_PASSWORD = 'follows',
       MASTER_LOG_FILE = '${String(at!['File'])}', MASTER_LOG_POS = ${Number(at!['Position'])}`
  );
  await follower.query('START SLAVE');
  return follower;
}

const server = await startOwnServer(['--server-id=1', '--log-bin=binlog', '--binlog-format=ROW']);
const source = await createDatabase('settled', server.root);
await sql(source, "CREATE USER follower@'%' IDENTIFIED BY 'follows'", "GRANT REPLICATION SLAVE ON *.* TO follower@'%'");
const writer = await connect(source);
const ledger = await createLedger(writer, { dbType: 'indexer', seed: 'settled', size: 'small', chain: 'litecoin' });
await writer.query('DROP DATABASE IF EXISTS plain');
await writer.query('CREATE DATABASE plain');
const made = [
  'CREATE TABLE changed (id INT PRIMARY KEY, n INT NOT NULL, text VARCHAR(60) NOT NULL)',
  `INSERT INTO changed SELECT seq, 0, REPEAT('x', 60) FROM seq_1_to_${count}`
];
const follower = await startFollower(source);
await sql({ ...source, name: 'plain' }, ...made);
await sql(source, ...made, 'ANALYZE TABLE changed');
const pair = await startPair('indexer', source, { SYNC_BINLOG: 'required', REPLICA_DB_PREFIX: 'replica_' });
const client = await pair.startClient();
await pair.settle(client, (await ledger.writeBlock({ actions: 1 })).height, DEADLINE_MS);
await eventually('verified', DEADLINE_MS, async () => (await pair.status(client))['verification'] === 'verified');
const UPDATE = 'UPDATE changed SET n = n + 1';

/** From the commit of the UPDATE to its last row at MariaDB's own replica. */
async function theirs(): Promise<number> {
  const plain = await connect({ ...source, name: 'plain' });
  await plain.query(UPDATE);
  const began = performance.now();
  const [wanted] = await rows(plain, 'SELECT MAX(n) AS n FROM changed');
  await plain.end();
  await eventually('the follower has it', DEADLINE_MS, async () => {
    const [found] = await rows(follower, `SELECT n FROM plain.changed WHERE id = ${count}`);
    return Number(found?.['n']) === Number(wanted?.['n']);
  });
  return performance.now() - began;
}

/** From the commit of the block with the UPDATE to a replica that is complete at it. */
async function ours(): Promise<number> {
  await writer.query(UPDATE);
  const { height } = await ledger.writeBlock({ actions: 2 });
  const began = performance.now();
  await eventually('the replica is complete', DEADLINE_MS, async () => {
    const [state] = await sql(pair.replica, 'SELECT complete, height FROM sync_state');
    return Number(state?.['height']) === height && Number(state?.['complete']) === 1;
  });
  const tookMs = performance.now() - began;
  const [left] = await sql(pair.replica, 'SELECT MIN(n) <> MAX(n) AS differ FROM changed');
  if (Number(left?.['differ']) !== 0) throw new Error('complete without all rows');
  // The next turn begins at rest.
  await eventually(
    'verified',
    DEADLINE_MS,
    async () => (await pair.status(client))['verified_height'] === height
  ).catch(() => undefined);
  await sleep(1_000);
  return tookMs;
}

const figure = await alternate(RUNS, ours, theirs);
const what = `an UPDATE of ${count / 1000}k rows in one block, complete at the replica; MariaDB's own replication beside it`;
report('settled', [{ what, ...figure, unit: 'ms', compare: 'times', most: 1.5, aim: 1 }], json);
process.exit(0);
