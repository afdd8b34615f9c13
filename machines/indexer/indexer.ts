import { assign, setup } from 'xstate';

export interface IndexerInput {
  /** Blocks that may be taken back without an operator's word. */
  readonly maxRollbackDepth: number;
}

/** Why an indexer will not go on by itself. */
export interface Refusal {
  readonly code: string;
  readonly reason: string;
}

interface IndexerContext extends IndexerInput {
  /** Attempts that failed since something last went well. */
  readonly failures: number;
  readonly refusal: Refusal | null;
  /** First block to take back. */
  readonly forkHeight: number | null;
}

export type IndexerEvent =
  | { readonly type: 'databases.opened'; readonly isHalted: boolean }
  | { readonly type: 'database.lost' }
  | { readonly type: 'blocks.found' }
  | { readonly type: 'tip.reached' }
  | { readonly type: 'fork.located'; readonly height: number; readonly depth: number; readonly isAllowed: boolean }
  | { readonly type: 'blocks.read' }
  | { readonly type: 'fork.detected' }
  | { readonly type: 'blocks.written' }
  | { readonly type: 'ledger.refused'; readonly refusal: Refusal }
  | { readonly type: 'rollback.finished' }
  | { readonly type: 'poll.elapsed' }
  | { readonly type: 'halt.recorded' }
  | { readonly type: 'stop.requested' }
  | { readonly type: 'databases.closed' };

/** What an indexer does next. Each state has one effect, which the loop carries out and answers with one event. */
export const indexerMachine = setup({
  types: {
    input: {} as IndexerInput,
    context: {} as IndexerContext,
    events: {} as IndexerEvent
  },
  actions: {
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    forgetFailures: assign({ failures: 0 }),
    setFork: assign({ forkHeight: ({ event }) => (event.type === 'fork.located' ? event.height : null) }),
    refuseRollback: assign({
      refusal: ({ event }) => ({
        code: 'ROLLBACK_TOO_DEEP',
        reason:
          event.type === 'fork.located' ? `the decoder's chain leaves ours ${event.depth} blocks below the tip` : ''
      })
    }),
    refuseLedger: assign({ refusal: ({ event }) => (event.type === 'ledger.refused' ? event.refusal : null) })
  },
  guards: {
    isHalted: ({ event }) => event.type === 'databases.opened' && event.isHalted,
    isTooDeep: ({ context, event }) =>
      event.type === 'fork.located' && event.depth > context.maxRollbackDepth && !event.isAllowed
  }
}).createMachine({
  id: 'indexer',
  context: ({ input }) => ({ ...input, failures: 0, refusal: null, forkHeight: null }),
  initial: 'connecting',
  on: {
    'stop.requested': '.stopping',
    'database.lost': { target: '.connecting', actions: 'countFailure' },
    'ledger.refused': { target: '.refusing', actions: 'refuseLedger' }
  },
  states: {
    connecting: {
      on: { 'databases.opened': [{ guard: 'isHalted', target: 'halted' }, { target: 'inspecting' }] }
    },
    /** Compares our newest block with the decoder's. */
    inspecting: {
      on: {
        'blocks.found': { target: 'indexing', actions: 'forgetFailures' },
        'tip.reached': { target: 'caughtUp', actions: 'forgetFailures' },
        'fork.located': [
          { guard: 'isTooDeep', target: 'refusing', actions: 'refuseRollback' },
          { target: 'rollingBack', actions: 'setFork' }
        ]
      }
    },
    rollingBack: { on: { 'rollback.finished': { target: 'inspecting', actions: 'forgetFailures' } } },
    indexing: {
      initial: 'reading',
      states: {
        reading: { on: { 'blocks.read': 'writing', 'fork.detected': '#indexer.inspecting' } },
        writing: { on: { 'blocks.written': { target: '#indexer.inspecting', actions: 'forgetFailures' } } }
      }
    },
    caughtUp: { on: { 'poll.elapsed': 'inspecting' } },
    /** The halt is being made durable. */
    refusing: { on: { 'halt.recorded': 'halted' } },
    halted: {},
    stopping: { on: { 'database.lost': undefined, 'ledger.refused': undefined, 'databases.closed': 'stopped' } },
    stopped: { type: 'final' }
  }
});
