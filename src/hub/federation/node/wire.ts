import type { Committed, Message, Operation, Signed, Stable } from '../consensus/messages.ts';
import { isCommittedBatch, isOperation, isSignedMessage, isStableCheckpoint } from '../consensus/reading.ts';
import { type Envelope, MOST_DATA_BYTES } from '../gossip/envelope.ts';
import { readMatter } from '../matters/operations.ts';

/** Messages about the log between hubs of a set. */
export type Heard =
  | { readonly kind: 'messages'; readonly messages: readonly Signed<Message>[] }
  | { readonly kind: 'operations'; readonly operations: readonly Operation[] }
  | { readonly kind: 'standing'; readonly view: number; readonly seq: number }
  | { readonly kind: 'ask'; readonly seq: number }
  | { readonly kind: 'log'; readonly entries: readonly Committed[] }
  /** A checkpoint, and the manifest of the state there as a text. */
  | { readonly kind: 'state'; readonly stable: Stable; readonly manifest: string }
  | { readonly kind: 'askChunk'; readonly hash: string }
  /** @property text  null: the sender has it no more */
  | { readonly kind: 'chunk'; readonly hash: string; readonly text: string | null };

/** Items of one envelope. */
const MOST_ITEMS = 1_000;
const HASH = /^[0-9a-f]{64}$/;

/** Returns what an envelope says about the log of a set; null for anything else. */
export function readHeard({ type, data }: Envelope, set: string): Heard | null {
  if (data['set'] !== set) return null;
  const { messages, operations, entries, view, seq, stable, manifest, hash, text } = data;
  switch (type) {
    case 'CONSENSUS_MESSAGES':
      return isListOf(messages, isSignedMessage) ? { kind: 'messages', messages } : null;
    case 'CONSENSUS_SUBMIT':
    case 'ATTESTATION_SUBMIT':
    case 'CROSS_CHAIN_SUBMIT':
    case 'GOVERNANCE_SUBMIT':
      if (!isListOf(operations, isOperation)) return null;
      return operations.every((operation) => typeOf(operation) === type) ? { kind: 'operations', operations } : null;
    case 'HEARTBEAT':
    case 'CONSENSUS_STANDING':
      return isCount(view) && isCount(seq) ? { kind: 'standing', view, seq } : null;
    case 'STATE_REQUEST':
      return isCount(seq) ? { kind: 'ask', seq } : null;
    case 'STATE_LOG':
      return isListOf(entries, isCommittedBatch) ? { kind: 'log', entries } : null;
    case 'STATE_MANIFEST':
      return isStableCheckpoint(stable) && typeof manifest === 'string' ? { kind: 'state', stable, manifest } : null;
    case 'STATE_CHUNK_REQUEST':
      return isHash(hash) ? { kind: 'askChunk', hash } : null;
    case 'STATE_CHUNK':
      return isHash(hash) && (typeof text === 'string' || text === null) ? { kind: 'chunk', hash, text } : null;
    default:
      return null;
  }
}

/** Returns the type of the envelope that hands an operation on: it says what the operation is about. */
export function typeOf({ body }: Operation): string {
  switch (readMatter(body)?.type) {
    case 'attest':
    case 'action-word':
      return 'ATTESTATION_SUBMIT';
    case 'swap':
    case 'reorg':
    case 'reorg-word':
      return 'CROSS_CHAIN_SUBMIT';
    case 'propose':
    case 'vote':
      return 'GOVERNANCE_SUBMIT';
    default:
      return 'CONSENSUS_SUBMIT';
  }
}

/** Returns operations in lists of one type that each fit into one envelope. */
export function submissionsOf(
  operations: readonly Operation[]
): { readonly type: string; readonly operations: readonly Operation[] }[] {
  return [...Map.groupBy(operations, typeOf)].flatMap(([type, of]) =>
    packed(of).map((some) => ({ type, operations: some }))
  );
}

/** Returns items in lists that each fit into one envelope. */
export function packed<T>(items: readonly T[]): T[][] {
  const lists: T[][] = [];
  let bytes = 0;
  for (const item of items) {
    const own = Buffer.byteLength(JSON.stringify(item));
    const last = lists.at(-1);
    if (last && bytes + own <= MOST_DATA_BYTES && last.length < MOST_ITEMS) {
      last.push(item);
      bytes += own;
    } else {
      lists.push([item]);
      bytes = own;
    }
  }
  return lists;
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.length <= MOST_ITEMS && value.every(is);
}

/** Returns whether a value is the name of a part: a longer text would be more than the database takes. */
function isHash(value: unknown): value is string {
  return typeof value === 'string' && HASH.test(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
