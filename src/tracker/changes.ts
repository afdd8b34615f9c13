import { hash as digest } from 'node:crypto';
import type { LinkedBlock } from '../chain/work.ts';
import { readRawBlock } from '../coin/raw/raw-block.ts';
import type { RawTransaction } from '../coin/raw/raw-transaction.ts';
import { OP_RETURN } from '../coin/script/script.ts';

/** Bytes of an outpoint: the id of a transaction as it stands within transactions, and a position in it, lowest byte first. */
export const OUTPOINT_BYTES = 36;
const HASH_BYTES = 32;
/** Hash of the script, outpoint, value, and whether it is a block's reward. */
const MADE_BYTES = HASH_BYTES + OUTPOINT_BYTES + 8 + 1;
/** Nodes keep no output whose script is longer: nobody can spend it. */
const MAX_SCRIPT_BYTES = 10_000;

/** An output that a block made. */
export interface MadeCoin {
  /** SHA-256 of the script. */
  readonly scriptHash: Buffer;
  readonly outpoint: Buffer;
  /** Base units. */
  readonly value: bigint;
  readonly isCoinbase: boolean;
}

/** What a block did to the set of unspent outputs, packed so that it can be handed between threads without an object for each. */
export interface BlockChanges extends LinkedBlock {
  /** Outputs that can be spent, in order. @see madeCoins */
  readonly made: Uint8Array;
  /** Outpoints that were spent, in order. @see spentOutpoints */
  readonly spent: Uint8Array;
}

/**
 * Reads which outputs a block makes and which it spends. The first block of a chain makes none: nodes let nobody spend its reward.
 *
 * @throws {PlatformError} NODE_REFUSED when the bytes are not that block
 */
export function readChanges(
  bytes: Buffer,
  { height, hash, isMergeMined }: { readonly height: number; readonly hash: string; readonly isMergeMined: boolean }
): BlockChanges {
  const made: Buffer[] = [];
  const spent: Buffer[] = [];
  let position = 0;
  const { previousHash } = readRawBlock(bytes, { hash, isMergeMined }, (transaction) => {
    const isCoinbase = position++ === 0;
    if (!isCoinbase) spent.push(...transaction.outpoints);
    if (height > 0) made.push(...madeBy(transaction, isCoinbase));
  });
  return { height, hash, previousHash, made: Buffer.concat(made), spent: Buffer.concat(spent) };
}

/** The outputs of a transaction that can be spent. */
export function coinsOf(transaction: RawTransaction): readonly MadeCoin[] {
  return Array.from(madeBy(transaction, false), readMade);
}

/** The hash under which coins of a script are kept. */
export function scriptHashOf(script: Uint8Array): Buffer {
  return digest('sha256', script, 'buffer');
}

export function* madeCoins({ made }: Pick<BlockChanges, 'made'>): Generator<MadeCoin> {
  for (const record of slices(made, MADE_BYTES)) yield readMade(record);
}

export function spentOutpoints({ spent }: Pick<BlockChanges, 'spent'>): Generator<Buffer> {
  return slices(spent, OUTPOINT_BYTES);
}

function* madeBy(transaction: RawTransaction, isCoinbase: boolean): Generator<Buffer> {
  let txid: Buffer | undefined;
  for (const [vout, { script, amount }] of transaction.outputs.entries()) {
    if (script[0] === OP_RETURN || script.length > MAX_SCRIPT_BYTES) continue;
    txid ??= Buffer.from(transaction.txid, 'hex').reverse();
    const record = Buffer.allocUnsafe(MADE_BYTES);
    scriptHashOf(script).copy(record, 0);
    txid.copy(record, HASH_BYTES);
    record.writeUInt32LE(vout, 2 * HASH_BYTES);
    record.writeBigUInt64LE(amount, HASH_BYTES + OUTPOINT_BYTES);
    record[MADE_BYTES - 1] = isCoinbase ? 1 : 0;
    yield record;
  }
}

function readMade(record: Buffer): MadeCoin {
  return {
    scriptHash: record.subarray(0, HASH_BYTES),
    outpoint: record.subarray(HASH_BYTES, HASH_BYTES + OUTPOINT_BYTES),
    value: record.readBigUInt64LE(HASH_BYTES + OUTPOINT_BYTES),
    isCoinbase: record[MADE_BYTES - 1] === 1
  };
}

function* slices(bytes: Uint8Array, sizeBytes: number): Generator<Buffer> {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < whole.length; at += sizeBytes) yield whole.subarray(at, at + sizeBytes);
}
