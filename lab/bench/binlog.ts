import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { atEnd } from '../../test/support/cleanup.ts';
import { createDatabase, dropAfterwards, startOwnServer } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { type SyncPair, startPair } from '../../test/support/sync/sync-pair.ts';
import { eventually, replicasAt, type SyncProcess } from '../../test/support/sync/sync-process.ts';
import { PLAIN_SEND } from '../../test/support/tables-in-use/actions.ts';
import { createLedger, type Ledger } from '../../test/support/tables-in-use/ledger.ts';
import { type Figure, median, report } from './support/figures.ts';
import { chooseParts } from './support/parts.ts';
import { cpuMs } from './support/processes/helper.ts';

/*
 * Costs and times of exactness. `cost`: what a block costs a source that reads the binary log. `late`: a change of an old row of a
 * large table. `many`: rows changed in one block, beside MariaDB's own replication of the same statement. `settled`: the time from a
 * block to the replica's word that it is complete, where there is no binary log.
 */
const SENDS = Array.from({ length: 10 }, () => PLAIN_SEND);
const BLOCKS = 60;
const BLOCK_MS = 250;
const CHANGED_ROWS = 250_000;
const RUNS = 3;
const DEADLINE_MS = 1_800_000;

const options = readArguments(
  'npm run bench -- binlog [--large] [--only cost,late,many,settled] [--json FILE]',
  { large: { type: 'boolean' }, json: { type: 'string' }, only: { type: 'string' } },
  ({ large, json, only }) => ({
    json,
    sizes: large ? (['1M', '10M'] as const) : (['1M'] as const),
    parts: chooseParts(only, { cost, late, many, settled })
  })
);

/** A source with an indexer's history, on a MariaDB of its own that writes a binary log. */
interface Source {
  readonly database: DatabaseCoordinates;
  readonly writer: Connection;
  readonly ledger: Ledger;
  /** Process of MariaDB. */
  readonly pid: number;
}

async function openSource(size: 'small' | '1M' | '10M', more: readonly string[] = []): Promise<Source> {
  const server = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW', ...more]);
  const database = await createDatabase('binlog', server.root);
  const writer = await connect(database);
  atEnd(async () => writer.destroy());
  const ledger = await createLedger(writer, { dbType: 'indexer', seed: 'binlog', size, chain: 'litecoin' });
  const [file] = await rows(writer, 'SELECT @@pid_file AS path');
  return { database, writer, ledger, pid: Number(readFileSync(String(file!['path']), 'utf8')) };
}

/** Milliseconds of CPU for a block of ten SENDs, of the source and of MariaDB on its behalf, above as many idle polls. */
async function cost(): Promise<Figure[]> {
  const found: number[] = [];
  for (const size of options.sizes) {
    const { database, ledger, pid } = await openSource(size);
    const write = async () => {
      const began = performance.now();
      await ledger.writeBlock({ actions: SENDS });
      await sleep(Math.max(1, BLOCK_MS - (performance.now() - began)));
    };
    const during = async (pids: readonly number[], work: () => Promise<unknown>) => {
      const before = pids.map(cpuMs);
      for (let block = 0; block < BLOCKS; block += 1) await work();
      return pids.reduce((sum, each, index) => sum + cpuMs(each) - before[index]!, 0) / BLOCKS;
    };
    await during([pid], write); // warm-up
    const alone = await during([pid], write);
    const pair = await startPair('indexer', database, {
      SYNC_BINLOG: 'required',
      STATE_COMMITMENT: 'false',
      BLOCK_POLL_INTERVAL: BLOCK_MS,
      LOG_LEVEL: 'warn'
    });
    await eventually('the source polls', DEADLINE_MS, async () => {
      return (await pair.status(pair.server))['phase'] === 'polling.caughtUp';
    });
    const processes = [pid, pair.server.child.pid!];
    for (let block = 0; block < BLOCKS; block += 1) await write(); // warm-up
    const runs: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      const idle = await during(processes, () => sleep(BLOCK_MS));
      runs.push((await during(processes, write)) - idle - alone);
    }
    await pair.server.end();
    found.push(median(runs));
    console.error(`${size}: ${runs.map((run) => run.toFixed(1)).join(', ')} ms a block`);
  }
  const what = 'CPU of source and MariaDB for a block of ten SENDs, binary log on, above an idle poll';
  const unit = 'ms';
  return found.map((measured, index): Figure => {
    const name = `${what}, ${options.sizes[index]}`;
    if (index === 0) return { what: name, measured, reference: 0, unit, compare: 'above', most: 10, aim: 5 };
    return { what: name, measured, reference: found[0]!, unit, compare: 'times', most: 1.1, aim: 1.05 };
  });
}

/** An old row of the largest table that changes with a block: the replica's word of the block against that of blocks without it. */
async function late(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const size of options.sizes) {
    const { database, writer, ledger } = await openSource(size);
    const both = await startBoth(database, 'required');
    const [largest] = await rows(writer, 'SELECT COUNT(*) AS n, MIN(action_index) AS a FROM credits');
    const time = async (changes: boolean) => {
      if (changes)
        await writer.query('UPDATE credits SET amount = amount + 1 WHERE action_index = ? LIMIT 1', [largest!['a']]);
      const { height } = await ledger.writeBlock({ actions: SENDS });
      const ms = await untilComplete(both, height);
      if (changes && !(await isOldRowEqual(writer, both.replica, Number(largest!['a']))))
        throw new Error('the old row did not come with its block');
      return ms;
    };
    const [written, unwritten]: [number[], number[]] = [[], []];
    for (let run = 0; run < 15; run += 1) {
      unwritten.push(await time(false));
      written.push(await time(true));
    }
    await endBoth(both);
    const what = `block to complete replica, one old row of ${Number(largest!['n']).toLocaleString('en')} changed with it, ${size}, against blocks without`;
    figures.push({
      what,
      measured: median(written),
      reference: median(unwritten),
      unit: 'ms',
      compare: 'above',
      most: 500,
      aim: 200
    });
  }
  return figures;
}

async function isOldRowEqual(writer: Connection, at: DatabaseCoordinates, action: number): Promise<boolean> {
  const replica = await connect(at);
  const read = (from: Connection) =>
    rows(from, 'SELECT COUNT(*) AS n, SUM(amount) AS sum FROM credits WHERE action_index = ?', [action]);
  const [[sourceRows], [replicaRows]] = await Promise.all([read(writer), read(replica)]);
  await replica.end();
  return JSON.stringify(sourceRows) === JSON.stringify(replicaRows);
}

/** As many rows changed in one block, at our replica, and at one of MariaDB's own replication. */
async function many(): Promise<Figure[]> {
  const { database, writer, ledger } = await openSource('small', ['--server-id=1']);
  await writer.query('CREATE TABLE many (id INT PRIMARY KEY, amount VARCHAR(40) NOT NULL, note VARCHAR(60) NOT NULL)');
  await writer.query(`INSERT INTO many SELECT seq, seq, CONCAT('note of row ', seq) FROM seq_1_to_${CHANGED_ROWS}`);
  const native = await startNativeReplica(database, writer);
  const both = await startBoth(database, 'required', native.server);
  const replica = await connect(both.replica);
  atEnd(async () => replica.destroy());
  const ownMs: number[] = [];
  const referenceMs: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    await untilAtRest(both);
    await writer.query('UPDATE many SET amount = amount + 1');
    const { height } = await ledger.writeBlock({ actions: SENDS });
    const since = performance.now();
    const nativeDone = native.until(height).then(() => performance.now() - since);
    ownMs.push(await untilComplete(both, height));
    referenceMs.push(await nativeDone);
    const [found] = await rows(replica, 'SELECT SUM(amount) AS sum FROM many');
    const [expected] = await rows(writer, 'SELECT SUM(amount) AS sum FROM many');
    if (String(found!['sum']) !== String(expected!['sum'])) throw new Error('the replica is complete without all rows');
  }
  await endBoth(both);
  console.error(`ours ${ownMs.map(Math.round).join(', ')} ms; MariaDB's ${referenceMs.map(Math.round).join(', ')} ms`);
  const what = `${CHANGED_ROWS.toLocaleString('en')} rows changed with one block, block to complete replica, against MariaDB's own replication beside it`;
  return [
    { what, measured: median(ownMs), reference: median(referenceMs), unit: 'ms', compare: 'times', most: 1.5, aim: 1.2 }
  ];
}

/** A second MariaDB that replicates the first by MariaDB's own means. */
async function startNativeReplica(
  source: DatabaseCoordinates,
  writer: Connection
): Promise<{ readonly server: Omit<DatabaseCoordinates, 'name'>; until(height: number): Promise<void> }> {
  const server = await startOwnServer(['--server-id=2', `--replicate-do-db=${source.name}`]);
  const replica = await connect(server.root);
  atEnd(async () => replica.destroy());
  // All of the history is in the source's log.
  await replica.query(
    `CHANGE MASTER TO MASTER_HOST='${source.host}', MASTER_PORT=${source.port}, MASTER_USER='${source.user}', MASTER_PASSWORD='${source.pass}', MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4`
  );
  await replica.query('START SLAVE');
  const until = async (height: number) => {
    for (const deadline = Date.now() + DEADLINE_MS; ; await sleep(10)) {
      const [found] = await rows(replica, `SELECT MAX(block_index) AS tip FROM \`${source.name}\`.blocks`).catch(
        () => []
      );
      if (Number(found?.['tip'] ?? -1) >= height) return;
      if (Date.now() < deadline) continue;
      const [status] = await rows(replica, 'SHOW SLAVE STATUS');
      throw new Error(`MariaDB's own replication does not arrive: ${JSON.stringify(status)}`);
    }
  };
  const [tip] = await rows(writer, 'SELECT MAX(block_index) AS tip FROM blocks');
  await until(Number(tip!['tip']));
  return { server: server.root, until };
}

/** A block to the word `complete`, where tables up to 200,000 rows are looked at whole with each block. */
async function settled(): Promise<Figure[]> {
  const { database, writer, ledger } = await openSource('1M');
  const [found] = await rows(
    writer,
    'SELECT MAX(table_rows) AS n FROM information_schema.tables WHERE table_schema = DATABASE()'
  );
  const both = await startBoth(database, 'off');
  const times: number[] = [];
  for (let run = 0; run < 15; run += 1) {
    const { height } = await ledger.writeBlock({ actions: SENDS });
    times.push(await untilComplete(both, height));
  }
  await endBoth(both);
  const what = `block to complete replica without a binary log, an indexer of 1M rows, its largest table of some ${Number(found!['n']).toLocaleString('en')}`;
  return [{ what, measured: median(times), reference: 0, unit: 'ms', compare: 'above', most: 5_000, aim: 2_000 }];
}

interface Both {
  readonly pair: SyncPair;
  readonly client: SyncProcess;
  readonly replica: DatabaseCoordinates;
}

/** @param on where the replica is; default: beside its source */
async function startBoth(
  database: DatabaseCoordinates,
  binlog: 'required' | 'off',
  on: Omit<DatabaseCoordinates, 'name'> = database
): Promise<Both> {
  const pair = await startPair('indexer', database, { SYNC_BINLOG: binlog, LOG_LEVEL: 'warn' });
  const client = await pair.startClient({ LOG_LEVEL: 'warn', ...replicasAt(on) });
  await eventually('the replica is there', DEADLINE_MS, async () => {
    return (await pair.status(client).catch(() => ({}) as Record<string, unknown>))['phase'] === 'live';
  });
  const replica = { ...on, name: pair.replica.name };
  dropAfterwards(on, replica.name);
  return { pair, client, replica };
}

async function endBoth({ pair, client }: Both): Promise<void> {
  await client.end();
  await pair.server.end();
}

/** Waits until no comparison is under way, which would take the machine, and ten seconds of a block's time at most. */
async function untilAtRest({ pair, client }: Both): Promise<void> {
  for (let looks = 0; looks < 10; looks += 1) {
    if ((await pair.status(client))['phase'] !== 'live') looks = 0;
    await sleep(200);
  }
}

/** Milliseconds until the replica says that it is complete at this block. */
async function untilComplete({ pair, client, replica: at }: Both, height: number): Promise<number> {
  const since = performance.now();
  const replica = await connect(at);
  try {
    for (;;) {
      const [marker] = await rows(replica, 'SELECT height, complete FROM sync_state');
      if (Number(marker?.['height']) === height && Number(marker?.['complete']) === 1) return performance.now() - since;
      if (performance.now() - since > DEADLINE_MS || client.child.exitCode !== null)
        throw new Error(`not complete at ${height}: ${JSON.stringify(await pair.status(client).catch(String))}`);
      await sleep(5);
    }
  } finally {
    await replica.end();
  }
}

await runProgram(async () => {
  const figures: Figure[] = [];
  for (const run of options.parts) figures.push(...(await run()));
  report('binlog', figures, options.json);
});
