import { p2tr, TAP_LEAF_VERSION } from '@scure/btc-signer/payment.js';
import { TaprootControlBlock, type TransactionInputUpdate } from '@scure/btc-signer/psbt.js';
import { chunkScripts, envelopeScript } from '../../coin/payload/lane-writer.ts';
import type { Unlock } from '../../coin/raw/transaction-form.ts';
import { payToScript } from '../../coin/script/pay-scripts.ts';
import { writePush } from '../../coin/script/script.ts';
import { type Coverage, type Sender, SIGNATURE, SPARE_WEIGHT, spareOfScript, TAPROOT_SIGNATURE } from './sender.ts';

/** An output that holds a part of a payload, which the input that spends it reveals. */
export interface Lock {
  readonly script: Buffer;
  /** What it commits to: the redeem script, the witness script or the leaf, which signers are shown. */
  readonly inner: Buffer;
  /** What the reveal's PSBT tells a signer. */
  readonly fields: Pick<TransactionInputUpdate, 'redeemScript' | 'witnessScript' | 'tapLeafScript'>;
  readonly unlock: Unlock;
  readonly covers: Coverage;
  /** Of an envelope: the key, 32 bytes, and the hash of the leaf, by which its owner spends it without revealing it. */
  readonly internalKey?: Buffer;
  readonly leafHash?: Buffer;
}

export type TwoStepEncoding = 'P2SH' | 'P2WSH' | 'TAPROOT';

const NO_BYTES = Buffer.alloc(0);
const UNKNOWN_KEY = Buffer.alloc(33);

/** The outputs that hold a frame, in the order in which they are to be spent. The sender's key spends them. */
export function locksOf(encoding: TwoStepEncoding, frame: Uint8Array, sender: Sender, magic: string): readonly Lock[] {
  if (encoding === 'TAPROOT') return [envelopeLock(frame, sender.publicKey!, magic)];
  return chunkScripts(frame, sender.keyHash!).map((script) => chunkLock(encoding, script, sender));
}

function chunkLock(encoding: 'P2SH' | 'P2WSH', inner: Buffer, { publicKey, isSegwit }: Sender): Lock {
  const items = [SIGNATURE, publicKey ?? UNKNOWN_KEY, inner];
  const pushes = Buffer.concat(items.map(writePush));
  const isKeyKnown = publicKey !== null || isSegwit;
  return encoding === 'P2SH'
    ? {
        ...{ script: payToScript(inner, 'p2sh'), inner },
        fields: { redeemScript: inner },
        unlock: { script: pushes, witness: [], spareWeight: spareOfScript(pushes, isKeyKnown) },
        covers: 'no amount'
      }
    : {
        ...{ script: payToScript(inner, 'p2wsh'), inner },
        fields: { witnessScript: inner },
        unlock: { script: NO_BYTES, witness: items, spareWeight: SPARE_WEIGHT.inWitness },
        covers: 'own amount'
      };
}

function envelopeLock(frame: Uint8Array, publicKey: Buffer, magic: string): Lock {
  const key = publicKey.subarray(1);
  const leaf = envelopeScript(frame, key, magic);
  const { script, tapLeafScript, tapMerkleRoot } = p2tr(
    key,
    { script: leaf, leafVersion: TAP_LEAF_VERSION },
    undefined,
    true
  );
  const [controlBlock] = tapLeafScript![0]!;
  return {
    ...{ script: Buffer.from(script), inner: leaf, internalKey: key, leafHash: Buffer.from(tapMerkleRoot!) },
    // The internal key is the sender's, who can take the coins back. Signers are not told: they would spend without the leaf.
    fields: { tapLeafScript: tapLeafScript! },
    unlock: { script: NO_BYTES, witness: [TAPROOT_SIGNATURE, leaf, TaprootControlBlock.encode(controlBlock)] },
    covers: 'all amounts'
  };
}
