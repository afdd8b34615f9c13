import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { differences, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import type { SyncProcess } from '../support/sync/sync-process.ts';
import { createLedger, type Ledger, openLedger } from '../support/tables-in-use/ledger.ts';
import { multiply } from '../support/tables-in-use/multiply.ts';

/** Wait on a machine with other work; a replica is equal within seconds. */
const LIMIT_MS = 180_000;
/** More than a source reads whole with each group. */
const LARGE = 6_000;
const PER_STATEMENT_MS = 5;
/** Seconds for which an operator's statement may wait for the readers of the source. */
const MOST_WAIT_S = 15;
const WAITING = `SELECT COALESCE(MAX(TIME), 0) AS seconds FROM information_schema.PROCESSLIST
  WHERE DB = ? AND STATE = 'Waiting for table metadata lock' AND (INFO LIKE 'DROP%' OR INFO LIKE 'LOCK%')`;
const OLD = { small: 'polls', large: 'stakes' } as const;

const OPTIONS = { dbType: 'indexer', seed: 'shrunk', size: 'short', chain: 'litecoin' } as const;

interface Scene {
  readonly source: DatabaseCoordinates;
  readonly writer: Connection;
  readonly ledger: Ledger;
  readonly pair: SyncPair;
  readonly client: SyncProcess;
}

const opened: Connection[] = [];
after(() => {
  for (const each of opened) each.destroy();
});

async function open(binlog: 'required' | 'off'): Promise<Scene> {
  const server = binlog === 'off' ? null : await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  const source = await createDatabase(`shrunk_${binlog}`, server?.root);
  const writer = await connect(source);
  opened.push(writer);
  const ledger = await createLedger(writer, OPTIONS);
  await multiply(writer, OLD.large, LARGE);
  await multiply(writer, OLD.small, 50);
  const pair = await startPair('indexer', source, { SYNC_BINLOG: binlog });
  const client = await pair.startClient();
  await pair.settle(client, (await ledger.writeBlock({ actions: 1 })).height, LIMIT_MS);
  return { source, writer, ledger, pair, client };
}

/** Waits until the replica says that it is complete at a height, and looks each time that it says so: then it must be equal. */
async function equalWhenComplete({ pair, client }: Scene, height: number): Promise<void> {
  const logs = () => `${client.log().slice(-3_000)}\n${pair.server.log().slice(-5_000)}`;
  for (const end = Date.now() + LIMIT_MS; ; await sleep(100)) {
    const [state] = await sql(pair.replica, 'SELECT complete, height FROM sync_state');
    if (Number(state!['height']) === height && Number(state!['complete']) === 1) break;
    const status = await pair.status(client);
    assert.ok(Date.now() < end, `not complete at ${height}: ${JSON.stringify(status)}\n${logs()}`);
  }
  const verdict = await pair.compare();
  assert.ok(verdict.equal, `complete at ${height} and not equal: ${JSON.stringify(differences(verdict))}\n${logs()}`);
}

/** Writes a database's dump. */
async function dump({ host, port, user, pass, name }: DatabaseCoordinates): Promise<string> {
  const to = ['--no-defaults', '--single-transaction', `--host=${host}`, `--port=${port}`, `--user=${user}`, name];
  const run = spawn('mariadb-dump', to, { env: { ...process.env, MYSQL_PWD: pass } });
  const [printed, faults, [code]] = await Promise.all([text(run.stdout), text(run.stderr), once(run, 'close')]);
  assert.equal(code, 0, faults);
  return printed;
}

/**
 * Restores a dump as slowly as a disk may be, statement by statement, while the database is read. None of its statements
 * waits long for a reader: those of a source give way.
 */
async function restore({ host, port, user, pass, name }: DatabaseCoordinates, written: string): Promise<void> {
  const to = ['--no-defaults', `--host=${host}`, `--port=${port}`, `--user=${user}`, name];
  const run = spawn('mariadb', to, { env: { ...process.env, MYSQL_PWD: pass } });
  const faults = text(run.stderr);
  let longest = 0;
  const watcher = await connect({ host, port, user, pass });
  const watch = async () => {
    while (run.exitCode === null && run.signalCode === null) {
      const [waiting] = await rows(watcher, WAITING, [name]);
      longest = Math.max(longest, Number(waiting!['seconds']));
      if (longest > MOST_WAIT_S) run.kill();
      await sleep(500);
    }
  };
  const statements = async function* () {
    for (const statement of written.split(/(?<=;\n)/)) {
      yield statement;
      await sleep(PER_STATEMENT_MS);
    }
  };
  const input = pipeline(statements, run.stdin).catch(() => undefined);
  await Promise.all([input, once(run, 'close'), watch()]);
  watcher.destroy();
  assert.ok(longest <= MOST_WAIT_S, `a statement of the restore waited ${longest} s for a reader`);
  assert.equal(run.exitCode, 0, await faults);
}

/** Deletes the oldest rows of a small and of a large table, which the source's own rollback does not bring back. */
async function deleteOldRows(writer: Connection): Promise<void> {
  for (const table of Object.values(OLD)) await writer.query(`DELETE FROM ${table} ORDER BY action_index LIMIT 5`);
}

for (const binlog of ['off', 'required'] as const) {
  test(`a reorg that only shortens the chain leaves no row that the source deleted (binary log ${binlog})`, async (t) => {
    const scene = await open(binlog);
    const { writer, ledger } = scene;
    await t.test('into a group, whose first blocks stay', async () => {
      await ledger.writeBlocks(5, { actions: 1 }, true, () => deleteOldRows(writer));
      await equalWhenComplete(scene, ledger.height);
      await ledger.undo(2);
      await equalWhenComplete(scene, ledger.height);
    });
    await t.test('to the end of a group', async () => {
      for (const _ of [1, 2]) {
        await ledger.writeBlocks(1, { actions: 1 }, true, () => deleteOldRows(writer));
        await equalWhenComplete(scene, ledger.height);
      }
      await ledger.undo(1);
      await equalWhenComplete(scene, ledger.height);
    });
    await t.test("with rows that the source's own rollback changes", async () => {
      await ledger.writeBlocks(3, { actions: 1 }, true);
      await equalWhenComplete(scene, ledger.height);
      await writer.query('START TRANSACTION');
      await deleteOldRows(writer);
      await writer.query(
        `DELETE FROM ${OLD.large} WHERE action_index IN (SELECT action_index FROM actions WHERE block_index = ?)`,
        [ledger.height]
      );
      await writer.query('COMMIT');
      await ledger.undo(1);
      await equalWhenComplete(scene, ledger.height);
      await ledger.writeBlock({ actions: 2 });
      await equalWhenComplete(scene, ledger.height);
    });
    await t.test('a dump that is restored over the living database, and goes on with another branch', async () => {
      const { source } = scene;
      const written = await dump(source);
      const dumped = ledger.height;
      await ledger.writeBlocks(3, { actions: 2 }, true, () => deleteOldRows(writer));
      await equalWhenComplete(scene, ledger.height);
      await restore(source, written);
      const restored = await openLedger(writer, { ...OPTIONS, seed: 'restored' });
      assert.equal(restored.height, dumped);
      await restored.writeBlock({ actions: 1 });
      await equalWhenComplete(scene, restored.height);
    });
  });
}
