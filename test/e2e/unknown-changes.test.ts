import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { differences, PAIR_KEY, pause, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess, temporaryDirectory } from '../support/sync/sync-process.ts';
import { createLedger, type Ledger } from '../support/tables-in-use/ledger.ts';

/** More than a source without a log remembers row by row. */
const LARGE = 25_000;
const LOOK_MS = 5;

/** A source, its server and a replica, each pair with another log. */
interface Stage {
  readonly writer: Connection;
  readonly reader: Connection;
  readonly ledger: Ledger;
  readonly pair: SyncPair;
  client: SyncProcess;
  readonly stateDirectory: string;
}

let unlogged: Stage;
let logged: Stage;

before(async () => {
  unlogged = await setUp(await createDatabase('unlogged'), 'off');
  const server = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  logged = await setUp(await createDatabase('logged', server.root), 'required');
});

after(() => {
  for (const { writer, reader } of [unlogged, logged]) {
    writer.destroy();
    reader.destroy();
  }
});

async function setUp(source: DatabaseCoordinates, binlog: 'off' | 'required'): Promise<Stage> {
  const writer = await connect(source);
  const ledger = await createLedger(writer, { dbType: 'indexer', seed: 'unknown', size: 'short', chain: 'litecoin' });
  await writer.query('CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(40) NOT NULL)');
  await writer.query(`INSERT INTO notes (text) SELECT CONCAT('note ', seq) FROM seq_1_to_${LARGE}`);
  await writer.query('ANALYZE TABLE notes');
  const stateDirectory = temporaryDirectory('server-state');
  const pair = await startPair('indexer', source, { SYNC_BINLOG: binlog, SYNC_STATE_DIR: stateDirectory });
  const client = await pair.startClient();
  const { height } = await ledger.writeBlock({ actions: 1 });
  await pair.settle(client, height);
  const stage = { writer, reader: await connect(pair.replica), ledger, pair, client, stateDirectory };
  await isSettledAt(stage, height);
  return stage;
}

/** Waits until the server has looked at everything, and the replica is complete and verified. */
async function isSettledAt({ pair, client }: Pick<Stage, 'pair' | 'client'>, height: number): Promise<void> {
  let reported: unknown;
  await eventually('settled and verified', async () => {
    const [server, status] = [await pair.status(pair.server), await pair.status(client)];
    reported = [server['settled_height'], status['block_height'], status['verification']];
    return JSON.stringify(reported) === JSON.stringify([height, height, 'verified']);
  }).catch((fault: Error) => {
    throw new Error(`${fault.message}; they say ${JSON.stringify(reported)}`);
  });
}

/** One look at the replica's word about itself and at its row, in one statement. */
async function look({ reader }: Stage, id: number) {
  const [row] = await rows(
    reader,
    `SELECT s.complete AS complete, s.height AS height, n.text AS text FROM sync_state s, notes n WHERE n.id = ${id}`
  );
  return { isComplete: Number(row!['complete']) === 1, height: Number(row!['height']), text: String(row!['text']) };
}

/**
 * Kills the server, changes an old row, writes a block or none, starts the server again, and the replica when that has looked at
 * everything. From the moment at which it hears of the server, the replica says that it is not complete until it is equal.
 */
async function changeUnseen(
  stage: Stage,
  id: number,
  { block = false, forgets = false }: { readonly block?: boolean; readonly forgets?: boolean }
): Promise<void> {
  const { pair, writer, ledger, stateDirectory } = stage;
  const before = await look(stage, id);
  await stage.client.end();
  await pair.server.end('SIGKILL');
  await writer.query(`UPDATE notes SET text = CONCAT(text, '!') WHERE id = ${id}`);
  const height = block ? (await ledger.writeBlock({ actions: 1 })).height : before.height;
  if (forgets) rmSync(stateDirectory, { recursive: true });
  await pair.restartServer();
  // Nobody hears what it says once.
  await eventually('looked at', async () => (await pair.status(pair.server))['settled_height'] === height);
  stage.client = await pair.startClient();
  const deadline = Date.now() + PATIENCE_MS;
  let wasIncomplete = false;
  for (let seen = await look(stage, id); !(seen.isComplete && seen.text === `${before.text}!`); ) {
    assert.ok(Date.now() < deadline, `the replica says ${JSON.stringify(seen)}\n${stage.client.log().slice(-3000)}`);
    if (!seen.isComplete) wasIncomplete = true;
    else
      assert.ok(
        !wasIncomplete && seen.height === before.height && (!block || seen.height < height),
        JSON.stringify(seen)
      );
    await pause(LOOK_MS);
    seen = await look(stage, id);
  }
  assert.ok(wasIncomplete, 'the replica said all the time that it is complete');
  await isSettledAt(stage, height);
  const verdict = await pair.compare();
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
}

test('without a log, an old row that changed with a block while the server was away', async () => {
  await changeUnseen(unlogged, 5, { block: true });
});

test('the same without a block', async () => {
  await changeUnseen(unlogged, 6, {});
});

test('with a log, but without the resume point, an old row that changed with a block', async () => {
  await changeUnseen(logged, 7, { block: true, forgets: true });
});

test('the same without a block', async () => {
  await changeUnseen(logged, 8, { forgets: true });
});

test('a replica that was compared since is complete all the time when it comes back', async () => {
  const { pair, client, ledger } = unlogged;
  const before = await look(unlogged, 5);
  assert.ok(await wordOf(pair), 'the server names what it learned');
  await client.end();
  const again = await pair.startClient();
  let isComplete = true;
  await eventually('live', async () => {
    isComplete &&= (await look(unlogged, 5)).isComplete;
    return (await pair.status(again))['verification'] === 'verified';
  });
  assert.ok(isComplete, 'it was complete all the time');
  assert.equal((await look(unlogged, 5)).height, before.height);
  const { height } = await ledger.writeBlock({ actions: 1 });
  const verdict = await pair.settle(again, height);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
});

test('with its log and resume point, a server knows what it sent: the row comes, and nothing is compared for it', async () => {
  const { pair, client, writer, ledger } = logged;
  const [shown, { repairs }] = [await wordOf(pair), await pair.status(client)];
  await pair.server.end('SIGKILL');
  await writer.query("UPDATE notes SET text = CONCAT(text, '?') WHERE id = 9");
  const { height } = await ledger.writeBlock({ actions: 1 });
  await pair.restartServer();
  const verdict = await pair.settle(client, height);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  await isSettledAt(logged, height);
  assert.deepEqual(await wordOf(pair), shown, 'it learned nothing');
  assert.equal((await pair.status(client))['repairs'], repairs);
});

/** Returns `learned` in the head of a snapshot by the server; null: nothing. */
async function wordOf({ server }: SyncPair): Promise<string | null> {
  const response = await fetch(`${server.url}/snapshot/indexer/litecoin/regtest`, {
    headers: { authorization: `Bearer ${PAIR_KEY}` }
  });
  await response.body?.cancel();
  return response.headers.get('x-learned');
}
