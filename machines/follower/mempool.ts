import { setup } from 'xstate';
import { effect } from '../runtime/effect.ts';

/** Pauses of the looks at a mempool. */
interface MempoolInput {
  /** Pause from the end of one pass to the beginning of the next, in milliseconds. */
  readonly restMs: number;
}

/** Events of the looks at a mempool. */
export type MempoolEvent =
  | { readonly type: 'lag.changed'; readonly isSynced: boolean }
  | { readonly type: 'look.due' }
  | { readonly type: 'stop.requested' };

const hasMore = ({ event }: { event: { output: number } }): boolean => event.output > 0;

const onError = {
  target: '#mempool.resting',
  actions: { type: 'tellFault', params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }) }
} as const;

/**
 * Policy for looks at a node's mempool: only while the service is synced, a batch at a time, and then not for a while.
 *
 * The effects `list` and `save` answer with the number of transactions that wait for a batch. Leaving a state cancels
 * its effect, so catching up and stopping wait for nothing. A rest ends early when the last result no longer counts. A
 * failed pass is logged, and the next one begins after the rest.
 *
 * @see the section "Limits" of the specification for the interval and the batches
 */
export const mempoolMachine = setup({
  types: { input: {} as MempoolInput, context: {} as MempoolInput, events: {} as MempoolEvent },
  actors: { list: effect<number>('list'), fetch: effect<void>('fetch'), save: effect<number>('save') },
  actions: { tellFault: (_, _fault: { readonly error: unknown }) => undefined },
  guards: {
    isSynced: ({ event }) => event.type === 'lag.changed' && event.isSynced,
    isBehind: ({ event }) => event.type === 'lag.changed' && !event.isSynced
  },
  delays: { rest: ({ context }) => context.restMs }
}).createMachine({
  id: 'mempool',
  context: ({ input }) => input,
  initial: 'paused',
  on: {
    'stop.requested': '.stopped',
    'lag.changed': { guard: 'isBehind', target: '.paused' }
  },
  states: {
    paused: { on: { 'lag.changed': { guard: 'isSynced', target: 'listing' } } },
    listing: {
      invoke: { src: 'list', onDone: [{ guard: hasMore, target: 'fetching' }, { target: 'resting' }], onError }
    },
    fetching: { invoke: { src: 'fetch', onDone: 'storing', onError } },
    storing: {
      invoke: { src: 'save', onDone: [{ guard: hasMore, target: 'fetching' }, { target: 'resting' }], onError }
    },
    resting: { after: { rest: 'listing' }, on: { 'look.due': 'listing' } },
    stopped: { type: 'final' }
  }
});
