import { assign, fromPromise, setup } from 'xstate';
import { epochOf } from '../../src/consensus/epoch-tree.ts';

interface EpochCommitInput {
  readonly epochSize: number;
  /** The lowest epoch that is not committed; epochs count from 1. */
  readonly epoch: number;
  /** The highest recorded block. */
  readonly height: number;
  /** Pause before a commit that failed is tried again, in milliseconds. */
  readonly retryMs: number;
}

/**
 * Decides when the epochs of one transparency log are committed: open -> committing -> committed -> open.
 *
 * The caller provides the effect `commit`, which commits an epoch, and `tellFault`, which takes its failure. Blocks that are
 * recorded meanwhile count; a backlog of full epochs is committed one after another. A reorg opens the epoch that
 * the fork lies in, and later epochs are committed again.
 */
export const epochCommitMachine = setup({
  types: {
    input: {} as EpochCommitInput,
    context: {} as EpochCommitInput,
    events: {} as
      | { readonly type: 'block.recorded'; readonly height: number }
      | { readonly type: 'reorg.detected'; readonly forkHeight: number }
  },
  actors: { commit: fromPromise<void, { readonly epoch: number }>(() => new Promise(() => undefined)) },
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
    tellFault: (_, _fault: { readonly error: unknown }) => undefined
  },
  guards: {
    epochIsFull: ({ context }) => context.height >= context.epoch * context.epochSize,
    nextEpochIsFull: ({ context }) => context.height >= (context.epoch + 1) * context.epochSize,
    blockFillsEpoch: ({ context, event }) =>
      event.type === 'block.recorded' && Math.max(context.height, event.height) >= context.epoch * context.epochSize,
    sparesEpoch: ({ context, event }) =>
      event.type === 'reorg.detected' && event.forkHeight > context.epoch * context.epochSize
  },
  delays: { retry: ({ context }) => context.retryMs }
}).createMachine({
  id: 'epochCommit',
  context: ({ input }) => input,
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
      invoke: {
        src: 'commit',
        input: ({ context }) => ({ epoch: context.epoch }),
        onDone: [
          { guard: 'nextEpochIsFull', target: 'committing', reenter: true, actions: 'takeNextEpoch' },
          { target: 'committed', actions: 'takeNextEpoch' }
        ],
        onError: {
          target: 'open',
          actions: { type: 'tellFault', params: ({ event }) => ({ error: event.error }) }
        }
      },
      on: {
        'block.recorded': { actions: 'raiseHeight' },
        'reorg.detected': [
          { guard: 'sparesEpoch', actions: 'rewind' },
          { target: 'open', actions: 'rewind' }
        ]
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
