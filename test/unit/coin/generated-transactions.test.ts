import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawOldTx, RawTx } from '@scure/btc-signer/script.js';
import { hashId } from '../../../src/coin/raw/hash-id.ts';
import { readRawBlock } from '../../../src/coin/raw/raw-block.ts';
import type { RawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { createRandom } from '../../../src/devnet/random.ts';
import { type TransactionParts, writeBlock } from '../../support/coin/raw-writer.ts';

const BLOCKS = 30;
const TRANSACTIONS = 2_500;
const random = createRandom('generated transactions');
const POOL = Buffer.from(Array.from({ length: 2 ** 16 }, () => random.between(0, 255)));

function bytes(length: number): Buffer {
  const at = random.between(0, POOL.length - length);
  return POOL.subarray(at, at + length);
}

/** Inputs and outputs of any kind; half of them with witnesses. */
function invent(): TransactionParts {
  const inputs = Array.from({ length: random.between(1, 3) }, () => ({
    txid: bytes(32).toString('hex'),
    vout: random.between(0, 5),
    script: bytes(random.between(0, 30))
  }));
  const outputs = Array.from({ length: random.between(1, 3) }, () => ({
    amount: BigInt(random.between(0, 2 ** 31)),
    script: bytes(random.between(0, 40))
  }));
  const isSegwit = random.between(0, 1) === 1;
  const witnesses = isSegwit ? inputs.map(() => [bytes(random.between(0, 20)), bytes(33)]) : [];
  return { inputs, outputs, witnesses };
}

/** Returns the parts of a transaction in the words of both readers. */
const read = ({ txid, inputs, outputs, witnesses }: RawTransaction) => ({
  txid,
  inputs: inputs.map((input) => `${input.txid} ${input.vout} ${input.script.toString('hex')}`),
  outputs: outputs.map(({ amount, script }) => `${amount} ${script.toString('hex')}`),
  witnesses: witnesses.map((items) => items.map((item) => item.toString('hex')))
});

function decode(raw: Uint8Array): ReturnType<typeof read> {
  const transaction = RawTx.decode(raw);
  const hex = (part: Uint8Array) => Buffer.from(part).toString('hex');
  return {
    txid: hashId(RawOldTx.encode(transaction)),
    inputs: transaction.inputs.map(({ txid, index, finalScriptSig }) => `${hex(txid)} ${index} ${hex(finalScriptSig)}`),
    outputs: transaction.outputs.map(({ amount, script }) => `${amount} ${hex(script)}`),
    witnesses: (transaction.witnesses ?? []).map((items) => items.map(hex))
  };
}

test('75,000 generated transactions are read as the reader of another maker reads them, id for id', () => {
  let count = 0;
  for (let block = 0; block < BLOCKS; block++) {
    const transactions = Array.from({ length: TRANSACTIONS }, invent);
    const written = writeBlock({ previousHash: '', time: block, transactions });
    readRawBlock(written.bytes, { hash: written.hash, isMergeMined: false }, (transaction) => {
      assert.equal(JSON.stringify(read(transaction)), JSON.stringify(decode(transaction.bytes)));
      count++;
    });
  }
  assert.equal(count, BLOCKS * TRANSACTIONS);
});
