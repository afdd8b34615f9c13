import { sign } from 'node:crypto';
import type { SigningKey } from '../../../consensus/auth-signature.ts';
import { canonicalJson } from '../../../consensus/canonical-json.ts';
import { isSigned } from '../../../consensus/ed25519.ts';

/**
 * Message between hubs: a JSON object of six fields, whose signature covers the other five.
 *
 * @see the section "Events and webhooks" of the specification
 */
export interface Envelope {
  /** `HEARTBEAT`, `CONSENSUS_PREPARE`: capital letters and underscores. */
  readonly type: string;
  /** Drawn by the sender for each message. */
  readonly id: string;
  /** Ed25519, 64 hex digits in lower case. */
  readonly sender: string;
  /** Epoch milliseconds of the sender's clock. */
  readonly timestamp: number;
  readonly data: Readonly<Record<string, unknown>>;
  /** 128 hex digits in lower case. */
  readonly sig: string;
}

/** Reason why a text is no envelope. */
export type EnvelopeFault = 'too long' | 'no JSON' | 'too deep' | 'too many values' | 'wrong shape';

export const MOST_ENVELOPE_BYTES = 1_048_576;
/** Bytes of the data of an envelope, well below the bound. */
export const MOST_DATA_BYTES = 786_432;
/** Objects and arrays within one another, the envelope itself included. */
export const MOST_DEPTH = 32;
/** Values of a short text, and characters for each of a long one: hubs work for values, and honest ones have some 30 characters for each. */
const [LEAST_VALUES, CHARACTERS_EACH] = [1_000, 16];
const FIELDS = ['data', 'id', 'sender', 'sig', 'timestamp', 'type'];
const TYPE = /^[A-Z][A-Z_]{0,63}$/;
const ID = /^[\x21-\x7e]{1,128}$/;
const KEY = /^[0-9a-f]{64}$/;
const SIGNATURE = /^[0-9a-f]{128}$/;

/**
 * Returns the envelope that a text is, or why it is none. Its signature is not checked.
 *
 * The text is measured before it is parsed, so that its cost is bounded by what a peer sent.
 */
export function readEnvelope(text: string): Envelope | EnvelopeFault {
  if (text.length > MOST_ENVELOPE_BYTES || Buffer.byteLength(text) > MOST_ENVELOPE_BYTES) return 'too long';
  const excess = findExcess(text);
  if (excess !== null) return excess;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'no JSON';
  }
  return isEnvelope(value) ? value : 'wrong shape';
}

/** Returns the bytes that a sender signs: five fields in the order of the specification, `data` as canonical JSON. */
function signedBytes({ id, type, sender, timestamp, data }: Omit<Envelope, 'sig'>): Uint8Array {
  const [first, second, third] = [id, type, sender].map((text) => JSON.stringify(text));
  return Buffer.from(
    `{"id":${first},"type":${second},"sender":${third},"timestamp":${timestamp},"data":${canonicalJson(data)}}`
  );
}

/** Returns a signed envelope. @throws {PlatformError} SOURCE_INVALID when the data has no canonical form */
export function signEnvelope(fields: Omit<Envelope, 'sig' | 'sender'>, { pubkey, secret }: SigningKey): Envelope {
  const unsigned = { ...fields, sender: pubkey };
  return { ...unsigned, sig: sign(null, signedBytes(unsigned), secret).toString('hex') };
}

/** Returns whether an envelope's sender signed it. */
export function isGenuine(envelope: Envelope): boolean {
  return isSigned(signedBytes(envelope), envelope.sender, envelope.sig);
}

function isEnvelope(value: unknown): value is Envelope {
  if (!isObject(value)) return false;
  if (Object.keys(value).sort().join() !== FIELDS.join()) return false;
  const { type, id, sender, timestamp, data, sig } = value;
  if (!matches(type, TYPE) || !matches(id, ID) || !matches(sender, KEY) || !matches(sig, SIGNATURE)) return false;
  return Number.isSafeInteger(timestamp) && (timestamp as number) >= 0 && isObject(data) && hasCanonicalForm(data);
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function hasCanonicalForm(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(hasCanonicalForm);
  const object = value as Readonly<Record<string, unknown>>;
  return Object.keys(object).every((name) => name.isWellFormed() && hasCanonicalForm(object[name]));
}

/** Returns what a JSON text has too much of, before it is parsed: brackets and commas outside of strings are counted. Null: nothing. */
export function findExcess(text: string): 'too deep' | 'too many values' | null {
  const mostValues = Math.max(LEAST_VALUES, text.length / CHARACTERS_EACH);
  let [depth, values] = [0, 0];
  let isInString = false;
  for (let at = 0; at < text.length && values <= mostValues; at++) {
    const letter = text[at];
    if (isInString) {
      if (letter === '\\') at += 1;
      else if (letter === '"') isInString = false;
    } else if (letter === '"') isInString = true;
    else if (letter === ',') values += 1;
    else if (letter === '{' || letter === '[') {
      values += 1;
      depth += 1;
      if (depth > MOST_DEPTH) return 'too deep';
    } else if (letter === '}' || letter === ']') depth -= 1;
  }
  return values > mostValues ? 'too many values' : null;
}
