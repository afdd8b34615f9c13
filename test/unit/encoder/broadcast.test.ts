import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { writeBase } from '../../../src/coin/raw/transaction-form.ts';
import { broadcast } from '../../../src/encoder/broadcast.ts';
import { PlatformError } from '../../../src/errors.ts';

const SIGNED = writeBase({
  inputs: [{ txid: 'ab'.repeat(32), vout: 0, sequence: 0, unlock: { script: Buffer.from([1, 1]), witness: [] } }],
  outputs: [{ amount: 1_000n, script: Buffer.alloc(25, 0x6a) }]
});
const failing = (code: 'NODE_UNREACHABLE' | 'NODE_REFUSED', detail = {}) => ({
  call: async () => {
    throw new PlatformError(code, { reason: 'of the node', ...detail });
  }
});

test('BROADCAST_UNKNOWN: a node that gave no answer may send the transaction yet: its id, and no word of building another', async () => {
  const { txid } = readRawTransaction(SIGNED);
  await assert.rejects(broadcast(SIGNED.toString('hex'), failing('NODE_UNREACHABLE')), (caught: PlatformError) => {
    assert.deepEqual([caught.code, caught.detail['txid'], caught.isReasonPublic], ['BROADCAST_UNKNOWN', txid, true]);
    assert.match(`${caught.message} ${caught.hint}`, /may have sent the transaction .* send the same tx_hex again/);
    return true;
  });
});

test('TRANSACTION_REJECTED: a node that answered sends nothing', async () => {
  await assert.rejects(broadcast(SIGNED.toString('hex'), failing('NODE_REFUSED', { rpcCode: -26 })), {
    code: 'TRANSACTION_REJECTED'
  });
});
