import type {
  Batch,
  Checkpoint,
  Committed,
  PrePrepare,
  Prepared,
  Signed,
  Stable,
  ViewChange,
  Vote
} from './messages.ts';
import { leaderOf, MOST_AHEAD, type Rules } from './rules.ts';

/** Returns whether a quorum has prepared a place: its leader's proposal counts as the leader's vote. */
export function isPrepared(rules: Rules, { proposal, votes }: Prepared): boolean {
  const { view, seq, digest, batch } = proposal.message;
  const leader = leaderOf(rules, view);
  if (proposal.sender !== leader || batch.seq !== seq || rules.digestOf(batch) !== digest) return false;
  if (hasSurplus(rules, votes)) return false;
  if (!rules.isSigned(proposal)) return false;
  const others = votes.filter(({ sender }) => sender !== leader);
  return 1 + countVotes(rules, others, { kind: 'prepare', view, seq, digest }) >= rules.quorum;
}

/** Returns whether a quorum has committed a batch, in one view. */
export function isCommitted(rules: Rules, { batch, votes }: Committed): boolean {
  const first = votes[0]?.message;
  if (!first || first.seq !== batch.seq || rules.digestOf(batch) !== first.digest || hasSurplus(rules, votes))
    return false;
  return countVotes(rules, votes, { ...first, kind: 'commit' }) >= rules.quorum;
}

/** Returns whether a quorum has signed a checkpoint. */
export function isStable(rules: Rules, { seq, digest, state, votes }: Stable): boolean {
  if (seq === 0) return digest === '' && state === '' && votes.length === 0;
  if (hasSurplus(rules, votes)) return false;
  const same = votes.filter(({ message }) => isCheckpoint(message, { seq, digest, state }));
  return countSigners(rules, same) >= rules.quorum;
}

/**
 * Returns whether a wish for a view is one that a correct hub may have: its checkpoint and its places are proved, the prepared ones follow
 * what is decided and each other, and none is of the view that is wished.
 */
export function isViewChange(rules: Rules, change: ViewChange): boolean {
  const { stable, last, places, view } = change;
  if (places.length > MOST_AHEAD || isOvertaken(change) || !isStable(rules, stable)) return false;
  if (last && (last.batch.seq <= stable.seq || !isCommitted(rules, last))) return false;
  let before = endOf(rules, change);
  for (const prepared of places) {
    const { view: own, seq, digest, batch } = prepared.proposal.message;
    if (batch.seq !== before.seq + 1 || batch.previous !== before.digest || own >= view) return false;
    if (!isPrepared(rules, prepared)) return false;
    before = { seq, digest };
  }
  return true;
}

/** Returns whether its own proofs tell of the wished view or a later one, as those of a hub do that fetched the log from hubs ahead. */
export function isOvertaken({ last, view }: Pick<ViewChange, 'last' | 'view'>): boolean {
  return last !== null && viewOf(last) >= view;
}

/** Facts that a view begins with. */
export interface Beginning {
  /** Newest stable checkpoint of the wishes. */
  readonly stable: Stable;
  /** Highest place that is known to be committed: the log up to there comes from hubs that have it; null: none above the checkpoint. */
  readonly last: Committed | null;
  /** Batches that must be proposed again, by their places: those above what is decided, and those below that a hub may lack. */
  readonly carried: ReadonlyMap<number, Batch>;
  /** Last place of these and of what is decided. */
  readonly carriedTo: number;
}

/** A place of the log with the digest of its batch. */
interface End {
  readonly seq: number;
  readonly digest: string;
}

/**
 * Returns what a view begins with: what is decided, and the batches that must be proposed again.
 *
 * Above what is decided, the proposal of the highest view counts of each place. It ends where no hub of the quorum has prepared a place, or
 * where that place does not follow the one before: nothing from there on was committed, because hubs commit places in order. Below, a hub
 * that lies may alone have the commits; an honest one that commits a place tells all that it has prepared above its own last one, and the
 * digests lead from the decided batch back to them.
 */
export function beginningOf(rules: Pick<Rules, 'digestOf'>, changes: readonly ViewChange[]): Beginning {
  const stable = changes.map((change) => change.stable).reduce((best, each) => (each.seq > best.seq ? each : best));
  const last = lastOf(
    changes.flatMap((change) => (change.last && change.last.batch.seq > stable.seq ? [change.last] : []))
  );
  const decided = endOf(rules, { stable, last });
  const proposals = changes.flatMap(({ places }) => places.map(({ proposal }) => proposal.message));
  const best = new Map<number, PrePrepare>();
  for (const proposal of proposals)
    if (proposal.view >= (best.get(proposal.seq)?.view ?? 0)) best.set(proposal.seq, proposal);
  const carried = new Map<number, Batch>();
  let carriedTo = decided.seq;
  for (let { digest } = decided; ; ) {
    const found = best.get(carriedTo + 1);
    if (found === undefined || found.batch.previous !== digest) break;
    carriedTo += 1;
    carried.set(carriedTo, found.batch);
    digest = found.digest;
  }
  const byDigest = new Map(proposals.map(({ digest, batch }) => [digest, batch]));
  for (let batch = last?.batch; batch && batch.seq > stable.seq + 1; ) {
    batch = byDigest.get(batch.previous);
    if (batch) carried.set(batch.seq, batch);
  }
  return { stable, last, carried, carriedTo };
}

/** Returns the one of the highest place; null for none. */
function lastOf(committed: readonly Committed[]): Committed | null {
  return committed.reduce<Committed | null>(
    (best, each) => (each.batch.seq > (best?.batch.seq ?? 0) ? each : best),
    null
  );
}

/** Returns the end of what a wish proves to be decided. */
function endOf(rules: Pick<Rules, 'digestOf'>, { stable, last }: Pick<ViewChange, 'stable' | 'last'>): End {
  return last
    ? { seq: last.batch.seq, digest: rules.digestOf(last.batch) }
    : { seq: stable.seq, digest: stable.digest };
}

function viewOf({ votes }: Committed): number {
  return votes[0]?.message.view ?? 0;
}

function countVotes(rules: Rules, votes: readonly Signed<Vote>[], wanted: Vote): number {
  const same = votes.filter(
    ({ message: { kind, view, seq, digest } }) =>
      kind === wanted.kind && view === wanted.view && seq === wanted.seq && digest === wanted.digest
  );
  return countSigners(rules, same);
}

/** Returns whether a certificate has more votes than hubs have one each: a liar adds what is kept and handed on as long as the log. */
function hasSurplus({ keys }: Rules, votes: readonly unknown[]): boolean {
  return votes.length > keys.length;
}

/** Returns how many hubs of the set have signed one of some messages. */
function countSigners(rules: Rules, messages: readonly Signed<Vote | Checkpoint>[]): number {
  const signed = messages.filter((each) => rules.keys.includes(each.sender) && rules.isSigned(each));
  return new Set(signed.map(({ sender }) => sender)).size;
}

function isCheckpoint(message: Checkpoint, wanted: Omit<Checkpoint, 'kind'>): boolean {
  return message.seq === wanted.seq && message.digest === wanted.digest && message.state === wanted.state;
}
