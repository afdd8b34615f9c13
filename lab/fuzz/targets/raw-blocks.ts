import assert from 'node:assert/strict';
import { blocks } from 'doge-test-data';
import fc from 'fast-check';
import { hashId } from '../../../src/coin/raw/hash-id.ts';
import { readRawBlock } from '../../../src/coin/raw/raw-block.ts';
import { hasCode } from '../../../src/errors.ts';
import { blockParts, writeBlock } from '../../../test/support/coin/raw-writer.ts';
import { mutated } from '../support/hostile.ts';
import { target } from '../support/target.ts';

const recorded = blocks.filter(({ block }) => block.size < 3_000).map(({ rawBlock }) => Buffer.from(rawBlock, 'hex'));
const specimens = fc.oneof(
  blockParts.map((parts) => writeBlock(parts).bytes),
  fc.constantFrom(...recorded)
);
/** Keeps the header whole, so that the reader gets past it. */
const behindHeader = fc
  .tuple(specimens, mutated(specimens))
  .map(([whole, other]) => Buffer.concat([whole.subarray(0, 80), other.subarray(80)]));

const transactions = (one: Uint8Array) => (length: number) => {
  const count = Math.floor(length / one.length);
  const counted = Buffer.from([0xfe, 0, 0, 0, 0]);
  counted.writeUInt32LE(count, 1);
  return Buffer.concat([Buffer.alloc(80), counted, ...Array.from({ length: count }, () => one)]);
};

export const rawBlocks = target<Buffer>({
  name: 'raw-blocks',
  promise: 'bytes of a node are a block whose parts lie within them, or are refused with NODE_REFUSED',
  runs: 20_000,
  shortRuns: 2_000,
  inputs: fc.oneof(behindHeader, mutated(specimens), fc.uint8Array({ maxLength: 300 }).map(Buffer.from)),
  check: (bytes) => {
    const hash = hashId(bytes.subarray(0, 80));
    let readBytes = 0;
    try {
      readRawBlock(bytes, { hash, isMergeMined: true }, ({ txid, inputs, outputs, witnesses, isWithoutSource }) => {
        assert.match(txid, /^[0-9a-f]{64}$/);
        assert.equal(typeof isWithoutSource, 'boolean');
        const parts = [...inputs, ...outputs].map(({ script }) => script).concat(witnesses.flat());
        readBytes += parts.reduce((sum, { length }) => sum + length, 0);
      });
    } catch (caught) {
      assert.ok(hasCode(caught, 'NODE_REFUSED'), String(caught));
    }
    assert.ok(readBytes <= bytes.length);
  },
  growing: {
    'transactions without parts': transactions(Buffer.alloc(10)),
    'a script': (length) => {
      const script = Buffer.from([0xfe, 0, 0, 0, 0]);
      script.writeUInt32LE(length, 1);
      return Buffer.concat([
        Buffer.alloc(80),
        Buffer.from('010200000001', 'hex'),
        Buffer.alloc(36),
        script,
        Buffer.alloc(length)
      ]);
    },
    'bytes of nothing': (length) => Buffer.alloc(length)
  }
});
