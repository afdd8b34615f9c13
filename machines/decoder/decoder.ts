import { assign, setup } from 'xstate';

export interface DecoderInput {
  /** Blocks that may be rolled back without an operator's word. */
  readonly maxRollbackDepth: number;
}

interface DecoderContext extends DecoderInput {
  /** The last block written; null when there is none. */
  readonly height: number | null;
  /** Attempts that failed since something last went well. */
  readonly failures: number;
}

export type DecoderEvent =
  | { readonly type: 'database.opened'; readonly height: number | null; readonly isHalted: boolean }
  | { readonly type: 'database.lost' }
  | { readonly type: 'node.verified' }
  | { readonly type: 'attempt.failed' }
  | { readonly type: 'block.written'; readonly height: number }
  | { readonly type: 'block.announced' }
  | { readonly type: 'tip.reached' }
  | { readonly type: 'fork.detected' }
  | { readonly type: 'fork.located'; readonly depth: number; readonly isAllowed: boolean }
  | { readonly type: 'rollback.finished'; readonly height: number | null }
  | { readonly type: 'halt.recorded' }
  | { readonly type: 'stop.requested' }
  | { readonly type: 'database.closed' };

/**
 * What a decoder does next. Each state has one effect, which the loop carries out and answers with one event.
 *
 * @see the sections on decoder start-up order, shutdown and reorg handling of the specification
 */
export const decoderMachine = setup({
  types: {
    input: {} as DecoderInput,
    context: {} as DecoderContext,
    events: {} as DecoderEvent
  },
  actions: {
    setHeight: assign(({ event }) => ('height' in event ? { height: event.height } : {})),
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    forgetFailures: assign({ failures: 0 })
  },
  guards: {
    isHalted: ({ event }) => event.type === 'database.opened' && event.isHalted,
    isTooDeep: ({ context, event }) =>
      event.type === 'fork.located' && event.depth > context.maxRollbackDepth && !event.isAllowed
  }
}).createMachine({
  id: 'decoder',
  context: ({ input }) => ({ ...input, height: null, failures: 0 }),
  initial: 'connecting',
  on: {
    'stop.requested': '.stopping',
    'database.lost': { target: '.connecting', actions: 'countFailure' },
    'attempt.failed': { actions: 'countFailure' }
  },
  states: {
    connecting: {
      on: {
        'database.opened': [
          { guard: 'isHalted', target: 'halted', actions: 'setHeight' },
          { target: 'waitingForNode', actions: 'setHeight' }
        ]
      }
    },
    waitingForNode: { on: { 'node.verified': { target: 'parsing', actions: 'forgetFailures' } } },
    parsing: {
      initial: 'catchingUp',
      on: { 'fork.detected': 'locatingFork' },
      states: {
        catchingUp: {
          on: {
            'block.written': { actions: ['setHeight', 'forgetFailures'] },
            'tip.reached': { target: 'caughtUp', actions: 'forgetFailures' }
          }
        },
        caughtUp: {
          on: {
            'tip.reached': { actions: 'forgetFailures' },
            'block.announced': { target: 'catchingUp', actions: 'forgetFailures' }
          }
        }
      }
    },
    locatingFork: {
      on: {
        'fork.located': [{ guard: 'isTooDeep', target: 'refusing' }, { target: 'rollingBack' }]
      }
    },
    rollingBack: { on: { 'rollback.finished': { target: 'parsing', actions: 'setHeight' } } },
    /** A rollback beyond the limit: the halt is being made durable. */
    refusing: { on: { 'halt.recorded': 'halted' } },
    halted: {},
    stopping: { on: { 'database.lost': undefined, 'database.closed': 'stopped' } },
    stopped: { type: 'final' }
  }
});
