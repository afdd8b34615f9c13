import assert from 'node:assert/strict';
import { Transaction } from '@scure/btc-signer/transaction.js';
import { returnScript } from '../../../src/coin/payload/lane-writer.ts';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { DEVNET } from '../../../src/devnet/settings.ts';
import { revealSpent } from '../../../src/encoder/coins/spent.ts';
import { composeReveal, type Order, orderLocks } from '../../../src/encoder/transaction/compose.ts';
import type { TwoStepEncoding } from '../../../src/encoder/transaction/locks.ts';
import { writePsbt } from '../../../src/encoder/transaction/psbt.ts';
import { signPsbt } from '../../../test/support/encoder/signer.ts';
import type { Arena } from '../arena.ts';
import type { Attack } from '../attack.ts';
import { sayNested } from '../nested.ts';
import type { OwnCoin, Person } from '../person.ts';
import { issue } from './texts.ts';

const HELD = 500_000n;
const FEE = 50_000n;
/** A memo. */
const LONG = 'x'.repeat(500);
/** Amount that the thief pays for the offered coin. */
const PREMIUM = 20_000n;

/** An action in scripts of the thief's, which the victim pays as it would pay anybody. @returns the id of what reveals it */
async function forge(
  arena: Arena,
  encoding: TwoStepEncoding,
  victim: Person,
  thief: Person,
  action: string
): Promise<string> {
  const { sender } = thief;
  const order: Order & { encoding: TwoStepEncoding } = {
    encoding,
    frame: writeFrame(action),
    magic: DEFAULT_PROFILE.payloadMagic,
    sender,
    outputs: [],
    feeOutputs: [],
    changeScript: sender.script,
    fee: () => FEE,
    limitFee: () => undefined,
    sequence: 0xffffffff,
    dust: { ...DEVNET, floor: 0 }
  };
  const locks = orderLocks(order);
  const hex = await victim.spend(
    victim.take(),
    locks.map(({ script }) => ({ amount: HELD, script }))
  );
  const payment = Buffer.from(hex, 'hex');
  const locked = locks.map((lock, vout) => ({ vout, amount: HELD, lock }));
  const { form, funding } = composeReveal(order, { txid: readRawTransaction(payment).txid, locked });
  const signed = signPsbt(writePsbt(form, revealSpent(funding, payment)).toString('hex'), thief.key);
  return String(await arena.rpc.call('sendrawtransaction', [signed]));
}

/** An offer of a coin, signed for whoever pays more for it, as markets of coins have it; the thief completes it by an action. */
async function complete(arena: Arena, victim: Person, thief: Person, sighash: number, action: string): Promise<string> {
  const [offered, paid] = [victim.take(), thief.take()];
  const transaction = new Transaction({ allowUnknownOutputs: true, disableScriptCheck: true });
  const input = ({ txid, vout, amount }: OwnCoin, { script }: Person) => ({
    txid,
    index: vout,
    witnessUtxo: { amount, script }
  });
  transaction.addInput({ ...input(offered, victim), sighashType: sighash });
  transaction.addOutput({ script: victim.script, amount: offered.amount + PREMIUM });
  transaction.addInput(input(paid, thief));
  const data = returnScript(offered.txid, writeFrame(action), DEFAULT_PROFILE.payloadMagic);
  transaction.addOutput({ script: data, amount: 0n });
  transaction.addOutput({ script: thief.script, amount: paid.amount - PREMIUM - FEE });
  transaction.signIdx(victim.key, 0, [sighash]);
  transaction.signIdx(thief.key, 1);
  transaction.finalize();
  const txid = String(await arena.rpc.call('sendrawtransaction', [transaction.hex]));
  victim.own({ txid, vout: 0, amount: offered.amount + PREMIUM });
  thief.own({ txid, vout: 2, amount: paid.amount - PREMIUM - FEE });
  return txid;
}

/** Signatures that leave outputs open. */
const OPEN_SIGNATURES = { NONE: 0x02, SINGLE: 0x03, 'NONE|ANYONECANPAY': 0x82, 'SINGLE|ANYONECANPAY': 0x83 } as const;

const COMPLETED: readonly Attack[] = Object.entries(OPEN_SIGNATURES).map(([sighash, type]) => ({
  name: `who completes a transaction that somebody signed with ${sighash} acts in the signer's name`,
  async *play(arena) {
    const [victim, thief] = await arena.people(`signer ${sighash}`, `completer ${sighash}`);
    const tick = `SIGNED${type}`;
    await victim!.act(issue(tick));
    yield;
    arena.payloadIds.forged.push(await complete(arena, victim!, thief!, type, `SEND|0|${tick}|100|${thief!.address}`));
    return async () => {
      assert.equal(await arena.balance(victim!.address, tick), '1000');
      assert.equal(await arena.balance(thief!.address, tick), '0');
    };
  }
}));

const FORGED: readonly Attack[] = (['P2WSH', 'P2SH', 'TAPROOT'] as const).map((encoding) => ({
  name: `who is paid at the address of a script (${encoding}) acts in the payer's name`,
  async *play(arena) {
    const [victim, thief] = await arena.people(`victim ${encoding}`, `thief ${encoding}`);
    const tick = `VICTIM${encoding}`;
    await victim!.act(issue(tick));
    yield;
    const { forged, own } = arena.payloadIds;
    forged.push(await forge(arena, encoding, victim!, thief!, `SEND|0|${tick}|100|${thief!.address}|${LONG}`));
    own.push(await forge(arena, encoding, victim!, victim!, `SEND|0|${tick}|100|${victim!.address}|${LONG}`));
    yield;
    forged.push(await forge(arena, encoding, victim!, thief!, `SWEEP|0|${thief!.address}|1|1|1|1|1`));
    return async () => {
      assert.equal(await arena.balance(victim!.address, tick), '1000');
      assert.equal(await arena.balance(thief!.address, tick), '0');
    };
  }
}));

const NESTED: Attack = {
  name: "who is paid at a nested segwit address acts in the payer's name",
  async *play(arena) {
    const [victim, thief] = await arena.people('nested victim', 'nested thief');
    await victim!.act(issue('NESTED'));
    yield;
    arena.payloadIds.forged.push(await sayNested(arena.rpc, victim!, thief!, `SEND|0|NESTED|100|${thief!.address}`));
    return async () => {
      assert.equal(await arena.balance(victim!.address, 'NESTED'), '1000');
      assert.equal(await arena.balance(thief!.address, 'NESTED'), '0');
    };
  }
};

/** Attacks on authority: a payee, or a party that completes a transaction, acts in the name of the payer or signer. */
export const AUTHORITY_ATTACKS: readonly Attack[] = [...FORGED, NESTED, ...COMPLETED];
