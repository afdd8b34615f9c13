import { assign, setup } from 'xstate';

export interface SubscriberInput {
  /** More than this waiting in a send buffer is too much. */
  readonly maxBytes: number;
  /** Longest time without progress of a send buffer that is not empty, in milliseconds. */
  readonly stallMs: number;
}

interface SubscriberContext extends SubscriberInput {
  readonly waitingBytes: number;
  readonly takenBytes: number;
  /** Time at which the network last took something, or the buffer was last empty. */
  readonly progressAt: number;
  /** Reason why it was dropped: the text for the log and the closing reason. */
  readonly reason: string | null;
}

interface Measured {
  readonly type: 'buffer.measured';
  /** Sent, and not taken by the network yet. */
  readonly waitingBytes: number;
  /** Taken by the network since the connection began: it never decreases. */
  readonly takenBytes: number;
  /** Milliseconds of any clock that only moves forward. */
  readonly at: number;
}

/** A limit of the backpressure policy, and how much of it is used up. */
export interface NearLimit {
  readonly limit: 'ceiling' | 'stall';
  readonly percent: number;
}

/** A subscriber is near a limit from this share of it on. */
const NEAR_PERCENT = 50;

/**
 * Returns whether a subscriber makes progress: its buffer is empty, it has taken any byte, or these are the first bytes
 * after emptiness.
 */
function makesProgress(context: SubscriberContext, { waitingBytes, takenBytes }: Measured): boolean {
  return waitingBytes === 0 || takenBytes > context.takenBytes || context.waitingBytes === 0;
}

/**
 * Reading speed of one subscriber: draining <-> stalled -> dropped.
 *
 * Pure policy, without a timer of its own: the caller measures the send buffer after each write and at intervals well below the
 * stall window, and closes the socket with `context.reason` when the state is `dropped`. Progress is counted in bytes, not in
 * messages: one large message may take a slow reader longer than the stall window.
 *
 * @see the specification, "Backpressure"
 */
export const subscriberMachine = setup({
  types: { input: {} as SubscriberInput, context: {} as SubscriberContext, events: {} as Measured },
  actions: {
    measure: assign(({ context, event }) => ({
      waitingBytes: event.waitingBytes,
      takenBytes: event.takenBytes,
      progressAt: makesProgress(context, event) ? event.at : context.progressAt
    })),
    blameCeiling: assign({
      reason: ({ event }) => `Backpressure: buffer ceiling exceeded (${event.waitingBytes} bytes)`
    }),
    blameStall: assign({
      reason: ({ context, event }) =>
        `Backpressure: send buffer not draining for ${Math.round(event.at - context.progressAt)}ms`
    })
  },
  guards: {
    exceedsCeiling: ({ context, event }) => event.waitingBytes > context.maxBytes,
    outlastsWindow: ({ context, event }) =>
      !makesProgress(context, event) && event.at - context.progressAt >= context.stallMs,
    makesProgress: ({ context, event }) => makesProgress(context, event)
  }
}).createMachine({
  id: 'subscriber',
  context: ({ input }) => ({ ...input, waitingBytes: 0, takenBytes: 0, progressAt: 0, reason: null }),
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

/**
 * Returns the limit that would drop the subscriber first, once at least half of it is used up; else null.
 * @param at as in the events
 */
export function nearLimit(
  { waitingBytes, maxBytes, progressAt, stallMs }: Omit<SubscriberContext, 'reason' | 'takenBytes'>,
  at: number
): NearLimit | null {
  const ceiling = Math.floor((waitingBytes / maxBytes) * 100);
  const stall = waitingBytes === 0 ? 0 : Math.floor((Math.max(0, at - progressAt) / stallMs) * 100);
  const nearest: NearLimit =
    ceiling >= stall ? { limit: 'ceiling', percent: ceiling } : { limit: 'stall', percent: stall };
  return nearest.percent >= NEAR_PERCENT ? nearest : null;
}
