import { assign, setup } from 'xstate';
import { epochOf } from '../../src/consensus/epoch-tree.ts';

export interface EpochCommitInput {
  readonly epochSize: number;
  /** The lowest epoch that is not committed; epochs count from 1. */
  readonly epoch: number;
  /** The highest recorded block. */
  readonly height: number;
  /** Pause before a commit that failed is tried again, in milliseconds. */
  readonly retryMs: number;
}

type Context = EpochCommitInput & {
  /** Names the commit under way, so that the outcome of one that a reorg overtook is not taken for another's. */
  readonly attempt: number;
};

/**
 * When the epochs of one transparency log are committed: open -> committing -> committed -> open.
 *
 * The caller provides the effect `commit`, which commits `context.epoch` and answers with the same `attempt`. Blocks that are
 * recorded meanwhile count; a backlog of full epochs is committed one after another. A reorg opens the epoch that
 * the fork lies in, and what was committed above it is committed anew.
 */
export const epochCommitMachine = setup({
  types: {
    input: {} as EpochCommitInput,
    context: {} as Context,
    events: {} as
      | { readonly type: 'block.recorded'; readonly height: number }
      | { readonly type: 'epoch.committed'; readonly attempt: number }
      | { readonly type: 'commit.failed'; readonly attempt: number }
      | { readonly type: 'reorg.detected'; readonly forkHeight: number }
  },
  actions: {
    raiseHeight: assign(({ context, event }) =>
      event.type === 'block.recorded' ? { height: Math.max(context.height, event.height) } : {}
    ),
    takeNextEpoch: assign({ epoch: ({ context }) => context.epoch + 1 }),
    rewind: assign(({ context, event }) =>
      event.type === 'reorg.detected'
        ? {
            height: Math.min(context.height, event.forkHeight - 1),
            epoch: Math.min(context.epoch, Math.max(1, epochOf(event.forkHeight, context.epochSize)))
          }
        : {}
    ),
    countAttempt: assign({ attempt: ({ context }) => context.attempt + 1 }),
    commit: () => undefined
  },
  guards: {
    epochIsFull: ({ context }) => context.height >= context.epoch * context.epochSize,
    blockFillsEpoch: ({ context, event }) =>
      event.type === 'block.recorded' && Math.max(context.height, event.height) >= context.epoch * context.epochSize,
    sparesEpoch: ({ context, event }) =>
      event.type === 'reorg.detected' && event.forkHeight > context.epoch * context.epochSize,
    isThisAttempt: ({ context, event }) => 'attempt' in event && event.attempt === context.attempt,
    leavesAFullEpoch: ({ context, event }) =>
      'attempt' in event &&
      event.attempt === context.attempt &&
      context.height >= (context.epoch + 1) * context.epochSize
  },
  delays: { retry: ({ context }) => context.retryMs }
}).createMachine({
  id: 'epochCommit',
  context: ({ input }) => ({ ...input, attempt: 0 }),
  initial: 'open',
  on: { 'reorg.detected': { target: '.open', actions: 'rewind' } },
  states: {
    open: {
      on: {
        'block.recorded': [
          { guard: 'blockFillsEpoch', target: 'committing', actions: 'raiseHeight' },
          { actions: 'raiseHeight' }
        ]
      },
      after: { retry: { guard: 'epochIsFull', target: 'committing' } }
    },
    committing: {
      entry: ['countAttempt', 'commit'],
      on: {
        'block.recorded': { actions: 'raiseHeight' },
        'epoch.committed': [
          { guard: 'leavesAFullEpoch', target: 'committing', reenter: true, actions: 'takeNextEpoch' },
          { guard: 'isThisAttempt', target: 'committed', actions: 'takeNextEpoch' }
        ],
        'reorg.detected': { guard: 'sparesEpoch', actions: 'rewind' },
        'commit.failed': { guard: 'isThisAttempt', target: 'open' }
      }
    },
    committed: {
      on: {
        'block.recorded': [
          { guard: 'blockFillsEpoch', target: 'committing', actions: 'raiseHeight' },
          { target: 'open', actions: 'raiseHeight' }
        ]
      }
    }
  }
});
