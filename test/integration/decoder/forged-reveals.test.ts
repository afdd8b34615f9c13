import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { returnScript } from '../../../src/coin/payload/lane-writer.ts';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payToScript } from '../../../src/coin/script/pay-scripts.ts';
import { firstSpent, revealSpent } from '../../../src/encoder/coins/spent.ts';
import { composeReveal, type Order, orderLocks } from '../../../src/encoder/transaction/compose.ts';
import type { TwoStepEncoding } from '../../../src/encoder/transaction/locks.ts';
import { writePsbt } from '../../../src/encoder/transaction/psbt.ts';
import { readSender } from '../../../src/encoder/transaction/sender.ts';
import {
  type Chain,
  decode,
  FEE,
  HELD,
  MAGIC,
  pay,
  senderOf,
  startChains,
  THIEF,
  VICTIM
} from '../../support/decoder/victim-chains.ts';
import { publicKeyOf, signPsbt } from '../../support/encoder/signer.ts';

let chains: ReadonlyMap<string, Chain>;

before(async () => {
  chains = await startChains();
});

/** An action in scripts that a key's owner can spend, which the victim pays. @returns the id of the transaction that reveals it */
async function reveal(chain: Chain, encoding: TwoStepEncoding, owner: Buffer, action: string): Promise<string> {
  const sender = senderOf(owner, chain.network);
  const order: Order & { encoding: TwoStepEncoding } = {
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
    dust: { ...chain.network, floor: 0 }
  };
  const locks = orderLocks(order);
  const payment = await pay(
    chain,
    locks.map(({ script }) => ({ amount: HELD, script }))
  );
  const { txid } = readRawTransaction(payment);
  const locked = locks.map((lock, vout) => ({ vout, amount: HELD, lock }));
  const { form, funding } = composeReveal(order, { txid, locked });
  const hex = signPsbt(writePsbt(form, revealSpent(funding, payment)).toString('hex'), owner);
  await chain.send(hex);
  return readRawTransaction(Buffer.from(hex, 'hex')).txid;
}

/** The thief's nested segwit address, which the victim pays, says something in an output. */
async function sayNested(chain: Chain, action: string): Promise<string> {
  const key = publicKeyOf(THIEF);
  const script = payToScript(senderOf(THIEF, chain.network).script, 'p2sh');
  const thief = readSender(addressOf(script, chain.network.addresses)!, key.toString('hex'), chain.network);
  const payment = await pay(chain, [{ amount: HELD, script }]);
  const { txid } = readRawTransaction(payment);
  const form = {
    inputs: [{ txid, vout: 0, sequence: 0xffffffff, unlock: thief.unlock }],
    outputs: [
      { amount: 0n, script: returnScript(txid, writeFrame(action), MAGIC) },
      { amount: HELD - FEE, script }
    ]
  };
  const spent = firstSpent(thief, [{ txid, vout: 0, amount: HELD, transaction: null }]);
  const hex = signPsbt(writePsbt(form, spent).toString('hex'), THIEF);
  await chain.send(hex);
  return readRawTransaction(Buffer.from(hex, 'hex')).txid;
}

const REFUSED = { waiting: undefined, row: undefined, codes: ['SOURCE_NOT_SIGNER'] };
const CASES = [
  ['litecoind', ['P2WSH', 'P2SH', 'TAPROOT']],
  ['bcoin', ['P2WSH', 'P2SH']]
] as const;

for (const [name, encodings] of CASES)
  for (const encoding of encodings) {
    test(`${name}, ${encoding}: who is paid at the address of a script does not act in the payer's name`, async () => {
      const chain = chains.get(name)!;
      const long = `SEND|0|VICTIM|100|${addressOf(senderOf(THIEF, chain.network).script, chain.network.addresses)}|${'x'.repeat(500)}`;
      for (const alwaysHops of [false, true]) {
        const forged = await reveal(chain, encoding, THIEF, long);
        assert.deepEqual(await decode(chain, forged, { alwaysHops }), REFUSED);
        const own = await reveal(chain, encoding, VICTIM, long);
        const victim = senderOf(VICTIM, chain.network);
        const key = encoding === 'P2WSH' ? publicKeyOf(VICTIM).toString('hex') : null;
        const row = [victim.address, long, key];
        assert.deepEqual(await decode(chain, own, { alwaysHops }), { waiting: row, row, codes: [] });
      }
    });
    test(`${name}, ${encoding}: without the rule the payer's tokens move, and the key counts as the payer's`, async () => {
      const chain = chains.get(name)!;
      const forged = await reveal(chain, encoding, THIEF, 'SEND|0|VICTIM|100|thief');
      const { row } = await decode(chain, forged, { revealKeyHeight: Number.POSITIVE_INFINITY });
      assert.equal(row?.[0], senderOf(VICTIM, chain.network).address);
    });
  }

for (const name of ['litecoind', 'bcoin'])
  test(`${name}: with SOURCE_HOP=always, a paid nested segwit address does not act in the payer's name`, async () => {
    const chain = chains.get(name)!;
    const txid = await sayNested(chain, 'SEND|0|VICTIM|100|thief');
    assert.deepEqual(await decode(chain, txid, { alwaysHops: true }), REFUSED);
    const own = await sayNested(chain, 'SEND|0|MINE|1|anybody');
    const { row } = await decode(chain, own);
    const nested = payToScript(senderOf(THIEF, chain.network).script, 'p2sh');
    assert.equal(row?.[0], addressOf(nested, chain.network.addresses));
  });
