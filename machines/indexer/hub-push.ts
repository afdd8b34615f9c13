import { assign, setup } from 'xstate';
import { effect } from '../runtime/effect.ts';

/** Pauses of a sender of pushes. */
interface HubPushInput {
  /** Pause after the first failure, in milliseconds. Each further failure doubles it. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Time after which the queue is read although no push was reported, in milliseconds. */
  readonly lookMs: number;
}

interface HubPushContext extends HubPushInput {
  /** Attempts that failed since the last success. */
  readonly failures: number;
}

/** Events of a sender of pushes. */
type HubPushEvent = { readonly type: 'push.queued' } | { readonly type: 'stop.requested' };

/**
 * Policy of a sender of pushes, one after the other: idle -> sending -> idle, or resting after a failure.
 *
 * The caller provides the effect `send`, which ends when nothing waits.
 */
export const hubPushMachine = setup({
  types: {
    input: {} as HubPushInput,
    context: {} as HubPushContext,
    events: {} as HubPushEvent
  },
  actors: { send: effect<void>('send') },
  actions: {
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    forgetFailures: assign({ failures: 0 })
  },
  delays: {
    look: ({ context }) => context.lookMs,
    pause: ({ context: { firstPauseMs, longestPauseMs, failures } }) =>
      Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(30, failures - 1))
  }
}).createMachine({
  id: 'hubPush',
  context: ({ input }) => ({ ...input, failures: 0 }),
  initial: 'sending',
  on: { 'stop.requested': '.stopped' },
  states: {
    idle: { on: { 'push.queued': 'sending' }, after: { look: 'sending' } },
    sending: {
      invoke: {
        id: 'send',
        src: 'send',
        onDone: { target: 'idle', actions: 'forgetFailures' },
        onError: { target: 'resting', actions: 'countFailure' }
      }
    },
    resting: { after: { pause: 'sending' } },
    stopped: { type: 'final' }
  }
});
