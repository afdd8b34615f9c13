import { setup } from 'xstate';

export interface MempoolInput {
  /** From the end of one pass to the beginning of the next, in milliseconds. */
  readonly restMs: number;
}

export type MempoolEvent =
  | { readonly type: 'lag.changed'; readonly isSynced: boolean }
  | { readonly type: 'pool.listed'; readonly waiting: number }
  | { readonly type: 'batch.fetched' }
  | { readonly type: 'batch.stored'; readonly waiting: number }
  | { readonly type: 'pass.failed' }
  | { readonly type: 'stop.requested' };

/**
 * When a decoder looks at its node's mempool: only while it is synced, a batch at a time, and then not for a while.
 *
 * Leaving a state cancels its effect, so that catching up and stopping wait for nothing.
 *
 * @see the section "Limits" of the specification for the interval and the batches
 */
export const mempoolMachine = setup({
  types: { input: {} as MempoolInput, context: {} as MempoolInput, events: {} as MempoolEvent },
  guards: {
    isSynced: ({ event }) => event.type === 'lag.changed' && event.isSynced,
    isBehind: ({ event }) => event.type === 'lag.changed' && !event.isSynced,
    hasMore: ({ event }) => 'waiting' in event && event.waiting > 0
  },
  delays: { rest: ({ context }) => context.restMs }
}).createMachine({
  id: 'mempool',
  context: ({ input }) => input,
  initial: 'paused',
  on: {
    'stop.requested': '.stopped',
    'lag.changed': { guard: 'isBehind', target: '.paused' },
    'pass.failed': '.resting'
  },
  states: {
    paused: { on: { 'lag.changed': { guard: 'isSynced', target: 'listing' }, 'pass.failed': undefined } },
    listing: { on: { 'pool.listed': [{ guard: 'hasMore', target: 'fetching' }, { target: 'resting' }] } },
    fetching: { on: { 'batch.fetched': 'storing' } },
    storing: { on: { 'batch.stored': [{ guard: 'hasMore', target: 'fetching' }, { target: 'resting' }] } },
    resting: { after: { rest: 'listing' }, on: { 'pass.failed': undefined } },
    stopped: { type: 'final' }
  }
});
