import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { type TransactionForm, writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { hash160, payTo } from '../../../src/coin/script/pay-scripts.ts';
import { NodeCoins } from '../../../src/encoder/coins/coins.ts';
import { Reservations } from '../../../src/encoder/coins/reservations.ts';
import { createTransaction } from '../../../src/encoder/creation/create-transaction.ts';
import { NodePolicyReader, policyOf } from '../../../src/encoder/creation/node-policy.ts';
import { type CreateRequest, readFee } from '../../../src/encoder/creation/request.ts';
import { compose, type Order } from '../../../src/encoder/transaction/compose.ts';
import { readSender } from '../../../src/encoder/transaction/sender.ts';
import { dogecoinRefusal } from '../../support/coin/dogecoin-fees.ts';
import { publicKeyOf } from '../../support/encoder/signer.ts';

const NETWORK = chainNetwork('dogecoin', 'mainnet');
const KEY = publicKeyOf(hash('sha256', 'a key on Dogecoin', 'buffer'));
const SENDER = readSender(KEY.toString('hex'), undefined, NETWORK);
const PAYEE = payTo({ kind: 'keyHash', bytes: hash160(Buffer.alloc(33, 5)) });
/** Policy of a node with the defaults of 1.14.9: it does not know what miners take. */
const POLICY = policyOf(
  { mempool: { mempoolminfee: '0' }, network: { relayfee: '0.00100000' } },
  [null, null, null],
  NETWORK.leastMinedRate
);
const BOUNDS = { mostRate: BigInt(NETWORK.usualMostRate) * 1_000n, softDust: NETWORK.softDust };

function order(more: Partial<Order>, request: Parameters<typeof readFee>[0] = {}): Order {
  return {
    encoding: 'MULTISIGN',
    frame: writeFrame('SEND|0|TOK|5|someone'),
    magic: 'PNOD',
    sender: SENDER,
    outputs: [],
    feeOutputs: [],
    changeScript: SENDER.script,
    limitFee: () => undefined,
    sequence: 0xffffffff,
    fee: readFee(request, POLICY, BOUNDS),
    dust: { ...NETWORK, floor: 0 },
    ...more
  };
}
const coins = (...amounts: readonly bigint[]) =>
  amounts.map((amount, vout) => ({ txid: 'cd'.repeat(32), vout, amount }));
const refusal = (form: TransactionForm, fee: bigint) =>
  dogecoinRefusal(writeTransaction(form).length, form.outputs, fee);

test('Dogecoin: peers relay and miners take what is built, whatever it carries and pays', () => {
  const long = writeFrame(`FILE|0|${'x'.repeat(500)}`);
  for (const encoding of ['OP_RETURN', 'MULTISIGN', 'P2SH'] as const)
    for (const amounts of [[], [100_000n], [100_000n, 999_999n, 1_000_000n]])
      for (const held of [20_000_000n, 12_345_678n]) {
        const outputs = amounts.map((amount) => ({ amount, script: PAYEE }));
        const frame = encoding === 'OP_RETURN' ? writeFrame('SEND|0|A|1|b') : long;
        const { first, reveal } = compose(order({ encoding, frame, outputs }), coins(held, held, 3_000_000n));
        assert.equal(refusal(first.form, first.fee), undefined, `${encoding} ${amounts}`);
        if (reveal) assert.equal(refusal(reveal.form, reveal.fee), undefined, `${encoding} ${amounts}, its reveal`);
      }
});

test('Dogecoin: an output of our own choice holds what costs nothing more; change is none below it', () => {
  const data = compose(order({ frame: writeFrame(`FILE|0|${'x'.repeat(500)}`) }), coins(100_000_000n));
  const held = data.first.form.outputs.slice(0, -1).map(({ amount }) => amount);
  assert.deepEqual(new Set(held), new Set([1_000_000n]));
  assert.equal(held.length, 9);
  const { change } = compose(order({ encoding: 'OP_RETURN' }), coins(1_200_000n)).first;
  assert.equal(change, null);
});

test('Dogecoin: a whole fee must pay for small outputs too', () => {
  const outputs = [{ amount: 100_000n, script: PAYEE }];
  const build = (fee: number) => compose(order({ encoding: 'OP_RETURN', outputs }, { fee }), coins(90_000_000n));
  assert.throws(() => build(900_000), { code: 'REQUEST_INVALID', message: /the least that the node relays/ });
  const { first } = build(1_300_000);
  assert.equal(refusal(first.form, first.fee), undefined);
});

test('Dogecoin: no payload goes into a taproot script, which anybody could spend, whatever the profile says', async () => {
  const answers: Readonly<Record<string, unknown>> = {
    getblockcount: 6_500_000,
    getmempoolinfo: { mempoolminfee: '0' },
    getnetworkinfo: { relayfee: '0.00100000' },
    estimatesmartfee: { feerate: -1 }
  };
  const rpc = { call: async (method: string) => answers[method] } as unknown as NodeRpc;
  const deps = {
    network: NETWORK,
    profile: { ...DEFAULT_PROFILE, activations: { ...DEFAULT_PROFILE.activations, TAPROOT_ENVELOPE: 0 } },
    magic: 'PNOD',
    dustFloor: 0,
    mostFeeRate: BOUNDS.mostRate,
    policy: new NodePolicyReader(rpc, NETWORK, BOUNDS.mostRate),
    coins: new NodeCoins(rpc, { coinbaseMaturity: 240 }),
    reservations: new Reservations({ ttlMs: 1_000, mostOfOne: 10, most: 10 })
  };
  const request = {
    pubkey: KEY.toString('hex'),
    data: `FILE|0|${'x'.repeat(500)}`,
    encoding: 'TAPROOT',
    options: { signerSupportsTapscript: true }
  } as unknown as CreateRequest;
  await assert.rejects(createTransaction(request, deps, 'me'), { code: 'ENCODING_UNAVAILABLE' });
});

test('the double refuses what Dogecoin does: data outputs that cost more than they hold, and a rate that no miner takes', () => {
  const outputs = Array.from({ length: 9 }, () => ({ amount: 100_000n, script: PAYEE }));
  assert.match(dogecoinRefusal(1_200, outputs, 362_000n)!, /min relay fee not met, 362000 < 9120000/);
  assert.match(dogecoinRefusal(1_000, [], 100_000n)!, /miners ask 1000000/);
  assert.equal(dogecoinRefusal(1_000, [{ amount: 99_999n, script: PAYEE }], 10_000_000n), 'dust');
});
