import {
  type GatheredRound,
  heldByHonest,
  type RoundRules,
  roundAt,
  type Seen,
  type Submission,
  startOf
} from './statements.ts';

/** Prices that this hub found last. */
interface Found {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly height: number;
  readonly prices: Submission['prices'];
}

/** All that a hub holds of one round. */
interface Gathering {
  readonly round: number;
  /** By hash. */
  readonly submissions: ReadonlyMap<string, Submission>;
  /** By submitter, the hash of the first one. */
  readonly first: ReadonlyMap<string, string>;
  /** By hub, its first list. */
  readonly seen: ReadonlyMap<string, Seen>;
  /** Whether this hub has had its own submission signed; the same of its list. */
  readonly hasSubmitted: boolean;
  readonly hasListed: boolean;
  /** Times at which it told all of this again, and proposed the round: epoch milliseconds; 0 for not yet. */
  readonly toldAt: number;
  readonly proposedAt: number;
}

/** A hub's part in the rounds of its set. Values are replaced, never changed. */
export interface GatheringState {
  readonly now: number;
  readonly found: Found | null;
  /** Number of the last round that the log has decided; -1 before the first one. */
  readonly decided: number;
  /** Whether any hub qualifies for prices: else there are no rounds. */
  readonly isOn: boolean;
  /** Whether this hub is one of them, and ready. */
  readonly isReady: boolean;
  /** Rounds that are open, by number: that of the clock and the next one, for hubs whose clocks are ahead. */
  readonly open: ReadonlyMap<number, Gathering>;
}

export const NOTHING_GATHERED: GatheringState = {
  now: 0,
  found: null,
  decided: -1,
  isOn: false,
  isReady: false,
  open: new Map()
};

/** All that happens. Submissions and lists come from hubs of the set, and have their shape. */
export type GatheringEvent =
  /** @property now  epoch milliseconds, never below the value before */
  | { readonly type: 'clock.ticked'; readonly now: number }
  | ({ readonly type: 'prices.found' } & Found)
  | { readonly type: 'capability.changed'; readonly isOn: boolean; readonly isReady: boolean }
  | { readonly type: 'submission.received'; readonly submission: Submission }
  | { readonly type: 'list.received'; readonly seen: Seen }
  | { readonly type: 'submission.asked'; readonly from: string; readonly round: number; readonly hash: string }
  | { readonly type: 'round.decided'; readonly round: number };

/** All that a hub is to do, in order. */
export type GatheringEffect =
  /** Sign, store and send to all, then say that it was received. Who has signed another one for the round sends that. */
  | { readonly type: 'submit'; readonly submission: Omit<Submission, 'submitter' | 'sig'> }
  | { readonly type: 'list'; readonly list: Omit<Seen, 'hub' | 'sig'> }
  | { readonly type: 'ask'; readonly to: string; readonly round: number; readonly hash: string }
  | { readonly type: 'send'; readonly to: string; readonly submission: Submission }
  /** Send these to all once more. */
  | { readonly type: 'tellAgain'; readonly submissions: readonly Submission[]; readonly lists: readonly Seen[] }
  /** Write the round by the log. */
  | { readonly type: 'propose'; readonly gathered: GatheredRound };

/** Submissions of one hub that are kept, beside those that others list: a second one is enough to name it. */
const MOST_OF_ONE = 2;
/** Longest time after a window for lists to arrive, and for each hub to propose the round; a twentieth and a tenth of short rounds. */
const GRACE_MS = 2_000;
const TURN_MS = 10_000;
/** Time after which a hub tells again what it holds. */
const TELL_MS = 5_000;

/** The state that an event changes, and what is to be done for it. */
interface Turn {
  state: GatheringState;
  readonly self: string;
  readonly rules: RoundRules;
  readonly effects: GatheringEffect[];
}

/**
 * Returns what a hub does for the rounds of its set after an event: it submits its prices, lists what it holds when the window ends, and
 * proposes the round when its turn comes. The log decides.
 */
export function stepGathering(
  state: GatheringState,
  event: GatheringEvent,
  { self, rules }: { readonly self: string; readonly rules: RoundRules }
): { readonly state: GatheringState; readonly effects: readonly GatheringEffect[] } {
  const turn: Turn = { state, self, rules, effects: [] };
  switch (event.type) {
    case 'clock.ticked':
      turn.state = { ...state, now: event.now };
      break;
    case 'prices.found':
      turn.state = { ...state, found: { at: event.at, height: event.height, prices: event.prices } };
      break;
    case 'capability.changed':
      turn.state = { ...state, isOn: event.isOn, isReady: event.isReady };
      break;
    case 'submission.received':
      keepSubmission(turn, event.submission);
      break;
    case 'list.received':
      keepList(turn, event.seen);
      break;
    case 'submission.asked': {
      const submission = state.open.get(event.round)?.submissions.get(event.hash);
      if (submission) turn.effects.push({ type: 'send', to: event.from, submission });
      break;
    }
    case 'round.decided':
      turn.state = { ...state, decided: Math.max(state.decided, event.round) };
  }
  goOn(turn);
  return { state: turn.state, effects: turn.effects };
}

function gatheringOf({ state, rules }: Turn, round: number): Gathering | null {
  const present = roundAt(rules, state.now);
  if (round <= state.decided || round < present || round > present + 1) return null;
  return (
    state.open.get(round) ?? {
      round,
      submissions: new Map(),
      first: new Map(),
      seen: new Map(),
      hasSubmitted: false,
      hasListed: false,
      toldAt: 0,
      proposedAt: 0
    }
  );
}

function put(turn: Turn, gathering: Gathering): void {
  turn.state = { ...turn.state, open: new Map(turn.state.open).set(gathering.round, gathering) };
}

function keepSubmission(turn: Turn, submission: Submission): void {
  const { rules } = turn;
  const { submitter, round } = submission;
  const gathering = gatheringOf(turn, round);
  if (!gathering || !rules.keys.includes(submitter)) return;
  const hash = rules.hashOf(submission);
  if (gathering.submissions.has(hash)) return;
  const kept = [...gathering.submissions.values()].filter((one) => one.submitter === submitter).length;
  const isNeeded = heldByHonest(rules, [...gathering.seen.values()]).has(hash);
  if ((kept >= MOST_OF_ONE && !isNeeded) || !rules.isSigned(submission)) return;
  put(turn, {
    ...gathering,
    submissions: new Map(gathering.submissions).set(hash, submission),
    first: gathering.first.has(submitter) ? gathering.first : new Map(gathering.first).set(submitter, hash),
    hasSubmitted: gathering.hasSubmitted || submitter === turn.self
  });
}

function keepList(turn: Turn, seen: Seen): void {
  const { rules } = turn;
  const gathering = gatheringOf(turn, seen.round);
  if (!gathering || gathering.seen.has(seen.hub) || !rules.keys.includes(seen.hub) || !rules.isSigned(seen)) return;
  put(turn, {
    ...gathering,
    seen: new Map(gathering.seen).set(seen.hub, seen),
    hasListed: gathering.hasListed || seen.hub === turn.self
  });
}

/** Does what the clock and what is held allow. */
function goOn(turn: Turn): void {
  const { state, rules } = turn;
  const present = roundAt(rules, state.now);
  if ([...state.open.keys()].some((round) => round < present || round <= state.decided))
    turn.state = {
      ...state,
      open: new Map([...state.open].filter(([round]) => round >= present && round > state.decided))
    };
  if (!state.isOn || present < 0) return;
  const gathering = gatheringOf(turn, present);
  if (!gathering) return;
  const sinceStart = state.now - startOf(rules, present);
  submit(turn, gathering, sinceStart);
  if (sinceStart < rules.windowMs) return;
  list(turn, gatheringOf(turn, present)!);
  propose(turn, gatheringOf(turn, present)!, sinceStart - rules.windowMs);
}

/** Submits prices that were found in the round; those from just before it when none came in half of its window. */
function submit(turn: Turn, gathering: Gathering, sinceStart: number): void {
  const { found, isReady } = turn.state;
  const { windowMs, intervalMs } = turn.rules;
  if (gathering.hasSubmitted || !isReady || !found || found.prices.length === 0 || sinceStart >= windowMs) return;
  const start = startOf(turn.rules, gathering.round);
  const isLate = 2 * sinceStart >= windowMs;
  if (found.at < (isLate ? start - intervalMs : start)) return;
  put(turn, { ...gathering, hasSubmitted: true });
  const { height, prices } = found;
  turn.effects.push({ type: 'submit', submission: { round: gathering.round, height, prices } });
}

/** Lists the first submission of each hub when the window has ended; later ones are not in it. */
function list(turn: Turn, gathering: Gathering): void {
  if (gathering.hasListed) return;
  put(turn, { ...gathering, hasListed: true, toldAt: turn.state.now });
  turn.effects.push({ type: 'list', list: { round: gathering.round, held: [...gathering.first.values()].toSorted() } });
}

/** Proposes the round, in turn, when a quorum has listed; meanwhile tells what it holds, and asks for what it lacks. */
function propose(turn: Turn, gathering: Gathering, sinceWindow: number): void {
  const { state, rules, self } = turn;
  const { round, submissions, seen, toldAt, proposedAt } = gathering;
  const lists = rules.keys.flatMap((key) => seen.get(key) ?? []).slice(0, rules.quorum);
  const needed = [...heldByHonest(rules, lists)].toSorted();
  const { intervalMs } = rules;
  if (state.now - toldAt >= Math.min(TELL_MS, intervalMs / 20)) {
    put(turn, { ...gathering, toldAt: state.now });
    const own = [...submissions.values()].filter(({ submitter }) => submitter === self);
    const ownList = seen.get(self);
    turn.effects.push({ type: 'tellAgain', submissions: own, lists: ownList ? [ownList] : [] });
    for (const hash of needed.filter((each) => !submissions.has(each)))
      for (const { hub } of lists.filter(({ hub, held }) => hub !== self && held.includes(hash)))
        turn.effects.push({ type: 'ask', to: hub, round, hash });
  }
  const place = (rules.keys.indexOf(self) - (round % rules.keys.length) + rules.keys.length) % rules.keys.length;
  const turnMs = Math.min(GRACE_MS, intervalMs / 20) + place * Math.min(TURN_MS, intervalMs / 10);
  if (proposedAt > 0 || sinceWindow < turnMs || lists.length < rules.quorum) return;
  const held = needed.flatMap((hash) => submissions.get(hash) ?? []);
  if (held.length < needed.length) return;
  put(turn, { ...turn.state.open.get(round)!, proposedAt: state.now });
  turn.effects.push({ type: 'propose', gathered: { round, seen: lists, submissions: held } });
}
