import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyRemote } from '../../src/cli/commands/verify-remote.ts';
import { connect, quoteName } from '../../src/db/connection.ts';
import { openReplicaState, writeReplicaState } from '../../src/replication/replica/database/state.ts';
import { readTip } from '../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase, startOwnServer } from '../../test/support/mariadb.ts';
import { sql } from '../../test/support/sql.ts';
import { createDecoder } from '../../test/support/sync/generated-decoder.ts';
import { startLyingSource } from '../../test/support/sync/lying-source.ts';
import { startPair } from '../../test/support/sync/sync-pair.ts';
import { eventually } from '../../test/support/sync/sync-process.ts';

/** Rows of the table that is compared while blocks come. */
const BESIDE_ROWS = readArguments(
  'npm run bench -- digest [--rows N]',
  { rows: { type: 'string' } },
  ({ rows = '1000000' }) => Number(rows)
);

const TICKS_PER_SECOND = 100;
const KEY = 'key-of-the-pair';
const ROWS = 1_000_000;
const BLOCKS = 500;

/** A million rows of some hundred bytes; what they are told apart by decides how their ranges are found. */
const TABLES: readonly [what: string, create: string, fill: string, change: string][] = [
  [
    'scoped',
    'CREATE TABLE million (block_index INT UNSIGNED NOT NULL, tx_index INT UNSIGNED NOT NULL PRIMARY KEY, address_id INT UNSIGNED NOT NULL, tick_id INT UNSIGNED NOT NULL, amount DECIMAL(38,18) NOT NULL, memo VARCHAR(80) NULL, KEY (block_index))',
    `INSERT INTO million SELECT 100 + seq DIV ${Math.ceil(ROWS / BLOCKS)}, seq, seq MOD 5000, seq MOD 700, seq * 1.000000000000000001, SHA2(seq, 256) FROM seq_1_to_${ROWS - 1}`,
    'UPDATE million SET amount = amount + 1 WHERE tx_index = 654321'
  ],
  [
    'mutable',
    'CREATE TABLE million (address_id INT UNSIGNED NOT NULL, tick_id INT UNSIGNED NOT NULL, amount DECIMAL(38,18) NOT NULL, memo VARCHAR(80) NULL, PRIMARY KEY (address_id, tick_id))',
    `INSERT INTO million SELECT seq DIV 200, seq MOD 200, seq * 1.000000000000000001, SHA2(seq, 256) FROM seq_1_to_${ROWS}`,
    'UPDATE million SET amount = amount + 1 WHERE address_id = 3210 AND tick_id = 21'
  ]
];

/** CPU seconds that the MariaDB of both sides has used so far: unlike the clock, they do not count who else uses the machine. */
async function serverCpuSeconds(of: DatabaseCoordinates): Promise<number> {
  const [row] = await sql(of, 'SELECT @@pid_file AS file');
  const pid = readFileSync(String(row?.['file']), 'utf8').trim();
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** A source reads a table that is new to it once, in its own time: that is no part of a comparison. */
async function isAtRest(of: DatabaseCoordinates): Promise<boolean> {
  const before = await serverCpuSeconds(of);
  await sleep(1_000);
  return (await serverCpuSeconds(of)) - before < 0.1;
}

/** Copies a source as a replica, in less time than a bootstrap. */
async function copyAsReplica(source: DatabaseCoordinates, replica: DatabaseCoordinates): Promise<void> {
  const connection = await connect(source);
  const layout = await readLayout(connection, 'decoder');
  const { height, hashes } = (await readTip(connection, layout.heads!))!;
  await connection.query(`CREATE DATABASE ${quoteName(replica.name)}`);
  await connection.query(`USE ${quoteName(replica.name)}`);
  await openReplicaState(connection, 'decoder');
  await connection.query('SET SESSION foreign_key_checks = 0');
  for (const { name } of layout.plans) {
    const from = `${quoteName(source.name)}.${quoteName(name)}`;
    await connection.query(`CREATE TABLE ${quoteName(name)} LIKE ${from}`);
    await connection.query(`INSERT INTO ${quoteName(name)} SELECT * FROM ${from}`);
  }
  const { fingerprint: schemaFingerprint } = layout;
  await writeReplicaState(connection, { complete: true, phase: 'following', height, hashes, schemaFingerprint });
  connection.destroy();
}

// Cold is as at a new tip: the source reads its digest anew. Warm: another client asked before.
for (const [what, create, fill, change] of TABLES) {
  test(`one changed row among a million, in a ${what} table`, async (t) => {
    const source = await createDatabase('bench');
    await createDecoder(source, { seed: 'bench', blocks: BLOCKS, rows: 2_000 });
    await sql(source, create, fill);
    const pair = await startPair('decoder', source);
    await copyAsReplica(pair.source, pair.replica);
    const counted = await startLyingSource(pair.server.url, (_, body) => body);
    const { user, pass, host, port, name } = pair.replica;
    const options = {
      source: counted.url,
      replica: `mysql://${user}:${pass}@${host}:${port}/${name}`,
      key: KEY,
      database: 'decoder/litecoin/regtest',
      table: undefined,
      local: [],
      ids: false,
      repair: true
    };
    const isPolling = async () => (await pair.status(pair.server))['phase'] === 'polling.caughtUp';
    await eventually('the source polls', 60_000, isPolling);
    for (const temper of ['cold', 'warm'] as const) {
      await sql(pair.replica, change);
      await eventually('MariaDB rests', 60_000, () => isAtRest(source));
      const asked = counted.paths.length;
      const cpuBefore = await serverCpuSeconds(source);
      const began = performance.now();
      const verdict = await verifyRemote(options);
      const seconds = (performance.now() - began) / 1000;
      const cpu = (await serverCpuSeconds(source)) - cpuBefore;
      assert.ok(verdict.equal && verdict.repaired, JSON.stringify(verdict));
      const [difference] = verdict.differences;
      assert.deepEqual([difference?.surplus, difference?.missing], [1, 1]);
      const requests = counted.paths.length - asked;
      assert.ok(requests <= 5);
      t.diagnostic(
        `${what}, source ${temper}: ${requests} requests, ${difference!.bytes} bytes, ${seconds.toFixed(2)} s, ${cpu.toFixed(2)} s of MariaDB's CPU`
      );
    }
    await pair.server.end();
  });
}

/** Writes a block each second until it is told to end. @returns how long each took until the replica had it, in milliseconds */
async function writeBlocks(source: DatabaseCoordinates, from: number, isAt: (height: number) => Promise<boolean>) {
  const end = new AbortController();
  const waits: number[] = [];
  const writing = (async () => {
    for (let height = from + 1; !end.signal.aborted; height++) {
      const began = performance.now();
      await sql(source, `INSERT INTO blocks (block_index, block_hash) VALUES (${height}, 'h${height}')`);
      await eventually(`block ${height}`, 600_000, () => isAt(height));
      waits.push(performance.now() - began);
      await sleep(Math.max(0, 1_000 - (performance.now() - began)));
    }
  })();
  return {
    waits,
    async stop() {
      end.abort();
      await writing;
    }
  };
}

test(`a comparison of ${BESIDE_ROWS} rows, at rest and while a block comes each second`, async (t) => {
  const mariadb = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW', '--innodb-buffer-pool-size=1G']);
  const source = await createDatabase('bench', mariadb.root);
  await sql(
    source,
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)',
    'CREATE TABLE many (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, amount DECIMAL(38,18) NOT NULL, memo VARCHAR(80) NULL)',
    "INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_1_to_500",
    `INSERT INTO many SELECT seq, seq * 1.000000000000000001, SHA2(seq, 256) FROM seq_1_to_${BESIDE_ROWS}`
  );
  const pair = await startPair('decoder', source, { SYNC_BINLOG: 'required' });
  await copyAsReplica(pair.source, pair.replica);
  const client = await pair.startClient();
  const status = () => pair.status(client);
  const isAt = async (height: number) => Number((await status())['block_height']) >= height;
  const verifiedBy = async (height: number) => {
    const began = performance.now();
    const isVerified = async () => Number((await status())['verified_height'] ?? -1) >= height;
    await eventually(`verified at ${height}`, 1_200_000, isVerified);
    return (performance.now() - began) / 1000;
  };
  await verifiedBy(500);
  const quiet = await writeBlocks(source, 500, isAt);
  await sleep(20_000);
  await quiet.stop();
  const tip = async () => Number((await sql(source, 'SELECT MAX(block_index) AS tip FROM blocks'))[0]!['tip']);
  // The end of an epoch asks for a comparison.
  const toEpoch = async () => {
    const at = await tip();
    const next = Math.ceil((at + 1) / 100) * 100;
    await sql(
      source,
      `INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_${at + 1}_to_${next}`
    );
    return next;
  };
  const atRest = await verifiedBy(await toEpoch());
  const due = await toEpoch();
  const busy = await writeBlocks(source, due, isAt);
  const beside = await verifiedBy(due);
  await busy.stop();
  const p99 = (waits: readonly number[]) => waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? 0;
  t.diagnostic(
    `${BESIDE_ROWS} rows: ${atRest.toFixed(1)} s at rest, ${beside.toFixed(1)} s beside blocks; a block at the replica: p99 ${p99(quiet.waits).toFixed(0)} ms without a comparison, ${p99(busy.waits).toFixed(0)} ms during it (${busy.waits.length} blocks)`
  );
  await client.end();
  await pair.server.end();
});
