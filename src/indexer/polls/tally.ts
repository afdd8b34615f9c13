import { parseAmount } from '../../consensus/amount.ts';
import { stakedBy } from '../staking/validators.ts';
import type { Effects, Looked } from '../state/effects.ts';
import { pairKey, tickKey } from '../state/keys.ts';
import { type Ballot, ballotKey, type Poll, WHOLE_SUPPLY } from '../state/poll.ts';

/** Weight of each voter where all have the same. */
const HEAD = parseAmount('1')!;

/** Votes for an option or in a poll. */
export interface Votes {
  readonly weight: bigint;
  readonly voters: number;
}

/** An address that holds something, and the voter whose ballot it stands behind. */
type Backing = readonly [holder: string, voter: string];

/** Votes of a poll as they are now. */
export interface Tally extends Votes {
  readonly options: readonly Votes[];
  /** Option with the greatest weight, of equal ones the first. */
  readonly leader: number;
  /** Whether the voters of the leader hold the share of the supply that decides the poll. */
  readonly isDecided: boolean;
  readonly isQuorum: boolean;
  readonly hasVoters: boolean;
}

/**
 * Counts the newest ballot of each voter, by the balances of now. Each option, ballot and delegation is a look, and each
 * key whose stake weighs.
 */
export function countVotes(poll: Poll, ledger: Effects, height: number, looked: Looked): Tally {
  const ballots = ballotsOf(poll, ledger);
  const passes = poll.weightMode === 'balance' ? 1 : 2;
  const delegations = delegationsOf(poll, ledger);
  const behind = backersOf(ballots, delegations);
  if (poll.weightMode === 'stake') ledger.request(behind.map(([holder]) => ({ kind: 'keysOf', key: holder })));
  const keys = poll.weightMode === 'stake' ? behind.map(([holder]) => ledger.get('keysOf', holder).size) : [];
  ledger.looks[looked] += poll.options + passes * (ballots.size + delegations.length);
  for (const count of keys) ledger.looks[looked] += count;
  const counted = addUp(poll, ballots, weightsOf(poll, behind, ledger, height));
  const most = counted.options.reduce((best, { weight }) => (weight > best ? weight : best), 0n);
  const leader = counted.options.findIndex(({ weight }) => weight === most);
  const held = poll.weightMode === 'balance' ? counted : heldBehind(poll, ballots, behind, ledger, height);
  const { supply } = ledger.token(poll.tick)!;
  const isShare = (amount: bigint, share: bigint) => amount * WHOLE_SUPPLY >= share * supply;
  return {
    ...counted,
    leader,
    isDecided: poll.threshold !== null && isShare(held.options[leader]!.weight, poll.threshold),
    isQuorum: counted.weight > 0n && isShare(held.weight, poll.quorum),
    hasVoters: counted.voters >= poll.minVoters
  };
}

/** Adds up what the voters of each option hold, in units of the token, whatever weights the poll uses. */
function heldBehind(
  poll: Poll,
  ballots: ReadonlyMap<string, Ballot>,
  behind: readonly Backing[],
  ledger: Effects,
  height: number
) {
  const byBalance: Poll = { ...poll, weightMode: 'balance' };
  return addUp(byBalance, ballots, weightsOf(byBalance, behind, ledger, height));
}

function addUp(
  poll: Poll,
  ballots: ReadonlyMap<string, Ballot>,
  weights: ReadonlyMap<string, bigint>
): Votes & { readonly options: readonly Votes[] } {
  const options = Array.from({ length: poll.options }, () => ({ weight: 0n, voters: 0 }));
  let [total, voters] = [0n, 0];
  for (const [voter, ballot] of ballots) {
    const weight = weights.get(voter) ?? 0n;
    if (weight === 0n) continue;
    total += weight;
    voters += 1;
    const shares = ballot.reduce((sum, { share }) => sum + share, 0);
    for (const { option, share } of ballot) {
      options[option]!.weight += poll.tallyMode === 'split' ? (weight * BigInt(share)) / BigInt(shares) : weight;
      options[option]!.voters += 1;
    }
  }
  return { options, weight: total, voters };
}

function ballotsOf({ index }: Poll, ledger: Effects): Map<string, Ballot> {
  const voters = [...ledger.get('voters', String(index))];
  ledger.request(voters.map((voter) => ({ kind: 'ballot', key: ballotKey(index, voter) })));
  return new Map(voters.map((voter) => [voter, ledger.get('ballot', ballotKey(index, voter))!]));
}

/** Returns who stands behind each ballot: the voter, and delegators who did not vote. */
function backersOf(ballots: ReadonlyMap<string, Ballot>, delegations: readonly Backing[]): readonly Backing[] {
  const delegated = delegations.filter(([from, to]) => ballots.has(to) && !ballots.has(from));
  return [...[...ballots.keys()].map((voter) => [voter, voter] as const), ...delegated];
}

/** Returns the weight of each ballot: that of all who stand behind it. */
function weightsOf(poll: Poll, behind: readonly Backing[], ledger: Effects, height: number): Map<string, bigint> {
  ledger.request(behind.map(([holder]) => ({ kind: 'balance', key: pairKey(poll.tick, holder) })));
  const weights = new Map<string, bigint>();
  for (const [holder, voter] of behind)
    weights.set(voter, (weights.get(voter) ?? 0n) + weightOf(holder, poll, ledger, height));
  return weights;
}

/** Returns the delegations of votes with the token of a poll, as pairs of delegator and delegate. */
function delegationsOf({ tick }: Poll, ledger: Effects): readonly Backing[] {
  const delegators = [...ledger.get('delegators', tickKey(tick))];
  ledger.request(delegators.map((from) => ({ kind: 'voteDelegate', key: pairKey(tick, from) })));
  return delegators.flatMap((from) => {
    const to = ledger.get('voteDelegate', pairKey(tick, from));
    return to === null ? [] : [[from, to] as const];
  });
}

function weightOf(holder: string, { tick, weightMode, minBalance }: Poll, ledger: Effects, height: number): bigint {
  const balance = ledger.balance(tick, holder);
  if (balance === 0n || balance < minBalance) return 0n;
  switch (weightMode) {
    case 'flat':
      return HEAD;
    case 'quadratic':
      return squareRoot(balance * HEAD);
    case 'stake':
      return stakedBy(holder, ledger, height);
    default:
      return balance;
  }
}

/** Returns the greatest whole number whose square is not above another. */
export function squareRoot(square: bigint): bigint {
  if (square < 2n) return square;
  let root = 1n << BigInt(Math.ceil(square.toString(2).length / 2));
  for (let next = (root + square / root) >> 1n; next < root; next = (root + square / root) >> 1n) root = next;
  return root;
}
