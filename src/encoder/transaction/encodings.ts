import { PlatformError } from '../../errors.ts';
import type { Sender } from './sender.ts';

/** How a transaction can carry a payload, in the order in which AUTO tries them. */
export const ENCODINGS = ['OP_RETURN', 'TAPROOT', 'P2WSH', 'P2SH', 'MULTISIGN'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** What decides which encodings there are. */
export interface EncodingFacts {
  /** Of the framed action. */
  readonly frameBytes: number;
  readonly sender: Pick<Sender, 'keyHash' | 'publicKey' | 'address'>;
  /** What the coin node relays. */
  readonly relay: {
    /** Bytes of an OP_RETURN script; 0: none at all. */
    readonly dataCarrierBytes: number;
    readonly permitsBareMultisig: boolean;
  };
  /** What the chain's rules and the profile allow in the next block. */
  readonly active: { readonly segwit: boolean; readonly envelope: boolean };
  /** What the caller's signer can: scripts of forms that are not usual, and those in taproot leaves. */
  readonly signer: { readonly scripts: boolean; readonly tapscript: boolean };
}

/** OP_RETURN and the prefix of its push: 2 bytes up to 75, 3 up to 255, 4 beyond. */
const returnBytes = (payloadBytes: number) => 1 + payloadBytes + (payloadBytes <= 75 ? 1 : payloadBytes <= 255 ? 2 : 3);
const MAGIC_BYTES = 4;

/** @throws {PlatformError} ENCODING_UNAVAILABLE with the reason */
export function chooseEncoding(wanted: Encoding | 'AUTO', facts: EncodingFacts): Encoding {
  const reasons = ENCODINGS.map((encoding) => [encoding, obstacle(encoding, facts)] as const);
  const fitting = reasons.find(
    ([encoding, reason]) => reason === undefined && (wanted === 'AUTO' || wanted === encoding)
  );
  if (fitting) return fitting[0];
  const named = reasons.filter(([encoding]) => wanted === 'AUTO' || wanted === encoding);
  throw new PlatformError('ENCODING_UNAVAILABLE', {
    reason: named.map(([encoding, reason]) => `${encoding}: ${reason}`).join('; ')
  });
}

/** Why an encoding cannot carry the payload; undefined when it can. */
function obstacle(
  encoding: Encoding,
  { frameBytes, sender, relay, active, signer }: EncodingFacts
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
      return active.segwit ? chunkObstacle(sender, signer) : 'the network has no segwit';
    case 'P2SH':
      return chunkObstacle(sender, signer);
    case 'MULTISIGN':
      if (!relay.permitsBareMultisig) return 'the node does not relay bare multisig';
      return sender.publicKey ? undefined : `the public key of ${sender.address} is not known: send compressedPubKey`;
  }
}

function chunkObstacle(sender: EncodingFacts['sender'], signer: EncodingFacts['signer']): string | undefined {
  if (!signer.scripts) return 'options.signerSupportsScripts is false';
  return sender.keyHash ? undefined : `the public key of ${sender.address} is not known: send compressedPubKey`;
}
