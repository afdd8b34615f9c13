import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { chainNetwork } from '../../src/coin/chains.ts';
import type { RawOutput } from '../../src/coin/raw/raw-transaction.ts';
import { payTo } from '../../src/coin/script/pay-scripts.ts';
import { silentLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { NO_ACTORS } from '../../src/service/no-actors.ts';
import { TrackerAnswers } from '../../src/tracker/answers.ts';
import { createTrackerApp } from '../../src/tracker/app.ts';
import { type BlockChanges, readChanges } from '../../src/tracker/changes.ts';
import { MempoolCoins } from '../../src/tracker/mempool-coins.ts';
import { openTrackerStore, type TrackerStore } from '../../src/tracker/store.ts';
import { readArguments } from '../support/arguments.ts';
import { type TransactionParts, writeBlock, writeTransaction } from '../support/coin/raw-writer.ts';
import { FRAME_CONFIG } from '../support/frame.ts';
import { createDatabase } from '../support/mariadb.ts';
import { runProgram } from '../support/program.ts';
import { type Figure, median, p99, report } from './support/figures.ts';

const { blocks, coins, calls } = readArguments(
  'npm run bench -- utxo [--short]',
  { short: { type: 'boolean' } },
  ({ short }) => (short ? { blocks: 20, coins: 100_000, calls: 500 } : { blocks: 100, coins: 1_000_000, calls: 5_000 })
);

const NETWORK = chainNetwork('litecoin', 'regtest');
const TRANSACTIONS = 2_000;
/** Blocks of one transaction of the database: of this size the feed takes about so many at once. */
const GROUP = 8;
const OWNERS = 5_000;
const ABSOLUTE = { reference: 0, compare: 'above' } as const;

/** What is known of outputs that later blocks spend. */
interface Place {
  readonly txid: string;
  readonly vout: number;
}

const ownerScript = () => payTo({ kind: 'witnessKeyHash', bytes: randomBytes(20) });

/** Blocks of transactions that spend an older coin, at random, and make two. */
class BlockMaker {
  readonly #scripts = Array.from({ length: OWNERS }, ownerScript);
  readonly #unspent: Place[] = [];
  #previousHash = 'ab'.repeat(32);
  #height = 1;

  /** @param outputs  of its reward, beside those of its transactions */
  next(transactions: number, outputs: readonly RawOutput[] = []): { bytes: Buffer; height: number; hash: string } {
    const reward = this.#transaction({ txid: '0'.repeat(64), vout: 2 ** 32 - 1 }, [
      { amount: 50n, script: this.#anyScript() },
      ...outputs
    ]);
    const rest = Array.from({ length: transactions }, () => this.#payment());
    const parts = { previousHash: this.#previousHash, time: this.#height, transactions: [reward, ...rest] };
    const { bytes, hash } = writeBlock(parts);
    this.#previousHash = hash;
    return { bytes, height: this.#height++, hash };
  }

  #payment(): TransactionParts {
    const at = Math.floor(Math.random() * this.#unspent.length);
    const spent = this.#unspent[at] ?? { txid: randomBytes(32).toString('hex'), vout: 0 };
    if (this.#unspent[at]) this.#unspent[at] = this.#unspent.at(-1)!;
    this.#unspent.pop();
    const paid = [1n, 2n].map((amount) => ({ amount, script: this.#anyScript() }));
    const made = this.#transaction(spent, paid);
    const { txid } = writeTransaction(made);
    this.#unspent.push({ txid, vout: 0 }, { txid, vout: 1 });
    return made;
  }

  #transaction({ txid, vout }: Place, outputs: readonly RawOutput[]): TransactionParts {
    const input = { txid, vout, script: randomBytes(107) };
    return { inputs: [input], outputs, witnesses: [] };
  }

  #anyScript(): Buffer {
    return this.#scripts[Math.floor(Math.random() * OWNERS)]!;
  }
}

const read = (block: { readonly bytes: Buffer; readonly height: number; readonly hash: string }): BlockChanges =>
  readChanges(block.bytes, { height: block.height, hash: block.hash, isMergeMined: false });

/** Transactions a second, from the bytes of blocks to the database. */
async function catchUp(store: TrackerStore, maker: BlockMaker): Promise<number> {
  let ms = 0;
  for (let done = 0; done < blocks; done += GROUP) {
    const group = Array.from({ length: Math.min(GROUP, blocks - done) }, () => maker.next(TRANSACTIONS));
    const began = performance.now();
    await store.writeBlocks(group.map(read));
    ms += performance.now() - began;
  }
  return (blocks * TRANSACTIONS * 1_000) / ms;
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
  const mempool = new MempoolCoins({ list: async () => [], read: async () => [], coins: () => store.coins });
  const answers = new TrackerAnswers({ coins: () => store.coins, mempool, maturity: 0 });
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
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return { app, get: async (path: string) => (await fetch(url + path)).json() as Promise<Page> };
}

interface Page {
  readonly utxos: readonly unknown[];
  readonly nextCursor?: string;
}

async function measure(): Promise<Figure[]> {
  const store = await openTrackerStore(await createDatabase('bench_tracker'), {
    undoDepth: NETWORK.undoDepth,
    nodeHeight: () => 1_000_000
  });
  const maker = new BlockMaker();
  const perSecond = await catchUp(store, maker);
  const [few, many] = [ownerScript(), ownerScript()];
  await give(store, maker, few, 20);
  await give(store, maker, many, coins);
  const { app, get } = await openDoor(store);
  try {
    const delays: number[] = [];
    for (let call = 0; call < calls; call++) {
      const began = performance.now();
      const { utxos } = await get(`/utxos/script:${few.toString('hex')}`);
      if (utxos.length !== 20) throw new Error(`20 coins are ${utxos.length}`);
      delays.push(performance.now() - began);
    }
    const began = performance.now();
    let paged = 0;
    for (let after = ''; ; ) {
      const page = await get(`/utxos/script:${many.toString('hex')}?limit=10000${after && `&after=${after}`}`);
      paged += page.utxos.length;
      if (page.nextCursor === undefined) break;
      after = page.nextCursor;
    }
    const seconds = (performance.now() - began) / 1_000;
    if (paged !== coins) throw new Error(`${coins} coins are ${paged}`);
    console.log(`blocks are read and written at ${Math.round(perSecond)} transactions a second`);
    console.log(`get_utxos of 20 coins, the median: ${median(delays).toFixed(2)} ms`);
    return [
      {
        ...ABSOLUTE,
        what: 'a transaction, from bytes to the database',
        unit: 'µs',
        measured: 1e6 / perSecond,
        most: 50,
        aim: 25
      },
      { ...ABSOLUTE, what: 'GET /utxos of 20 coins, p99', unit: 'ms', measured: p99(delays), most: 5, aim: 2 },
      { ...ABSOLUTE, what: `${coins} coins of one script, page by page`, unit: 's', measured: seconds, most: 2, aim: 1 }
    ];
  } finally {
    await app.close();
    await store.database.close();
  }
}

await runProgram(async () => report('utxo', await measure()));
