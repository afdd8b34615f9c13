import type { Batch, Operation } from './messages.ts';
import {
  lengthOf,
  MOST_AHEAD,
  MOST_BATCH_LENGTH,
  MOST_OF_ONE,
  MOST_OPERATIONS,
  MOST_SKEW_MS,
  sizeOf,
  WINDOW
} from './rules.ts';
import { isKept, type Slot } from './state.ts';
import { bindVote, castVote, committedDigest, precedingOf, putSlot, slotAt, type Turn } from './turn.ts';

/** Size of what is not in the database: many short operations are longer by their signatures than by what they say. */
const MOST_UNWRITTEN = 2 * MOST_BATCH_LENGTH;

/**
 * Accepts proposals, then commits what is prepared, both in the order of places, and notes what is committed.
 *
 * A hub commits what follows what is in its database, or what it has committed itself, and little of that: a restart leaves it no more to
 * tell of, and its wish for another view has to tell of each place that it has committed.
 */
export function walkSlots(turn: Turn): void {
  const { state } = turn;
  if (state.isChanging) return;
  const { applied } = state;
  let mayCommit = applied.seq >= state.stable.seq;
  for (let seq = state.stable.seq + 1; seq <= state.stable.seq + WINDOW; seq++) {
    const slot = state.slots.get(seq);
    if (!slot) return;
    acceptProposal(turn, slot);
    mayCommit = commitSlot(turn, slotAt(turn, seq), mayCommit && seq <= applied.seq + MOST_AHEAD) || seq <= applied.seq;
    noteCommitted(turn, slotAt(turn, seq));
  }
}

/** Prepares a leader's proposal that fits. */
function acceptProposal(turn: Turn, slot: Slot): void {
  const { proposal, accepted, seq } = slot;
  if (!proposal || accepted !== null || proposal.sender === turn.rules.self) return;
  const { digest, batch } = proposal.message;
  if (!isFitting(turn, batch, digest) || !hasRoom(turn, batch) || !bindVote(turn, 'prepare', seq, digest)) return;
  putSlot(turn, { ...slot, accepted: digest, since: turn.state.now });
  castVote(turn, { kind: 'prepare', view: turn.state.view, seq, digest });
}

/**
 * Returns whether a batch is not too long beside those that are not in the database: all of them may stand in a wish for another view, and
 * a quorum of wishes in one message.
 */
function hasRoom(turn: Turn, { seq, operations }: Batch): boolean {
  const { length, size } = precedingOf(turn, seq) ?? { length: 0, size: 0 };
  if (seq <= turn.state.carriedTo || length === 0) return true;
  return length + lengthOf(operations) <= MOST_BATCH_LENGTH && size + sizeOf(operations) <= MOST_UNWRITTEN;
}

/** Returns whether a proposal is what the view began with, or follows the log and holds only what submitters numbered next. */
function isFitting(turn: Turn, batch: Batch, digest: string): boolean {
  const { carried, carriedTo, now } = turn.state;
  if (batch.seq <= carriedTo) {
    const wanted = carried.get(batch.seq);
    return wanted !== undefined && turn.rules.digestOf(wanted) === digest;
  }
  const before = precedingOf(turn, batch.seq);
  if (!before || before.digest !== batch.previous || batch.time <= before.time) return false;
  if (!isTimely(batch.time, before.time, now)) return false;
  const { operations } = batch;
  const length = operations.reduce((sum, { body }) => sum + body.length, 0);
  if (operations.length === 0 || operations.length > MOST_OPERATIONS) return false;
  if (operations.length > 1 && length > MOST_BATCH_LENGTH) return false;
  const isFar = ({ submitter, number }: Operation) => number >= (before.next.get(submitter) ?? 0) + MOST_OF_ONE;
  if (operations.some(isFar)) return false;
  const next = new Map(before.next);
  return operations.every((operation) => {
    const { submitter, number } = operation;
    if (!turn.rules.keys.includes(submitter) || number !== (next.get(submitter) ?? 0)) return false;
    next.set(submitter, number + 1);
    return isKept(turn.state, operation) || turn.rules.isSubmitted(operation);
  });
}

/**
 * Returns whether a proposal's time is near this hub's clock, or the least one that follows: where all clocks were ahead and were set right,
 * the log is ahead of them, and nobody could propose anything for as long.
 */
function isTimely(time: number, before: number, now: number): boolean {
  return time >= now - MOST_SKEW_MS && (time <= now + MOST_SKEW_MS || time === before + 1);
}

/** Commits a place that a quorum has prepared, where all before it are committed here. @returns whether the next one may be */
function commitSlot(turn: Turn, slot: Slot, mayCommit: boolean): boolean {
  const { proposal, accepted, committing, seq } = slot;
  if (committing !== null) return mayCommit;
  if (!mayCommit || !proposal || accepted === null || proposal.message.digest !== accepted) return false;
  const votes = [...slot.prepares.values()].filter(
    ({ sender, message }) => message.digest === accepted && sender !== proposal.sender
  );
  if (1 + votes.length < turn.rules.quorum) return false;
  const prepared = { proposal, votes };
  if (!bindVote(turn, 'commit', seq, accepted)) return false;
  putSlot(turn, { ...slot, committing: accepted, prepared });
  castVote(turn, { kind: 'commit', view: turn.state.view, seq, digest: accepted }, prepared);
  return true;
}

/** Notes a batch that a quorum has committed, after the one before it. */
function noteCommitted(turn: Turn, slot: Slot): void {
  const { proposal, commits, committed, seq } = slot;
  if (committed || !proposal) return;
  const { digest, batch } = proposal.message;
  const votes = [...commits.values()].filter(({ message }) => message.digest === digest);
  if (votes.length < turn.rules.quorum || committedDigest(turn, seq - 1) !== batch.previous) return;
  putSlot(turn, { ...slot, committed: { batch, votes } });
}

/** Has the next committed batch written, one at a time. */
export function applyNext(turn: Turn): void {
  const { applied, applying, slots } = turn.state;
  const committed = slots.get(applied.seq + 1)?.committed;
  if (!committed || applying !== null) return;
  turn.state.applying = committed.batch.seq;
  turn.effects.push({ type: 'apply', batch: committed.batch, committed });
}
