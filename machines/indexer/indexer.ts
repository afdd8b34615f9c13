import { assign, setup } from 'xstate';
import {
  FOLLOWER_DELAYS,
  FOLLOWER_STATES,
  type FollowerContext,
  type FollowerEvent,
  type FollowerInput,
  type ForkDepth,
  faultOf,
  isFound,
  isHalted,
  isTooDeep,
  type Opened
} from '../follower/follower.ts';
import { effect, finalError, hasErrorCode } from '../runtime/effect.ts';

/** Code and reason of a halt: the indexer does not go on by itself. */
export interface Refusal {
  readonly code: string;
  readonly reason: string;
}

/** Fork of the decoder's chain from ours. */
export interface Fork extends ForkDepth {
  /** First block to roll back. */
  readonly height: number;
}

/**
 * Result of comparing the decoder's chain with ours: it has more blocks, has none, ends below our newest block, or is
 * another chain.
 */
export type Found = 'blocks' | 'tip' | 'behind' | Fork;

/**
 * Result of reading the next blocks: they are there, the chain does not follow our newest block, or their prices are
 * missing.
 */
export type Read = 'blocks' | 'fork' | 'unpriced';

interface IndexerContext extends FollowerContext {
  readonly refusal: Refusal | null;
  /** First block to roll back. */
  readonly forkHeight: number | null;
}

const blocks = isFound('blocks');
const tip = isFound('tip');
const behind = isFound('behind');
const fork = isFound('fork');
const unpriced = isFound('unpriced');

/** Transitions for a decoder's chain that has blocks for us, lacks some, or is another. */
const found = [
  { guard: blocks, target: 'indexing' },
  { guard: behind, target: 'decoderBehind' },
  { guard: isTooDeep, target: 'refusing', actions: 'refuseRollback' },
  { target: 'rollingBack', actions: 'keepFork' }
] as const;

const isBug = hasErrorCode('INTERNAL');
const noRetryMends = (step: { event: { error: unknown } }): boolean => finalError(step) || isBug(step);

const onError = [
  { guard: noRetryMends, target: '#indexer.failed', actions: 'keepFault' },
  { guard: hasErrorCode('ROWS_REFUSED'), target: '#indexer.refusedByDatabase' },
  { target: '#indexer.reconnecting' }
] as const;
/** Transitions for faults where prices of another chain are read. */
const onReadError = [
  { guard: hasErrorCode('PRICES_REPLACED'), target: '#indexer.refusing', actions: 'refuseLedger' },
  ...onError
] as const;
/** Transitions for faults where the sums of the ledger are checked. */
const onLedgerError = [
  { guard: hasErrorCode('LEDGER_INSANE'), target: '#indexer.refusing', actions: 'refuseLedger' },
  ...onError
] as const;

/**
 * Policy of an indexer.
 *
 * It opens its databases, compares its newest block with the decoder's chain, indexes the blocks that follow, and rolls
 * back blocks that the decoder replaced. It waits at the tip, for a decoder that only lacks blocks, and for prices.
 *
 * Each state's work is an effect that the actor provides, and the chart says which state follows it. After a failed
 * effect both databases are compared again, unless no retry can mend the fault.
 */
export const indexerMachine = setup({
  types: {
    input: {} as FollowerInput,
    context: {} as IndexerContext,
    events: {} as FollowerEvent
  },
  actors: {
    connect: effect<Opened>('connect'),
    inspect: effect<Found>('inspect'),
    read: effect<Read>('read'),
    write: effect<void>('write'),
    rollBack: effect<void, number>('rollBack'),
    watchTip: effect<Found>('watchTip'),
    awaitBlocks: effect<Found>('awaitBlocks'),
    awaitPrices: effect<void>('awaitPrices'),
    refuse: effect<void, Refusal>('refuse'),
    close: effect<void>('close')
  },
  actions: {
    keepFault: assign({ fault: faultOf }),
    keepFork: assign({ forkHeight: ({ event }) => (event as unknown as { output: Fork }).output.height }),
    refuseRollback: assign({
      refusal: ({ event }) => {
        const { depth } = (event as unknown as { output: Fork }).output;
        return {
          code: 'ROLLBACK_TOO_DEEP',
          reason: `the newest ${depth} blocks of the index differ from the decoder's chain`
        };
      }
    }),
    refuseLedger: assign({
      refusal: ({ event }) => {
        const { code, message } = (event as unknown as { error: { code: string; message: string } }).error;
        return { code, reason: message };
      }
    })
  },
  delays: FOLLOWER_DELAYS
}).createMachine({
  id: 'indexer',
  context: ({ input }) => ({ ...input, refusal: null, forkHeight: null, fault: null }),
  initial: 'connecting',
  on: { 'stop.requested': '.stopping' },
  states: {
    connecting: {
      invoke: {
        id: 'connect',
        src: 'connect',
        onDone: [{ guard: isHalted, target: 'halted' }, { target: 'inspecting' }],
        onError
      }
    },
    /** Compares our newest block with the decoder's. */
    inspecting: {
      invoke: {
        id: 'inspect',
        src: 'inspect',
        onDone: [{ guard: tip, target: 'caughtUp' }, ...found],
        onError
      }
    },
    rollingBack: {
      invoke: {
        id: 'rollBack',
        src: 'rollBack',
        input: ({ context }) => context.forkHeight!,
        onDone: 'inspecting',
        onError: onLedgerError
      }
    },
    indexing: {
      initial: 'reading',
      states: {
        reading: {
          invoke: {
            id: 'read',
            src: 'read',
            onDone: [
              { guard: fork, target: '#indexer.inspecting' },
              { guard: unpriced, target: '#indexer.awaitingPrices' },
              { target: 'writing' }
            ],
            onError: onReadError
          }
        },
        writing: { invoke: { id: 'write', src: 'write', onDone: '#indexer.inspecting', onError: onLedgerError } }
      }
    },
    /** Compares them until there is something to do. */
    caughtUp: { invoke: { id: 'watchTip', src: 'watchTip', onDone: [...found], onError } },
    /** Waits for a decoder that lacks blocks which it had, and has no others. */
    decoderBehind: {
      invoke: {
        id: 'awaitBlocks',
        src: 'awaitBlocks',
        onDone: [{ guard: tip, target: 'caughtUp' }, ...found],
        onError
      }
    },
    /** Waits until the ledger that has the prices is far enough. */
    awaitingPrices: { invoke: { id: 'awaitPrices', src: 'awaitPrices', onDone: 'inspecting', onError } },
    /** The halt is being made durable. */
    refusing: {
      invoke: {
        id: 'refuse',
        src: 'refuse',
        input: ({ context }) => context.refusal!,
        onDone: 'halted',
        onError
      }
    },
    halted: {},
    ...FOLLOWER_STATES
  }
});
