import { PlatformError } from '../../errors.ts';
import { ByteCursor } from './byte-cursor.ts';
import { hashId, printId } from './hash-id.ts';
import { RawTransaction } from './raw-transaction.ts';

const HEADER_BYTES = 80;
const ID_BYTES = 32;
/** Version bit of a block that was mined together with one of another chain. */
const MERGE_MINED = 0x100;
/** Version, no input, no output, lock time. */
const LEAST_TRANSACTION_BYTES = 10;
const NO_ID = '0'.repeat(64);

export interface RawBlockHeader {
  /** Empty for the first block of a chain. */
  readonly previousHash: string;
  /** Unix seconds, as its miner says. */
  readonly time: number;
}

export interface ExpectedBlock {
  readonly hash: string;
  /** The chain has blocks that are mined together with those of another chain; a bit of their version says which. */
  readonly isMergeMined: boolean;
}

/**
 * Reads a block as nodes send it and visits its transactions in order.
 *
 * The id of no transaction is hashed, and the Merkle root is not checked: the node is trusted for what the block holds, but
 * the header must be that of the block that was asked for.
 *
 * @param visit  gets the same object each time
 * @throws {PlatformError} NODE_REFUSED for another block, or one that is malformed or has bytes left over
 * @see https://en.bitcoin.it/wiki/Merged_mining_specification for what stands behind the header then
 */
export function readRawBlock(
  bytes: Buffer,
  { hash, isMergeMined }: ExpectedBlock,
  visit: (transaction: RawTransaction) => void
): RawBlockHeader {
  try {
    const cursor = new ByteCursor(bytes);
    const header = cursor.take(HEADER_BYTES);
    const found = hashId(header);
    if (found !== hash) throw new RangeError(`its header has the hash ${found}`);
    const transaction = new RawTransaction(cursor);
    if (isMergeMined && header.readUInt32LE(0) & MERGE_MINED) skipMergedMining(cursor, transaction);
    const count = cursor.count(LEAST_TRANSACTION_BYTES);
    for (let left = count; left > 0; left--) {
      transaction.read();
      visit(transaction);
    }
    if (cursor.left > 0 && !(count > 1 && transaction.hasExtension)) {
      throw new RangeError(`${cursor.left} bytes follow its last transaction`);
    }
    const previousHash = printId(header.subarray(4, 4 + ID_BYTES));
    return { previousHash: previousHash === NO_ID ? '' : previousHash, time: header.readUInt32LE(68) };
  } catch (caught) {
    if (!(caught instanceof RangeError)) throw caught;
    const reason = `the node's answer is not the block that was asked for: ${caught.message}`;
    throw new PlatformError('NODE_REFUSED', { reason, block: hash }, { cause: caught });
  }
}

/** The other chain's reward, the way from it to that chain's header, the way from ours to the reward, that header. */
function skipMergedMining(cursor: ByteCursor, transaction: RawTransaction): void {
  transaction.read();
  cursor.skip(ID_BYTES);
  for (const _ of ['reward to header', 'block to reward']) {
    cursor.skip(cursor.count(ID_BYTES) * ID_BYTES);
    cursor.skip(4); // position
  }
  cursor.skip(HEADER_BYTES);
}
