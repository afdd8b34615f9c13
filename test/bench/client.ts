import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { connect, quoteName } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import { createIndexer } from '../support/generated-indexer.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { type SyncPair, startPair } from '../support/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync-process.ts';

const run = promisify(execFile);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 3);
const BLOCKS = 500;
const SCALE = Number(process.env['BENCH_ROWS'] ?? 1_100_000) / 1_100_000;
const seq = (rows: number) => `seq_1_to_${Math.round(rows * SCALE)}`;

/** An indexer of 1.1 million rows: what lives in the largest tables of databases in use, all the others with a few rows. */
async function createSource(): Promise<DatabaseCoordinates> {
  const source = await createDatabase('client_bench');
  await createIndexer(source, { seed: 'client bench', blocks: BLOCKS, rows: 2_000 });
  const own = 1_000_000; // above every index of the generated rows
  await sql(
    source,
    `INSERT INTO index_addresses (id, address, block_index) SELECT ${own} + seq, CONCAT('ltc1q', LEFT(SHA2(seq, 256), 38)), 100 + seq MOD ${BLOCKS} FROM ${seq(100_000)}`,
    `INSERT INTO index_transactions (id, hash) SELECT ${own} + seq, SHA2(CONCAT('t', seq), 256) FROM ${seq(150_000)}`,
    `INSERT INTO transactions SELECT ${own} + seq, 100 + seq MOD ${BLOCKS}, ${own} + seq, ${own} + 1 + seq MOD 1000, seq MOD 100000, CONCAT('SEND|0|GAS|', seq, '|ltc1q', LEFT(SHA2(seq, 256), 38)) FROM ${seq(150_000)}`,
    `INSERT INTO actions SELECT ${own} + seq, 100 + seq MOD ${BLOCKS}, ${own} + seq, 0, 1, 0, ${own} + 1 + seq MOD 1000 FROM ${seq(150_000)}`,
    `INSERT INTO sends SELECT ${own} + seq, 1 + seq MOD 5, ${own} + 1 + seq MOD 1000, seq * 1.00000001, NULL, 1 FROM ${seq(150_000)}`,
    `INSERT INTO credits SELECT ${own} + seq MOD ${Math.round(150_000 * SCALE)}, ${own} + 1 + seq MOD 50000, 1 + seq MOD 5, seq * 1.00000001 FROM ${seq(150_000)}`,
    `INSERT INTO debits SELECT ${own} + seq MOD ${Math.round(150_000 * SCALE)}, ${own} + 1 + seq MOD 50000, 1 + seq MOD 5, seq * 1.00000001 FROM ${seq(150_000)}`,
    `INSERT IGNORE INTO balances (address_id, tick_id, amount) SELECT ${own} + seq, 1 + seq MOD 5, seq * 1.00000001 FROM ${seq(100_000)}`,
    'ANALYZE TABLE index_addresses, index_transactions, transactions, actions, sends, credits, debits, balances'
  );
  return source;
}

/** Seconds that `mariadb-dump DB | mariadb` takes into an empty database. */
async function dumpAndLoad({ host, port, user, pass, name }: DatabaseCoordinates): Promise<number> {
  const copy = await createDatabase('client_bench_copy');
  const login = `--no-defaults -h${host} -P${port} -u${user} -p${pass}`;
  const began = performance.now();
  await run('bash', ['-c', `set -o pipefail; mariadb-dump ${login} ${name} | mariadb ${login} ${copy.name}`]);
  return (performance.now() - began) / 1000;
}

function kilobytes(pid: number, what: 'VmHWM' | 'VmRSS'): number {
  return Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

/** When a line was logged, in seconds. */
function saidAt(client: SyncProcess, words: string): number {
  const line = client
    .log()
    .split('\n')
    .find((each) => each.includes(words));
  assert.ok(line, `${words}:\n${client.log().slice(-2000)}`);
  return Date.parse((JSON.parse(line) as { time: string }).time) / 1000;
}

async function isLive(pair: SyncPair, client: SyncProcess): Promise<boolean> {
  return (await pair.status(client))['phase'] === 'live';
}

async function bootstrap(pair: SyncPair): Promise<{ seconds: number; megabytes: number }> {
  const { replica } = pair;
  const { name, ...server } = replica;
  const connection = await connect(server);
  await connection.query(`DROP DATABASE IF EXISTS ${quoteName(name)}`);
  connection.destroy();
  const first = await pair.startClient();
  await eventually('the bootstrap is complete', 240_000, async () => first.log().includes('is complete'));
  const seconds = saidAt(first, 'is complete') - saidAt(first, 'database found');
  const peak = kilobytes(first.child.pid!, 'VmHWM');
  if (process.env['BENCH_LOG']) console.log(first.log());
  await first.end();
  const idle = await pair.startClient();
  await eventually('the replica is live', 240_000, () => isLive(pair, idle));
  const rest = kilobytes(idle.child.pid!, 'VmRSS');
  await idle.end();
  return { seconds, megabytes: (peak - rest) / 1024 };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

test('bootstrap of 1.1 million rows beside mariadb-dump | mariadb', async (t) => {
  const source = await createSource();
  const pair = await startPair('indexer', source);
  const ratios: number[] = [];
  const peaks: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const reference = await dumpAndLoad(source);
    const { seconds, megabytes } = await bootstrap(pair);
    ratios.push(seconds / reference);
    peaks.push(megabytes);
    t.diagnostic(
      `${seconds.toFixed(2)} s, reference ${reference.toFixed(2)} s, peak ${megabytes.toFixed(0)} MB over idle`
    );
  }
  t.diagnostic(`bootstrap: ${median(ratios).toFixed(2)}x, peak RSS over idle ${median(peaks).toFixed(0)} MB`);
  await pair.server.end();
});
