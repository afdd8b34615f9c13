import { beginningOf, isViewChange } from './certificates.ts';
import type { Committed, Message, NewView, Prepared, Signed, ViewChange } from './messages.ts';
import { LONGEST_TIMEOUT_MS, leaderOf, RESEND_MS } from './rules.ts';
import { setStable } from './standing.ts';
import { emptySlot, operationKey, type Slot } from './state.ts';
import { castVote, keepOwn, type Turn } from './turn.ts';

/** Keeps the newest wish of each hub, where it is proved. */
export function takeChange(turn: Turn, signed: Signed<ViewChange>): void {
  const { view } = signed.message;
  const { changes } = turn.state;
  if (view < turn.state.view || (view === turn.state.view && !turn.state.isChanging)) return;
  const first = changes.get(signed.sender);
  if (first && first.message.view >= view) return;
  if (!isViewChange(turn.rules, signed.message)) return;
  turn.state.changes = new Map(changes).set(signed.sender, signed);
  keepOwn(turn, signed);
}

/** Enters a view that its leader proves: a quorum asks for it, and each wish is proved. */
export function takeNewView(turn: Turn, signed: Signed<NewView>): void {
  const { view, changes } = signed.message;
  if (view < turn.state.view || (view === turn.state.view && !turn.state.isChanging)) return;
  if (signed.sender !== leaderOf(turn.rules, view)) return;
  const good = changes.filter(({ sender, message }) => message.view === view && turn.rules.keys.includes(sender));
  const senders = new Set(good.map(({ sender }) => sender));
  if (good.length !== changes.length || senders.size !== good.length || senders.size < turn.rules.quorum) return;
  if (!good.every((each) => turn.rules.isSigned(each) && isViewChange(turn.rules, each.message))) return;
  enterView(turn, signed);
}

/** Enters a view whose beginning is proved. */
function enterView(turn: Turn, signed: Signed<NewView>): void {
  const { base, carried } = beginningOf(signed.message.changes.map(({ message }) => message));
  const { state } = turn;
  if (signed.message.view !== state.view) forgetVotes(turn);
  state.own = new Map([...state.own].filter(([, { message }]) => message.kind !== 'viewChange'));
  state.view = signed.message.view;
  state.isChanging = false;
  state.viewSince = state.now;
  state.resentAt = state.now;
  state.calmBatches = 0;
  state.newView = signed;
  state.carried = new Map(carried.map((batch) => [batch.seq, batch]));
  state.carriedTo = base.seq + carried.length;
  const slots = [...state.slots.values()].map((slot): [number, Slot] => [
    slot.seq,
    { ...emptySlot(slot.seq), prepared: slot.prepared, committed: slot.committed }
  ]);
  state.slots = new Map(slots);
  if (base.seq > state.stable.seq) setStable(turn, base);
}

/** Votes of a view bind no longer in another one. */
function forgetVotes(turn: Turn): void {
  turn.state.bound = new Map();
  turn.state.own = new Map([...turn.state.own].filter(([, { message }]) => message.kind === 'checkpoint'));
}

/** Asks for the next view where the leader took too long; meanwhile sends own messages again. */
export function checkTime(turn: Turn): void {
  const { state } = turn;
  const since = undecidedSince(turn);
  if (since === null && !state.isChanging) return;
  const deadline = (state.isChanging ? state.viewSince : Math.max(since!, state.viewSince)) + state.timeoutMs;
  // A hub that asks alone waits for others; one that came back into a view without having asked for it does not.
  // Who asks for a later view counts as well, or hubs that ask for different views would wait for each other for ever.
  const asking = [...state.changes.values()].filter(({ message }) => message.view >= state.view);
  const hasAsked = asking.some(({ sender }) => sender === turn.rules.self);
  const mayChange = !state.isChanging || !hasAsked || asking.length >= turn.rules.quorum;
  if (state.now >= deadline && mayChange) {
    state.timeoutMs = Math.min(2 * state.timeoutMs, LONGEST_TIMEOUT_MS);
    askFor(turn, state.view + 1);
    return;
  }
  if (state.now < Math.max(state.resentAt, state.appliedAt) + RESEND_MS) return;
  state.resentAt = state.now;
  turn.effects.push({ type: 'tellStanding', to: null });
  turn.effects.push({ type: 'sendAgain', messages: [...state.own.values()].filter(isNeeded(state.applied.seq)) });
}

/** Returns a check for messages that others may still need: who lacks what is applied asks for the log, which has its proofs. */
function isNeeded(applied: number): (signed: Signed<Message>) => boolean {
  return ({ message }) => !('seq' in message) || message.kind === 'checkpoint' || message.seq > applied;
}

/** Returns the time since which the oldest work waits that the leader could have done; null where there is none. */
function undecidedSince(turn: Turn): number | null {
  const { pending, advanced, applied, appliedAt, slots } = turn.state;
  let oldest: number | null = null;
  const note = (since: number) => {
    oldest = oldest === null ? since : Math.min(oldest, since);
  };
  for (const submitter of turn.rules.keys) {
    const head = pending.get(operationKey({ submitter, number: applied.next.get(submitter) ?? 0 }));
    if (head) note(Math.max(head.since, advanced.get(submitter) ?? 0));
  }
  for (const { seq, accepted, since } of slots.values())
    if (seq > applied.seq && accepted !== null) note(Math.max(since, appliedAt));
  return oldest;
}

/** Joins a later view for which more hubs ask than may lie. */
export function joinView(turn: Turn): void {
  const { view, changes } = turn.state;
  const later = [...changes.values()].map(({ message }) => message.view).filter((wished) => wished > view);
  if (later.length > turn.rules.faulty) askFor(turn, later.toSorted((a, b) => b - a)[turn.rules.faulty]!);
}

/** Asks for a view with all that must not be lost. */
function askFor(turn: Turn, view: number): void {
  const { state } = turn;
  Object.assign(state, { view, isChanging: true, viewSince: state.now, resentAt: state.now, newView: null });
  forgetVotes(turn);
  const places: (Prepared | Committed)[] = [];
  let last = state.stable.digest;
  for (let seq = state.stable.seq + 1; ; seq++) {
    const slot = state.slots.get(seq);
    const proof = slot?.committed ?? slot?.prepared;
    const batch = slot?.committed?.batch ?? slot?.prepared?.proposal.message.batch;
    if (!proof || batch?.previous !== last) break;
    places.push(proof);
    last = turn.rules.digestOf(batch);
  }
  castVote(turn, { kind: 'viewChange', view, stable: state.stable, places });
}

/** Proves a view that a quorum asks for, as its leader. */
export function beginView(turn: Turn): void {
  const { state } = turn;
  if (!state.isChanging || leaderOf(turn.rules, state.view) !== turn.rules.self) return;
  const changes = wishesFor(turn, state.view);
  if (changes.length < turn.rules.quorum || state.bound.has('newView')) return;
  state.bound = new Map(state.bound).set('newView', '');
  castVote(turn, { kind: 'newView', view: state.view, changes });
}

/** Returns the wishes for a view. */
function wishesFor(turn: Turn, view: number): readonly Signed<ViewChange>[] {
  return [...turn.state.changes.values()].filter(({ message }) => message.view === view);
}
