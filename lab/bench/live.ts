import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../src/db/connection.ts';
import type { DatabaseCoordinates, DbType } from '../../src/wire/data/database.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { atEnd } from '../../test/support/cleanup.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { sql } from '../../test/support/sql.ts';
import { createDecoder } from '../../test/support/sync/generated-decoder.ts';
import { PAIR_KEY, startPair } from '../../test/support/sync/sync-pair.ts';
import { eventually } from '../../test/support/sync/sync-process.ts';
import { PLAIN_SEND } from '../../test/support/tables-in-use/actions.ts';
import { createLedger } from '../../test/support/tables-in-use/ledger.ts';
import { alternate, type Figure, median, p99, report } from './support/figures.ts';
import { chooseParts } from './support/parts.ts';
import { cpuMs, Helper } from './support/processes/helper.ts';
import type { IngressAsk, Sent } from './support/processes/ingress.ts';
import type { SubscribersAsk } from './support/processes/subscribers.ts';

const SUBSCRIBERS = 1_000;
const MANY = 5_000;
const STALLED = 200;
const BLOCKS = 100;
const BLOCK_BYTES = 12_000;
const ROW_BYTES = 95;
const MESSAGE_BYTES = 20_000;
const SENDS = Array.from({ length: 10 }, () => PLAIN_SEND);
/** Until MariaDB's times of the tables' last change, which the history's writing moved, are old. */
const SETTLE_MS = 11_000;
/** A tree of a million balances takes a minute or two. */
const TREE_DEADLINE_MS = 600_000;

/** By block, the milliseconds from its sending to each receipt. @throws when a receipt is missing */
function delays(sent: Float64Array, received: Float64Array, receivers: number): Map<number, number[]> {
  const found = new Map<number, number[]>();
  const sentAt = new Map<number, number>();
  for (let index = 0; index < sent.length; index += 2) {
    sentAt.set(sent[index]!, sent[index + 1]!);
    found.set(sent[index]!, []);
  }
  for (let index = 0; index < received.length; index += 2) {
    const height = received[index]!;
    found.get(height)?.push(received[index + 1]! - sentAt.get(height)!);
  }
  for (const [height, list] of found)
    if (list.length !== receivers) throw new Error(`${list.length} of ${receivers} have block ${height}`);
  return found;
}

/** A database that grows while subscribers listen. */
interface Growing {
  readonly dbType: DbType;
  readonly database: DatabaseCoordinates;
  readonly what: string;
  /** Commits the next block. @returns its height */
  write(): Promise<number>;
}

/** A small decoder whose blocks are some 12 KB. */
async function smallDecoder(): Promise<Growing> {
  const database = await createDatabase('live');
  await createDecoder(database, { seed: 'live', blocks: 100, rows: 2_000 });
  const connection = await connect(database);
  atEnd(() => connection.end());
  await connection.query(
    'CREATE TABLE filler (tx_index BIGINT UNSIGNED NOT NULL PRIMARY KEY, block_index INT UNSIGNED NOT NULL, memo VARCHAR(80) NOT NULL, KEY (block_index))'
  );
  const rowsPerBlock = Math.floor(BLOCK_BYTES / ROW_BYTES);
  let height = 199;
  const write = async () => {
    height += 1;
    const rows = Array.from({ length: rowsPerBlock }, (_, index) => {
      const id = height * rowsPerBlock + index;
      return `(${id}, ${height}, '${String(id).padStart(12, '0').repeat(4)}')`;
    });
    await connection.query('START TRANSACTION');
    await connection.query(`INSERT INTO index_transactions (hash) VALUES ('${height.toString(16).padStart(64, '0')}')`);
    await connection.query(`INSERT INTO blocks VALUES (${height}, ${height}, LAST_INSERT_ID(), 1)`);
    await connection.query(`INSERT INTO filler VALUES ${rows.join(',')}`);
    await connection.query('COMMIT');
    return height;
  };
  return { dbType: 'decoder', database, what: '5 blocks/s of 12 KB', write };
}

/** An indexer of a million rows in the tables in use, whose blocks are ten SENDs. */
async function largeIndexer(): Promise<Growing> {
  const database = await createDatabase('live');
  const connection = await connect(database);
  atEnd(() => connection.end());
  const ledger = await createLedger(connection, { dbType: 'indexer', seed: 'live', size: '1M' });
  await connection.query('DROP TABLE sync_meta, merkle_epochs'); // each sync service makes its own
  await sleep(SETTLE_MS);
  const write = async () => (await ledger.writeBlock({ actions: SENDS })).height;
  return { dbType: 'indexer', database, what: 'indexer of 1M rows, 5 blocks/s of ten SENDs', write };
}

/** Writes five blocks a second. @returns when each was committed */
async function writeBlocks({ write }: Growing, count: number): Promise<Float64Array> {
  const times: number[] = [];
  for (let left = count; left > 0; left--) {
    const began = performance.now();
    times.push(await write(), performance.timeOrigin + performance.now());
    await sleep(Math.max(1, 200 - (performance.now() - began)));
  }
  return Float64Array.from(times);
}

/** From the commit in MariaDB to each of the subscribers; of an indexer with its balance tree, unless `isFresh`. */
async function commitToReceipt(pollMs: number, source: Growing, isFresh = false): Promise<Figure[]> {
  const pair = await startPair(source.dbType, source.database, {
    BLOCK_POLL_INTERVAL: pollMs,
    WS_MAX_PER_IP: 100_000,
    LOG_LEVEL: 'warn'
  });
  await eventually('the source polls', 60_000, async () => {
    return (await pair.status(pair.server))['phase'] === 'polling.caughtUp';
  });
  if (source.dbType === 'indexer' && !isFresh) {
    await eventually('the balance tree is built', TREE_DEADLINE_MS, async () => {
      const { state_commitment } = await pair.status(pair.server);
      return (state_commitment as { phase?: string } | undefined)?.phase === 'ready';
    });
  }
  const crowd = new Helper<SubscribersAsk>('subscribers.ts');
  const url = `${pair.server.url.replace('http', 'ws')}/subscribe/${source.dbType}/litecoin/regtest`;
  await crowd.ask({ type: 'connect', url, key: PAIR_KEY, count: SUBSCRIBERS });
  await writeBlocks(source, 10); // warm-up
  await sleep(1_000);
  await crowd.ask({ type: 'collect' });
  const [pidFile] = await sql(source.database, 'SELECT @@pid_file AS path');
  const mariaDb = Number(readFileSync(String(pidFile?.['path']), 'utf8'));
  const cpu = () => [pair.server.child.pid!, mariaDb].map(cpuMs);
  const before = cpu();
  const times = await writeBlocks(source, BLOCKS);
  const [server, database] = cpu().map((ms, index) => (ms - before[index]!) / BLOCKS);
  console.error(`CPU per block: server ${server!.toFixed(1)} ms, MariaDB with the writer ${database!.toFixed(1)} ms`);
  await sleep(1_500);
  const found = [...delays(times, await crowd.ask<Float64Array>({ type: 'collect' }), SUBSCRIBERS).values()].flat();
  crowd.end();
  await pair.server.end();
  const what = `commit to receipt, ${SUBSCRIBERS} subscribers, ${source.what}, against the poll interval`;
  const common = { reference: pollMs, unit: 'ms', compare: 'above' } as const;
  const half: Figure = { ...common, what: `${what}: p50`, measured: median(found), most: 0, aim: 0 };
  const tail: Figure = { ...common, what: `${what}: p99`, measured: p99(found), most: 100, aim: 70 };
  // Polling faster than a block is read and sent, only the tail says something.
  return pollMs < 100 ? [tail] : [half, tail];
}

/** An indexer while its server builds the first balance tree, and with that tree. */
async function indexerReceipt(): Promise<Figure[]> {
  const source = await largeIndexer();
  const fresh = { ...source, what: `${source.what} while the first balance tree is built` };
  return [...(await commitToReceipt(250, source)), ...(await commitToReceipt(250, fresh, true))];
}

async function openIngress(
  count: number
): Promise<{ ingress: Helper<IngressAsk>; crowd: Helper<SubscribersAsk>; at: { url: string; key: string } }> {
  const ingress = new Helper<IngressAsk>('ingress.ts');
  const port = await ingress.ask<number>({ type: 'listen' });
  const crowd = new Helper<SubscribersAsk>('subscribers.ts');
  const at = { url: `ws://127.0.0.1:${port}/subscribe/indexer/bitcoin/regtest`, key: 'none' };
  await crowd.ask({ type: 'connect', ...at, count });
  return { ingress, crowd, at };
}

/** CPU time of the server for each message delivered, through the fan-out and by `ws.send` alone, in turns. */
async function cpuPerMessage(): Promise<Figure[]> {
  const { ingress, crowd } = await openIngress(SUBSCRIBERS);
  const count = 10;
  let first = 100;
  const microseconds = (how: 'fanOut' | 'plain') => async () => {
    const ask = { type: 'send', how, first, count, bytes: MESSAGE_BYTES, everyMs: 100 } as const;
    const { cpuSeconds } = await ingress.ask<Sent>(ask);
    first += count;
    return (cpuSeconds * 1e6) / (count * SUBSCRIBERS);
  };
  await microseconds('fanOut')(); // warm-up
  await microseconds('plain')();
  const found = await alternate(13, microseconds('fanOut'), microseconds('plain'));
  crowd.end();
  ingress.end();
  const what = `server CPU per 20 KB message, ${SUBSCRIBERS} subscribers, against ws.send(Buffer) alone`;
  return [{ what, ...found, unit: 'us', compare: 'times', most: 1.3, aim: 1.1 }];
}

/** Measures the cost of 200 subscribers that read nothing for the other 4800, in turns with these alone. */
async function stalledOnes(): Promise<Figure[]> {
  const good = MANY - STALLED;
  const { ingress, crowd, at } = await openIngress(good);
  let first = 100;
  /** For each block the delay of all but the slowest hundredth. */
  const tails = async (): Promise<number[]> => {
    const ask = { type: 'send', how: 'fanOut', first, count: 10, bytes: BLOCK_BYTES, everyMs: 500 } as const;
    const { times } = await ingress.ask<Sent>(ask);
    first += ask.count;
    await sleep(500);
    const found = delays(times, await crowd.ask<Float64Array>({ type: 'collect' }), good);
    return [...found.values()].map(p99);
  };
  const withStalled = async (): Promise<number[]> => {
    await crowd.ask({ type: 'stall', ...at, count: STALLED });
    const stalled = await ingress.ask<number>({ type: 'stuff', last: STALLED });
    if (stalled < STALLED) throw new Error(`only ${stalled} of ${STALLED} subscribers are stalled`);
    await sleep(1_000);
    const found = await tails();
    if ((await ingress.ask<number>({ type: 'count' })) !== MANY) throw new Error('subscribers were lost');
    await crowd.ask({ type: 'leave' });
    await sleep(500);
    return found;
  };
  await tails(); // warm-up
  const [stalledMs, calmMs]: [number[], number[]] = [[], []];
  for (let round = 0; round < 3; round++) {
    calmMs.push(...(await tails()));
    stalledMs.push(...(await withStalled()));
  }
  crowd.end();
  ingress.end();
  const what = `${MANY} subscribers, ${STALLED} of them stalled: p99 of the good ones, against none stalled`;
  return [
    { what, measured: median(stalledMs), reference: median(calmMs), unit: 'ms', compare: 'times', most: 1.2, aim: 1.1 }
  ];
}

const PARTS = {
  receipt: async () => commitToReceipt(250, await smallDecoder()),
  receipt50: async () => commitToReceipt(50, await smallDecoder()),
  indexer: indexerReceipt,
  cpu: cpuPerMessage,
  stalled: stalledOnes
};

const options = readArguments(
  `npm run bench -- live [--only ${Object.keys(PARTS).join()}] [--json FILE]`,
  { json: { type: 'string' }, only: { type: 'string' } },
  ({ json, only }) => ({ json, parts: chooseParts(only, PARTS) })
);

await runProgram(async () => {
  const figures: Figure[] = [];
  for (const run of options.parts) figures.push(...(await run()));
  report('live', figures, options.json);
});
