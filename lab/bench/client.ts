import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Compile } from 'typebox/compile';
import { readNumber } from '../../src/cli/options.ts';
import { type Connection, connect, quoteName, rows as read } from '../../src/db/connection.ts';
import { applyBlocks, type LiveGroup, MOST_GROUPS } from '../../src/replication/replica/apply/block-writer.ts';
import { readReplicaSchema } from '../../src/replication/replica/database/schema.ts';
import {
  markAdopted,
  openReplicaState,
  readReplicaState,
  writeReplicaState
} from '../../src/replication/replica/database/state.ts';
import { openWriter } from '../../src/replication/replica/database/writer-connection.ts';
import { readTip } from '../../src/replication/tables/block-hashes.ts';
import { type DatabaseCoordinates, hashesOf } from '../../src/wire/data/database.ts';
import { type BlockMessage, ServerMessageSchema } from '../../src/wire/data/messages.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { sql } from '../../test/support/sql.ts';
import { type SyncPair, startPair } from '../../test/support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../../test/support/sync/sync-process.ts';
import { createDataset, createSource } from './support/dataset.ts';
import { alternate, type Figure, median, p99, report } from './support/figures.ts';
import { insertsOf, inventBlocks, recordBlocks } from './support/live-blocks.ts';
import { chooseParts, type DatasetSize, readRows, sizeText } from './support/parts.ts';
import { memoryMb } from './support/processes/helper.ts';

const SOURCE = 'http://bench';
const HOT_ROWS = 500_000;
const HOT_ADDRESS = 77;
const LATENCY_BLOCKS = 60;
const POLL_MS = 250;
const DEADLINE_MS = 240_000;
const isServerMessage = Compile(ServerMessageSchema);

async function dropDatabase({ name, ...server }: DatabaseCoordinates): Promise<void> {
  const connection = await connect(server);
  await connection.query(`DROP DATABASE IF EXISTS ${quoteName(name)}`);
  connection.destroy();
}

/** `mariadb-dump DB | mariadb` into an empty database. */
async function copyDatabase({ host, port, user, pass, name }: DatabaseCoordinates): Promise<DatabaseCoordinates> {
  const copy = await createDatabase('bench_copy');
  const login = `--no-defaults --host=${host} --port=${port} --user=${user}`;
  const command = `set -o pipefail; mariadb-dump ${login} ${name} | mariadb ${login} ${copy.name}`;
  const child = spawn('bash', ['-c', command], { env: { ...process.env, MYSQL_PWD: pass }, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${command}: exit ${code}`);
  return copy;
}

/** Wall time of a copy. */
async function dumpAndLoad(source: DatabaseCoordinates): Promise<number> {
  const began = performance.now();
  const copy = await copyDatabase(source);
  const took = performance.now() - began;
  await dropDatabase(copy);
  return took;
}

/** When a line was logged. */
function saidAt(client: SyncProcess, words: string): number {
  const line = client
    .log()
    .split('\n')
    .find((each) => each.includes(words));
  if (!line) throw new Error(`the client did not say "${words}":\n${client.log().slice(-2000)}`);
  return Date.parse((JSON.parse(line) as { time: string }).time);
}

const isLive = (pair: SyncPair, client: SyncProcess) =>
  eventually('the replica is live', DEADLINE_MS, async () => (await pair.status(client))['phase'] === 'live');

/** From the hub's answer to a replica that is complete and checked, and the peak of the process's memory. */
async function bootstrap(pair: SyncPair): Promise<{ ms: number; peak: number }> {
  await dropDatabase(pair.replica);
  const client = await pair.startClient({ LOG_LEVEL: 'info', VERIFY_STATE_COMMITMENT: 'false' });
  await eventually('the bootstrap is complete', DEADLINE_MS, async () => client.log().includes('is complete'));
  const peak = memoryMb(client.child.pid!, 'VmHWM');
  await client.end();
  return { ms: saidAt(client, 'is complete') - saidAt(client, 'database found'), peak };
}

async function measureBootstrap(rows: DatasetSize): Promise<Figure[]> {
  const source = await createDatabase('bench');
  await createSource(source, rows);
  const pair = await startPair('indexer', source, { LOG_LEVEL: 'info', BLOCK_POLL_INTERVAL: POLL_MS });
  const peaks: number[] = [];
  const measured = async () => {
    const { ms, peak } = await bootstrap(pair);
    peaks.push(peak);
    return ms;
  };
  const times = await alternate(options.runs, measured, () => dumpAndLoad(source));
  const idle = await pair.startClient({ LOG_LEVEL: 'info', VERIFY_STATE_COMMITMENT: 'false' });
  await isLive(pair, idle);
  const reference = memoryMb(idle.child.pid!, 'VmRSS');
  await idle.end();
  await pair.server.end();
  const size = sizeText(rows);
  return [
    {
      what: `bootstrap to complete and checked, ${size}, against mariadb-dump piped to mariadb`,
      ...times,
      unit: 'ms',
      compare: 'times',
      most: 0.9,
      aim: 0.7
    },
    {
      what: `peak RSS during it, ${size}, against a client that follows`,
      measured: median(peaks),
      reference,
      unit: 'MB',
      compare: 'above',
      most: 150,
      aim: 100
    }
  ];
}

interface OpenReplica {
  readonly to: DatabaseCoordinates;
  readonly writer: Connection;
}

/** Makes a replica that is ready for the next block. */
type Opener = () => Promise<OpenReplica>;

/** A complete replica of a small dataset, of which one address may have very many rows. */
async function openReplica(hot: boolean): Promise<OpenReplica & { readonly height: number }> {
  const to = await createDatabase('bench_live');
  const { blocks: height } = await createDataset(to, 20_000);
  if (hot) {
    const rows = `SELECT 1, ${HOT_ADDRESS}, seq MOD 3, seq, 'hot' FROM seq_1_to_${HOT_ROWS}`;
    await sql(to, `INSERT INTO credits ${rows}`, 'ANALYZE TABLE credits');
  }
  return { to, writer: await markReplica(to), height };
}

/** Says of a database that it is a complete replica of the bench's source, as far as it goes. */
async function markReplica(to: DatabaseCoordinates): Promise<Connection> {
  const writer = await openWriter(to, { generation: 1 });
  const { heads } = await readReplicaSchema(writer, 'indexer', []);
  const { height, hashes, blockTime } = (await readTip(writer, heads!))!;
  await markAdopted(writer, { height, hashes, blockTime, schemaFingerprint: null, source: SOURCE });
  await openReplicaState(writer, 'indexer');
  await writeReplicaState(writer, { complete: true, phase: 'following', ids: { source: SOURCE, own: [] } });
  return writer;
}

/** Each message parsed and checked, and applied with its undo: as many in one transaction as a client takes of those that wait. */
async function follow(texts: readonly Buffer[], open: Opener): Promise<number> {
  const { to, writer } = await open();
  const schema = await readReplicaSchema(writer, 'indexer', []);
  const context = { schema, maxRollbackDepth: 1_000, epochSize: 100 };
  let state = await readReplicaState(writer);
  const began = performance.now();
  for (let from = 0; from < texts.length; from += MOST_GROUPS) {
    const groups = texts.slice(from, from + MOST_GROUPS).map((text): LiveGroup => {
      const message: unknown = JSON.parse(text.toString('utf8'));
      if (!isServerMessage.Check(message)) throw new Error('the message breaks the contract');
      const block = message as BlockMessage;
      const { block_index: at } = block;
      const hashes = hashesOf('indexer', block);
      const target = { first: at, last: at, hashes, source: SOURCE, complete: true, phase: 'following' } as const;
      return { target, messages: [block] };
    });
    state = await applyBlocks(writer, context, state, groups);
  }
  const took = performance.now() - began;
  writer.destroy();
  await dropDatabase(to);
  return took;
}

/** The same rows, one multi-row INSERT a table, one transaction a block. */
async function insertAlone(statements: readonly (readonly string[])[], open: Opener): Promise<number> {
  const { to, writer } = await open();
  // Values of generated columns are ignored then.
  await writer.query("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'");
  const began = performance.now();
  for (const block of statements) {
    await writer.query('BEGIN');
    for (const statement of block) await writer.query(statement);
    await writer.query('COMMIT');
  }
  const took = performance.now() - began;
  writer.destroy();
  await dropDatabase(to);
  return took;
}

const small: Opener = () => openReplica(false);

/** Measures the time of following, against inserting the same rows. */
async function measureFollowing(texts: readonly Buffer[], open: Opener) {
  const bytes = texts.map(({ length }) => length).toSorted((a, b) => a - b);
  console.error(`a block's message is ${median(bytes)} bytes, ${bytes[0]} to ${bytes.at(-1)}`);
  const statements = texts.map((text) => insertsOf(JSON.parse(text.toString('utf8')) as BlockMessage));
  return alternate(
    options.runs,
    () => follow(texts, open),
    () => insertAlone(statements, open)
  );
}

/** Blocks of the tables in use. */
async function measureLiveInUse(): Promise<Figure[]> {
  const source = await createDatabase('bench_source');
  await createSource(source, 'small');
  const start = await copyDatabase(source);
  const texts = await recordBlocks(source, 'bench', options.blocks);
  const inUse: Opener = async () => {
    const to = await copyDatabase(start);
    return { to, writer: await markReplica(to) };
  };
  const times = await measureFollowing(texts, inUse);
  await Promise.all([dropDatabase(source), dropDatabase(start)]);
  return [
    {
      what: `${options.blocks} live blocks of the tables in use, against the same rows by multi-row INSERT`,
      ...times,
      unit: 'ms',
      compare: 'times',
      most: 1.4,
      aim: 1.1
    }
  ];
}

/** Blocks of 95 rows in eight invented tables. */
async function measureLive(): Promise<Figure[]> {
  const { writer, height, to } = await openReplica(false);
  writer.destroy();
  await dropDatabase(to);
  const count = options.blocks;
  const texts = inventBlocks(height + 1, count, HOT_ADDRESS).map((block) => Buffer.from(JSON.stringify(block)));
  const live = await measureFollowing(texts, small);
  const hot = await alternate(
    options.runs,
    () => follow(texts, () => openReplica(true)),
    () => follow(texts, small)
  );
  return [
    {
      what: `${count} live blocks of 12 KB, against the same rows by multi-row INSERT`,
      ...live,
      unit: 'ms',
      compare: 'times',
      most: 1.5,
      aim: 1.1
    },
    {
      what: `the same with an address of ${HOT_ROWS / 1000}k ledger rows in each block, against without`,
      ...hot,
      unit: 'ms',
      compare: 'times',
      most: 1.1,
      aim: 1
    }
  ];
}

/** From a commit at the source to the commit at the replica, both seen from here. */
async function measureLatency(): Promise<Figure[]> {
  const source = await createDatabase('bench_latency');
  await createDataset(source, 20_000);
  const pair = await startPair('indexer', source, { LOG_LEVEL: 'info', BLOCK_POLL_INTERVAL: POLL_MS });
  const client = await pair.startClient({ LOG_LEVEL: 'info', VERIFY_STATE_COMMITMENT: 'false' });
  await isLive(pair, client);
  const [writer, reader] = [await connect(source), await connect(pair.replica)];
  const times: number[] = [];
  for (let block = 0; block < LATENCY_BLOCKS; block++) {
    await writer.query(
      'INSERT INTO blocks SELECT MAX(block_index) + 1, 1, SHA2(RAND(), 256), SHA2(RAND(), 256), SHA2(RAND(), 256) FROM blocks'
    );
    const began = performance.now();
    const [tip] = await read(writer, 'SELECT MAX(block_index) AS height FROM blocks');
    for (;;) {
      const [state] = await read(reader, 'SELECT height FROM sync_state');
      if (Number(state!['height']) >= Number(tip!['height'])) break;
      if (performance.now() - began > DEADLINE_MS) throw new Error('the block did not arrive');
      await sleep(2);
    }
    times.push(performance.now() - began);
    await sleep(Math.random() * POLL_MS);
  }
  writer.destroy();
  reader.destroy();
  await client.end();
  await pair.server.end();
  const common = { reference: POLL_MS, unit: 'ms', compare: 'above' } as const;
  return [
    { what: 'commit to commit, against the poll interval, p50', measured: median(times), ...common, most: 0, aim: 0 },
    { what: 'commit to commit, against the poll interval, p99', measured: p99(times), ...common, most: 100, aim: 100 }
  ];
}

const PARTS: Readonly<Record<string, () => Promise<Figure[]>>> = {
  latency: measureLatency,
  live: measureLive,
  'live-in-use': measureLiveInUse,
  bootstrap: async () => {
    const figures: Figure[] = [];
    for (const rows of options.rows) figures.push(...(await measureBootstrap(rows)));
    return figures;
  }
};

const options = readArguments(
  `npm run bench -- client [--only ${Object.keys(PARTS).join()}] [--rows 1100000,1M] [--blocks 2000] [--runs 3] [--json FILE]`,
  {
    json: { type: 'string' },
    rows: { type: 'string', default: '1100000' },
    blocks: { type: 'string', default: '2000' },
    runs: { type: 'string', default: '3' },
    only: { type: 'string' }
  },
  ({ json, rows, blocks, runs, only }) => ({
    json,
    rows: readRows(rows),
    blocks: readNumber('--blocks', blocks, 1, 1_000_000),
    runs: readNumber('--runs', runs, 1, 100),
    parts: chooseParts(only, PARTS)
  })
);

await runProgram(async () => {
  const figures: Figure[] = [];
  for (const measure of options.parts) {
    for (const figure of await measure()) {
      figures.push(figure);
      console.error(
        `${figure.what}: ${figure.measured.toFixed(1)} ${figure.unit}, reference ${figure.reference.toFixed(1)}`
      );
    }
  }
  report('client', figures, options.json);
});
