import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocks } from 'doge-test-data';
import { toBaseUnits } from '../../../src/coin/amount.ts';
import { readRawBlock } from '../../../src/coin/raw/raw-block.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { PlatformError } from '../../../src/errors.ts';
import { type BlockParts, blockParts, writeBlock, writeTransaction } from '../../support/coin/raw-writer.ts';
import fc from '../../support/fast-check.ts';

const EXPECTED = { isMergeMined: false };

/** Ids of a block's transactions, as the reader finds them. */
function read(bytes: Buffer, hash: string, isMergeMined = false) {
  const txids: string[] = [];
  const header = readRawBlock(bytes, { hash, isMergeMined }, (transaction) => txids.push(transaction.txid));
  return { ...header, txids };
}

test('20 recorded Dogecoin blocks, 9 of them merge-mined, are read as their node prints them', () => {
  assert.equal(blocks.length, 20);
  assert.equal(blocks.filter(({ block }) => block.auxpow).length, 9);
  for (const { rawBlock, block } of blocks) {
    assert.deepEqual(read(Buffer.from(rawBlock, 'hex'), block.hash, true), {
      previousHash: block.previousblockhash ?? '',
      time: block.time,
      txids: block.tx
    });
  }
});

test('the reward of the other chain is read as its node prints it', () => {
  const auxpow = blocks.find(({ block }) => block.auxpow)!.block.auxpow!;
  const reward = readRawTransaction(Buffer.from(auxpow.tx.hex, 'hex'));
  assert.equal(reward.txid, auxpow.tx.txid);
  assert.ok(reward.isWithoutSource);
  assert.deepEqual(
    reward.outputs.map(({ amount, script }) => ({ amount, hex: script.toString('hex') })),
    auxpow.tx.vout.map(({ value, scriptPubKey }) => ({ amount: toBaseUnits(value), hex: scriptPubKey.hex }))
  );
});

test('a block of generated transactions is read back part by part', () => {
  fc.assert(
    fc.property(blockParts, (parts) => {
      const { bytes, hash } = writeBlock(parts);
      const found: unknown[] = [];
      const header = readRawBlock(bytes, { hash, ...EXPECTED }, (transaction) => {
        const { txid, inputs, outputs, witnesses, isWithoutSource } = transaction;
        found.push({ txid, inputs, outputs, witnesses, isWithoutSource });
      });
      assert.deepEqual(header, { previousHash: parts.previousHash, time: parts.time });
      assert.deepEqual(
        found,
        parts.transactions.map((transaction) => ({
          txid: writeTransaction(transaction).txid,
          inputs: transaction.inputs,
          outputs: transaction.outputs,
          witnesses: transaction.witnesses,
          isWithoutSource: transaction.inputs.length === 0 || /^0+$/.test(transaction.inputs[0]!.txid)
        }))
      );
    })
  );
});

const PARTS: BlockParts = {
  previousHash: 'ab'.repeat(32),
  time: 1_700_000_000,
  transactions: [1, 2].map((vout) => ({
    inputs: [{ txid: 'cd'.repeat(32), vout, script: Buffer.from('51', 'hex') }],
    outputs: [{ amount: 5n, script: Buffer.from('6a0101', 'hex') }],
    witnesses: [[Buffer.from('aa', 'hex')]]
  }))
};
const whole = writeBlock(PARTS);
const refusal = (message: RegExp) => (caught: unknown) => {
  assert.ok(caught instanceof PlatformError && caught.code === 'NODE_REFUSED');
  assert.match(caught.message, message);
  return true;
};

test('NODE_REFUSED: a block that is cut off anywhere', () => {
  for (let length = 0; length < whole.bytes.length; length++) {
    assert.throws(() => read(whole.bytes.subarray(0, length), whole.hash), refusal(/not the block that was asked for/));
  }
});

test('NODE_REFUSED: another block than the one asked for, and bytes behind the last transaction', () => {
  const { bytes } = writeBlock({ ...PARTS, time: 5 });
  assert.throws(() => read(bytes, whole.hash), refusal(/its header has the hash [0-9a-f]{64}/));
  assert.throws(() => read(Buffer.concat([whole.bytes, Buffer.alloc(3)]), whole.hash), refusal(/3 bytes follow/));
});

test('NODE_REFUSED: counts beyond the end cost nothing', () => {
  const header = whole.bytes.subarray(0, 80);
  const version = Buffer.from('01000000', 'hex');
  const input = Buffer.concat([Buffer.alloc(36), Buffer.from('00ffffffff', 'hex')]);
  const billion = Buffer.from('fe00ca9a3b', 'hex');
  const beyondAll = Buffer.from('ffffffffffffffffff', 'hex');
  const bodies = {
    transactions: [billion],
    'transactions beyond 2^53': [beyondAll],
    inputs: [Buffer.from([1]), version, billion],
    'bytes of a script': [Buffer.from([1]), version, Buffer.from([1]), Buffer.alloc(36), billion],
    outputs: [Buffer.from([1]), version, Buffer.from([1]), input, billion],
    'items of a witness': [Buffer.from([1]), version, Buffer.from('000101', 'hex'), input, Buffer.from([0]), billion]
  };
  for (const [what, body] of Object.entries(bodies)) {
    const bytes = Buffer.concat([header, ...body, Buffer.alloc(60)]);
    const startedAt = performance.now();
    assert.throws(() => read(bytes, whole.hash), refusal(/are announced/), what);
    assert.ok(performance.now() - startedAt < 2_000, what);
  }
});

test('a transaction alone may hold a part of the extension block; one within a block may not', () => {
  const [transaction] = PARTS.transactions;
  const { bytes, txid } = writeTransaction(transaction!);
  const extended = Buffer.concat([bytes.subarray(0, -4), Buffer.from('01a1a2a3', 'hex'), bytes.subarray(-4)]);
  extended[5] = 9; // witnesses and extension
  assert.equal(readRawTransaction(extended).txid, txid);
  const block = Buffer.concat([whole.bytes.subarray(0, 80), Buffer.from([1]), extended]);
  assert.throws(() => read(block, whole.hash), refusal(/extension block/));
  assert.throws(() => readRawTransaction(Buffer.concat([bytes, Buffer.alloc(1)])), RangeError);
});
