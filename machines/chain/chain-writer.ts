import { assign, setup } from 'xstate';
import { effect, hasErrorCode } from '../runtime/effect.ts';

export interface ChainWriterInput {
  /** Blocks that may be rolled back without an operator's word. */
  readonly maxRollbackDepth: number;
  /** Pause before a database that was lost is opened again, in milliseconds. */
  readonly reconnectDelayMs: number;
}

interface ChainWriterContext extends ChainWriterInput {
  /** What ended the last effect; null while all went well. */
  readonly fault: unknown;
}

/** What the marker of an opened database says. */
export interface Opened {
  readonly isHalted: boolean;
}

/**
 * Where the chain of the node leads: nothing is left to write, there are blocks to write, ours are not in it, or those of a first sync
 * are gathered and what they bring is to be stored.
 */
export type Found = 'tip' | 'blocks' | 'fork' | 'gathered';

/** How far back a fork is, and whether an operator allows a rollback of any depth. */
export interface Fork {
  readonly depth: number;
  readonly isAllowed: boolean;
}

const isHalted = ({ event }: { event: { output: Opened } }): boolean => event.output.isHalted;
const fork = ({ event }: { event: { output: Found } }): boolean => event.output === 'fork';
const gathered = ({ event }: { event: { output: Found } }): boolean => event.output === 'gathered';
const isTooDeep = ({ context, event }: { context: ChainWriterContext; event: { output: Fork } }): boolean =>
  event.output.depth > context.maxRollbackDepth && !event.output.isAllowed;

/**
 * What a service that writes the chain of a coin node into a database does next: opens the database, waits for the node, takes blocks
 * up to the tip, watches the tip, and rolls back what the node no longer has. A store that gathers the blocks of a first sync loads them
 * in between.
 *
 * Each state's work is an effect that the actor provides; the chart says where its end leads. An effect that fails is tried again in
 * its state, unless the database is lost or no retry mends it.
 *
 * @see the sections on decoder start-up order, shutdown and reorg handling of the specification
 */
const chainWriter = setup({
  types: {
    input: {} as ChainWriterInput,
    context: {} as ChainWriterContext,
    events: {} as { readonly type: 'stop.requested' }
  },
  actors: {
    connect: effect<Opened>('connect'),
    awaitNode: effect<void>('awaitNode'),
    takeBlocks: effect<Found>('takeBlocks'),
    load: effect<true>('load'),
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
});

const chainWriterMachine = (id: string) => {
  const onError = [
    { guard: hasErrorCode('DATABASE_UNAVAILABLE'), target: `#${id}.reconnecting` },
    { target: `#${id}.failed`, actions: 'keepFault' }
  ] as const;
  return chainWriter.createMachine({
    id,
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
              onDone: [
                { guard: fork, target: `#${id}.locatingFork` },
                { guard: gathered, target: 'loading' },
                { target: 'caughtUp' }
              ],
              onError
            }
          },
          loading: { invoke: { id: 'load', src: 'load', onDone: 'catchingUp', onError } },
          caughtUp: {
            invoke: {
              id: 'watchTip',
              src: 'watchTip',
              onDone: [{ guard: fork, target: `#${id}.locatingFork` }, { target: 'catchingUp' }],
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
};

export const decoderMachine = chainWriterMachine('decoder');
export const trackerMachine = chainWriterMachine('tracker');
