import { assign, setup } from 'xstate';

/** Input of the machine. */
export interface RestartInput {
  /** First pause before a restart, in milliseconds. Each further pause in the window is twice as long. */
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** Deaths within `windowMs` that lead to a restart. One more leads to `failed`. */
  readonly budget: number;
  readonly windowMs: number;
}

/** `at`: time of the death in monotonic milliseconds. `jitter`: a random number in [0, 1) drawn by the caller. */
type RestartEvent =
  | { readonly type: 'actor.died'; readonly at: number; readonly jitter: number }
  | { readonly type: 'operator.restarted' };

interface RestartContext extends RestartInput {
  /** Times of the deaths in the window, oldest first; at most budget + 1. */
  readonly deaths: readonly number[];
  readonly delayMs: number;
}

/** Returns the deaths that count at `at`, including the new one. */
function deathsInWindow({ deaths, windowMs, budget }: RestartContext, at: number): readonly number[] {
  return [...deaths.filter((death) => death > at - windowMs), at].slice(-(budget + 1));
}

/**
 * Restart policy of one actor: running -> backoff -> running, until the budget of a window is spent: failed.
 *
 * Pure: the caller starts the actor when `running` is entered again. Half of each pause is random, so that actors that
 * died together do not restart together.
 */
export const restartMachine = setup({
  types: {
    input: {} as RestartInput,
    context: {} as RestartContext,
    events: {} as RestartEvent
  },
  actions: {
    countDeath: assign(({ context, event }) => {
      if (event.type !== 'actor.died') return {};
      const deaths = deathsInWindow(context, event.at);
      const pauseMs = Math.min(context.maxDelayMs, context.baseDelayMs * 2 ** (deaths.length - 1));
      return { deaths, delayMs: Math.round((pauseMs * (1 + event.jitter)) / 2) };
    }),
    forgetDeaths: assign({ deaths: [], delayMs: 0 })
  },
  guards: {
    budgetIsSpent: ({ context, event }) =>
      event.type === 'actor.died' && deathsInWindow(context, event.at).length > context.budget
  },
  delays: { pause: ({ context }) => context.delayMs }
}).createMachine({
  id: 'restart',
  context: ({ input }) => ({ ...input, deaths: [], delayMs: 0 }),
  initial: 'running',
  states: {
    running: {
      on: {
        'actor.died': [
          { guard: 'budgetIsSpent', target: 'failed', actions: 'countDeath' },
          { target: 'backoff', actions: 'countDeath' }
        ],
        'operator.restarted': { actions: 'forgetDeaths' }
      }
    },
    backoff: {
      after: { pause: 'running' },
      on: { 'operator.restarted': { target: 'running', actions: 'forgetDeaths' } }
    },
    failed: { on: { 'operator.restarted': { target: 'running', actions: 'forgetDeaths' } } }
  }
});
