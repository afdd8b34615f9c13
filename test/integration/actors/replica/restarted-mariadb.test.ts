import assert from 'node:assert/strict';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMariaDb } from '../../../../src/devnet/processes/mariadb.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { createDatabase, makeServerDirectory } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { appendBlocks, createIndexer } from '../../../support/sync/generated-indexer.ts';
import { startLyingSource } from '../../../support/sync/lying-source.ts';
import { ReplicaThread } from '../../../support/sync/replica-thread.ts';
import { startPair } from '../../../support/sync/sync-pair.ts';
import { eventually } from '../../../support/sync/sync-process.ts';

/** More rows than a server knows one by one at its start. */
const ROWS = 30_000;

const directory = makeServerDirectory();
const [data, backup, logs] = ['data', 'backup', 'logs'].map((name) => join(directory, name)) as [
  string,
  string,
  string
];
mkdirSync(logs);
const start = (port?: number) =>
  startMariaDb(
    directory,
    [`--log-bin=${logs}/binlog`, '--binlog-format=ROW', '--sync-binlog=1', '--innodb-flush-log-at-trx-commit=1'],
    port
  );
let mariaDb = await start();
atEnd(() => mariaDb.stop());
const source = await createDatabase('restarted', mariaDb.root);
await createIndexer(source, { seed: 'restarted', blocks: 5, rows: 100 });
await sql(
  source,
  'CREATE TABLE notes (id INT PRIMARY KEY, n INT NOT NULL)',
  `INSERT INTO notes SELECT seq, 0 FROM seq_1_to_${ROWS}`
);
const pair = await startPair('indexer', source, { SYNC_BINLOG: 'required' });
let holdsDigests = false;
const { url } = await startLyingSource(pair.server.url, async (path, body) => {
  while (holdsDigests && path.startsWith('/digest/')) await sleep(50);
  return body;
});
const at = await createDatabase('restarted_replica');
const replica = new ReplicaThread(at, 'indexer', [url], { epochSize: 1_000, verifyHashes: false });
await replica.until('verified', ({ replica: standing }) => standing!.verification === 'verified');

const marker = async () =>
  (await sql(at, 'SELECT height, complete, (SELECT n FROM notes WHERE id = 100) AS n FROM sync_state'))[0]!;

test('after a MariaDB was stopped and started, the binary log still names what changes: no comparison is needed', async () => {
  await mariaDb.stop();
  mariaDb = await start(mariaDb.port);
  holdsDigests = true;
  await sql(source, 'UPDATE notes SET n = 1 WHERE id = 100');
  const tip = await appendBlocks(source, 1, 'after a restart');
  await eventually('complete at the next block', async () => {
    const { height, complete } = await marker();
    return Number(height) === tip && Number(complete) === 1;
  });
  assert.equal(Number((await marker())['n']), 1);
  holdsDigests = false;
});

test('a MariaDB that was restored while its binary log went on: a replica of what was there is complete only when it was compared', async () => {
  await mariaDb.stop();
  cpSync(data, backup, { recursive: true, preserveTimestamps: true });
  mariaDb = await start(mariaDb.port);
  await sql(source, 'UPDATE notes SET n = 2 WHERE id = 100');
  const tip = await appendBlocks(source, 2, 'once more');
  await replica.isLiveAt(tip);
  await eventually('the change came', async () => Number((await marker())['n']) === 2);
  await pair.server.end();
  await mariaDb.stop('SIGKILL');
  rmSync(data, { recursive: true });
  cpSync(backup, data, { recursive: true, preserveTimestamps: true });
  mariaDb = await start(mariaDb.port);
  // The same blocks come again, and not what somebody changed by hand.
  assert.equal(await appendBlocks(source, 2, 'once more'), tip);
  holdsDigests = true;
  await pair.restartServer();
  const next = await appendBlocks(source, 1, 'the next one');
  await replica.until('at the next block', ({ height }) => height === next);
  const { complete, n } = await marker();
  assert.ok(Number(n) === 1 || Number(complete) === 0, 'complete, with a row that its source does not have');
  holdsDigests = false;
  await eventually('complete', async () => Number((await marker())['complete']) === 1);
  assert.equal(Number((await marker())['n']), 1);
  await replica.end();
});
