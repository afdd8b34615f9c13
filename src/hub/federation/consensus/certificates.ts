import type { Batch, Checkpoint, Committed, Prepared, Signed, Stable, ViewChange, Vote } from './messages.ts';
import { leaderOf, type Rules, WINDOW } from './rules.ts';

/** Returns whether a quorum has prepared a place: its leader's proposal counts as the leader's vote. */
export function isPrepared(rules: Rules, { proposal, votes }: Prepared): boolean {
  const { view, seq, digest, batch } = proposal.message;
  const leader = leaderOf(rules, view);
  if (proposal.sender !== leader || batch.seq !== seq || rules.digestOf(batch) !== digest) return false;
  if (!rules.isSigned(proposal)) return false;
  const others = votes.filter(({ sender }) => sender !== leader);
  return 1 + countVotes(rules, others, { kind: 'prepare', view, seq, digest }) >= rules.quorum;
}

/** Returns whether a quorum has committed a batch, in one view. */
export function isCommitted(rules: Rules, { batch, votes }: Committed): boolean {
  const first = votes[0]?.message;
  if (!first || first.seq !== batch.seq || rules.digestOf(batch) !== first.digest) return false;
  return countVotes(rules, votes, { ...first, kind: 'commit' }) >= rules.quorum;
}

/** Returns whether a quorum has signed a checkpoint. */
export function isStable(rules: Rules, { seq, digest, state, votes }: Stable): boolean {
  if (seq === 0) return digest === '' && state === '' && votes.length === 0;
  const same = votes.filter(({ message }) => isCheckpoint(message, { seq, digest, state }));
  return countSigners(rules, same) >= rules.quorum;
}

/**
 * Returns whether a wish for a view is one that a correct hub may have: its checkpoint and its places are proved, the places follow each
 * other, and none is of the view that is wished.
 */
export function isViewChange(rules: Rules, { stable, places, view }: ViewChange): boolean {
  if (places.length > WINDOW || !isStable(rules, stable)) return false;
  let last = { seq: stable.seq, digest: stable.digest };
  for (const proof of places) {
    const { view: own, digest, batch } = placeOf(proof);
    if (batch.seq !== last.seq + 1 || batch.previous !== last.digest || own >= view) return false;
    if (!('proposal' in proof ? isPrepared(rules, proof) : isCommitted(rules, proof))) return false;
    last = { seq: batch.seq, digest };
  }
  return true;
}

/**
 * Returns what a view begins with: the newest stable checkpoint, and the batches above it that must be proposed again.
 *
 * Of each place the committed batch counts, else the proposal of the highest view. It ends where no hub of the quorum has prepared a place,
 * or where that place does not follow the one before: nothing from there on was committed, because hubs commit places in order.
 */
export function beginningOf(changes: readonly ViewChange[]): {
  readonly base: Stable;
  readonly carried: readonly Batch[];
} {
  const base = changes.map(({ stable }) => stable).reduce((best, each) => (each.seq > best.seq ? each : best));
  const best = new Map<number, Place>();
  for (const place of changes.flatMap(({ places }) => places.map(placeOf))) {
    const { seq } = place.batch;
    const known = best.get(seq);
    if (!known || rankOf(place) > rankOf(known)) best.set(seq, place);
  }
  const carried: Batch[] = [];
  let last = base.digest;
  for (let seq = base.seq + 1; ; seq++) {
    const found = best.get(seq);
    if (found === undefined || found.batch.previous !== last) return { base, carried };
    carried.push(found.batch);
    last = found.digest;
  }
}

/** Place of the log that a proof is about. */
interface Place {
  readonly view: number;
  readonly digest: string;
  readonly batch: Batch;
  readonly isCommitted: boolean;
}

function placeOf(proof: Prepared | Committed): Place {
  if ('proposal' in proof) {
    const { view, digest, batch } = proof.proposal.message;
    return { view, digest, batch, isCommitted: false };
  }
  const first = proof.votes[0]?.message;
  return { view: first?.view ?? 0, digest: first?.digest ?? '', batch: proof.batch, isCommitted: true };
}

function rankOf({ view, isCommitted }: Place): number {
  return isCommitted ? Number.POSITIVE_INFINITY : view;
}

function countVotes(rules: Rules, votes: readonly Signed<Vote>[], wanted: Vote): number {
  const same = votes.filter(
    ({ message: { kind, view, seq, digest } }) =>
      kind === wanted.kind && view === wanted.view && seq === wanted.seq && digest === wanted.digest
  );
  return countSigners(rules, same);
}

/** Returns how many hubs of the set have signed one of some messages. */
function countSigners(rules: Rules, messages: readonly Signed<Vote | Checkpoint>[]): number {
  const signed = messages.filter((each) => rules.keys.includes(each.sender) && rules.isSigned(each));
  return new Set(signed.map(({ sender }) => sender)).size;
}

function isCheckpoint(message: Checkpoint, wanted: Omit<Checkpoint, 'kind'>): boolean {
  return message.seq === wanted.seq && message.digest === wanted.digest && message.state === wanted.state;
}
