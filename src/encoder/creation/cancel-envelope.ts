import Type, { type Static } from 'typebox';
import { paidScript } from '../../coin/script/address-script.ts';
import { payToTree } from '../../coin/script/taproot.ts';
import { PlatformError } from '../../errors.ts';
import { unusable } from '../coins/coins.ts';
import { dustAmount } from '../transaction/dust.ts';
import { TAPROOT_SIGNATURE } from '../transaction/sender.ts';
import type { EncoderDeps } from './create-transaction.ts';
import { ADDRESS, FINAL, GIVEN_TXID, RATE, REPLACEABLE, readFee, SATOSHIS, VOUT } from './request.ts';
import { psbtPaying } from './self-check.ts';

/** The parameters of `create_envelope_cancel_tx`. */
export const CancelParams = Type.Object({
  commitTxid: GIVEN_TXID,
  commitVout: VOUT,
  commitValue: SATOSHIS,
  internalPubkey: Type.String({
    pattern: '^(?:0[23])?[0-9a-fA-F]{64}$',
    description: 'the key that the first transaction paid, 33 or 32 bytes: from `envelope` of create_tx'
  }),
  tapleafHash: GIVEN_TXID,
  destination: ADDRESS,
  feePerKb: Type.Optional(RATE),
  replacebyfee: Type.Optional(Type.Boolean())
});

/** The result of `create_envelope_cancel_tx`. */
export const CancelledSchema = Type.Object({
  psbt: Type.String({ description: 'hex of a PSBT, version 0' }),
  encoding: Type.Literal('TAPROOT'),
  cancel: Type.Literal(true),
  fee: Type.Integer({ description: 'satoshis' })
});

const NO_BYTES = Buffer.alloc(0);

/**
 * Builds the PSBT that spends the first transaction of an envelope by its owner's key. Nothing is revealed, and the
 * coins come back.
 *
 * @throws {PlatformError} REQUEST_INVALID, COIN_UNUSABLE when there is no such output, NODE_UNREACHABLE, NODE_REFUSED
 */
export async function cancelEnvelope(
  request: Static<typeof CancelParams>,
  { network, dustFloor, mostFeeRate, policy, coins }: EncoderDeps
): Promise<Static<typeof CancelledSchema>> {
  const { commitVout: vout, destination, replacebyfee } = request;
  const txid = request.commitTxid.toLowerCase();
  const [key, root] = [request.internalPubkey.slice(-64), request.tapleafHash].map((hex) => Buffer.from(hex, 'hex'));
  const script = payToTree(key!, root!);
  if (!script) throw invalid('internalPubkey is not a key of secp256k1');
  const [coin] = await coins.sourced([{ txid, vout }], script);
  if (coin!.amount !== BigInt(request.commitValue))
    throw unusable({ txid, vout }, `it holds ${coin!.amount} satoshis, not commitValue`);
  if ((await coins.spendable([coin!])).length === 0)
    throw unusable(
      { txid, vout },
      (await coins.isAtNode(txid)) ? 'it is spent' : 'the node no longer has its transaction: a reorg took it away'
    );
  const unlock = { script: NO_BYTES, witness: [TAPROOT_SIGNATURE] };
  const inputs = [{ txid, vout, sequence: replacebyfee ? REPLACEABLE : FINAL, unlock }];
  const paid = paidScript(destination, network);
  const bounds = { mostRate: mostFeeRate, softDust: network.softDust };
  const fee = readFee(
    request,
    await policy.read(),
    bounds
  )({ inputs, outputs: [{ amount: coin!.amount, script: paid }] });
  const amount = coin!.amount - fee;
  const least = dustAmount(paid, { ...network, floor: dustFloor });
  if (amount < least)
    throw invalid(`a fee of ${fee} satoshis leaves less than the least amount of an output, ${least}`);
  const spent = { amount: coin!.amount, script, transaction: null, hasWitness: true };
  const fields = { tapInternalKey: key!, tapMerkleRoot: root! };
  const psbt = psbtPaying({ inputs, outputs: [{ amount, script: paid }] }, [{ ...spent, fields }], fee);
  return { psbt, encoding: 'TAPROOT', cancel: true, fee: Number(fee) };
}

const invalid = (reason: string) => new PlatformError('REQUEST_INVALID', { reason });
