import { type Ballot, ballotKey, type Choice, type Poll, readBallot } from '../../polls/poll.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import { MEMO_CHECKS, orNull, readIndex, sourceSleeps } from '../../rules/checks.ts';

/** One choice of a ballot; a ballot that is badly formed has one without an option. */
interface Cast {
  /** Null for what is no number. */
  readonly named: number | null;
  readonly poll: Poll | null;
  readonly ballot: Ballot | null;
  readonly choice: Choice | null;
  readonly memo: string;
}

function read({ action, ledger }: Step): Cast[] {
  const { get } = action.fields;
  const named = readIndex(get('POLL_REF'));
  const poll = named === null ? null : ledger.get('poll', String(named));
  const ballot = poll && readBallot(get('BALLOT'), poll);
  return (ballot ?? [null]).map((choice) => ({ named, poll, ballot, choice, memo: get('MEMO') }));
}

/** What a holder is for. The newest valid one counts. */
export const BALLOT = defineAction<Cast>({
  name: 'VOTE',
  table: 'votes',
  formats: { 1: 'POLL_REF|BALLOT|MEMO' },
  read,
  checks: [
    ['POLL_REF (format)', ({ named }) => named === null],
    ['POLL_REF (unknown)', ({ poll }) => poll === null],
    ['BALLOT (format)', ({ ballot }) => ballot === null],
    sourceSleeps,
    ...MEMO_CHECKS,
    ['poll closed', ({ poll }) => !poll!.isOpen],
    [
      'insufficient funds (TICK)',
      ({ poll }, { action, ledger }) => {
        const balance = ledger.balance(poll!.tick, action.source);
        return balance === 0n || balance < poll!.minBalance;
      }
    ]
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
