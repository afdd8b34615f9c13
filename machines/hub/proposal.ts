import { assign, setup } from 'xstate';

/** Input of the machine. */
interface ProposalInput {
  /** Number of validators that may vote, frozen at the proposal; at least 1. */
  readonly electorate: number;
  readonly approvals: number;
  readonly rejections: number;
}

/**
 * Proposed change of a parameter: voting -> passed, failed or expired.
 *
 * It passes when two thirds of the electorate approve, and fails as soon as that is impossible. When voting ends
 * without either, it fails if at least half took part, else it expires.
 *
 * Pure: the caller keeps the clock and sends `voting.ended`.
 *
 * @see the section "Limits" of the specification
 */
export const proposalMachine = setup({
  types: {
    input: {} as ProposalInput,
    context: {} as ProposalInput,
    events: {} as { type: 'vote.received'; approves: boolean } | { type: 'voting.ended' }
  },
  actions: {
    countVote: assign(({ context }, { approves }: { approves: boolean }) => ({
      approvals: context.approvals + (approves ? 1 : 0),
      rejections: context.rejections + (approves ? 0 : 1)
    }))
  },
  guards: {
    twoThirdsApprove: ({ context }) => context.approvals * 3 >= context.electorate * 2,
    twoThirdsOutOfReach: ({ context }) => (context.electorate - context.rejections) * 3 < context.electorate * 2,
    halfTookPart: ({ context }) => (context.approvals + context.rejections) * 2 >= context.electorate
  }
}).createMachine({
  id: 'proposal',
  context: ({ input }) => input,
  initial: 'voting',
  states: {
    voting: {
      always: [
        { guard: 'twoThirdsApprove', target: 'passed' },
        { guard: 'twoThirdsOutOfReach', target: 'failed' }
      ],
      on: {
        'vote.received': { actions: { type: 'countVote', params: ({ event }) => event } },
        'voting.ended': [{ guard: 'halfTookPart', target: 'failed' }, { target: 'expired' }]
      }
    },
    passed: { type: 'final' },
    failed: { type: 'final' },
    expired: { type: 'final' }
  }
});
