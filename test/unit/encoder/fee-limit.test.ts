import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { readFeeLimit } from '../../../src/encoder/creation/request.ts';

const FORM = {
  inputs: [{ txid: 'ab'.repeat(32), vout: 0, sequence: 0, unlock: { script: Buffer.alloc(0), witness: [] } }],
  outputs: [{ amount: 0n, script: Buffer.from('6a0100', 'hex') }]
};
const SIZE = BigInt(writeTransaction(FORM).length);
const usualDust = 2_940n;

test('REQUEST_INVALID: a fee above the greatest rate, by what was left over', () => {
  const limit = readFeeLimit({}, { mostRate: 1_000_000n, softDust: 0, usualDust });
  limit(FORM, SIZE * 1_000n);
  assert.throws(() => limit(FORM, SIZE * 1_000n + 1n), { code: 'REQUEST_INVALID', message: /ENCODER_MAX_FEE_RATE/ });
});

test('REQUEST_INVALID: a whole fee that grows by more than dust', () => {
  const limit = readFeeLimit({ fee: '3000' }, { mostRate: 1_000_000n, softDust: 0, usualDust });
  limit(FORM, 3_000n + usualDust - 1n);
  assert.throws(() => limit(FORM, 3_000n + usualDust), { code: 'REQUEST_INVALID', message: /2940 more than the fee/ });
});
