import { assign, setup } from 'xstate';

/** Limit of a watchdog. */
interface WatchdogInput {
  /** Time for a block, retries included, in milliseconds. */
  readonly limitMs: number;
}

/**
 * Expires when blocks that were begun neither finish nor progress in time. @see the section "Limits" of the
 * specification
 */
export const watchdogMachine = setup({
  types: {
    input: {} as WatchdogInput,
    context: {} as WatchdogInput,
    events: {} as
      | { readonly type: 'blocks.begun'; readonly limitMs: number }
      | { readonly type: 'block.done' }
      | { readonly type: 'page.read' }
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
    /**
     * A second attempt at the same blocks does not restart the time. A block that is executed for the first time does,
     * and each part of what has to be in memory before the first one: there are as many as somebody wrote.
     */
    armed: {
      on: {
        'blocks.finished': 'idle',
        'block.done': { target: 'armed', reenter: true },
        'page.read': { target: 'armed', reenter: true }
      },
      after: { limit: 'expired' }
    },
    expired: { type: 'final' }
  }
});
