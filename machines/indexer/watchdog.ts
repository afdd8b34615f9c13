import { assign, setup } from 'xstate';

export interface WatchdogInput {
  /** How long a block may take, its retries included, in milliseconds. */
  readonly limitMs: number;
}

/** Expires when blocks that were begun are neither finished nor further in time. @see the section "Limits" of the specification */
export const watchdogMachine = setup({
  types: {
    input: {} as WatchdogInput,
    context: {} as WatchdogInput,
    events: {} as
      | { readonly type: 'blocks.begun'; readonly limitMs: number }
      | { readonly type: 'block.done' }
      | { readonly type: 'blocks.finished' }
  },
  actions: { setLimit: assign({ limitMs: ({ event }) => (event as unknown as { limitMs: number }).limitMs }) },
  delays: { limit: ({ context }) => context.limitMs }
}).createMachine({
  id: 'watchdog',
  context: ({ input }) => input,
  initial: 'idle',
  states: {
    idle: { on: { 'blocks.begun': { target: 'armed', actions: 'setLimit' } } },
    /** A second attempt at the same blocks does not start the time anew; a block that none was carried out before does. */
    armed: {
      on: { 'blocks.finished': 'idle', 'block.done': { target: 'armed', reenter: true } },
      after: { limit: 'expired' }
    },
    expired: { type: 'final' }
  }
});
