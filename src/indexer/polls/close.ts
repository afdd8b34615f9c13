import { formatAmount } from '../../consensus/amount.ts';
import { type Step, type SystemAction, VALID } from '../rules/action-definition.ts';
import { isSeenEnough } from '../rules/checks.ts';
import type { Effects } from '../state/effects.ts';
import type { Poll } from '../state/poll.ts';
import { countVotes, type Tally } from './tally.ts';

/** Fewest options of a poll. A tally looks at each. */
const FEWEST_OPTIONS = 2;

/**
 * Returns the polls that close with a block: those that end, as many as it may look at, and those that its ballots may
 * have decided. Those that should have ended before come first, then the oldest.
 *
 * @param voted indexes of the polls of its ballots
 */
export function duePolls(ledger: Effects, height: number, voted: Iterable<number>): SystemAction[] {
  const most = Math.max(0, Math.floor(ledger.left.looks.ballots / FEWEST_OPTIONS)) + 1;
  const early = ledger
    .polls(voted)
    .filter(({ endBlock, threshold, isOpen }) => isOpen && endBlock > height && threshold !== null);
  const due = [...ledger.pollsEnded(height, most), ...early].sort(
    (a, b) => Math.min(a.endBlock, height) - Math.min(b.endBlock, height) || a.index - b.index
  );
  const first = (['ballots', 'earlyBallots'] as const).map((looked) =>
    due.find((one) => lookOf(one, height) === looked)
  );
  return due.map((poll) => closePoll(poll, first.includes(poll)));
}

/** Returns the kind of look at a ballot of a poll. Polls that end have looks that no other poll takes. */
const lookOf = ({ endBlock }: Poll, height: number) => (endBlock <= height ? 'ballots' : 'earlyBallots');

/**
 * Returns the action that closes a poll. @param isFirst whether a block that has seen enough looks at it too; any other
 * poll then waits for the next block or the next ballot
 */
function closePoll(poll: Poll, isFirst: boolean): SystemAction {
  return {
    name: 'VOTE',
    format: 2,
    source: poll.source,
    run: (step) => {
      const { height } = step.action.block;
      const looked = lookOf(poll, height);
      if (looked === 'earlyBallots' && step.ledger.get('voters', String(poll.index)).size < poll.minVoters)
        return false;
      if (!isFirst && isSeenEnough(looked, step)) return false;
      const tally = countVotes(poll, step.ledger, height, looked);
      if (poll.endBlock > height && !(tally.isDecided && tally.isQuorum && tally.hasVoters)) return false;
      writeOutcome(poll, tally, step);
      return true;
    }
  };
}

function writeOutcome(poll: Poll, tally: Tally, step: Step): void {
  const { action, ledger } = step;
  const { height } = action.block;
  const isFinal = tally.isQuorum && tally.hasVoters;
  const failReason = tally.isQuorum ? 'min_voters' : tally.hasVoters ? 'quorum' : 'both';
  for (const [option_index, { weight, voters }] of tally.options.entries()) {
    ledger.record('poll_results', {
      action_index: action.index,
      block_index: height,
      poll_index: poll.index,
      option_index,
      total_weight: formatAmount(weight),
      voter_count: voters,
      resolved_block: height,
      status_id: VALID
    });
  }
  ledger.change('polls', poll.index, {
    poll_status: isFinal ? 'finalized' : 'failed_quorum',
    winning_option: isFinal ? tally.leader : null,
    total_weight: formatAmount(tally.weight),
    total_voters: tally.voters,
    quorum_met: Number(tally.isQuorum),
    min_voters_met: Number(tally.hasVoters),
    fail_reason: isFinal ? null : failReason,
    decided_early: Number(poll.endBlock > height),
    effective_close_block: height,
    finalized_action_index: action.index,
    resolved_block: height,
    deposit_resolved: poll.deposit === 0n ? null : isFinal ? 'refunded' : 'forfeited'
  });
  if (poll.deposit > 0n) releaseDeposit(poll, isFinal, step);
  ledger.set('poll', String(poll.index), { ...poll, isOpen: false });
}

/**
 * Returns the deposit to the source of the poll. That of a failed poll goes to the pool of rewards, or is burned where
 * there is none.
 */
function releaseDeposit({ source, deposit }: Poll, isFinal: boolean, { ledger, rules }: Step): void {
  const gas = ledger.token(rules.gasTick)!;
  const to = isFinal ? source : rules.rewardPool;
  ledger.escrow(gas, source, -deposit);
  if (to !== undefined) ledger.credit(gas, to, deposit);
}
