import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { chainNetwork } from '../../src/coin/chains.ts';
import type { RawOutput } from '../../src/coin/raw/raw-transaction.ts';
import { payTo } from '../../src/coin/script/pay-scripts.ts';
import { silentLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { NO_ACTORS } from '../../src/service/life/no-actors.ts';
import { TrackerAnswers } from '../../src/tracker/answers.ts';
import { createTrackerApp } from '../../src/tracker/app.ts';
import { type BlockChanges, readChanges } from '../../src/tracker/coins/changes.ts';
import { MempoolCoins } from '../../src/tracker/mempool-coins.ts';
import { openTrackerStore, type TrackerStore } from '../../src/tracker/store.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { type TransactionParts, writeBlock, writeTransaction } from '../../test/support/coin/raw-writer.ts';
import { FRAME_CONFIG } from '../../test/support/frame.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { type Figure, median, p99, report } from './support/figures.ts';
import type { Paged, PagerAsk } from './support/processes/coin-pager.ts';
import { Helper, memoryMb } from './support/processes/helper.ts';
import type { HttpLoad, HttpLoadAsk } from './support/processes/http-load.ts';

const { blocks, coins, calls } = readArguments(
  'npm run bench -- utxo [--short]',
  { short: { type: 'boolean' } },
  ({ short }) => (short ? { blocks: 20, coins: 100_000, calls: 500 } : { blocks: 100, coins: 1_000_000, calls: 5_000 })
);

const NETWORK = chainNetwork('litecoin', 'regtest');
const TRANSACTIONS = 2_000;
/** Blocks of one transaction of the database: of this size the feed takes about so many at once. */
const GROUP = 32;
const OWNERS = 5_000;
/** Pages are read from first to last so often: a service that has run for a while has read some before. */
const PASSES = 3;
const ABSOLUTE = { reference: 0, compare: 'above' } as const;

/** Known facts of outputs that later blocks spend. */
interface Place {
  readonly txid: string;
  readonly vout: number;
}

const ownerScript = () => payTo({ kind: 'witnessKeyHash', bytes: randomBytes(20) });

/** Blocks of transactions that spend an older coin, at random, and make two. */
class BlockMaker {
  readonly #scripts = Array.from({ length: OWNERS }, ownerScript);
  readonly #unspent: Place[] = [];
  #isFirst = true;
  #previousHash = 'ab'.repeat(32);
  #height = 1;

  /** @param outputs  of its reward, beside those of its transactions */
  next(transactions: number, outputs: readonly RawOutput[] = []): Made {
    // The first block makes what the transactions of the next ones spend.
    const seeds = this.#isFirst ? this.#outputs(transactions) : [];
    this.#isFirst = false;
    const reward = this.#transaction({ txid: '0'.repeat(64), vout: 2 ** 32 - 1 }, [
      { amount: 50n, script: this.#anyScript() },
      ...seeds,
      ...outputs
    ]);
    const payments = seeds.length > 0 ? 0 : transactions;
    const rest = Array.from({ length: payments }, () => this.#payment());
    if (seeds.length > 0) this.#keep(reward, 1);
    const parts = { previousHash: this.#previousHash, time: this.#height, transactions: [reward, ...rest] };
    const { bytes, hash } = writeBlock(parts);
    this.#previousHash = hash;
    return { bytes, height: this.#height++, hash };
  }

  #payment(): TransactionParts {
    const at = Math.floor(Math.random() * this.#unspent.length);
    const spent = this.#unspent[at]!;
    this.#unspent[at] = this.#unspent.at(-1)!;
    this.#unspent.pop();
    const made = this.#transaction(spent, this.#outputs(2));
    this.#keep(made, 0);
    return made;
  }

  /** @param from the first of its outputs that may be spent */
  #keep(made: TransactionParts, from: number): void {
    const { txid } = writeTransaction(made);
    for (let vout = from; vout < made.outputs.length; vout++) this.#unspent.push({ txid, vout });
  }

  #outputs(count: number): RawOutput[] {
    return Array.from({ length: count }, () => ({ amount: 1_000n, script: this.#anyScript() }));
  }

  #transaction({ txid, vout }: Place, outputs: readonly RawOutput[]): TransactionParts {
    const input = { txid, vout, script: randomBytes(107) };
    return { inputs: [input], outputs, witnesses: [] };
  }

  #anyScript(): Buffer {
    return this.#scripts[Math.floor(Math.random() * OWNERS)]!;
  }
}

interface Made {
  readonly bytes: Buffer;
  readonly height: number;
  readonly hash: string;
}

const read = (block: Made): BlockChanges =>
  readChanges(block.bytes, { height: block.height, hash: block.hash, isMergeMined: false, coinbaseMaturity: 0 });

/** Microseconds that a transaction takes, from the bytes of blocks to the database. */
async function catchUp(store: TrackerStore, maker: BlockMaker): Promise<number> {
  let ms = 0;
  await store.writeBlocks([read(maker.next(TRANSACTIONS))]);
  for (let done = 0; done < blocks; done += GROUP) {
    const group = Array.from({ length: Math.min(GROUP, blocks - done) }, () => maker.next(TRANSACTIONS));
    const began = performance.now();
    await store.writeBlocks(group.map(read));
    ms += performance.now() - began;
  }
  return (ms * 1_000) / (blocks * TRANSACTIONS);
}

/** The same of a first sync: its blocks are gathered, then loaded. */
async function syncFirst(): Promise<number> {
  const undoDepth = NETWORK.undoDepth;
  const store = await openTrackerStore(await createDatabase('bench_first'), { undoDepth, nodeHeight: () => null });
  await store.prepare(blocks + 2 * undoDepth + 200);
  const before = memoryMb(process.pid, 'VmRSS');
  const gathered = await catchUp(store, new BlockMaker());
  const began = performance.now();
  while (!(await store.loadNext()));
  const loaded = ((performance.now() - began) * 1_000) / (blocks * TRANSACTIONS);
  console.log(`a first sync gathers in ${gathered.toFixed(1)} us and loads in ${loaded.toFixed(1)} us a transaction`);
  const grownMb = memoryMb(process.pid, 'VmHWM') - before;
  console.log(`its memory grows by ${grownMb.toFixed(0)} MB at most, what makes the blocks included`);
  await store.database.close();
  return gathered + loaded;
}

/** Gives a script so many coins, in outputs of a few blocks' rewards. */
async function give(store: TrackerStore, maker: BlockMaker, script: Buffer, count: number): Promise<void> {
  const PER_BLOCK = 10_000;
  for (let left = count; left > 0; left -= PER_BLOCK) {
    const outputs = Array.from({ length: Math.min(left, PER_BLOCK) }, () => ({ amount: 1_000n, script }));
    await store.writeBlocks([read(maker.next(0, outputs))]);
  }
}

/** The tracker's front door over a store; it answers from this process. */
async function openDoor(store: TrackerStore) {
  const mempool = new MempoolCoins({
    list: async () => [],
    read: async () => ({ found: [], odd: [] }),
    coins: () => store.coins
  });
  const answers = new TrackerAnswers({ store: () => store, mempool });
  const app = createTrackerApp({
    version: '1.0.0',
    log: silentLogger,
    metrics: createMetrics({ service: 'tracker', actors: () => [] }),
    consoleFiles: new Map(),
    tracing: undefined,
    actors: NO_ACTORS,
    config: { ...FRAME_CONFIG, UTXO_TRACKER_API_KEY: undefined, UTXO_TRACKER_RATE_LIMIT_RPM: 100_000_000 },
    network: NETWORK,
    view: () => ({ report: null, crash: null }),
    findCoins: (question) => answers.coins(question),
    findBalance: (script) => answers.balance(script),
    serves: (code) => code === NETWORK.code
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { app, port: (app.server.address() as AddressInfo).port };
}

async function measure(): Promise<Figure[]> {
  const store = await openTrackerStore(await createDatabase('bench_tracker'), {
    undoDepth: NETWORK.undoDepth,
    nodeHeight: () => 1_000_000
  });
  await store.prepare(0);
  const maker = new BlockMaker();
  const first = await syncFirst();
  const behind = await catchUp(store, maker);
  const [few, many] = [ownerScript(), ownerScript()];
  await give(store, maker, few, 20);
  await give(store, maker, many, coins);
  const { app, port } = await openDoor(store);
  const [load, pager] = [new Helper<HttpLoadAsk>('http-load.ts'), new Helper<PagerAsk>('coin-pager.ts')];
  try {
    const requests = [`GET /utxos/script:${few.toString('hex')}?limit=1000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`];
    const asked = { type: 'load', port, requests, connections: 1 } as const;
    await load.ask<HttpLoad>({ ...asked, count: 500 });
    const delays = Array.from((await load.ask<HttpLoad>({ ...asked, count: calls })).eachMs);
    const url = `http://127.0.0.1:${port}/utxos/script:${many.toString('hex')}?limit=10000`;
    const passes: number[] = [];
    for (let pass = 0; pass < PASSES; pass++) {
      const paged = await pager.ask<Paged>({ type: 'page', url });
      if (paged.coins !== coins) throw new Error(`${coins} coins are ${paged.coins}`);
      passes.push(paged.wallMs);
    }
    console.log(`${coins} coins page by page: ${passes.map((ms) => `${(ms / 1_000).toFixed(2)} s`).join(', ')}`);
    console.log(`get_utxos of 20 coins, the median: ${median(delays).toFixed(2)} ms`);
    return [
      {
        ...ABSOLUTE,
        what: 'a transaction of a first sync, from bytes to the database',
        unit: 'µs',
        measured: first,
        most: 50,
        aim: 25
      },
      {
        ...ABSOLUTE,
        what: 'a transaction of a tracker that was down, the same',
        unit: 'µs',
        measured: behind,
        most: 50,
        aim: 25
      },
      { ...ABSOLUTE, what: 'GET /utxos of 20 coins, p99', unit: 'ms', measured: p99(delays), most: 5, aim: 2 },
      {
        ...ABSOLUTE,
        what: `${coins} coins of one script, page by page, median of ${PASSES} passes`,
        unit: 's',
        measured: median(passes) / 1_000,
        most: 2,
        aim: 1
      }
    ];
  } finally {
    for (const helper of [load, pager]) helper.end();
    await app.close();
    await store.database.close();
  }
}

await runProgram(async () => report('utxo', await measure()));
