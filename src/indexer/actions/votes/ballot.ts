import { type Check, defineAction, type Step } from '../../rules/action-definition.ts';
import { MEMO_CHECKS, orNull, readIndex, sourceSleeps } from '../../rules/checks.ts';
import {
  BALLOT_FAULTS,
  type Ballot,
  type BallotFault,
  ballotKey,
  type Choice,
  type Poll,
  readBallot
} from '../../state/poll.ts';

/** Choice of a ballot. A badly formed ballot has one choice without an option. */
interface Cast {
  /** Index of the poll; null for a text that is no number. */
  readonly named: number | null;
  readonly poll: Poll | null;
  readonly ballot: Ballot | null;
  /** Fault of the ballot; null for a good one. */
  readonly fault: BallotFault | null;
  readonly choice: Choice | null;
  readonly memo: string;
}

function read({ action, ledger }: Step): Cast[] {
  const { get } = action.fields;
  const named = readIndex(get('POLL_REF'));
  const poll = named === null ? null : ledger.get('poll', String(named));
  const found = poll && readBallot(get('BALLOT'), poll);
  const ballot = found && 'ballot' in found ? found.ballot : null;
  const fault = found && 'fault' in found ? found.fault : null;
  return (ballot ?? [null]).map((choice) => ({ named, poll, ballot, fault, choice, memo: get('MEMO') }));
}

/** Votes for a holder. The newest valid ballot counts. */
export const BALLOT = defineAction<Cast>({
  name: 'VOTE',
  table: 'votes',
  formats: { 1: 'POLL_REF|BALLOT|MEMO' },
  takesParts: true,
  read,
  checks: [
    sourceSleeps,
    ['POLL_REF (format)', ({ named }) => named === null],
    ['POLL_REF (unknown poll)', ({ poll }) => poll === null],
    // A poll that waits for a block with room takes no ballot after its end.
    ['poll closed', ({ poll }, { action: { block } }) => !poll!.isOpen || poll!.endBlock < block.height],
    [
      'SOURCE (must hold TICK to vote)',
      ({ poll }, { action, ledger }) => ledger.balance(poll!.tick, action.source) === 0n
    ],
    ...BALLOT_FAULTS.map((status): Check<Cast> => [status, ({ fault }) => fault === status]),
    ...MEMO_CHECKS
  ],
  row: ({ named, choice, memo }, { action }) => ({
    block_index: action.block.height,
    poll_index: named ?? 0,
    voter_address_id: action.source,
    choice: choice?.option ?? 0,
    share: choice === null ? null : String(choice.share),
    memo: orNull(memo)
  }),
  // Each choice is a part of the action; the same ballot is kept for each.
  apply: ({ poll, ballot }, { action, ledger }) => {
    ledger.set('ballot', ballotKey(poll!.index, action.source), ballot);
    ledger.set('poll', String(poll!.index), { ...poll!, lastBallot: action.block.height });
  }
});
