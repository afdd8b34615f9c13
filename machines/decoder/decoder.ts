import { assign, setup } from 'xstate';
import { effect, hasErrorCode } from '../runtime/effect.ts';

export interface DecoderInput {
  /** Blocks that may be rolled back without an operator's word. */
  readonly maxRollbackDepth: number;
  /** Pause before a database that was lost is opened again, in milliseconds. */
  readonly reconnectDelayMs: number;
}

interface DecoderContext extends DecoderInput {
  /** What ended the last effect; null while all went well. */
  readonly fault: unknown;
}

/** What the marker of an opened database says. */
export interface Opened {
  readonly isHalted: boolean;
}

/** Where the chain of the node leads: nothing is left to write, there are blocks to write, or ours are not in it. */
export type Found = 'tip' | 'blocks' | 'fork';

/** How far back a fork is, and whether an operator allows a rollback of any depth. */
export interface Fork {
  readonly depth: number;
  readonly isAllowed: boolean;
}

const isHalted = ({ event }: { event: { output: Opened } }): boolean => event.output.isHalted;
const fork = ({ event }: { event: { output: Found } }): boolean => event.output === 'fork';
const isTooDeep = ({ context, event }: { context: DecoderContext; event: { output: Fork } }): boolean =>
  event.output.depth > context.maxRollbackDepth && !event.output.isAllowed;

const onError = [
  { guard: hasErrorCode('DATABASE_UNAVAILABLE'), target: '#decoder.reconnecting' },
  { target: '#decoder.failed', actions: 'keepFault' }
] as const;

/**
 * What a decoder does next: opens its database, waits for the coin node, takes blocks up to the tip, watches the tip, and rolls back
 * what the node no longer has.
 *
 * Each state's work is an effect that the actor provides; the chart says where its end leads. An effect that fails is tried again in
 * its state, unless the database is lost or no retry mends it.
 *
 * @see the sections on decoder start-up order, shutdown and reorg handling of the specification
 */
export const decoderMachine = setup({
  types: {
    input: {} as DecoderInput,
    context: {} as DecoderContext,
    events: {} as { readonly type: 'stop.requested' }
  },
  actors: {
    connect: effect<Opened>('connect'),
    awaitNode: effect<void>('awaitNode'),
    takeBlocks: effect<Found>('takeBlocks'),
    watchTip: effect<Found>('watchTip'),
    locateFork: effect<Fork>('locateFork'),
    rollBack: effect<void>('rollBack'),
    refuse: effect<void>('refuse'),
    close: effect<void>('close')
  },
  actions: {
    keepFault: assign({ fault: ({ event }) => (event as unknown as { error: unknown }).error })
  },
  delays: { reconnectDelay: ({ context }) => context.reconnectDelayMs }
}).createMachine({
  id: 'decoder',
  context: ({ input }) => ({ ...input, fault: null }),
  initial: 'connecting',
  on: { 'stop.requested': '.stopping' },
  states: {
    connecting: {
      invoke: {
        id: 'connect',
        src: 'connect',
        onDone: [{ guard: isHalted, target: 'halted' }, { target: 'waitingForNode' }],
        onError
      }
    },
    reconnecting: { after: { reconnectDelay: 'connecting' } },
    waitingForNode: { invoke: { id: 'awaitNode', src: 'awaitNode', onDone: 'parsing', onError } },
    parsing: {
      initial: 'catchingUp',
      states: {
        catchingUp: {
          invoke: {
            id: 'takeBlocks',
            src: 'takeBlocks',
            onDone: [{ guard: fork, target: '#decoder.locatingFork' }, { target: 'caughtUp' }],
            onError
          }
        },
        caughtUp: {
          invoke: {
            id: 'watchTip',
            src: 'watchTip',
            onDone: [{ guard: fork, target: '#decoder.locatingFork' }, { target: 'catchingUp' }],
            onError
          }
        }
      }
    },
    locatingFork: {
      invoke: {
        id: 'locateFork',
        src: 'locateFork',
        onDone: [{ guard: isTooDeep, target: 'refusing' }, { target: 'rollingBack' }],
        onError
      }
    },
    rollingBack: { invoke: { id: 'rollBack', src: 'rollBack', onDone: 'parsing', onError } },
    /** A rollback beyond the limit: the halt is being made durable. */
    refusing: { invoke: { id: 'refuse', src: 'refuse', onDone: 'halted', onError } },
    halted: {},
    stopping: { invoke: { id: 'close', src: 'close', onDone: 'stopped', onError: 'stopped' } },
    stopped: { type: 'final' },
    failed: { type: 'final' }
  }
});
