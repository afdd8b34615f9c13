import type { Effect } from './events.ts';
import type { Batch, Message, Prepared, Signed, Vote } from './messages.ts';
import { lengthOf, type Rules, sizeOf } from './rules.ts';
import { type ConsensusState, emptySlot, type Slot } from './state.ts';

/** The state that an event changes, field by field, and what is to be done for it. */
export interface Turn {
  readonly state: { -readonly [Field in keyof ConsensusState]: ConsensusState[Field] };
  readonly rules: Rules;
  readonly effects: Effect[];
}

/** End of the log below a place. */
interface Preceding {
  readonly digest: string;
  /** Clock of the log. */
  readonly time: number;
  /** By submitter, the number of its next operation. */
  readonly next: ReadonlyMap<string, number>;
  /** Characters of all operations above the last batch that is applied. */
  readonly length: number;
  /** Size of these in a message, in characters. */
  readonly size: number;
}

/** Returns what a new batch at a place follows; null where it is not known yet. */
export function precedingOf({ state, rules }: Turn, seq: number): Preceding | null {
  const { applied, slots } = state;
  if (seq <= applied.seq) return null;
  const next = new Map(applied.next);
  let last = { digest: applied.digest, time: applied.time };
  let [length, size] = [0, 0];
  for (let at = applied.seq + 1; at < seq; at++) {
    const batch = batchAt(slots.get(at));
    if (!batch) return null;
    for (const { submitter, number } of batch.operations) next.set(submitter, number + 1);
    length += lengthOf(batch.operations);
    size += sizeOf(batch.operations);
    last = { digest: rules.digestOf(batch), time: batch.time };
  }
  return { ...last, next, length, size };
}

/** Returns the batch that is committed at a place, or that this hub has accepted there. */
function batchAt(slot: Slot | undefined): Batch | undefined {
  if (slot?.committed) return slot.committed.batch;
  const proposal = slot?.proposal?.message;
  return proposal && proposal.digest === slot?.accepted ? proposal.batch : undefined;
}

/** Returns the digest of the committed batch at a place; undefined where this hub has none. */
export function committedDigest({ state, rules }: Turn, seq: number): string | undefined {
  const { applied, stable, slots } = state;
  if (seq === applied.seq) return applied.digest;
  if (seq === stable.seq) return stable.digest;
  const committed = slots.get(seq)?.committed;
  return committed ? rules.digestOf(committed.batch) : undefined;
}

/** Notes an own vote before it is cast. @returns false: this hub has voted for another digest there, or may have in a log that was set aside */
export function bindVote({ state }: Turn, kind: 'prePrepare' | Vote['kind'], seq: number, digest: string): boolean {
  if (seq <= state.floor) return false;
  const key = `${kind}/${seq}`;
  const before = state.bound.get(key);
  if (before !== undefined) return before === digest;
  state.bound = new Map(state.bound).set(key, digest);
  return true;
}

/** Has a message signed, stored and sent. @param prepared  what a commit rests on */
export function castVote(turn: Turn, message: Message, prepared: Prepared | null = null): void {
  turn.effects.push({ type: 'vote', message, prepared });
}

/** Keeps an own message that is stored, to send it again. */
export function keepOwn({ state, rules }: Turn, signed: Signed<Message>): void {
  if (signed.sender !== rules.self) return;
  const { message } = signed;
  state.own = new Map(state.own).set('seq' in message ? `${message.kind}/${message.seq}` : message.kind, signed);
}

/** Returns a place, an empty one where nothing is known of it. */
export function slotAt({ state }: Turn, seq: number): Slot {
  return state.slots.get(seq) ?? emptySlot(seq);
}

/** Replaces a place. */
export function putSlot({ state }: Turn, slot: Slot): void {
  state.slots = new Map(state.slots).set(slot.seq, slot);
}
