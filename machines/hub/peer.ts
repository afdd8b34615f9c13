import { assign, setup } from 'xstate';

/** Input of the machine. */
interface PeerInput {
  /** Pause after the first failure, in milliseconds; it doubles with each further one. */
  readonly baseMs: number;
  readonly longestMs: number;
  /** Time for which a denied member is left alone, in milliseconds. */
  readonly denyMs: number;
  /** Longest time of a handshake, in milliseconds. */
  readonly handshakeMs: number;
  /** Returns a random number from 0 up to 1; a pause is lengthened by a quarter of it. */
  readonly draw: () => number;
}

/** Events of the machine. */
type PeerEvent =
  | { readonly type: 'socket.opened' }
  /** The other side proved the key of a member. */
  | { readonly type: 'key.proved' }
  | { readonly type: 'socket.closed' }
  | { readonly type: 'peer.denied' }
  | { readonly type: 'stop.requested' };

/** Failures that count: the pause is the longest one before. */
const MOST_FAILURES = 20;

/**
 * An address of another hub: dialling, handshaking, open, backing off, denied.
 *
 * The caller provides `dial`, which opens a socket, and `hangUp`, which closes it; both are answered by events. Only a proved key ends a
 * row of failures, so an address where strangers answer is dialled less and less often.
 */
export const peerMachine = setup({
  types: {
    input: {} as PeerInput,
    context: {} as PeerInput & { readonly failures: number },
    events: {} as PeerEvent
  },
  actions: {
    dial: () => undefined,
    hangUp: () => undefined,
    countFailure: assign(({ context }) => ({ failures: Math.min(context.failures + 1, MOST_FAILURES) })),
    forgetFailures: assign({ failures: 0 })
  },
  delays: {
    handshake: ({ context }) => context.handshakeMs,
    deny: ({ context }) => context.denyMs,
    pause: ({ context: { baseMs, longestMs, failures, draw } }) => {
      const pause = Math.min(baseMs * 2 ** (failures - 1), longestMs);
      return Math.round(pause * (1 + draw() / 4));
    }
  }
}).createMachine({
  id: 'peer',
  context: ({ input }) => ({ ...input, failures: 0 }),
  initial: 'dialling',
  on: { 'stop.requested': '.stopped', 'peer.denied': '.denied' },
  states: {
    dialling: {
      entry: 'dial',
      after: { handshake: { target: 'backingOff', actions: 'hangUp' } },
      on: { 'socket.opened': 'handshaking', 'socket.closed': 'backingOff' }
    },
    handshaking: {
      after: { handshake: { target: 'backingOff', actions: 'hangUp' } },
      on: { 'key.proved': 'open', 'socket.closed': 'backingOff' }
    },
    open: { entry: 'forgetFailures', on: { 'socket.closed': 'backingOff' } },
    backingOff: { entry: 'countFailure', after: { pause: 'dialling' } },
    denied: { entry: 'hangUp', after: { deny: 'dialling' } },
    stopped: { entry: 'hangUp', type: 'final' }
  }
});
