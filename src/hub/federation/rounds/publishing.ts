import type { DecidedRound } from './decide.ts';
import type { RoundRules } from './statements.ts';

/** A decided round as the log has it: hubs publish it in turn. */
export interface LoggedRound extends DecidedRound {
  /** Clock of the log when it was decided, epoch milliseconds. */
  readonly decidedAt: number;
  /** Hubs that were ready to publish it then, in ascending order: whoever is so later, or no more, changes no turn. */
  readonly publishers: readonly string[];
}

/** Rules of the set that decide how long a turn is. */
type TurnRules = Pick<RoundRules, 'intervalMs' | 'faulty'>;

/** A hub's part in the publishing of a round at a time. */
interface PublishingPart {
  /** Whether it may begin to make the transactions. */
  readonly mayBegin: boolean;
  /** Whether it may still send for the first time what it has made. */
  readonly maySend: boolean;
  /** Whether turns of the round are left, its own or of others. */
  readonly isOpen: boolean;
}

/** State of a round as this hub's own indexer and coin node tell it. */
export interface LookedRound {
  /** Whether the ledger has its prices; null: the indexer does not answer, or lacks blocks that the node has. */
  readonly isOnLedger: boolean | null;
  /** Whether a transaction with its prices waits for a block, and pays as much as one of this hub would. */
  readonly isWaiting: boolean;
}

/** A transaction that a hub said it has sent for a round. */
export interface AnnouncedTransaction {
  readonly hub: string;
  readonly txid: string;
}

/** Memory of a hub about what others have sent. */
export interface WaitedFor {
  /** Hubs and rounds, whose transaction this hub has waited for. */
  readonly waited: ReadonlySet<string>;
  /** Hubs whose transaction went from the node without bringing its round to the ledger: nobody waits for theirs any more. */
  readonly doubted: ReadonlySet<string>;
}

export const NOBODY_WAITED_FOR: WaitedFor = { waited: new Set(), doubted: new Set() };

/** Parts of a turn in which a hub begins, and in which it sends; the rest is for its transactions to reach the others' nodes. */
const [BEGIN_PERCENT, SEND_PERCENT] = [50, 75];
/** Transactions that a hub remembers to have waited for. */
const MOST_WAITED = 1_000;

/**
 * Returns the length of a turn: as many hubs as may lie, and one more, have theirs before the next round is decided. So an honest hub
 * has one.
 */
export function turnMsOf({ intervalMs, faulty }: TurnRules): number {
  return Math.floor(intervalMs / (faulty + 1));
}

/**
 * Returns a hub's part in the publishing of a round.
 *
 * The right to publish is a function of the log and the clock. Each hub that was ready when the round was decided has it once, for one
 * turn; nobody claims it, so nobody holds it for longer, or gets it again.
 *
 * @param now  epoch milliseconds
 */
export function partOf(
  rules: TurnRules,
  { round, decidedAt, publishers }: Pick<LoggedRound, 'round' | 'decidedAt' | 'publishers'>,
  self: string,
  now: number
): PublishingPart {
  const turnMs = turnMsOf(rules);
  const since = now - decidedAt;
  const isOpen = since >= 0 && since < publishers.length * turnMs;
  const turn = Math.floor(since / turnMs);
  const isOwn = isOpen && publisherOf(publishers, round, turn) === self;
  const percent = (100 * (since - turn * turnMs)) / turnMs;
  return { mayBegin: isOwn && percent < BEGIN_PERCENT, maySend: isOwn && percent < SEND_PERCENT, isOpen };
}

/** Returns the hubs whose turns have begun: what others announce before theirs holds up nobody. @param now  as above */
export function begunBy(
  rules: TurnRules,
  { round, decidedAt, publishers }: Pick<LoggedRound, 'round' | 'decidedAt' | 'publishers'>,
  now: number
): readonly string[] {
  const turns = Math.min(publishers.length, Math.floor((now - decidedAt) / turnMsOf(rules)) + 1);
  return Array.from({ length: Math.max(0, turns) }, (_, turn) => publisherOf(publishers, round, turn));
}

/** Returns the hub that has a turn of a round, from 0: hubs begin one after the other, each round with the next one. */
function publisherOf(publishers: readonly string[], round: number, turn: number): string {
  return publishers[(round + turn) % publishers.length]!;
}

/**
 * Judges what others announced for a round that is not on the ledger. A hub that lies can send what the ledger refuses: it holds up one
 * round by it, and none after that.
 *
 * @param waits  whether an announced transaction has the round's prices, waits for a block, and pays as much as one of this hub would
 */
export function judgeAnnounced(
  { waited, doubted }: WaitedFor,
  round: number,
  announced: readonly (AnnouncedTransaction & { readonly waits: boolean })[]
): { readonly memory: WaitedFor; readonly isWaiting: boolean } {
  const placeOf = ({ hub }: AnnouncedTransaction) => `${hub} ${round}`;
  const gone = announced.filter((one) => !one.waits && waited.has(placeOf(one)));
  const now = new Set([...doubted, ...gone.map(({ hub }) => hub)]);
  const waiting = announced.filter(({ hub, waits }) => waits && !now.has(hub));
  const kept = [...waited, ...waiting.map(placeOf)].slice(-MOST_WAITED);
  return { memory: { waited: new Set(kept), doubted: now }, isWaiting: waiting.length > 0 };
}

/**
 * Returns what a hub does for a round after it has looked at its own indexer and node: what others announced counts as far as these say so.
 *
 * @param hasMade  whether it has made transactions for the round: it makes no second ones
 */
export function nextDeed(
  { mayBegin, isOpen }: PublishingPart,
  hasMade: boolean,
  { isOnLedger, isWaiting }: LookedRound
): 'make' | 'send' | null {
  if (isOnLedger !== false || isWaiting || !isOpen) return null;
  if (hasMade) return 'send';
  return mayBegin ? 'make' : null;
}
