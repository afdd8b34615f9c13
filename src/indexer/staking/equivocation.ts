import { isSigned } from '../../consensus/ed25519.ts';
import type { Capability } from './validators.ts';

/** Engines whose messages prove a fault, by the capability that signs them. */
const ENGINES: Readonly<Partial<Record<Capability, string>>> = {
  price: 'oracle',
  attestation: 'attest',
  cross_chain: 'xchain'
};

const MOST_BYTES = 16_384;
const HEADER = /^EQUIV\|([A-Za-z0-9_-]{1,32})\|([A-Za-z0-9_.:-]{1,128})\|(\d{1,15})\|\|/;

/** Message that a validator signs once in each slot: a header that names the slot, then JSON. */
export interface SlotMessage {
  readonly bytes: Uint8Array;
  /** Slot: engine, round and view. */
  readonly header: string;
  readonly engine: string;
  readonly content: string;
  /** Block of Bitcoin at which the validators of the slot were counted. */
  readonly height: number;
}

/**
 * Reads base64url without padding of `EQUIV|<engine>|<round>|<view>||` and a JSON object with a whole `btc_block_height`.
 *
 * @returns null for any other text
 */
export function readSlotMessage(text: string): SlotMessage | null {
  if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length > (MOST_BYTES * 4) / 3) return null;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) return null; // unused bits of the last character would give one message two texts
  const message = bytes.toString('utf8');
  const [header, engine] = HEADER.exec(message) ?? [];
  if (header === undefined || engine === undefined || !Buffer.from(message).equals(bytes)) return null;
  const content = message.slice(header.length);
  const height = heightOf(content);
  return height === null ? null : { bytes, header, engine, content, height };
}

/** Returns whether two messages of a slot of this engine ban their signer. */
export function isSlashable({ engine }: SlotMessage, capability: Capability): boolean {
  return ENGINES[capability] === engine;
}

/** Returns whether a key signed a message, header and content. @param signature 128 hex digits */
export function isSignedBy({ bytes }: SlotMessage, pubkey: string, signature: string): boolean {
  return isSigned(bytes, pubkey, signature);
}

function heightOf(content: string): number | null {
  try {
    const { btc_block_height: height } = Object(JSON.parse(content)) as Record<string, unknown>;
    return Number.isSafeInteger(height) && Number(height) >= 0 ? Number(height) : null;
  } catch {
    return null; // no JSON
  }
}
