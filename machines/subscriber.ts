import { assign, setup } from 'xstate';

export interface SubscriberInput {
  /** A send buffer above this is too much. */
  readonly maxBytes: number;
  /** How long a send buffer that is not empty may make no downward progress, in milliseconds. */
  readonly stallMs: number;
}

interface SubscriberContext extends SubscriberInput {
  readonly bufferedBytes: number;
  /** When the buffer last shrank, or was last empty. */
  readonly progressAt: number;
  /** Why it was dropped: the text for the log and the closing reason. */
  readonly reason: string | null;
}

interface Measured {
  readonly type: 'buffer.measured';
  readonly bufferedBytes: number;
  /** Milliseconds of any clock that only moves forward. */
  readonly at: number;
}

/** An empty buffer and any drop count as progress; so does the first byte after emptiness. */
function makesProgress(context: SubscriberContext, { bufferedBytes }: Measured): boolean {
  return bufferedBytes === 0 || bufferedBytes < context.bufferedBytes || context.bufferedBytes === 0;
}

/**
 * How one subscriber takes what it is sent: draining <-> stalled -> dropped.
 *
 * Pure policy, without a timer of its own: the caller measures the send buffer after each write and at intervals well
 * below the stall window, and closes the socket with `context.reason` when the state is `dropped`.
 *
 * @see the specification, "Backpressure"
 */
export const subscriberMachine = setup({
  types: { input: {} as SubscriberInput, context: {} as SubscriberContext, events: {} as Measured },
  actions: {
    measure: assign(({ context, event }) => ({
      bufferedBytes: event.bufferedBytes,
      progressAt: makesProgress(context, event) ? event.at : context.progressAt
    })),
    blameCeiling: assign({
      reason: ({ event }) => `Backpressure: buffer ceiling exceeded (${event.bufferedBytes} bytes)`
    }),
    blameStall: assign({
      reason: ({ context, event }) =>
        `Backpressure: send buffer not draining for ${Math.round(event.at - context.progressAt)}ms`
    })
  },
  guards: {
    exceedsCeiling: ({ context, event }) => event.bufferedBytes > context.maxBytes,
    outlastsWindow: ({ context, event }) =>
      !makesProgress(context, event) && event.at - context.progressAt >= context.stallMs,
    makesProgress: ({ context, event }) => makesProgress(context, event)
  }
}).createMachine({
  id: 'subscriber',
  context: ({ input }) => ({ ...input, bufferedBytes: 0, progressAt: 0, reason: null }),
  initial: 'draining',
  on: {
    'buffer.measured': [
      { guard: 'exceedsCeiling', target: '.dropped', actions: 'blameCeiling' },
      { guard: 'outlastsWindow', target: '.dropped', actions: 'blameStall' },
      { guard: 'makesProgress', target: '.draining', actions: 'measure' },
      { target: '.stalled', actions: 'measure' }
    ]
  },
  states: { draining: {}, stalled: {}, dropped: { type: 'final' } }
});
