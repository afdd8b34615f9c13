import type { Batch, Operation } from './messages.ts';
import { leaderOf, MOST_BATCH_LENGTH, MOST_IN_FLIGHT, MOST_OF_ONE, MOST_OPERATIONS, WINDOW } from './rules.ts';
import { bindVote, castVote, precedingOf, putSlot, slotAt, type Turn } from './turn.ts';

/** Proposes, as the leader, what the view began with, then what waits. */
export function propose(turn: Turn): void {
  const { state } = turn;
  if (state.isChanging || leaderOf(turn.rules, state.view) !== turn.rules.self) return;
  let seq = state.stable.seq + 1;
  while (state.slots.get(seq)?.accepted != null || (seq <= state.applied.seq && !state.carried.has(seq))) seq++;
  for (; seq <= state.stable.seq + WINDOW; seq++) {
    const carried = state.carried.get(seq);
    if (!carried && seq <= state.carriedTo) return;
    if (!carried && (seq > state.applied.seq + MOST_IN_FLIGHT || state.applied.seq < state.carriedTo)) return;
    const batch = carried ?? newBatch(turn, seq);
    if (!batch) return;
    const digest = turn.rules.digestOf(batch);
    if (!bindVote(turn, 'prePrepare', seq, digest)) return;
    putSlot(turn, { ...slotAt(turn, seq), accepted: digest, since: state.now });
    castVote(turn, { kind: 'prePrepare', view: state.view, seq, digest, batch });
  }
}

/**
 * Makes a batch of what waits, of each submitter in turn, another one first at each place: who has a lot waiting, or much in one operation,
 * holds up no other one. Of one submitter there are few on their way at once. Null where nothing waits.
 */
function newBatch(turn: Turn, seq: number): Batch | null {
  const before = precedingOf(turn, seq);
  if (!before) return null;
  const operations: Operation[] = [];
  let { length } = before;
  const { keys } = turn.rules;
  const next = new Map(before.next);
  const rankOf = ({ submitter, number }: Operation) => number - (before.next.get(submitter) ?? 0);
  const turnOf = ({ submitter }: Operation) => (keys.indexOf(submitter) + seq) % keys.length;
  const { applied, pending } = turn.state;
  const waiting = [...pending.values()]
    .filter(({ operation: { submitter, number } }) => number < (applied.next.get(submitter) ?? 0) + MOST_OF_ONE)
    .toSorted(({ operation: a }, { operation: b }) => rankOf(a) - rankOf(b) || turnOf(a) - turnOf(b));
  for (const { operation } of waiting) {
    const { submitter, number, body } = operation;
    if (number !== (next.get(submitter) ?? 0)) continue;
    length += body.length;
    const isFirst = operations.length === 0 && before.length === 0;
    if (!isFirst && (operations.length === MOST_OPERATIONS || length > MOST_BATCH_LENGTH)) break;
    next.set(submitter, number + 1);
    operations.push(operation);
  }
  if (operations.length === 0) return null;
  return { seq, time: Math.max(turn.state.now, before.time + 1), previous: before.digest, operations };
}
