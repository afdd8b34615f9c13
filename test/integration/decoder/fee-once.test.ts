import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import { revealSpent } from '../../../src/encoder/coins/spent.ts';
import { composeReveal, type Order, orderLocks } from '../../../src/encoder/transaction/compose.ts';
import { writePsbt } from '../../../src/encoder/transaction/psbt.ts';
import {
  type Chain,
  decodeNext,
  FEE,
  HELD,
  MAGIC,
  pay,
  senderOf,
  startChains,
  VICTIM
} from '../../support/decoder/victim-chains.ts';
import { signPsbt } from '../../support/encoder/signer.ts';

const TOLL = payTo({ kind: 'witnessKeyHash', bytes: Buffer.alloc(20, 7) });
const ACTIONS = ['A', 'B'].map((name) => `BROADCAST|0|${name} ${'x'.repeat(600)}`);

let chains: ReadonlyMap<string, Chain>;

before(async () => {
  chains = await startChains();
});

for (const name of ['litecoind', 'bcoin'])
  for (const encoding of ['P2WSH', 'P2SH'] as const)
    test(`${name}, ${encoding}: one fee pays for one of two actions that a transaction funds`, async () => {
      const chain = chains.get(name)!;
      const { network } = chain;
      const sender = senderOf(VICTIM, network);
      const orders = ACTIONS.map((action): Order & { encoding: typeof encoding } => ({
        encoding,
        frame: writeFrame(action),
        magic: MAGIC,
        sender,
        outputs: [],
        feeOutputs: [],
        changeScript: sender.script,
        fee: () => FEE,
        limitFee: () => undefined,
        sequence: 0xffffffff,
        dust: { ...network, floor: 0 }
      }));
      const locks = orders.flatMap((order, at) => orderLocks(order).map((lock) => ({ at, lock })));
      const funded = locks.map(({ lock }) => ({ amount: HELD, script: lock.script }));
      const payment = await pay(chain, [...funded, { amount: HELD, script: TOLL }]);
      const { txid } = readRawTransaction(payment);
      // The second one is sent first.
      for (const [at, order] of [...orders.entries()].reverse()) {
        const locked = locks.flatMap((each, vout) => (each.at === at ? [{ vout, amount: HELD, lock: each.lock }] : []));
        const { form, funding } = composeReveal(order, { txid, locked });
        await chain.send(signPsbt(writePsbt(form, revealSpent(funding, payment)).toString('hex'), VICTIM));
      }
      const feeAddress = addressOf(TOLL, network.addresses)!;
      const fees = (rows: Awaited<ReturnType<typeof decodeNext>>) =>
        rows.map(({ data, outputs }) => [data, outputs.map(({ vout, amount }) => [vout, amount])]).sort();
      const paid = [[1_000_000 + locks.length, HELD]];
      const rows = await decodeNext(chain, { feeAddress });
      assert.deepEqual(fees(rows), [
        [ACTIONS[0], paid],
        [ACTIONS[1], []]
      ]);
    });
