import { hash as digest } from 'node:crypto';
import { readRawBlock } from '../../coin/raw/raw-block.ts';
import { EXTENSION_MATURITY, type RawTransaction } from '../../coin/raw/raw-transaction.ts';
import { OP_RETURN } from '../../coin/script/script.ts';
import type { LinkedBlock } from '../../follower/work.ts';
import { HASH_BYTES, MADE, OUTPOINT_BYTES, places, SPENT } from './records.ts';
import type { CoinChanges } from './reduce.ts';

/** Longest script of a spendable output. Nodes do not keep outputs with longer ones. */
const MAX_SCRIPT_BYTES = 10_000;
/** Records that fit the first buffer. */
const ROOM = 64;

/** A spendable output of a transaction. */
interface MadeCoin {
  /** SHA-256 of the script. */
  readonly scriptHash: Buffer;
  readonly outpoint: Buffer;
  /** Base units. */
  readonly value: bigint;
}

/** Outputs that a block created and spent. */
export interface BlockChanges extends LinkedBlock {
  /** MADE records of spendable outputs, in order. */
  readonly made: Uint8Array;
  /** SPENT records, in order. */
  readonly spent: Uint8Array;
}

/** Collects the outputs that blocks create and spend, as records. */
export class ChangesWriter {
  readonly #made = new RecordWriter(MADE.sizeBytes);
  readonly #spent = new RecordWriter(SPENT.sizeBytes);

  /** Bytes of the records so far. */
  get sizeBytes(): number {
    return this.#made.length + this.#spent.length;
  }

  /**
   * Adds the outputs that a block creates and spends. The first block of a chain creates none: its reward cannot be
   * spent.
   *
   * @returns the block, and the end of its records
   * @throws {PlatformError} NODE_REFUSED when the bytes are not that block
   */
  addBlock(bytes: Buffer, { height, hash, isMergeMined, coinbaseMaturity }: BlockPlace) {
    let position = 0;
    const { previousHash } = readRawBlock(bytes, { hash, isMergeMined }, (transaction) => {
      const isCoinbase = position++ === 0;
      if (!isCoinbase) this.#addSpent(transaction, height);
      if (height > 0) this.addMade(transaction, height, isCoinbase ? coinbaseMaturity : 0);
    });
    return { height, hash, previousHash, madeEnd: this.#made.length, spentEnd: this.#spent.length };
  }

  /** Adds the spendable outputs of a transaction. @param maturity blocks after which they may be spent */
  addMade(transaction: RawTransaction, height: number, maturity: number): void {
    let txid: Buffer | undefined;
    transaction.visitOutputs((bytes, amountAt, scriptAt, end, vout) => {
      if (bytes[scriptAt] === OP_RETURN && end > scriptAt) return;
      if (end - scriptAt > MAX_SCRIPT_BYTES) return;
      txid ??= transaction.idBytes;
      const { bytes: to, at } = this.#made.next();
      txid.copy(to, at);
      to.writeUInt32LE(vout, at + HASH_BYTES);
      scriptHashOf(bytes.subarray(scriptAt, end)).copy(to, at + MADE.hashAt);
      bytes.copy(to, at + MADE.valueAt, amountAt, amountAt + 8);
      to.writeUInt32LE(height, at + MADE.heightAt);
      // The first output stays in the extension block.
      to[at + MADE.maturityAt] = transaction.hasExtension && vout > 0 ? EXTENSION_MATURITY : maturity;
    });
  }

  #addSpent(transaction: RawTransaction, height: number): void {
    transaction.visitOutpoints((bytes, outpointAt) => {
      const { bytes: to, at } = this.#spent.next();
      bytes.copy(to, at, outpointAt, outpointAt + OUTPOINT_BYTES);
      to.writeUInt32LE(height, at + SPENT.heightAt);
    });
  }

  /** All records. Nothing may be added afterwards. */
  get records(): CoinChanges {
    return { made: this.#made.written, spent: this.#spent.written };
  }
}

/** Identity of a block, and the rules of its chain for reading it. */
export interface BlockPlace {
  readonly height: number;
  readonly hash: string;
  readonly isMergeMined: boolean;
  /** Blocks after which a reward may be spent. */
  readonly coinbaseMaturity: number;
}

/**
 * Reads the outputs that a block creates and spends. @throws {PlatformError} NODE_REFUSED when the bytes are not that
 * block
 */
export function readChanges(bytes: Buffer, place: BlockPlace): BlockChanges & CoinChanges {
  const writer = new ChangesWriter();
  const { height, hash, previousHash } = writer.addBlock(bytes, place);
  return { height, hash, previousHash, ...writer.records };
}

/** Returns the spendable outputs of a transaction. */
export function coinsOf(transaction: RawTransaction): readonly MadeCoin[] {
  const writer = new ChangesWriter();
  writer.addMade(transaction, 0, 0);
  const { made } = writer.records;
  return Array.from(places(MADE, made), (at) => ({
    outpoint: made.subarray(at, at + OUTPOINT_BYTES),
    scriptHash: made.subarray(at + MADE.hashAt, at + MADE.valueAt),
    value: made.readBigUInt64LE(at + MADE.valueAt)
  }));
}

/** Returns the hash by which the coins of a script are stored. */
export function scriptHashOf(script: Uint8Array): Buffer {
  return digest('sha256', script, 'buffer');
}

/** A buffer of equal-sized records that grows. */
class RecordWriter {
  readonly #sizeBytes: number;
  #bytes: Buffer;
  length = 0;

  constructor(sizeBytes: number) {
    this.#sizeBytes = sizeBytes;
    this.#bytes = Buffer.allocUnsafeSlow(ROOM * sizeBytes);
  }

  /** Makes room for a record. @returns the buffer and the offset of the record */
  next(): { readonly bytes: Buffer; readonly at: number } {
    const at = this.length;
    this.length += this.#sizeBytes;
    if (this.length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * this.#bytes.length);
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    return { bytes: this.#bytes, at };
  }

  get written(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }
}
