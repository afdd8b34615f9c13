import { secp256k1 } from '@noble/curves/secp256k1.js';
import { p2tr } from '@scure/btc-signer/payment.js';
import type { TransactionInputUpdate } from '@scure/btc-signer/psbt.js';
import type { ChainNetwork } from '../../coin/chains.ts';
import { type Unlock, WITNESS_SCALE } from '../../coin/raw/transaction-form.ts';
import { addressOf } from '../../coin/script/address.ts';
import { addressScript } from '../../coin/script/address-script.ts';
import { hash160, payTo, payToScript, readProgram } from '../../coin/script/pay-scripts.ts';
import { writePush } from '../../coin/script/script.ts';
import { PlatformError } from '../../errors.ts';

/** Whose coins a transaction spends, and what signing one of them will add. */
export interface Sender {
  readonly address: string;
  readonly script: Buffer;
  /** 33 bytes; null where only the address is known. */
  readonly publicKey: Buffer | null;
  /** The hash of the key, 20 bytes; null for a taproot address whose key is not known. */
  readonly keyHash: Buffer | null;
  /** What a signer is told of each of its coins: the script of a nested segwit address, the key of a taproot one. */
  readonly fields: Pick<TransactionInputUpdate, 'redeemScript' | 'tapInternalKey'>;
  /** Of the signed form, with placeholders in place of signatures. */
  readonly unlock: Unlock;
  /** No signature changes the id of a transaction that spends only such coins. */
  readonly isSegwit: boolean;
  /** Which amounts a signature of one of its coins covers. */
  readonly covers: Coverage;
}

/** No amount without a witness, its own coin's in segwit, those of all inputs in taproot. */
export type Coverage = 'no amount' | 'own amount' | 'all amounts';

/** It covers all inputs and outputs. */
const SIGHASH_ALL = 1;
/** A signature as most signers make it, and its type. Some make half of them one byte longer, few are shorter. */
export const SIGNATURE = Buffer.concat([Buffer.alloc(70), Buffer.from([SIGHASH_ALL])]);
/** How much more an input may weigh by that byte. */
export const SPARE_WEIGHT = { inScript: WITNESS_SCALE, inWitness: 1 } as const;
/** A key whose hash alone is known may be uncompressed: 65 bytes in place of 33. */
const UNCOMPRESSED_MORE = 32;
/** A script from here on has a length of two more bytes. @see FormInput */
const LONG_SCRIPT = 253;

/** How much more an input may weigh by its script: by a longer signature, a longer key, and the length of both. */
export function spareOfScript({ length }: Uint8Array, isKeyKnown: boolean): number {
  const more = 1 + (isKeyKnown ? 0 : UNCOMPRESSED_MORE);
  const isLonger = length < LONG_SCRIPT && length + more >= LONG_SCRIPT;
  return WITNESS_SCALE * (more + (isLonger ? 2 : 0));
}

/** @see BIP 340: the usual type is not written. */
export const TAPROOT_SIGNATURE = Buffer.alloc(64);
const NO_BYTES = Buffer.alloc(0);

/**
 * A sender by address or public key. A key alone stands for its segwit address, or its plain one where the chain has no segwit.
 *
 * @param publicKey  hex of 33 bytes; needed for addresses of script hashes. That of a taproot address is the one before its tweak (BIP 86)
 * @throws {PlatformError} REQUEST_INVALID
 */
export function readSender(text: string, publicKey: string | undefined, network: ChainNetwork): Sender {
  const given = /^(?:[0-9a-f]{66}|[0-9a-f]{130})$/i.test(text) ? text : undefined;
  const key = readKey(given ?? publicKey);
  const script = given && key ? usualScript(key, network) : addressScript(text, network);
  const address = addressOf(script, network.addresses)!;
  const { kind, bytes } = readProgram(script)!;
  const keyHash = key && hash160(key);
  const keyBytes = key ?? Buffer.alloc(33);
  const sender = { address, script, publicKey: key, fields: {} };
  switch (kind) {
    case 'keyHash':
    case 'witnessKeyHash': {
      if (keyHash && !keyHash.equals(bytes)) throw invalid(`the key is not that of ${address}`);
      const pushes = Buffer.concat([writePush(SIGNATURE), writePush(keyBytes)]);
      const isSegwit = kind === 'witnessKeyHash';
      const unlock = isSegwit
        ? { script: NO_BYTES, witness: [SIGNATURE, keyBytes], spareWeight: SPARE_WEIGHT.inWitness }
        : { script: pushes, witness: [], spareWeight: spareOfScript(pushes, key !== null) };
      const covers = isSegwit ? 'own amount' : 'no amount';
      return { ...sender, keyHash: Buffer.from(bytes), unlock, isSegwit, covers };
    }
    case 'taproot': {
      const tapInternalKey = key?.subarray(1);
      if (tapInternalKey && !script.equals(p2tr(tapInternalKey).script))
        throw invalid(`the key is not that of ${address}`);
      const unlock = { script: NO_BYTES, witness: [TAPROOT_SIGNATURE] };
      return {
        ...sender,
        keyHash,
        fields: tapInternalKey ? { tapInternalKey } : {},
        unlock,
        isSegwit: true,
        covers: 'all amounts'
      };
    }
    case 'scriptHash': {
      const redeemScript = keyHash && payTo({ kind: 'witnessKeyHash', bytes: keyHash });
      if (!redeemScript || !payToScript(redeemScript, 'p2sh').equals(script))
        throw invalid(
          `${address} is the address of a script; send the public key of its segwit script in compressedPubKey`
        );
      const witness = [SIGNATURE, keyBytes];
      const unlock = {
        ...{ script: Buffer.from(writePush(redeemScript)), witness },
        spareWeight: SPARE_WEIGHT.inWitness
      };
      return { ...sender, keyHash, fields: { redeemScript }, unlock, isSegwit: false, covers: 'own amount' };
    }
    case 'witnessScriptHash':
      throw invalid(`${address} is the address of a script that this service cannot know: use an address of a key`);
  }
}

function readKey(hex: string | undefined): Buffer | null {
  if (hex === undefined) return null;
  if (hex.length === 130) throw invalid('the public key is uncompressed: send its 33 bytes, which begin with 02 or 03');
  const key = Buffer.from(hex, 'hex');
  try {
    secp256k1.Point.fromBytes(key);
  } catch {
    throw invalid('the public key is not one of secp256k1: it must be the hex of 33 bytes');
  }
  return key;
}

function usualScript(key: Buffer, { addresses }: ChainNetwork): Buffer {
  return payTo({ kind: addresses.bech32 === null ? 'keyHash' : 'witnessKeyHash', bytes: hash160(key) });
}

const invalid = (reason: string) => new PlatformError('REQUEST_INVALID', { reason });
