import { p2tr, TAP_LEAF_VERSION } from '@scure/btc-signer/payment.js';
import { TaprootControlBlock, type TransactionInputUpdate } from '@scure/btc-signer/psbt.js';
import { chunkScripts, envelopeScript } from '../../coin/payload/lane-writer.ts';
import type { Unlock } from '../../coin/raw/transaction-form.ts';
import { payToScript } from '../../coin/script/pay-scripts.ts';
import { writePush } from '../../coin/script/script.ts';
import { type Coverage, type Sender, SIGNATURE, SPARE_WEIGHT, spareOfScript, TAPROOT_SIGNATURE } from './sender.ts';

/** An output that holds a part of a payload. The input that spends it reveals the part. */
export interface Lock {
  readonly script: Buffer;
  /** The redeem script, witness script or leaf that the output commits to. The PSBT shows it to signers. */
  readonly inner: Buffer;
  /** PSBT fields for the input that spends it. */
  readonly fields: Pick<TransactionInputUpdate, 'redeemScript' | 'witnessScript' | 'tapLeafScript'>;
  readonly unlock: Unlock;
  readonly covers: Coverage;
  /**
   * Envelope only: the 32-byte key and the leaf's hash. With both the owner can spend the output without revealing the
   * leaf.
   */
  readonly internalKey?: Buffer;
  readonly leafHash?: Buffer;
}

export type TwoStepEncoding = 'P2SH' | 'P2WSH' | 'TAPROOT';

const NO_BYTES = Buffer.alloc(0);
const UNKNOWN_KEY = Buffer.alloc(33);

/** Returns the outputs that hold a frame, in the order in which the reveal must spend them with the sender's key. */
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
        script: payToScript(inner, 'p2sh'),
        inner,
        fields: { redeemScript: inner },
        unlock: { script: pushes, witness: [], spareWeight: spareOfScript(pushes, isKeyKnown) },
        covers: 'no amount'
      }
    : {
        script: payToScript(inner, 'p2wsh'),
        inner,
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
    script: Buffer.from(script),
    inner: leaf,
    internalKey: key,
    leafHash: Buffer.from(tapMerkleRoot!),
    // The internal key is the sender's, for taking the coins back. The PSBT leaves it out: signers would spend without the leaf.
    fields: { tapLeafScript: tapLeafScript! },
    unlock: { script: NO_BYTES, witness: [TAPROOT_SIGNATURE, leaf, TaprootControlBlock.encode(controlBlock)] },
    covers: 'all amounts'
  };
}
