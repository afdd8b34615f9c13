import { beginningOf, isOvertaken, isViewChange } from './certificates.ts';
import type { Message, NewView, Prepared, Signed, ViewChange } from './messages.ts';
import { isBehind } from './phase.ts';
import {
  HAND_ON_MS,
  LONGEST_RESEND_MS,
  LONGEST_TIMEOUT_MS,
  leaderOf,
  MOST_NEW_VIEW_BYTES,
  MOST_WISH_BYTES,
  RESEND_MS,
  type Rules
} from './rules.ts';
import { setStable } from './standing.ts';
import { emptySlot, operationKey, type Pending, type Slot } from './state.ts';
import { castVote, keepOwn, putSlot, slotAt, type Turn } from './turn.ts';

/** Keeps the newest wish of each hub, where it is proved. */
export function takeChange(turn: Turn, signed: Signed<ViewChange>): void {
  const { view } = signed.message;
  const { changes } = turn.state;
  if (view < turn.state.view || (view === turn.state.view && !turn.state.isChanging)) return;
  const first = changes.get(signed.sender);
  if ((first && first.message.view >= view) || isOvertaken(signed.message)) return;
  if (!isViewChange(turn.rules, signed.message)) {
    turn.effects.push({ type: 'unproved', signed });
    return;
  }
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
  if (!good.every((each) => turn.rules.isSigned(each) && isViewChange(turn.rules, each.message))) {
    turn.effects.push({ type: 'unproved', signed });
    return;
  }
  enterView(turn, signed);
}

/** Enters a view whose beginning is proved. */
function enterView(turn: Turn, signed: Signed<NewView>): void {
  const { state, rules } = turn;
  const wishes = signed.message.changes.map(({ message }) => message);
  const { stable, last, carried, carriedTo } = beginningOf(rules, wishes);
  if (signed.message.view !== state.view) forgetVotes(turn);
  state.own = new Map([...state.own].filter(([, { message }]) => message.kind !== 'viewChange'));
  state.view = signed.message.view;
  state.isChanging = false;
  state.viewSince = state.now;
  state.resentAt = state.now;
  state.resendMs = RESEND_MS;
  state.calmBatches = 0;
  state.newView = signed;
  state.carried = carried;
  state.carriedTo = carriedTo;
  const slots = [...state.slots.values()].map((slot): [number, Slot] => [
    slot.seq,
    { ...emptySlot(slot.seq), prepared: slot.prepared, committed: slot.committed }
  ]);
  state.slots = new Map(slots);
  if (stable.seq > state.stable.seq) setStable(turn, stable);
  if (last && last.batch.seq > state.applied.seq && last.batch.seq > state.stable.seq)
    putSlot(turn, { ...slotAt(turn, last.batch.seq), committed: last });
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
  handOn(turn);
  // What waits here may be decided long since: the leader has its time from when this hub has caught up.
  if (!state.isChanging && isBehind(state, turn.rules)) state.viewSince = state.now;
  // Who lacks what was decided before the view asks for it, which is no fault of the leader.
  if (since === null && !state.isChanging && state.applied.seq >= state.carriedTo) return;
  const waitsSince = state.isChanging || since === null ? state.viewSince : Math.max(since, state.viewSince);
  const isOver = (since !== null || state.isChanging) && state.now >= waitsSince + state.timeoutMs;
  // A hub that asks alone waits for others; one that came back into a view without having asked for it does not.
  // Who asks for a later view counts as well, or hubs that ask for different views would wait for each other for ever.
  const asking = [...state.changes.values()].filter(({ message }) => message.view >= state.view);
  const hasAsked = asking.some(({ sender }) => sender === turn.rules.self);
  const mayChange = !hasLost(turn) && (!state.isChanging || !hasAsked || asking.length >= turn.rules.quorum);
  if (isOver && mayChange) {
    state.timeoutMs = Math.min(2 * state.timeoutMs, LONGEST_TIMEOUT_MS);
    askFor(turn, state.view + 1);
    return;
  }
  const isMoving = state.appliedAt > state.resentAt;
  if (state.now < Math.max(state.resentAt, state.appliedAt) + (isMoving ? RESEND_MS : state.resendMs)) return;
  state.resendMs = isMoving ? RESEND_MS : Math.min(2 * state.resendMs, LONGEST_RESEND_MS);
  state.resentAt = state.now;
  turn.effects.push({ type: 'tellStanding', to: null });
  turn.effects.push({ type: 'sendAgain', messages: [...state.own.values()].filter(isNeeded(state.applied.seq)) });
}

/**
 * Hands on what waits, once in each view: its submitter may have sent it to this hub alone, which would then be the only one to leave a
 * view whose leader never had it.
 */
function handOn(turn: Turn): void {
  const { state } = turn;
  const heads = headsOf(turn);
  const isDue = ({ key, since }: Head) =>
    state.now >= Math.max(since, state.viewSince) + HAND_ON_MS && state.handedOn.get(key) !== state.view;
  const due = heads.filter(isDue);
  if (due.length === 0) return;
  const before = heads.flatMap(({ key }): [string, number][] => {
    const view = state.handedOn.get(key);
    return view === undefined ? [] : [[key, view]];
  });
  state.handedOn = new Map([...before, ...due.map(({ key }): [string, number] => [key, state.view])]);
  turn.effects.push({ type: 'handOn', operations: due.map(({ operation }) => operation) });
}

/** Next operation of a submitter, and the time since which it could have been proposed. */
interface Head extends Pending {
  readonly key: string;
}

function headsOf({ state: { pending, applied, advanced }, rules }: Turn): readonly Head[] {
  return rules.keys.flatMap((submitter) => {
    const key = operationKey({ submitter, number: applied.next.get(submitter) ?? 0 });
    const head = pending.get(key);
    return head ? [{ ...head, key, since: Math.max(head.since, advanced.get(submitter) ?? 0) }] : [];
  });
}

/** Returns a check for messages that others may still need: who lacks what is applied asks for the log, which has its proofs. */
function isNeeded(applied: number): (signed: Signed<Message>) => boolean {
  return ({ message }) => !('seq' in message) || message.kind === 'checkpoint' || message.seq > applied;
}

/** Returns the time since which the oldest work waits that the leader could have done; null where there is none. */
function undecidedSince(turn: Turn): number | null {
  const { applied, appliedAt, slots } = turn.state;
  let oldest: number | null = null;
  const note = (since: number) => {
    oldest = oldest === null ? since : Math.min(oldest, since);
  };
  for (const head of headsOf(turn)) note(head.since);
  for (const { seq, accepted, since } of slots.values())
    if (seq > applied.seq && accepted !== null) note(Math.max(since, appliedAt));
  return oldest;
}

/** Joins a later view for which more hubs ask than may lie; asks for the next one where the leader of this one has left it. */
export function joinView(turn: Turn): void {
  const { view, changes } = turn.state;
  const later = [...changes.values()].map(({ message }) => message.view).filter((wished) => wished > view);
  if (later.length > turn.rules.faulty) askFor(turn, later.toSorted((a, b) => b - a)[turn.rules.faulty]!);
  else if ((changes.get(leaderOf(turn.rules, view))?.message.view ?? 0) > view) askFor(turn, view + 1);
}

/**
 * Returns whether this hub lacks what it had committed before its log was set aside: a wish for a view without that could take back what a
 * quorum with it has decided. It asks for a view when it has caught up.
 */
function hasLost({ state: { applied, floor } }: Turn): boolean {
  return applied.seq < floor;
}

/** Asks for a view with all that must not be lost. */
function askFor(turn: Turn, view: number): void {
  const { state } = turn;
  Object.assign(state, { view, isChanging: true, viewSince: state.now, newView: null });
  Object.assign(state, { resentAt: state.now, resendMs: RESEND_MS });
  forgetVotes(turn);
  if (hasLost(turn)) return;
  const { stable, slots } = state;
  let end = stable.seq;
  while (slots.get(end + 1)?.committed) end += 1;
  const last = end > stable.seq ? slots.get(end)!.committed : null;
  const places: Prepared[] = [];
  let before = last ? turn.rules.digestOf(last.batch) : stable.digest;
  for (let seq = end + 1; ; seq++) {
    const prepared = slots.get(seq)?.prepared;
    if (!prepared || prepared.proposal.message.batch.previous !== before) break;
    places.push(prepared);
    before = prepared.proposal.message.digest;
  }
  castVote(turn, { kind: 'viewChange', view, stable, last, places });
}

/** Proves a view that a quorum asks for, as its leader. */
export function beginView(turn: Turn): void {
  const { state, rules } = turn;
  if (!state.isChanging || leaderOf(rules, state.view) !== rules.self || state.bound.has('newView')) return;
  const changes = proofOf(rules, wishesFor(turn, state.view));
  if (changes === null) return;
  state.bound = new Map(state.bound).set('newView', '');
  castVote(turn, { kind: 'newView', view: state.view, changes });
}

/** Returns the wishes for a view. */
function wishesFor(turn: Turn, view: number): readonly Signed<ViewChange>[] {
  return [...turn.state.changes.values()].filter(({ message }) => message.view === view);
}

/**
 * Returns the wishes that prove a view; null where they are too few, or too long for all hubs. One that lies may prove places of long ago,
 * which are as long as it likes: the honest ones are a quorum without it, and are waited for.
 */
function proofOf(
  { quorum, keys }: Pick<Rules, 'quorum' | 'keys'>,
  wishes: readonly Signed<ViewChange>[]
): readonly Signed<ViewChange>[] | null {
  if (wishes.length < quorum) return null;
  const most = Math.min(quorum * MOST_WISH_BYTES, MOST_NEW_VIEW_BYTES);
  if (bytesOf(wishes) <= most) return wishes;
  const shortest = wishes.toSorted((a, b) => bytesOf([a]) - bytesOf([b])).slice(0, quorum);
  return bytesOf(shortest) <= most || wishes.length === keys.length ? shortest : null;
}

/** By wish, its bytes as JSON. */
const measured = new WeakMap<Signed<ViewChange>, number>();

function bytesOf(wishes: readonly Signed<ViewChange>[]): number {
  return wishes.reduce((sum, wish) => {
    const bytes = measured.get(wish) ?? Buffer.byteLength(JSON.stringify(wish));
    measured.set(wish, bytes);
    return sum + bytes;
  }, 0);
}
