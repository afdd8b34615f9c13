import { idBytes, sized, uint32, uint64, varInt } from '../../../src/coin/raw/byte-writer.ts';
import { hashId } from '../../../src/coin/raw/hash-id.ts';
import type { RawInput, RawOutput } from '../../../src/coin/raw/raw-transaction.ts';
import fc from '../fast-check.ts';

/** Parts of a transaction that a test writes. */
export interface TransactionParts {
  readonly inputs: readonly RawInput[];
  readonly outputs: readonly RawOutput[];
  /** One list of items for each input, or none at all. */
  readonly witnesses: readonly (readonly Buffer[])[];
}

export interface BlockParts {
  /** Empty for a first block. */
  readonly previousHash: string;
  readonly time: number;
  readonly transactions: readonly TransactionParts[];
  readonly isMergeMined?: boolean;
}

/** Unlocking of an input as far as a decoder looks: a push in the form of a signature that covers the whole transaction. */
export const SIGNED = Buffer.from([71, 0x30, 68, ...Buffer.alloc(68, 2), 1]);
/** The same as the witness of a taproot output. */
export const SIGNED_TAPROOT = [Buffer.alloc(64, 3)];

/** A transaction in the form of BIP 144, or the older one when it has no witness. */
export function writeTransaction({ inputs, outputs, witnesses }: TransactionParts): { bytes: Buffer; txid: string } {
  const body = Buffer.concat([
    varInt(inputs.length),
    ...inputs.flatMap(({ txid, vout, script }) => [idBytes(txid), uint32(vout), sized(script), uint32(0xffffffff)]),
    varInt(outputs.length),
    ...outputs.flatMap(({ amount, script }) => [uint64(amount), sized(script)])
  ]);
  const plain = Buffer.concat([uint32(2), body, uint32(0)]);
  const stacks = witnesses.flatMap((items) => [varInt(items.length), ...items.map(sized)]);
  const bytes =
    witnesses.length === 0 ? plain : Buffer.concat([uint32(2), Buffer.from([0, 1]), body, ...stacks, uint32(0)]);
  return { bytes, txid: hashId(plain) };
}

/** A block; a merge-mined one has an empty way from the other chain's reward to its header. */
export function writeBlock({ previousHash, time, transactions, isMergeMined = false }: BlockParts): {
  bytes: Buffer;
  hash: string;
} {
  const header = Buffer.concat([
    uint32(isMergeMined ? 0x00620102 : 0x20000000),
    idBytes(previousHash || '0'.repeat(64)),
    Buffer.alloc(32, 0x11),
    uint32(time),
    Buffer.alloc(8)
  ]);
  const bodies = transactions.map((transaction) => writeTransaction(transaction).bytes);
  const proof = isMergeMined ? mergedMining() : Buffer.alloc(0);
  return { bytes: Buffer.concat([header, proof, varInt(transactions.length), ...bodies]), hash: hashId(header) };
}

function mergedMining(): Buffer {
  const reward = writeTransaction({
    inputs: [{ txid: '0'.repeat(64), vout: 2 ** 32 - 1, script: Buffer.alloc(40) }],
    outputs: [{ amount: 1n, script: Buffer.alloc(25) }],
    witnesses: []
  });
  const branch = Buffer.concat([varInt(1), Buffer.alloc(32), uint32(0)]);
  return Buffer.concat([reward.bytes, Buffer.alloc(32), branch, branch, Buffer.alloc(80)]);
}

const id = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'));
const script = fc
  .oneof(fc.uint8Array({ maxLength: 80 }), fc.uint8Array({ minLength: 250, maxLength: 260 }))
  .map((bytes) => Buffer.from(bytes));
const uint = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const plain = { noNullPrototype: true };
const input = fc.record({ txid: fc.oneof(id, fc.constant('0'.repeat(64))), vout: uint, script }, plain);
const output = fc.record({ amount: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), script }, plain);

const transaction: fc.Arbitrary<TransactionParts> = fc
  .record({ inputs: fc.array(input, { minLength: 1, maxLength: 4 }), outputs: fc.array(output, { maxLength: 4 }) })
  .chain((parts) =>
    fc
      .oneof(
        fc.constant([]),
        fc.array(fc.array(script, { maxLength: 3 }), {
          minLength: parts.inputs.length,
          maxLength: parts.inputs.length
        })
      )
      .map((witnesses) => ({ ...parts, witnesses }))
  );

/** Blocks of a few transactions of every form. */
export const blockParts: fc.Arbitrary<BlockParts> = fc.record({
  previousHash: id.filter((hash) => !/^0+$/.test(hash)),
  time: uint,
  transactions: fc.array(transaction, { minLength: 1, maxLength: 6 })
});
