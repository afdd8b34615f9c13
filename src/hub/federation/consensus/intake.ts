import type { Checkpoint, Message, PrePrepare, Signed, Vote } from './messages.ts';
import { CHECKPOINT_INTERVAL, leaderOf, MOST_AHEAD, MOST_BATCH_LENGTH, sizeOf, WINDOW } from './rules.ts';
import { setStable } from './standing.ts';
import { keepOwn, putSlot, slotAt, type Turn } from './turn.ts';

/** Characters of proposals that are kept and not committed: more than all that a leader has in flight. */
const MOST_KEPT = 2 * MOST_AHEAD * MOST_BATCH_LENGTH;

/** Keeps the leader's first proposal for a place; a second one is evidence. */
export function takeProposal(turn: Turn, signed: Signed<PrePrepare>): void {
  const { view, seq, digest, batch } = signed.message;
  if (signed.sender !== leaderOf(turn.rules, view) || !isOpen(turn, view, seq)) return;
  if (batch.seq !== seq || turn.rules.digestOf(batch) !== digest) return;
  const slot = slotAt(turn, seq);
  if (slot.proposal) noteEquivocation(turn, slot.proposal, signed, slot.proposal.message.digest === digest);
  else if (hasPlace(turn, signed)) putSlot(turn, { ...slot, proposal: signed });
  keepOwn(turn, signed);
}

/**
 * Returns whether a proposal is kept beside others that are not committed here. A correct leader has few of them in flight, and sends them
 * again where nothing moves; one that lies would fill all places of the window with the longest batches at once.
 */
function hasPlace({ state, rules }: Turn, { sender, message: { batch } }: Signed<PrePrepare>): boolean {
  if (sender === rules.self) return true;
  const kept = [...state.slots.values()].flatMap(({ proposal, committed }) =>
    proposal && !committed ? [sizeOf(proposal.message.batch.operations)] : []
  );
  return kept.reduce((sum, size) => sum + size, sizeOf(batch.operations)) <= MOST_KEPT;
}

/** Keeps the first vote of each hub for a place; a second one is evidence. */
export function takeVote(turn: Turn, signed: Signed<Vote>): void {
  const { kind, view, seq, digest } = signed.message;
  if (!isOpen(turn, view, seq)) return;
  const slot = slotAt(turn, seq);
  const field = kind === 'prepare' ? 'prepares' : 'commits';
  const first = slot[field].get(signed.sender);
  if (first) noteEquivocation(turn, first, signed, first.message.digest === digest);
  else putSlot(turn, { ...slot, [field]: new Map(slot[field]).set(signed.sender, signed) });
  keepOwn(turn, signed);
}

/** Counts states after a batch; a quorum of equal ones is stable. */
export function takeCheckpoint(turn: Turn, signed: Signed<Checkpoint>): void {
  const { stable, applied, checkpoints } = turn.state;
  const { seq, digest, state } = signed.message;
  // Who was away has a log that is ahead of the last checkpoint that it knows.
  const last = Math.max(stable.seq, applied.seq) + 2 * WINDOW;
  if (seq <= stable.seq || seq > last || seq % CHECKPOINT_INTERVAL !== 0) return;
  const of = checkpoints.get(seq) ?? new Map<string, Signed<Checkpoint>>();
  const first = of.get(signed.sender);
  if (first) {
    noteEquivocation(turn, first, signed, first.message.digest === digest && first.message.state === state);
    return;
  }
  const all = new Map(of).set(signed.sender, signed);
  turn.state.checkpoints = new Map(checkpoints).set(seq, all);
  keepOwn(turn, signed);
  noteDifference(turn, signed.sender === turn.rules.self ? [...all.values()] : [signed], all.get(turn.rules.self));
  const same = [...all.values()].filter(({ message }) => message.digest === digest && message.state === state);
  if (same.length >= turn.rules.quorum) setStable(turn, { seq, digest, state, votes: same });
}

/** Reports hubs whose state is not that of this one: as long as no quorum has one, none of them halts, and the set comes to its end. */
function noteDifference(turn: Turn, others: readonly Signed<Checkpoint>[], own: Signed<Checkpoint> | undefined): void {
  for (const signed of others)
    if (own && signed.message.state !== own.message.state) turn.effects.push({ type: 'differs', signed });
}

/** Reports a hub that signed two things for one place. */
function noteEquivocation(turn: Turn, first: Signed<Message>, second: Signed<Message>, isSame: boolean): void {
  if (!isSame) turn.effects.push({ type: 'evidence', first, second });
}

/** Returns whether votes for a place count now. */
function isOpen(turn: Turn, view: number, seq: number): boolean {
  const { state } = turn;
  return view === state.view && !state.isChanging && seq > state.stable.seq && seq <= state.stable.seq + WINDOW;
}
