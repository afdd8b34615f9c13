import { createHash } from 'node:crypto';
import { type Envelope, findExcess, hasCanonicalForm, MOST_DATA_BYTES } from './envelope.ts';

/** Connections to the other hubs. */
export interface Gossip {
  /** Keys of the hubs that are connected. */
  readonly peers: readonly string[];
  publish(type: string, data: Data): void;
  sendTo(to: string, type: string, data: Data): void;
}

type Data = Readonly<Record<string, unknown>>;

/** Bytes of one part; as base64 it fits into an envelope. */
const PART_BYTES = 524_288;
/** Parts of one message: a hub keeps so much for each other hub. */
export const MOST_PARTS = 48;
const TYPE = 'CONSENSUS_PART';

/** Parts of the newest long message of a hub. */
interface Gathered {
  readonly hash: string;
  readonly parts: (string | undefined)[];
  missing: number;
}

/**
 * Sends messages of any length between hubs, a long one in parts: the proof of a view has the proofs of a quorum in it, and a socket that
 * is sent more than an envelope may have is closed.
 */
export class LongMessages implements Gossip {
  readonly #gossip: Gossip;
  readonly #onTooLong: (type: string, bytes: number) => void;
  readonly #gathered = new Map<string, Gathered>();

  /** @param onTooLong  takes what no other hub will get */
  constructor(gossip: Gossip, onTooLong: (type: string, bytes: number) => void) {
    this.#gossip = gossip;
    this.#onTooLong = onTooLong;
  }

  get peers(): readonly string[] {
    return this.#gossip.peers;
  }

  publish(type: string, data: Data): void {
    this.#send(type, data, (each, part) => this.#gossip.publish(each, part));
  }

  sendTo(to: string, type: string, data: Data): void {
    this.#send(type, data, (each, part) => this.#gossip.sendTo(to, each, part));
  }

  /** Returns the message that an envelope is or completes; null where parts of it are missing, or it is no part of one. */
  receive(envelope: Envelope): Envelope | null {
    if (envelope.type !== TYPE) return envelope;
    const { hash, at, of, text } = envelope.data;
    if (typeof hash !== 'string' || typeof text !== 'string' || !isCount(at) || !isCount(of) || of > MOST_PARTS)
      return null;
    const gathered = this.#gatheredOf(envelope.sender, hash, of);
    if (at >= gathered.parts.length || gathered.parts[at] !== undefined || gathered.missing === 0) return null;
    gathered.parts[at] = text;
    gathered.missing -= 1;
    if (gathered.missing > 0) return null;
    const whole = Buffer.concat(gathered.parts.splice(0).map((part) => Buffer.from(part!, 'base64')));
    const message = hashOf(whole) === hash ? readMessage(String(whole)) : null;
    return message && { ...envelope, ...message };
  }

  #send(type: string, data: Data, send: (type: string, data: Data) => void): void {
    const text = JSON.stringify({ type, data });
    if (text.length < MOST_DATA_BYTES / 3 || Buffer.byteLength(text) <= MOST_DATA_BYTES) {
      send(type, data);
      return;
    }
    const bytes = Buffer.from(text);
    const of = Math.ceil(bytes.length / PART_BYTES);
    if (of > MOST_PARTS) {
      this.#onTooLong(type, bytes.length);
      return;
    }
    const hash = hashOf(bytes);
    for (let at = 0; at < of; at++) {
      const part = bytes.subarray(at * PART_BYTES, (at + 1) * PART_BYTES).toString('base64');
      send(TYPE, { set: data['set'], hash, at, of, text: part });
    }
  }

  /** Returns the parts of a hub's message; a message that is begun ends the one before, and a whole one is not gathered again. */
  #gatheredOf(sender: string, hash: string, of: number): Gathered {
    const before = this.#gathered.get(sender);
    if (before?.hash === hash) return before;
    const gathered = { hash, parts: Array<string | undefined>(of).fill(undefined), missing: of };
    this.#gathered.set(sender, gathered);
    return gathered;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Returns a message that has the form of an envelope's: no deeper, with no more values, and with texts that can be signed. */
function readMessage(text: string): { readonly type: string; readonly data: Data } | null {
  if (findExcess(text) !== null) return null;
  try {
    const { type, data } = JSON.parse(text);
    if (typeof type !== 'string' || type === TYPE || typeof data !== 'object' || data === null) return null;
    return hasCanonicalForm(data) ? { type, data } : null;
  } catch {
    return null;
  }
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
