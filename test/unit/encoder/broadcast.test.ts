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
const { txid } = readRawTransaction(SIGNED);

/** A node that fails to send, and to tell of a transaction unless `told` is given. */
const failing = (code: 'NODE_UNREACHABLE' | 'NODE_REFUSED', detail = {}, nodeAnswer?: unknown) => ({
  call: async () => {
    throw new PlatformError(code, { reason: 'of the node', ...detail });
  },
  batch: async () => {
    if (nodeAnswer !== undefined) return [nodeAnswer];
    throw new PlatformError('NODE_REFUSED', { reason: 'Use -txindex', rpcCode: -5 });
  }
});
const outcomeOf = (node: Parameters<typeof broadcast>[1]) =>
  broadcast(SIGNED.toString('hex'), node).catch(({ code }: PlatformError) => code);

test('BROADCAST_UNKNOWN: a node that gave no answer may send the transaction yet: its id, and no word of building another', async () => {
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

test('BROADCAST_UNKNOWN: inputs are missing and the node has no index: a block may have the transaction', async () => {
  const reasons = ['bad-txns-inputs-missingorspent', 'Missing inputs', 'Inputs missing or spent'];
  for (const reason of reasons) {
    const refusal = { rpcCode: -25, reason };
    assert.equal(await outcomeOf(failing('NODE_REFUSED', refusal)), 'BROADCAST_UNKNOWN', reason);
    assert.equal(await outcomeOf(failing('NODE_REFUSED', refusal, null)), 'TRANSACTION_REJECTED', reason);
    assert.equal(await outcomeOf(failing('NODE_REFUSED', refusal, { confirmations: 3 })), txid, reason);
  }
  const other = failing('NODE_REFUSED', { rpcCode: -26, reason: 'min relay fee not met' });
  assert.equal(await outcomeOf(other), 'TRANSACTION_REJECTED', 'its inputs are there, so no block has it');
});

test('BROADCAST_UNKNOWN: an error that is none of a node, and an answer that names no transaction', async () => {
  for (const detail of [{}, { rpcCode: -32_603 }, { rpcCode: -32_005 }, { rpcCode: 502 }, { rpcCode: 0 }])
    assert.equal(await outcomeOf(failing('NODE_REFUSED', detail)), 'BROADCAST_UNKNOWN', JSON.stringify(detail));
  for (const detail of [{ rpcCode: -8 }, { rpcCode: -32_601 }, { status: 401 }])
    assert.equal(await outcomeOf(failing('NODE_REFUSED', detail)), 'NODE_REFUSED', JSON.stringify(detail));
  for (const answer of [null, '', {}, 'ab'.repeat(32)]) {
    const node = { call: async () => answer, batch: async () => [] };
    assert.equal(await outcomeOf(node), 'BROADCAST_UNKNOWN', JSON.stringify(answer));
  }
  assert.equal(await outcomeOf({ call: async () => txid, batch: async () => [] }), txid);
});
