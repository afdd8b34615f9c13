import { assign, setup } from 'xstate';
import { effect, hasErrorCode } from '../runtime/effect.ts';
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
} from './follower.ts';

/**
 * Result of a look at the node's chain.
 *
 * 'tip': nothing is left to write. 'blocks': there are blocks to write. 'fork': our newest block is not in it.
 * 'behind': the node only lacks blocks of ours. 'gathered': the blocks of a first sync are gathered, and what they
 * bring is to be stored.
 */
export type Found = 'tip' | 'blocks' | 'fork' | 'behind' | 'gathered';

/** Fork of the node's chain from ours; its depth is 0 if the node by now has no other block. */
export type Fork = ForkDepth;

const fork = isFound<Found>('fork');
const behind = isFound<Found>('behind');
const gathered = isFound<Found>('gathered');
const hasNoFork = ({ event }: { event: { output: Fork } }): boolean => event.output.depth === 0;

/**
 * Policy of a service that writes the chain of a coin node into a database.
 *
 * It opens the database, waits for the node, takes blocks up to the tip, watches the tip, and rolls back blocks that
 * the node replaced. A store that gathers the blocks of a first sync loads them in between. A node that only lacks
 * blocks is waited for. A block that the database refuses is tried again after a while.
 *
 * Each state's work is an effect that the actor provides, and the chart says where its end leads. An effect that fails
 * is tried again in its state, unless the database is lost or no retry mends it.
 *
 * @see the sections on decoder start-up order, shutdown and reorg handling of the specification
 */
const chainWriter = setup({
  types: {
    input: {} as FollowerInput,
    context: {} as FollowerContext,
    events: {} as FollowerEvent
  },
  actors: {
    connect: effect<Opened>('connect'),
    awaitNode: effect<void>('awaitNode'),
    takeBlocks: effect<Found>('takeBlocks'),
    load: effect<true>('load'),
    watchTip: effect<Found>('watchTip'),
    awaitBlocks: effect<Found>('awaitBlocks'),
    locateFork: effect<Fork>('locateFork'),
    rollBack: effect<void>('rollBack'),
    refuse: effect<void>('refuse'),
    watchHalt: effect<true>('watchHalt'),
    close: effect<void>('close')
  },
  actions: {
    keepFault: assign({ fault: faultOf })
  },
  delays: FOLLOWER_DELAYS
});

const chainWriterMachine = (id: string) => {
  const onError = [
    { guard: hasErrorCode('DATABASE_UNAVAILABLE'), target: `#${id}.reconnecting` },
    { guard: hasErrorCode('STATEMENT_TOO_SLOW'), target: `#${id}.reconnecting` },
    { guard: hasErrorCode('ROWS_REFUSED'), target: `#${id}.refusedByDatabase` },
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
                { guard: behind, target: `#${id}.nodeBehind` },
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
              onDone: [
                { guard: fork, target: `#${id}.locatingFork` },
                { guard: behind, target: `#${id}.nodeBehind` },
                { target: 'catchingUp' }
              ],
              onError
            }
          }
        }
      },
      /** The node's tip is one of our blocks, below our newest one: the node lacks blocks, and has no others. */
      nodeBehind: {
        invoke: {
          id: 'awaitBlocks',
          src: 'awaitBlocks',
          onDone: [{ guard: fork, target: 'locatingFork' }, { target: 'parsing' }],
          onError
        }
      },
      locatingFork: {
        invoke: {
          id: 'locateFork',
          src: 'locateFork',
          onDone: [
            { guard: hasNoFork, target: 'parsing' },
            { guard: isTooDeep, target: 'refusing' },
            { target: 'rollingBack' }
          ],
          onError
        }
      },
      rollingBack: { invoke: { id: 'rollBack', src: 'rollBack', onDone: 'parsing', onError } },
      /** The halt for a rollback beyond the limit is being made durable. */
      refusing: { invoke: { id: 'refuse', src: 'refuse', onDone: 'halted', onError } },
      /** Waits until an operator acts, or the node has our newest block again. */
      halted: { invoke: { id: 'watchHalt', src: 'watchHalt', onDone: 'waitingForNode', onError } },
      ...FOLLOWER_STATES
    }
  });
};

/** Machine of the decoder. */
export const decoderMachine = chainWriterMachine('decoder');
/** Machine of the tracker. */
export const trackerMachine = chainWriterMachine('tracker');
