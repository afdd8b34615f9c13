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

/** The owner of the coins that a transaction spends, with the size of one signed input. */
export interface Sender {
  readonly address: string;
  readonly script: Buffer;
  /** 33 bytes; null where only the address is known. */
  readonly publicKey: Buffer | null;
  /** Hash of the key, 20 bytes; null for a taproot address whose key is not known. */
  readonly keyHash: Buffer | null;
  /** PSBT fields of each coin: the script of a nested segwit address, the key of a taproot one. */
  readonly fields: Pick<TransactionInputUpdate, 'redeemScript' | 'tapInternalKey'>;
  /** The signed form of an input, with placeholders for signatures. */
  readonly unlock: Unlock;
  /** Whether the transaction id stays when such coins are signed. */
  readonly isSegwit: boolean;
  /** Amounts that a signature of one of its coins covers. */
  readonly covers: Coverage;
}

/** Amounts that a signature covers: none without a witness, its own coin's in segwit, all inputs' in taproot. */
export type Coverage = 'no amount' | 'own amount' | 'all amounts';

/** Signature type that covers all inputs and outputs. */
const SIGHASH_ALL = 1;
/**
 * Placeholder of a usual signature with its type byte. Half of the signatures of some signers are one byte longer; few
 * are shorter.
 */
export const SIGNATURE = Buffer.concat([Buffer.alloc(70), Buffer.from([SIGHASH_ALL])]);
/** Weight of that one byte. */
export const SPARE_WEIGHT = { inScript: WITNESS_SCALE, inWitness: 1 } as const;
/** Additional bytes of an uncompressed key, 65 in place of 33. A key of which only the hash is known may be one. */
const UNCOMPRESSED_MORE = 32;
/** Script length from which the length itself takes two more bytes. @see FormInput */
const LONG_SCRIPT = 253;

/** Returns the weight that an input's script may gain: a longer signature, a longer key, and a longer length. */
export function spareOfScript({ length }: Uint8Array, isKeyKnown: boolean): number {
  const more = 1 + (isKeyKnown ? 0 : UNCOMPRESSED_MORE);
  const isLonger = length < LONG_SCRIPT && length + more >= LONG_SCRIPT;
  return WITNESS_SCALE * (more + (isLonger ? 2 : 0));
}

/** Placeholder of a taproot signature. @see BIP 340: the usual type is not written */
export const TAPROOT_SIGNATURE = Buffer.alloc(64);
const NO_BYTES = Buffer.alloc(0);

/**
 * Returns a sender by address or public key. A key alone stands for its segwit address, or for its plain one where the
 * chain has no segwit.
 *
 * @param publicKey hex of 33 bytes; needed for script-hash addresses. For a taproot address it is the untweaked key
 *   (BIP 86)
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
        script: Buffer.from(writePush(redeemScript)),
        witness,
        spareWeight: SPARE_WEIGHT.inWitness
      };
      return { ...sender, keyHash, fields: { redeemScript }, unlock, isSegwit: false, covers: 'own amount' };
    }
    case 'witnessScriptHash':
      throw invalid(`${address} is the address of a script that this service cannot know: use an address of a key`);
  }
}

/**
 * Returns the PSBT fields by which a signer knows its key of a taproot output; none where the output is not that of the key.
 *
 * @param publicKey hex of 33 bytes, the untweaked key @throws {PlatformError} REQUEST_INVALID @see BIP 371
 */
export function taprootFields(script: Uint8Array, publicKey: string | undefined): Sender['fields'] {
  const tapInternalKey = readKey(publicKey)?.subarray(1);
  return tapInternalKey && p2tr(tapInternalKey).script.every((byte, at) => byte === script[at])
    ? { tapInternalKey }
    : {};
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
