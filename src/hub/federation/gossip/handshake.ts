import { randomBytes, sign } from 'node:crypto';
import type { SigningKey } from '../../../consensus/auth-signature.ts';
import { isSigned } from '../../../consensus/ed25519.ts';
import type { Envelope } from './envelope.ts';

/** A hub's statement about itself in each HEARTBEAT. */
interface HandshakeState {
  /** Version of its program. */
  readonly version: string;
  /** Id of its set, 64 hex digits. */
  readonly set: string;
  readonly view: number;
  /** Last place of the log that it has applied. */
  readonly seq: number;
  /** Address at which others reach it, `ws://host:port`. */
  readonly addr: string;
}

/** The `data` of a HEARTBEAT: that of a handshake has a challenge, and an answer once it knows the other's. */
interface HeartbeatData extends HandshakeState {
  /** 64 hex digits, drawn for one socket. */
  readonly challenge?: string;
  /** Signature over the other's challenge, 128 hex digits. */
  readonly answer?: string;
}

/** Result of a HEARTBEAT during a handshake. */
interface Taken {
  /** Whether the other side has proved its key. */
  readonly isProved: boolean;
  /** Answer to its challenge, which is to be sent; null when that was sent before. */
  readonly answer: string | null;
  /** Address at which others reach it, as it states it. */
  readonly addr: string;
}

/** Reason why a socket is no peer's, or no more: `own key` where the other side has a newer one with this hub's key from elsewhere. */
export type HandshakeFault = 'no heartbeat' | 'another set' | 'another key' | 'wrong answer' | 'own key';

/** Address of a hub, as others dial it. */
const ADDRESS = /^wss?:\/\/(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:]{2,39}\]):\d{1,5}$/i;
const DIGITS = /^[0-9a-f]{64}$/;
const SIGNATURE = /^[0-9a-f]{128}$/;
const VERSION = /^[\x20-\x7e]{1,64}$/;
/** By name, whether a value fits; the last two may be absent. */
const FIELDS: Readonly<Record<keyof HeartbeatData, (value: unknown) => boolean>> = {
  version: (value) => isText(value, VERSION),
  set: (value) => isText(value, DIGITS),
  view: isCount,
  seq: isCount,
  addr: (value) => isText(value, ADDRESS),
  challenge: (value) => value === undefined || isText(value, DIGITS),
  answer: (value) => value === undefined || isText(value, SIGNATURE)
};

/** Returns what a HEARTBEAT says; null for one of another form. */
export function readHeartbeat({ type, data }: Envelope): HeartbeatData | null {
  if (type !== 'HEARTBEAT' || Object.keys(data).some((name) => !Object.hasOwn(FIELDS, name))) return null;
  const isRight = Object.entries(FIELDS).every(([name, fits]) => fits(data[name]));
  return isRight ? (data as unknown as HeartbeatData) : null;
}

/**
 * One side of the handshake on one socket. The side that dialled speaks first, the other answers its challenge with one of its own, and the
 * first answers that.
 *
 * An answer names the key that it is for, so a hub that is dialled cannot pass an answer on as its own to a third one.
 */
export class Handshake {
  readonly challenge = randomBytes(32).toString('hex');
  readonly #key: SigningKey;
  readonly #set: string;
  #peer: string | null = null;

  constructor(key: SigningKey, set: string) {
    this.#key = key;
    this.#set = set;
  }

  /** Key of the other side, as it says; null before it spoke. It is proved once `take` returned true. */
  get peer(): string | null {
    return this.#peer;
  }

  /** Takes a genuine envelope of the other side. */
  take(envelope: Envelope): HandshakeFault | Taken {
    const heartbeat = readHeartbeat(envelope);
    if (!heartbeat) return 'no heartbeat';
    if (heartbeat.set !== this.#set) return 'another set';
    const isFirst = this.#peer === null;
    if (!isFirst && envelope.sender !== this.#peer) return 'another key';
    this.#peer = envelope.sender;
    const { challenge, answer } = heartbeat;
    if (isFirst && challenge === undefined) return 'no heartbeat';
    const isProved = answer !== undefined;
    if (isProved && !isSigned(this.#text(this.#key.pubkey, this.challenge), envelope.sender, answer))
      return 'wrong answer';
    return { isProved, answer: isFirst ? this.#answer(challenge!) : null, addr: heartbeat.addr };
  }

  /** Signs the other's challenge. */
  #answer(challenge: string): string {
    return sign(null, this.#text(this.#peer!, challenge), this.#key.secret).toString('hex');
  }

  /** Returns the text of an answer. @param to  key of the hub whose challenge it is */
  #text(to: string, challenge: string): Uint8Array {
    return Buffer.from(`platform-hub handshake\n${this.#set}\n${to}\n${challenge}`);
  }
}

function isText(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
