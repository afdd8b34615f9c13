import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase } from '../support/mariadb.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { sql } from '../support/sql.ts';
import { differences, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync/sync-process.ts';
import { createLedger, type Ledger } from '../support/tables-in-use/ledger.ts';

/** More than a source reads whole with each group. */
const NOTES = 6_000;
/** A table's time of change has whole seconds. */
const SECOND_MS = 1_100;

let source: DatabaseCoordinates;
let writer: Connection;
let ledger: Ledger;
let pair: SyncPair;
let client: SyncProcess;

before(async () => {
  source = await createDatabase('doubted');
  writer = await connect(source);
  ledger = await createLedger(writer, { dbType: 'indexer', seed: 'doubted', size: 'short', chain: 'litecoin' });
  await writer.query('CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(40) NOT NULL)');
  await writer.query(`INSERT INTO notes (text) SELECT CONCAT('note ', seq) FROM seq_1_to_${NOTES}`);
  pair = await startPair('indexer', source, { SYNC_BINLOG: 'off', BLOCK_POLL_INTERVAL: 50 });
  client = await pair.startClient();
  await pair.settle(client, (await ledger.writeBlock({ actions: 1 })).height);
  await isVerified();
});

after(() => writer.destroy());

const isVerified = () => eventually('verified', async () => (await pair.status(client))['verification'] === 'verified');

async function isComplete(): Promise<boolean> {
  const [state] = await sql(pair.replica, 'SELECT complete FROM sync_state');
  return Number(state!['complete']) === 1;
}

/** Waits until the replica says that it is complete at the source's tip; then it must be equal. */
async function equalWhenComplete(): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; ; await sleep(100)) {
    const [state] = await sql(pair.replica, 'SELECT complete, height FROM sync_state');
    if (Number(state!['height']) === ledger.height && Number(state!['complete']) === 1) break;
    const status = await pair.status(client);
    assert.ok(Date.now() < end, `not complete: ${JSON.stringify(status)}\n${client.log().slice(-3_000)}`);
  }
  const verdict = await pair.compare();
  assert.ok(verdict.equal, `complete and not equal: ${JSON.stringify(differences(verdict))}`);
}

test('a comparison that finds what the source has not sent yet leaves the replica incomplete, and says why', async () => {
  await sleep(SECOND_MS);
  await writer.query("UPDATE notes SET text = 'before the block' WHERE id = 17");
  assert.equal(await client.post('/debug/actors/indexer/litecoin/regtest/verify'), 202);
  let reported: unknown;
  await eventually('incomplete, with the reason', async () => {
    reported = (await pair.status(client))['verification_reason'];
    return !(await isComplete()) && /notes differ.*next block/.test(String(reported));
  }).catch((fault: Error) => {
    throw new Error(`${fault.message}; it said ${reported}\n${client.log().slice(-3_000)}`);
  });
  await ledger.writeBlock({ actions: 1 });
  await equalWhenComplete();
  await isVerified();
  assert.equal((await pair.status(client))['verification_reason'], null);
});

test('changes while the server was away are not passed over: nothing is complete before it has looked', async () => {
  await pair.server.end();
  await writer.query("UPDATE notes SET text = 'while it was away' WHERE id IN (3, 4000)");
  await pair.restartServer();
  await eventually('connected', async () => {
    const { phase } = await pair.status(client);
    return phase === 'verifying' || phase === 'live';
  });
  await equalWhenComplete();
});

test('a table that was dropped in the replica by hand is named, made again and loaded', async () => {
  await isVerified();
  await sql(pair.replica, 'DROP TABLE notes');
  await writer.query("UPDATE notes SET text = 'of a dropped table' WHERE id = 5");
  await ledger.writeBlock({ actions: 1 });
  await eventually('incomplete', async () => !(await isComplete()));
  await equalWhenComplete();
  assert.match(client.log(), /notes.{0,80}made again/s);
  const { last_error: error } = await pair.status(client);
  assert.equal(error, null);
});

test('one that was dropped while the client was down is made again at its start', async () => {
  await client.end();
  await sql(pair.replica, 'DROP TABLE notes');
  client = await pair.startClient();
  await eventually('incomplete', async () => !(await isComplete()));
  await equalWhenComplete();
});
