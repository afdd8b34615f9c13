import { PlatformError } from '../../errors.ts';
import type { Sender } from './sender.ts';

/** Ways of carrying a payload, in the order in which AUTO tries them. */
export const ENCODINGS = ['OP_RETURN', 'TAPROOT', 'P2WSH', 'P2SH', 'MULTISIGN'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** The order for a request that names no encoding; clients in use rely on it. */
const USUAL_ORDER: readonly Encoding[] = ['OP_RETURN', 'P2SH', 'P2WSH', 'TAPROOT', 'MULTISIGN'];

/** The order of AUTO for a plain address; its signers and clients expect it. */
const PLAIN_ORDER: readonly Encoding[] = ['OP_RETURN', 'TAPROOT', 'P2SH', 'P2WSH', 'MULTISIGN'];

/** Facts that decide which encodings are possible. */
export interface EncodingFacts {
  /** Bytes of the framed action. */
  readonly frameBytes: number;
  readonly sender: Pick<Sender, 'keyHash' | 'publicKey' | 'address' | 'isSegwit' | 'covers'>;
  /** Relay rules of the coin node. */
  readonly relay: {
    /** Most bytes of an OP_RETURN script; 0 when the node relays none. */
    readonly dataCarrierBytes: number;
    readonly permitsBareMultisig: boolean;
  };
  /** Rules of the chain and the profile in the next block. */
  readonly active: { readonly segwit: boolean; readonly envelope: boolean };
  /** Abilities of the caller's signer: unusual scripts, undefined where it was not said, and scripts in taproot leaves. */
  readonly signer: { readonly scripts: boolean | undefined; readonly tapscript: boolean };
}

/** Returns the bytes of the script: OP_RETURN, the push prefix (1, 2 or 3 bytes) and the payload. */
const returnBytes = (payloadBytes: number) => 1 + payloadBytes + (payloadBytes <= 75 ? 1 : payloadBytes <= 255 ? 2 : 3);
const MAGIC_BYTES = 4;

/**
 * Returns the first encoding that can carry the payload. @throws {PlatformError} ENCODING_UNAVAILABLE with the reason
 * for each
 */
export function chooseEncoding(wanted: Encoding | 'AUTO' | undefined, facts: EncodingFacts): Encoding {
  const tried = wanted === undefined ? USUAL_ORDER : wanted === 'AUTO' ? autoOrder(facts.sender) : [wanted];
  const reasons = tried.map((encoding) => [encoding, obstacle(encoding, facts, encoding === wanted)] as const);
  const fitting = reasons.find(([, reason]) => reason === undefined);
  if (fitting) return fitting[0];
  throw new PlatformError('ENCODING_UNAVAILABLE', {
    reason: reasons.map(([encoding, reason]) => `${encoding}: ${reason}`).join('; ')
  });
}

const autoOrder = ({ covers }: EncodingFacts['sender']) => (covers === 'no amount' ? PLAIN_ORDER : ENCODINGS);

/**
 * Returns whether the first byte of the sender's key may be a guess. A taproot address says nothing of it, and signers
 * who know 32 bytes write 02 before them.
 */
export function mayBeHalfKnown({ covers, publicKey }: Pick<Sender, 'covers' | 'publicKey'>): boolean {
  return covers === 'all amounts' && publicKey?.[0] === 2;
}

/** Returns the reason why an encoding cannot carry the payload, or is not chosen unless it is named; undefined when it can. */
function obstacle(
  encoding: Encoding,
  { frameBytes, sender, relay, active, signer }: EncodingFacts,
  isNamed: boolean
): string | undefined {
  switch (encoding) {
    case 'OP_RETURN': {
      const neededBytes = returnBytes(MAGIC_BYTES + frameBytes);
      return neededBytes <= relay.dataCarrierBytes
        ? undefined
        : `the script takes ${neededBytes} bytes and the node relays ${relay.dataCarrierBytes}`;
    }
    case 'TAPROOT':
      if (!active.envelope) return 'payloads in taproot scripts do not count on this network yet';
      if (!signer.tapscript) return 'options.signerSupportsTapscript is not set';
      return sender.publicKey ? undefined : `the public key of ${sender.address} is not known: send compressedPubKey`;
    case 'P2WSH':
      if (!active.segwit) return 'the network has no segwit';
      // Nodes relay no witness with an uncompressed key, and the hash of a plain address may be of one.
      if (!sender.isSegwit && !sender.publicKey)
        return `the key of ${sender.address} may be an uncompressed one: send compressedPubKey`;
      return markerObstacle('p2wsh', relay) ?? chunkObstacle(sender, signer, isNamed);
    case 'P2SH':
      return markerObstacle('p2sh', relay) ?? chunkObstacle(sender, signer, isNamed);
    case 'MULTISIGN':
      if (!relay.permitsBareMultisig) return 'the node does not relay bare multisig';
      if (!signer.scripts && !isNamed && mayBeHalfKnown(sender))
        return `the first byte of the key of ${sender.address} cannot be checked, and with a wrong one nobody could spend what the outputs hold: name MULTISIGN if it is the key's own`;
      return sender.publicKey ? undefined : `the public key of ${sender.address} is not known: send compressedPubKey`;
  }
}

/** Returns the reason why the node would refuse the second transaction, which names its form in an OP_RETURN; undefined for none. */
function markerObstacle(form: 'p2sh' | 'p2wsh', { dataCarrierBytes }: EncodingFacts['relay']): string | undefined {
  const neededBytes = returnBytes(MAGIC_BYTES + form.length);
  if (neededBytes <= dataCarrierBytes) return undefined;
  return `the second transaction has an OP_RETURN of ${neededBytes} bytes and the node relays ${dataCarrierBytes}`;
}

function chunkObstacle(
  sender: EncodingFacts['sender'],
  signer: EncodingFacts['signer'],
  isNamed: boolean
): string | undefined {
  if (signer.scripts === false) return 'options.signerSupportsScripts is false';
  if (signer.scripts === undefined && !isNamed && mayBeHalfKnown(sender))
    return `the first byte of the key of ${sender.address} cannot be checked, and with a wrong one nobody could spend the outputs: set options.signerSupportsScripts if it is the key's own`;
  return sender.keyHash ? undefined : `the public key of ${sender.address} is not known: send compressedPubKey`;
}
