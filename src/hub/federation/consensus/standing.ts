import { isCommitted, isStable } from './certificates.ts';
import type { Committed, Stable } from './messages.ts';
import { CALM_BATCHES, CHECKPOINT_INTERVAL, MOST_IN_FLIGHT, RESEND_MS, ROUND_TIMEOUT_MS, WINDOW } from './rules.ts';
import { type ConsensusState, operationKey, type Pending } from './state.ts';
import { castVote, committedDigest, putSlot, slotAt, type Turn } from './turn.ts';

/** Moves the window to a checkpoint that a quorum signed. */
export function setStable(turn: Turn, stable: Stable): void {
  const { state } = turn;
  if (state.checkpointState?.seq === stable.seq) checkState(turn, stable, state.checkpointState.state);
  state.stable = stable;
  state.checkpoints = new Map([...state.checkpoints].filter(([seq]) => seq > stable.seq));
  state.own = new Map([...state.own].filter(([, { message }]) => !('seq' in message) || message.seq > stable.seq));
  state.slots = new Map([...state.slots].filter(([seq]) => seq > Math.min(stable.seq, state.applied.seq)));
}

/** Notes a batch that is in the database, and signs the state where a checkpoint is due. */
export function noteApplied(turn: Turn, seq: number, digestOfState: string | null): void {
  const { state } = turn;
  const slot = state.slots.get(seq);
  const committed = slot?.committed;
  if (!committed || seq !== state.applied.seq + 1) return;
  const { batch } = committed;
  const next = new Map(state.applied.next);
  const advanced = new Map(state.advanced);
  const pending = new Map(state.pending);
  for (const operation of batch.operations) {
    next.set(operation.submitter, operation.number + 1);
    advanced.set(operation.submitter, state.now);
    pending.delete(operationKey(operation));
  }
  const digest = turn.rules.digestOf(batch);
  Object.assign(state, { advanced, pending, applying: null, appliedAt: state.now });
  if (digestOfState !== null) state.checkpointState = { seq, state: digestOfState };
  state.applied = { seq, digest, time: batch.time, next };
  state.calmBatches += 1;
  if (state.calmBatches % CALM_BATCHES === 0) state.timeoutMs = Math.max(state.timeoutMs / 2, ROUND_TIMEOUT_MS);
  if (seq <= state.stable.seq) {
    state.slots = new Map([...state.slots].filter(([at]) => at > seq));
    if (seq === state.stable.seq && digestOfState !== null) checkState(turn, state.stable, digestOfState);
  } else if (digestOfState !== null && !state.own.has(`checkpoint/${seq}`))
    // A hub that set its log aside has signed a state there, which may have been another one.
    castVote(turn, { kind: 'checkpoint', seq, digest, state: digestOfState });
  if (slot.proposal === null && !state.slots.get(seq + 1)?.committed) fetchMore(turn);
}

/** Asks for what follows the last batch of a fetched log: two of the hubs that say to be further, in turn, since one may be silent. */
function fetchMore(turn: Turn): void {
  const { applied, heard } = turn.state;
  const further = [...heard].filter(([, seq]) => seq > applied.seq).map(([from]) => from);
  const first = applied.seq % further.length;
  const inTurn = [...further.toSorted(), ...further.toSorted()];
  for (const from of new Set(inTurn.slice(first, first + 2)))
    turn.effects.push({ type: 'fetch', from, seq: applied.seq + 1 });
}

/** Halts where the state is not the one that a quorum signed. */
function checkState(turn: Turn, { seq, state }: Stable, own: string): void {
  if (own === state) return;
  turn.state.isHalted = true;
  turn.effects.push({ type: 'halt', seq, state: own, signed: state });
}

/** Compares how far another hub is: fetches from it, or sends it what it lacks. */
export function hear(turn: Turn, from: string, view: number, seq: number): void {
  const { state } = turn;
  if (from === turn.rules.self || !turn.rules.keys.includes(from)) return;
  state.heard = new Map(state.heard).set(from, seq);
  // Who is a little behind while batches are decided has them by the votes that are on their way.
  const isLate = state.now >= state.appliedAt + RESEND_MS || Math.abs(seq - state.applied.seq) > MOST_IN_FLIGHT;
  const wanted = wantedPlace(state);
  if (isLate && seq >= wanted && state.applying === null) turn.effects.push({ type: 'fetch', from, seq: wanted });
  if (isLate && seq < state.applied.seq) turn.effects.push({ type: 'tellStanding', to: from });
  if (view >= state.view) return;
  if (state.newView) turn.effects.push({ type: 'send', to: from, signed: state.newView });
  const change = state.own.get('viewChange');
  if (change) turn.effects.push({ type: 'send', to: from, signed: change });
}

/**
 * Returns the place from which a hub asks for the log. Where its window is over it lacks the signatures of a checkpoint, which come with the
 * log up to there; the others have none to send again.
 */
function wantedPlace({ applied: { seq }, stable }: Pick<ConsensusState, 'applied' | 'stable'>): number {
  return seq < stable.seq + WINDOW ? seq + 1 : seq - (seq % CHECKPOINT_INTERVAL);
}

/** Takes batches that follow the last one that it has, each with the commits of a quorum; no more than it soon writes. */
export function takeLog(turn: Turn, entries: readonly Committed[]): void {
  const { applied } = turn.state;
  for (const entry of entries) {
    const { batch } = entry;
    if (batch.seq <= applied.seq || turn.state.slots.get(batch.seq)?.committed) continue;
    if (batch.seq > applied.seq + WINDOW) return;
    if (batch.previous !== committedDigest(turn, batch.seq - 1) || !isCommitted(turn.rules, entry)) return;
    if (hasForgotten(turn, entry)) turn.effects.push({ type: 'forgotten', seq: batch.seq });
    putSlot(turn, { ...slotAt(turn, batch.seq), committed: entry });
  }
}

/** Returns whether this hub has committed a place and does not know it: its database is older than that, or was lost. */
function hasForgotten({ state, rules }: Turn, { batch: { seq }, votes }: Committed): boolean {
  if (seq <= state.floor || state.slots.get(seq)?.prepared) return false;
  const own = votes.find(({ sender }) => sender === rules.self);
  return own !== undefined && own.message.kind === 'commit' && own.message.seq === seq && rules.isSigned(own);
}

/** Goes on from a state that replaced the database, where a quorum signed it. */
export function takeState(turn: Turn, stable: Stable, applied: ConsensusState['applied']): void {
  if (stable.seq <= turn.state.applied.seq || !isStable(turn.rules, stable)) return;
  if (applied.seq !== stable.seq || applied.digest !== stable.digest) return;
  const isWaiting = ([, { operation }]: [string, Pending]) =>
    operation.number >= (applied.next.get(operation.submitter) ?? 0);
  turn.state.pending = new Map([...turn.state.pending].filter(isWaiting));
  Object.assign(turn.state, { applied, applying: null, appliedAt: turn.state.now });
  if (stable.seq > turn.state.stable.seq) setStable(turn, stable);
  turn.state.slots = new Map([...turn.state.slots].filter(([seq]) => seq > stable.seq));
}
