import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { differences, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync/sync-process.ts';
import { createLedger, type Ledger } from '../support/tables-in-use/ledger.ts';
import { multiply } from '../support/tables-in-use/multiply.ts';

/** Tables in which indexers in use change rows of older blocks. */
const CHANGED = ['stakes', 'orders', 'dispensers', 'bets'];
/** More than a source reads whole before it sends a block. */
const LARGE = 6_000;
/** A table of this many rows is settled within five seconds; beside other tests it takes longer. */
const LARGEST = 190_000;
/** Lookup rows: three times as many as a group reads the ids of. */
const LABELS = 60_000;
const SETTLED_MS = 30_000;

let source: DatabaseCoordinates;
let writer: Connection;
let ledger: Ledger;
let pair: SyncPair;
let client: SyncProcess;

before(async () => {
  source = await createDatabase('settled');
  writer = await connect(source);
  ledger = await createLedger(writer, { dbType: 'indexer', seed: 'settled', size: 'short', chain: 'litecoin' });
  for (const table of CHANGED) await multiply(writer, table, LARGE);
  await writer.query('CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(40) NOT NULL)');
  await writer.query(`INSERT INTO notes (text) SELECT CONCAT('note ', seq) FROM seq_1_to_${LARGEST}`);
  await writer.query('CREATE TABLE index_labels (id INT AUTO_INCREMENT PRIMARY KEY, label VARCHAR(40) NOT NULL)');
  await writer.query(`INSERT INTO index_labels (label) SELECT CONCAT('label ', seq) FROM seq_1_to_${LABELS}`);
  await writer.query('DELETE FROM index_labels WHERE id = 77');
  await writer.query('ANALYZE TABLE notes, index_labels');
  pair = await startPair('indexer', source, { SYNC_BINLOG: 'off' });
  client = await pair.startClient();
  await pair.settle(client, (await ledger.writeBlock({ actions: 1 })).height);
  await isVerified(client);
});

after(() => writer.destroy());

async function isVerified(of: SyncProcess): Promise<void> {
  await eventually('the replica is verified', async () => (await pair.status(of))['verification'] === 'verified');
}

/** Changes the oldest row of each table and adds one to it, in one transaction. */
async function changeOldRows(): Promise<void> {
  await writer.query('BEGIN');
  for (const table of CHANGED) {
    const [old] = await rows(writer, `SELECT MIN(action_index) AS a FROM ${table}`);
    await writer.query(`UPDATE ${table} SET status_id = status_id + 1 WHERE action_index = ?`, [old!['a']]);
  }
  await writer.query('COMMIT');
}

/** Waits until the replica says that it is complete at a height; until then it must not be equal and say so. @returns milliseconds */
async function completeAt(height: number): Promise<number> {
  const began = performance.now();
  await eventually(`complete at ${height}`, async () => {
    const [state] = await sql(pair.replica, 'SELECT complete, height FROM sync_state').catch(() => []);
    return state !== undefined && Number(state['height']) === height && Number(state['complete']) === 1;
  });
  return performance.now() - began;
}

test('old rows that change in a block beside new ones come as an amendment of that block, without a next one', async () => {
  const before = await pair.status(client);
  await changeOldRows();
  const { height } = await ledger.writeBlock({ actions: 20 });
  const tookMs = await completeAt(height);
  assert.ok(tookMs < SETTLED_MS, `settled after ${Math.round(tookMs)} ms`);
  const verdict = await pair.compare();
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  const [server, status] = [await pair.status(pair.server), await pair.status(client)];
  assert.equal(server['settled_height'], height);
  assert.equal(status['settled_height'], height);
  assert.equal(status['repairs'], before['repairs'], 'nothing was left for a repair');
});

test('a table of 190,000 rows, each known one by one, is settled without a next block', async () => {
  await writer.query("UPDATE notes SET text = CONCAT(text, '!') WHERE id IN (5, 70000, 150000)");
  await writer.query("INSERT INTO notes (text) VALUES ('new')");
  const { height } = await ledger.writeBlock({ actions: 20 });
  const tookMs = await completeAt(height);
  assert.ok(tookMs < SETTLED_MS, `settled after ${Math.round(tookMs)} ms`);
  const verdict = await pair.compare();
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
});

test('lookup rows far below the newest ones that go, change, come late or are dealt anew come with the block', async () => {
  const before = await pair.status(client);
  await writer.query('DELETE FROM index_labels WHERE id IN (5, 6, 20000)');
  await writer.query("INSERT INTO index_labels (id, label) VALUES (6, 'dealt anew'), (77, 'late')");
  await writer.query("UPDATE index_labels SET label = 'changed' WHERE id IN (300, 30000)");
  await writer.query("INSERT INTO index_labels (label) VALUES ('new')");
  const { height } = await ledger.writeBlock({ actions: 20 });
  await completeAt(height);
  const verdict = await pair.compare();
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  assert.equal((await pair.status(client))['repairs'], before['repairs'], 'nothing was left for a repair');
});

test('a replica that was away gets amendments with its since-snapshot, and nothing is left for a repair', async () => {
  const before = await pair.status(client);
  await client.end();
  await changeOldRows();
  const { height } = await ledger.writeBlock({ actions: 20 });
  await eventually('settled', async () => (await pair.status(pair.server))['settled_height'] === height);
  client = await pair.startClient();
  await completeAt(height);
  await isVerified(client);
  const verdict = await pair.compare();
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  assert.equal((await pair.status(client))['repairs'], before['repairs']);
});

test('a comparison counts for VERIFY_MAX_AGE: it is renewed in time, although no block comes', async () => {
  await client.end();
  client = await pair.startClient({ VERIFY_MAX_AGE: 6_000 });
  await isVerified(client);
  const { repairs } = await pair.status(client);
  await sql(pair.replica, "UPDATE notes SET text = 'by hand' WHERE id = 9");
  await eventually('repaired', async () => Number((await pair.status(client))['repairs']) === Number(repairs) + 1);
  await isVerified(client);
  const verdict = await pair.compare();
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
});
