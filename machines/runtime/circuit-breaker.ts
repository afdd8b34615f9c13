import { assign, setup } from 'xstate';

/** Input of the machine. */
export interface BreakerInput {
  /** Consecutive failures that open the breaker; at least 1. */
  readonly failureThreshold: number;
  /** Time in `open` before one trial call is allowed, in milliseconds. */
  readonly cooldownMs: number;
  /** Time after which a trial call counts as failed, in milliseconds. */
  readonly trialTimeoutMs: number;
}

/**
 * Circuit breaker in front of one database pool: closed -> open -> halfOpen -> trial -> closed.
 *
 * Pure policy: the caller asks `snapshot.hasTag('refuse')` before a call and reports the outcome after it.
 * `trial` exists so that exactly one call probes a recovering database.
 *
 * @see Nygard, "Release It!", chapter "Stability Patterns"
 */
export const circuitBreakerMachine = setup({
  types: {
    input: {} as BreakerInput,
    context: {} as BreakerInput & { readonly failures: number },
    events: {} as
      | { type: 'call.started' }
      | { type: 'call.succeeded' }
      | { type: 'call.failed' }
      | { type: 'call.unasked' }, // it was refused before the database was asked, as by a full queue: nothing is known
    tags: {} as 'refuse'
  },
  actions: {
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    resetFailures: assign({ failures: 0 })
  },
  guards: { reachesThreshold: ({ context }) => context.failures + 1 >= context.failureThreshold },
  delays: { cooldown: ({ context }) => context.cooldownMs, trialTimeout: ({ context }) => context.trialTimeoutMs }
}).createMachine({
  id: 'circuitBreaker',
  context: ({ input }) => ({ ...input, failures: 0 }),
  initial: 'closed',
  states: {
    closed: {
      on: {
        'call.succeeded': { actions: 'resetFailures' },
        'call.failed': [
          { guard: 'reachesThreshold', target: 'open', actions: 'countFailure' },
          { actions: 'countFailure' }
        ]
      }
    },
    open: { tags: 'refuse', after: { cooldown: 'halfOpen' } },
    halfOpen: { on: { 'call.started': 'trial' } },
    trial: {
      tags: 'refuse',
      after: { trialTimeout: 'open' }, // the caller of the trial may itself have died
      on: {
        'call.succeeded': { target: 'closed', actions: 'resetFailures' },
        'call.failed': 'open',
        'call.unasked': 'halfOpen'
      }
    }
  }
});
