import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { CHAINS, chainNetwork } from '../../../src/coin/chains.ts';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { hashId } from '../../../src/coin/raw/hash-id.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { type FormOutput, virtualSize, writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { hash160, payTo, payToScript } from '../../../src/coin/script/pay-scripts.ts';
import { refuseForgotten } from '../../../src/encoder/creation/forgotten-payments.ts';
import { readFee } from '../../../src/encoder/creation/request.ts';
import { compose, composeReveal, type Order } from '../../../src/encoder/transaction/compose.ts';
import { dustAmount } from '../../../src/encoder/transaction/dust.ts';
import type { TwoStepEncoding } from '../../../src/encoder/transaction/locks.ts';
import { readSender, type Sender } from '../../../src/encoder/transaction/sender.ts';
import { publicKeyOf } from '../../support/encoder/signer.ts';
import fc from '../../support/fast-check.ts';

const KEY = publicKeyOf(hash('sha256', 'a key of a test', 'buffer'));
const PAYEE = payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, 7) });
const COINS = { few: 3, amount: 900_000_000n };

/** A plain sender whose key is not known and one whose key is, and a nested segwit one. */
function sendersOf(network: ReturnType<typeof chainNetwork>): readonly Sender[] {
  const plain = addressOf(payTo({ kind: 'keyHash', bytes: hash160(KEY) }), network.addresses)!;
  const redeem = payTo({ kind: 'witnessKeyHash', bytes: hash160(KEY) });
  const nested = addressOf(payToScript(redeem, 'p2sh'), network.addresses)!;
  const key = KEY.toString('hex');
  const known = readSender(plain, key, network);
  const others = [readSender(plain, undefined, network), readSender(nested, key, network)];
  return network.addresses.bech32 === null ? [known, others[0]!] : [known, ...others];
}

const calls = fc
  .record({
    network: fc.constantFrom(...CHAINS.map((chain) => chainNetwork(chain, 'mainnet'))),
    sender: fc.nat(),
    encoding: fc.constantFrom<TwoStepEncoding>('P2SH', 'P2WSH', 'TAPROOT'),
    letters: fc.integer({ min: 80, max: 4_000 }),
    // In thousandths of the chain's least rate.
    rates: fc.array(fc.oneof(fc.integer({ min: 1_000, max: 90_000 }), fc.constant(1_000)), {
      minLength: 2,
      maxLength: 2
    }),
    coins: fc.integer({ min: 1, max: COINS.few }),
    more: fc.bigInt({ min: 0n, max: 200_000n })
  })
  .map(({ network, sender, encoding, letters, rates, coins, more }) => {
    const senders = sendersOf(network);
    const payer = senders[sender % senders.length]!;
    const isPlain = network.addresses.bech32 === null || (encoding !== 'P2SH' && payer.publicKey === null);
    return { network, sender: payer, encoding: isPlain ? 'P2SH' : encoding, letters, rates, coins, more } as const;
  });
type Call = typeof calls extends fc.Arbitrary<infer T> ? T : never;

/** The first transaction of two, and the second call about it. @param extra satoshis that the first one pays beyond its fee */
function secondCall({ network, sender, encoding, letters, rates, coins: count }: Call, paid: bigint, extra = 0n) {
  const orderAt = (thousandths: number, outputs: readonly FormOutput[]): Order => {
    const [rate, leastRate] = [BigInt(thousandths * network.leastMinedRate) / 1_000n, BigInt(network.leastMinedRate)];
    const policy = { rates: { low: rate, medium: rate, high: rate }, leastRate, estimateFault: undefined };
    return {
      encoding,
      frame: writeFrame(`BROADCAST|0|${'x'.repeat(letters)}`),
      magic: 'PNOD',
      sender,
      outputs,
      feeOutputs: [],
      changeScript: sender.script,
      fee: readFee({}, policy, { mostRate: 10n ** 12n, softDust: network.softDust }),
      limitFee: () => undefined,
      dust: { ...network, floor: 0 },
      sequence: 0xffffffff
    };
  };
  const coins = Array.from({ length: count }, (_, vout) => ({ txid: 'cd'.repeat(32), vout, amount: COINS.amount }));
  const outputs = paid === 0n ? [] : [{ amount: paid, script: PAYEE }];
  const { first: made, locks } = compose(
    orderAt(rates[0]!, outputs),
    coins.map((coin) => ({ ...coin, amount: 10n ** 12n }))
  );
  const form = {
    ...made.form,
    outputs: made.form.outputs.map((output, at) =>
      at < made.form.outputs.length - 1 ? output : { ...output, amount: output.amount - extra }
    )
  };
  const bytes = writeTransaction(form);
  const first = readRawTransaction(bytes);
  const order = { ...orderAt(rates[1]!, []), leastFee: () => 0n };
  const locked = locks.map((lock, vout) => ({ vout, amount: first.output(vout)!.amount, lock }));
  const reveal = composeReveal(order, { txid: hashId(bytes), locked });
  const placed = async (places: readonly { readonly txid: string; readonly vout: number }[]) =>
    places.map((place) => ({ ...place, amount: 10n ** 12n, script: Buffer.from(sender.script), transaction: bytes }));
  const sources = { coins: { placed }, network, leastRate: BigInt(network.leastMinedRate) };
  return { asked: refuseForgotten({ order, reveal, first }, sources), size: virtualSize(form) };
}

test('a second call that names no payments goes on where the first transaction holds none', async () => {
  await fc.assert(
    fc.asyncProperty(calls, async (call) => {
      await secondCall(call, 0n).asked;
    }),
    { numRuns: 200 }
  );
});

test('a second call that forgets the payments of the first one is refused, whatever the rates of both', async () => {
  await fc.assert(
    fc.asyncProperty(calls, async (call) => {
      const paid = dustAmount(PAYEE, { ...call.network, floor: 0 }) + call.more;
      await assert.rejects(secondCall(call, paid).asked, /send customOutputs( and feeQuote)? of the first call, \[\]/);
    }),
    { numRuns: 200 }
  );
});
