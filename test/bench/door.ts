import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import { endAll } from '../support/cleanup.ts';
import { createDecoder } from '../support/generated-decoder.ts';
import { createDatabase } from '../support/mariadb.ts';
import { startPair } from '../support/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync-process.ts';
import type { AttackersAsk } from './support/attackers.ts';
import { ATTACKS, type Attack, addressOf } from './support/attacks.ts';
import { type Figure, median, p99, report } from './support/figures.ts';
import type { GoodClientsAsk, Seen } from './support/good-clients.ts';
import { cpuMs, Helper } from './support/helper.ts';
import { connectionsOf, type Held, ProcessMemory } from './support/process-memory.ts';

const { values: options } = parseArgs({
  options: {
    json: { type: 'string' },
    /** Part of the names of the attacks to make. */
    only: { type: 'string', default: '' },
    /** Connections that stay. */
    count: { type: 'string', default: '300' },
    /** Connections a second that come again and again. */
    rate: { type: 'string', default: '300' }
  }
});

const KIBIBYTE = 1024;
const LOOK_MS = 2_500;
/** Above those of the database as it is made. */
const FIRST_HEIGHT = 300;
const BLOCK_EVERY_MS = 150;
const WEIGHT_ROWS = 300_000;
const PAGE_ROWS = 50_000;
const MOST_BYTES = 256 * KIBIBYTE;
const GONE_DEADLINE_MS = 15_000;

/** What one attack did to the server, and what the good clients saw meanwhile. */
interface Outcome {
  readonly attack: Attack;
  readonly made: number;
  readonly kept: number;
  readonly heapEach: number;
  readonly rssEach: number;
  readonly cpuShare: number;
  readonly seen: Delays;
}

interface Delays {
  readonly status: number[];
  readonly download: number[];
  readonly blocks: number[];
  readonly faults: string[];
}

/** Adds a block every so often, and knows when. */
class BlockWriter {
  readonly #times = new Map<number, number>();
  #ended = false;

  async run(to: DatabaseCoordinates): Promise<void> {
    const connection = await connect(to);
    for (let height = FIRST_HEIGHT; !this.#ended; height++) {
      const hash = height.toString(16).padStart(64, '0');
      await connection.query('START TRANSACTION');
      await connection.query(`INSERT INTO index_transactions (hash) VALUES ('${hash}')`);
      await connection.query(`INSERT INTO blocks VALUES (${height}, ${height}, LAST_INSERT_ID(), 1)`);
      await connection.query('COMMIT');
      this.#times.set(height, performance.timeOrigin + performance.now());
      await sleep(BLOCK_EVERY_MS);
    }
    await connection.end();
  }

  end(): void {
    this.#ended = true;
  }

  delays({ blocks, ...seen }: Seen): Delays {
    return { ...seen, blocks: blocks.map(([height, at]) => at - (this.#times.get(height) ?? at)) };
  }
}

/** Makes snapshots and pages larger than what a kernel takes for who does not read; no block costs more for it. */
async function addWeight(to: DatabaseCoordinates): Promise<void> {
  const connection = await connect(to);
  await connection.query(
    'CREATE TABLE weight (tx_index BIGINT UNSIGNED NOT NULL PRIMARY KEY, block_index INT UNSIGNED NOT NULL, memo CHAR(64) NOT NULL, KEY (block_index))'
  );
  await connection.query(`INSERT INTO weight SELECT seq, 299, SHA2(seq, 256) FROM seq_1_to_${WEIGHT_ROWS}`);
  await connection.query(`INSERT INTO index_transactions (hash) SELECT SHA2(seq, 256) FROM seq_1_to_${PAGE_ROWS}`);
  await connection.end();
}

class Bench {
  readonly #server: SyncProcess;
  readonly #memory: ProcessMemory;
  readonly #writer: BlockWriter;
  readonly #good = new Helper<GoodClientsAsk>('good-clients.ts');
  readonly #hostile = new Helper<AttackersAsk>('attackers.ts');
  readonly #port: number;
  #etag = '';

  constructor(server: SyncProcess, memory: ProcessMemory, writer: BlockWriter) {
    this.#server = server;
    this.#memory = memory;
    this.#writer = writer;
    this.#port = Number(new URL(server.url).port);
  }

  async begin(): Promise<void> {
    this.#etag = await this.#good.ask<string>({ type: 'begin', port: this.#port });
    await sleep(1_000);
  }

  held(): Promise<Held> {
    return this.#memory.read();
  }

  /** What the good clients see in a while. */
  async look(ms = LOOK_MS): Promise<Delays> {
    await this.#good.ask({ type: 'collect' });
    await sleep(ms);
    return this.#writer.delays(await this.#good.ask<Seen>({ type: 'collect' }));
  }

  async attack(attack: Attack, count: number): Promise<Outcome> {
    const before = await this.held();
    const pid = this.#server.child.pid!;
    await this.#good.ask({ type: 'collect' });
    const [beganAt, cpuBefore] = [performance.now(), cpuMs(pid)];
    await this.#hostile.ask({ type: 'begin', attack: attack.name, port: this.#port, count, etag: this.#etag });
    await sleep(LOOK_MS);
    const cpuShare = (cpuMs(pid) - cpuBefore) / (performance.now() - beganAt);
    const seen = this.#writer.delays(await this.#good.ask<Seen>({ type: 'collect' }));
    const kept = connectionsOf(addressOf(attack), this.#port);
    const during = await this.held();
    const made = await this.#hostile.ask<number>({ type: 'end' });
    await eventually(`no connection of "${attack.name}" is left`, GONE_DEADLINE_MS, async () => {
      return connectionsOf(addressOf(attack), this.#port) === 0;
    });
    const each = (bytes: number) => bytes / (attack.kind === 'stay' ? count : Math.max(kept, 1));
    const heapEach = each(during.heapBytes - before.heapBytes);
    return { attack, made, kept, heapEach, rssEach: each(during.rssBytes - before.rssBytes), cpuShare, seen };
  }
}

const ms = (value: number) => value.toFixed(value < 10 ? 1 : 0);
const kib = (bytes: number) => Math.round(bytes / KIBIBYTE);

function printOutcome({ attack, made, kept, heapEach, rssEach, cpuShare, seen }: Outcome): void {
  const memory = attack.kind === 'stay' ? [kib(heapEach), kib(rssEach)] : ['', ''];
  const delays = [median(seen.status), p99(seen.status), median(seen.blocks), p99(seen.blocks), median(seen.download)];
  console.log(
    `| ${[attack.name, made, kept, ...memory, `${Math.round(100 * cpuShare)} %`, ...delays.map(ms)].join(' | ')} |`
  );
  for (const fault of new Set(seen.faults)) console.log(`  a good client: ${fault}`);
}

async function measure(): Promise<Figure[]> {
  const source = await createDatabase('door');
  await createDecoder(source, { seed: 'door', blocks: 200, rows: 2_000 });
  await addWeight(source);
  const pair = await startPair('decoder', source, {
    NODE_OPTIONS: '--inspect-port=127.0.0.1:0',
    SYNC_API_KEY: '',
    HTTP_MAX_PER_IP: 100_000,
    WS_MAX_PER_IP: 100_000,
    SNAPSHOT_RATE_FULL: 100_000,
    LOG_LEVEL: 'error'
  });
  const { server } = pair;
  await eventually('the source polls', 60_000, async () => (await pair.status(server))['phase'] === 'polling.caughtUp');
  const memory = await ProcessMemory.open(server.child.pid!, server.log);
  const writer = new BlockWriter();
  const writing = writer.run(source).catch((caught: unknown) => console.error('no more blocks are written:', caught));
  const bench = new Bench(server, memory, writer);
  await bench.begin();
  await bench.look(); // warm-up
  const calm = await bench.look(2 * LOOK_MS);
  const before = await bench.held();
  const head = [
    'attack',
    'made',
    'kept',
    'KiB each, heap',
    'RSS',
    'CPU',
    'status p50',
    'p99',
    'block p50',
    'p99',
    'download'
  ];
  console.log(`| ${head.join(' | ')} |\n|${head.map(() => '---').join('|')}|`);
  const delays = [median(calm.status), p99(calm.status), median(calm.blocks), p99(calm.blocks), median(calm.download)];
  console.log(`| none | | | | | | ${delays.map(ms).join(' | ')} |`);
  const outcomes: Outcome[] = [];
  for (const attack of ATTACKS.filter(({ name }) => name.includes(options.only))) {
    const count = attack.count ?? Number(attack.kind === 'stay' ? options.count : options.rate);
    const outcome = await bench.attack(attack, count);
    printOutcome(outcome);
    outcomes.push(outcome);
  }
  await sleep(1_000);
  const after = await bench.held();
  writer.end();
  await writing;
  memory.close();
  return figuresOf(outcomes, calm, before, after);
}

function figuresOf(outcomes: readonly Outcome[], calm: Delays, before: Held, after: Held): Figure[] {
  const staying = outcomes.filter(({ attack }) => attack.kind === 'stay' && !attack.inAll);
  const times = { unit: 'ms', compare: 'times' } as const;
  const all = (pick: (seen: Delays) => readonly number[]) => outcomes.flatMap(({ seen }) => pick(seen));
  const [status, blocks, download] = [
    all((seen) => seen.status),
    all((seen) => seen.blocks),
    all((seen) => seen.download)
  ];
  const worst = (pick: (outcome: Outcome) => number) => Math.max(...staying.map(pick)) / KIBIBYTE;
  const pinned = { reference: MOST_BYTES / KIBIBYTE, unit: 'KiB', compare: 'times', most: 1, aim: 0.5 } as const;
  return [
    {
      what: 'memory of one hostile connection, heap and external, the worst',
      measured: worst(({ heapEach }) => heapEach),
      ...pinned
    },
    { what: 'the same, RSS', measured: worst(({ rssEach }) => rssEach), ...pinned },
    {
      what: '/status during attacks, against before: p50',
      measured: median(status),
      reference: median(calm.status),
      ...times,
      most: 2,
      aim: 1.2
    },
    { what: 'the same: p99', measured: p99(status), reference: p99(calm.status), ...times, most: 3, aim: 1.5 },
    {
      what: 'commit to receipt during attacks, against before: p50',
      measured: median(blocks),
      reference: median(calm.blocks),
      ...times,
      most: 1.5,
      aim: 1.1
    },
    { what: 'the same: p99', measured: p99(blocks), reference: p99(calm.blocks), ...times, most: 3, aim: 1.5 },
    {
      what: 'a download during attacks, against before: p50',
      measured: median(download),
      reference: median(calm.download),
      ...times,
      most: 2,
      aim: 1.2
    },
    {
      what: 'RSS afterwards, against before',
      measured: after.rssBytes / 1e6,
      reference: before.rssBytes / 1e6,
      unit: 'MB',
      compare: 'times',
      most: 1.5,
      aim: 1.1
    },
    {
      what: 'file descriptors afterwards, against before',
      measured: after.descriptors,
      reference: before.descriptors,
      unit: '',
      compare: 'above',
      most: 2,
      aim: 0
    }
  ];
}

try {
  report('door', await measure(), options.json);
} finally {
  await endAll();
}
