import { setup } from 'xstate';

export interface WatchdogInput {
  /** How long one group of blocks may take, its retries included, in milliseconds. */
  readonly limitMs: number;
}

/** Expires when blocks that were begun are not finished in time. @see the section "Limits" of the specification */
export const watchdogMachine = setup({
  types: {
    input: {} as WatchdogInput,
    context: {} as WatchdogInput,
    events: {} as { type: 'blocks.begun' } | { type: 'blocks.finished' }
  },
  delays: { limit: ({ context }) => context.limitMs }
}).createMachine({
  id: 'watchdog',
  context: ({ input }) => input,
  initial: 'idle',
  states: {
    idle: { on: { 'blocks.begun': 'armed' } },
    /** A second attempt at the same blocks does not start the time anew. */
    armed: { on: { 'blocks.finished': 'idle' }, after: { limit: 'expired' } },
    expired: { type: 'final' }
  }
});
