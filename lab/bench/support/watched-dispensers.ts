import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import type { BlockRows, TransactionRow } from '../../../src/decoder/block-rows.ts';
import { NO_DISPENSERS } from '../../../src/decoder/dispensers/action.ts';
import { type DecoderStore, openDecoderStore } from '../../../src/decoder/store.ts';
import { createDatabase } from '../../../test/support/mariadb.ts';
import { type Figure, median } from './figures.ts';

const { addresses } = chainNetwork('litecoin', 'regtest');
/** Openings of a block. */
const PER_BLOCK = 4_000;
const BLOCK_S = 150;
/** Expiration of all dispensers, in Unix seconds: far behind the blocks that open them. */
const EXPIRATION = 2_000_000;
/** Blocks of a measurement. */
const BLOCKS = 21;
/** Blocks after which an hour-old median is behind a leap of the clock. */
const BLOCKS_OF_AN_HOUR = 40;

/** Costs of dispensers that a decoder watches. */
interface Costs {
  readonly memoryBytes: number;
  readonly emptyMs: number;
  readonly editMs: number;
  /** The block at whose beginning all end. */
  readonly endMs: number;
  readonly undoMs: number;
}

/** A chain of one source that opens dispensers, each at an address of its own. */
class Watched {
  #store: DecoderStore;
  #height = 0;
  #opened = 0;
  #now = 0;

  constructor(store: DecoderStore) {
    this.#store = store;
  }

  /** Goes on with the store of another start. */
  goOnWith(store: DecoderStore): void {
    this.#store = store;
  }

  /** Reads which payments further blocks must be searched for. */
  async read(): Promise<void> {
    await this.#store.paymentMarks(addresses);
  }

  async close(): Promise<void> {
    await this.#store.database.close();
  }

  async open(count: number): Promise<void> {
    while (this.#opened < count) {
      const own = Math.min(PER_BLOCK, count - this.#opened);
      await this.write(Array.from({ length: own }, () => this.#opening()));
    }
  }

  /** Lets the time of further blocks be behind the expiration. */
  leap(): void {
    this.#now += EXPIRATION;
  }

  /** Writes the next block. @returns milliseconds until further blocks can be searched */
  async write(transactions: readonly TransactionRow[]): Promise<number> {
    const height = this.#height++;
    this.#now += BLOCK_S;
    const [hash, previousHash] = [`block ${height}`, `block ${height - 1}`];
    const block: BlockRows = { height, time: this.#now, hash, previousHash, findings: [], transactions };
    const began = performance.now();
    await this.#store.writeBlocks([block]);
    await this.#store.paymentMarks(addresses);
    return performance.now() - began;
  }

  /** Writes a block in which the source asks for a little more time for all of its dispensers. */
  async edit(): Promise<number> {
    const extendedTo = this.#now + 2 * BLOCK_S;
    const edit = { ...this.#transaction(`edit ${this.#height}`), dispensers: { opened: [], extendedTo } };
    return await this.write([edit]);
  }

  /** Takes the newest block back. @returns milliseconds */
  async undo(): Promise<number> {
    this.#height--;
    this.#now -= BLOCK_S;
    const began = performance.now();
    await this.#store.rollBackTip();
    return performance.now() - began;
  }

  #opening(): TransactionRow {
    const bytes = Buffer.alloc(20);
    bytes.writeUInt32LE(this.#opened++);
    const address = addressOf(payTo({ kind: 'witnessKeyHash', bytes }), addresses)!;
    const opened = [{ address, oracleAddress: null, expiration: EXPIRATION, least: 1_000n }];
    return { ...this.#transaction(`opening ${this.#opened}`), dispensers: { opened, extendedTo: null } };
  }

  #transaction(hash: string): TransactionRow {
    return { hash, source: 'seller', data: 'x', rawData: null, pubkey: null, outputs: [], dispensers: NO_DISPENSERS };
  }
}

async function each(count: number, work: () => Promise<number>): Promise<readonly number[]> {
  const found: number[] = [];
  for (let left = count; left > 0; left--) found.push(await work());
  return found;
}

function memory(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

async function costsOf(count: number): Promise<Costs> {
  const database = await createDatabase('bench_watched');
  const chain = new Watched(await openDecoderStore(database));
  await chain.open(count);
  await chain.close();
  chain.goOnWith(await openDecoderStore(database));
  const before = memory();
  await chain.read();
  const memoryBytes = memory() - before;
  const emptyMs = median(await each(BLOCKS, () => chain.write([])));
  chain.leap();
  await each(BLOCKS_OF_AN_HOUR, () => chain.edit());
  const editMs = median(await each(BLOCKS, () => chain.edit()));
  const endMs = Math.max(...(await each(BLOCKS_OF_AN_HOUR, () => chain.write([]))));
  const undoMs = Math.max(...(await each(BLOCKS_OF_AN_HOUR, () => chain.undo())));
  await chain.close();
  return { memoryBytes, emptyMs, editMs, endMs, undoMs };
}

/** Measures what many watched dispensers cost, beside few. A block may take 60 s, which a million must not exceed. */
export async function watchedDispensers(many: number): Promise<readonly Figure[]> {
  const few = await costsOf(PER_BLOCK);
  const all = await costsOf(many);
  const names = `${many} watched dispensers`;
  const ratio = { unit: 'ms', compare: 'times', most: 3, aim: 1.5 } as const;
  const whole = { unit: 'ms', compare: 'times', reference: (60_000 * many) / 1_000_000, most: 1.2, aim: 0.8 } as const;
  return [
    {
      what: 'memory of a watched dispenser',
      measured: (all.memoryBytes - few.memoryBytes) / (many - PER_BLOCK),
      reference: 0,
      unit: 'bytes',
      compare: 'above',
      most: 64,
      aim: 16
    },
    {
      what: `empty block beside ${names}, against ${PER_BLOCK}`,
      measured: all.emptyMs,
      reference: few.emptyMs,
      ...ratio
    },
    { what: `edit that extends ${names}, against ${PER_BLOCK}`, measured: all.editMs, reference: few.editMs, ...ratio },
    { what: `block in which ${names} end, against 60 s for a million`, measured: all.endMs, ...whole },
    { what: `rollback of that block, against 60 s for a million`, measured: all.undoMs, ...whole }
  ];
}
