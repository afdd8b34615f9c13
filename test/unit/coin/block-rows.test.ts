import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBlockRows } from '../../../src/coin/block-rows.ts';
import type { NodeBlock, NodeOutput } from '../../../src/coin/node-chain.ts';
import { encodePayload } from '../../../src/coin/payload.ts';
import { writePush } from '../../../src/coin/script.ts';
import { PlatformError } from '../../../src/errors.ts';

const PARENT = 'ab'.repeat(32);
const KEY = `02${'11'.repeat(32)}`;
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const output = (type: string, addresses?: string[], value: string | number = '1.00000000'): NodeOutput => ({
  value,
  scriptPubKey: { hex: '0014', type, ...(addresses ? { addresses } : {}) }
});
const paysTo = (address: string) => async () => output('witness_v0_keyhash', [address]);

/** A transaction that says the action, as a node prints it. */
function say(action: string, more: { vout?: unknown[]; vin?: object } = {}) {
  const payload = hexOf(writePush(encodePayload(PARENT, action)));
  return {
    txid: 'cd'.repeat(32),
    vin: [{ txid: PARENT, vout: 3, scriptSig: { hex: '' }, txinwitness: ['30', KEY], ...more.vin }],
    vout: [{ value: '0.00000000', n: 0, scriptPubKey: { hex: `6a${payload}`, type: 'nulldata' } }, ...(more.vout ?? [])]
  };
}

const block = (...tx: { txid: string }[]): NodeBlock => ({ hash: 'ee'.repeat(32), height: 7, time: 1234, tx });

test('a transaction with an action and a source becomes a row, others do not', async () => {
  const coinbase = { txid: '01'.repeat(32), vin: [{ coinbase: '00' }], vout: [] };
  const asked: unknown[] = [];
  const rows = await readBlockRows(block(coinbase, say('SEND|0')), async (...place) => {
    asked.push(place);
    return output('witness_v0_keyhash', ['rltc1source']);
  });
  assert.deepEqual(asked, [[PARENT, 3]]);
  assert.deepEqual(rows, {
    height: 7,
    time: 1234,
    hash: 'ee'.repeat(32),
    previousHash: '',
    quarantined: [],
    transactions: [
      { hash: 'cd'.repeat(32), source: 'rltc1source', data: 'SEND|0', rawData: null, pubkey: KEY, outputs: [] }
    ]
  });
});

test('a spent output that no address stands for is no source', async () => {
  for (const spent of [output('pubkey', ['mAddress']), output('multisig', ['a', 'b']), output('witness_unknown'), {}]) {
    assert.deepEqual((await readBlockRows(block(say('SEND|0')), async () => spent)).transactions, []);
  }
});

test('outputs of a COINPAY are kept to the base unit; those of other actions are not', async () => {
  const vout = [output('pubkeyhash', ['mA'], '0.29000000'), {}, { ...output('scripthash', ['QB'], '1e-08'), n: 9 }];
  const read = async (action: string) =>
    (await readBlockRows(block(say(action, { vout })), paysTo('s'))).transactions[0]?.outputs;
  assert.deepEqual(await read('COINPAY|0|5'), [
    { vout: 1, address: 'mA', amount: 29_000_000n },
    { vout: 9, address: 'QB', amount: 1n }
  ]);
  assert.deepEqual(await read('SEND|0'), []);
});

test('the public key is the second witness item, else the last push, else none', async () => {
  const read = async (vin: object) =>
    (await readBlockRows(block(say('SEND|0', { vin })), paysTo('s'))).transactions[0]?.pubkey;
  const uncompressed = `04${'22'.repeat(64)}`;
  const legacy = hexOf(writePush(Buffer.from('30'))) + hexOf(writePush(Buffer.from(uncompressed, 'hex')));
  assert.equal(await read({ txinwitness: [], scriptSig: { hex: legacy } }), uncompressed);
  assert.equal(await read({ txinwitness: ['aa'] }), null);
  assert.equal(await read({ txinwitness: ['30', '05'], scriptSig: { hex: '4d' } }), null);
});

test('a transaction that cannot be read in three tries is quarantined, and the block goes on', async () => {
  let reads = 0;
  const strange = say('COINPAY|0', { vout: [output('pubkeyhash', ['mA'], 'many')] });
  const malformed = { txid: '02'.repeat(32), vin: 'none' };
  const rows = await readBlockRows(block(strange, malformed, say('SEND|0')), async () => {
    reads += 1;
    return output('pubkeyhash', ['mS']);
  });
  assert.equal(reads, 3 + 1);
  assert.equal(rows.transactions.length, 1);
  assert.deepEqual(
    rows.quarantined.map(({ hash, reason }) => [hash, /many|malformed/.exec(reason)?.[0]]),
    [
      [strange.txid, 'many'],
      [malformed.txid, 'malformed']
    ]
  );
});

test('a lookup that fails is no verdict on the transaction: the block fails at once', async () => {
  let reads = 0;
  const lookup = async () => {
    reads += 1;
    throw new PlatformError('NODE_UNREACHABLE');
  };
  await assert.rejects(readBlockRows(block(say('SEND|0')), lookup), { code: 'NODE_UNREACHABLE' });
  assert.equal(reads, 1);
});
