import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import { readPayments } from '../../../src/encoder/creation/request.ts';

const NETWORK = chainNetwork('bitcoin', 'regtest');
const [SELLER, OTHER] = [1, 2].map(
  (byte) => addressOf(payTo({ kind: 'witnessKeyHash', bytes: Buffer.alloc(20, byte) }), NETWORK.addresses)!
) as [string, string];
const customOutputs = [
  { address: SELLER, value: '100000' },
  { address: OTHER, value: 70_000 },
  { address: SELLER, value: 50_000 },
  { address: OTHER, value: 80_000 },
  { address: SELLER, value: 50_000 }
];
const paid = (data: string | undefined) =>
  readPayments(data === undefined ? { customOutputs } : { data, customOutputs }, NETWORK).map(({ amount, script }) => [
    addressOf(script, NETWORK.addresses),
    amount
  ]);

test('beside a COINPAY the least output to an address comes first: a ledger takes the first one that suffices', () => {
  for (const data of ['COINPAY|0|7', 'BATCH|0|SEND|0|TOKA|1|x; coinpay |0|7;COINPAY|0|8'])
    assert.deepEqual(paid(data), [
      [SELLER, 50_000n],
      [OTHER, 70_000n],
      [SELLER, 50_000n],
      [OTHER, 80_000n],
      [SELLER, 100_000n]
    ]);
});

test('other payments stay in the order of the request: each is one of its own', () => {
  const asked = customOutputs.map(({ address, value }) => [address, BigInt(value)]);
  for (const data of [undefined, '', 'SEND|0|COINPAY|1|x']) assert.deepEqual(paid(data), asked);
});
