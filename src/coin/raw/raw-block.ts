import { PlatformError } from '../../errors.ts';
import { ByteCursor } from './byte-cursor.ts';
import { hashId, printId } from './hash-id.ts';
import { RawTransaction } from './raw-transaction.ts';

/** Bytes of a block header that its hash is of. */
export const HEADER_BYTES = 80;
const ID_BYTES = 32;
/** Version bit of a merge-mined block. */
const MERGE_MINED = 0x100;
/** Least bytes of a transaction: version, no input, no output, lock time. */
const LEAST_TRANSACTION_BYTES = 10;
const NO_ID = '0'.repeat(64);

/** Fields of a block header. */
interface RawBlockHeader {
  /** Empty for the first block of a chain. */
  readonly previousHash: string;
  /** Unix seconds, as claimed by the miner. */
  readonly time: number;
}

/** The block that was asked for. */
interface ExpectedBlock {
  readonly hash: string;
  /** Whether the chain has merge-mined blocks; a bit of their version marks them. */
  readonly isMergeMined: boolean;
}

/**
 * Reads a block as nodes send it and visits its transactions in order.
 *
 * It checks that the header is that of the block which was asked for. It does not check the Merkle root: the node is
 * trusted with the block's content.
 *
 * @param visit gets the same object each time
 * @throws {PlatformError} NODE_REFUSED for another block, and for one that is malformed or has surplus bytes
 * @see https://en.bitcoin.it/wiki/Merged_mining_specification for the data after a merge-mined header
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

/**
 * Skips merge-mining data: the parent's reward, the branch from it to the parent's header, the branch from our block to
 * the reward, and the parent's header.
 */
function skipMergedMining(cursor: ByteCursor, transaction: RawTransaction): void {
  transaction.read();
  cursor.skip(ID_BYTES);
  for (const _ of ['reward to header', 'block to reward']) {
    cursor.skip(cursor.count(ID_BYTES) * ID_BYTES);
    cursor.skip(4); // position
  }
  cursor.skip(HEADER_BYTES);
}
