import { assign, setup } from 'xstate';
import { effect, finalError } from '../runtime/effect.ts';

/** Result of reading the replica's marker. */
export interface Inspection {
  readonly halted: boolean;
  /** A bootstrap was finished once; else one is begun or continued. */
  readonly bootstrapped: boolean;
}

/** Outcome of work on the chain: go on to the next state, back to a height, or to a bootstrap from nothing. */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'behind' }
  /** Caught up with a block whose amendments are still to come: they go before a comparison. */
  | { readonly kind: 'settling' }
  /** The source sends what followed the replica's block. */
  | { readonly kind: 'resumed' }
  /** A comparison with the source is due. */
  | { readonly kind: 'due' }
  | { readonly kind: 'forked'; readonly height: number }
  | { readonly kind: 'lost' }
  | { readonly kind: 'halted' };

interface ReplicaInput {
  readonly reconnectDelayMs: number;
  /** A random number in [0, 1), a new one at each call. */
  readonly jitter: () => number;
  /** Returns the time for which the sources asked for no requests, in milliseconds. */
  readonly restMs?: () => number;
}

interface ReplicaContext extends ReplicaInput {
  /** The highest height that may stay, while rolling back. */
  readonly rollbackTo: number;
  /** Error that ended the last piece of work; null when it went well. */
  readonly fault: unknown;
}

type ReplicaEvent = { readonly type: 'halt.cleared' } | { readonly type: 'stop.requested' };

/** Makes a guard that bears the outcome's name, which the charts show. */
const outcomeIs = (kind: Outcome['kind']) =>
  ({ [kind]: ({ event }: { event: unknown }): boolean => (event as { output: Outcome }).output.kind === kind })[kind]!;

const wasHalted = ({ event }: { event: { output: Inspection } }): boolean => event.output.halted;
const wasBootstrapped = ({ event }: { event: { output: Inspection } }): boolean => event.output.bootstrapped;

const onError = [
  { guard: finalError, target: '#replica.failed', actions: 'keepFault' },
  { target: '#replica.reconnecting', actions: 'keepFault' }
] as const;

/** Transitions that may follow any look at the chain. */
const chainOutcomes = [
  { guard: outcomeIs('halted'), target: '#replica.halted' },
  { guard: outcomeIs('forked'), target: '#replica.rollingBack', actions: 'keepFork' },
  { guard: outcomeIs('lost'), target: '#replica.bootstrapping' },
  { guard: outcomeIs('behind'), target: '#replica.catchingUp' }
] as const;

/** Outcome of a catch-up that has reached its source's tip. */
const caughtUp = [
  ...chainOutcomes,
  { guard: outcomeIs('resumed'), target: '#replica.live', actions: 'forgetFault' },
  { guard: outcomeIs('settling'), target: '#replica.live', actions: 'forgetFault' },
  { target: '#replica.verifying', actions: 'forgetFault' }
] as const;

/**
 * One replica's way: bootstrap, catch up, compare with the source, follow live, roll back, and back again after every break.
 *
 * Each state's work is an effect that the actor provides; it ends with an outcome, and the chart says where that leads.
 * A state that is left aborts its effect.
 */
export const replicaMachine = setup({
  types: {
    input: {} as ReplicaInput,
    context: {} as ReplicaContext,
    events: {} as ReplicaEvent
  },
  actors: {
    inspect: effect<Inspection>('inspect'),
    fetchSchema: effect<void>('fetchSchema'),
    download: effect<Outcome>('download'),
    load: effect<void>('load'),
    check: effect<Outcome>('check'),
    catchUp: effect<Outcome, { readonly reconcile: boolean }>('catchUp'),
    verify: effect<Outcome>('verify'),
    follow: effect<Outcome>('follow'),
    rollBack: effect<Outcome, { readonly height: number }>('rollBack'),
    release: effect<void>('release')
  },
  actions: {
    keepFault: assign({ fault: ({ event }) => (event as unknown as { error: unknown }).error }),
    forgetFault: assign({ fault: null }),
    keepFork: assign({
      rollbackTo: ({ event }) => (event as unknown as { output: Extract<Outcome, { kind: 'forked' }> }).output.height
    })
  },
  delays: {
    reconnectDelay: ({ context: { reconnectDelayMs, jitter, restMs } }) =>
      Math.max(Math.round(reconnectDelayMs * (0.75 + jitter() / 2)), restMs?.() ?? 0)
  }
}).createMachine({
  id: 'replica',
  context: ({ input }) => ({ ...input, rollbackTo: 0, fault: null }),
  initial: 'inspecting',
  on: { 'stop.requested': '.stopping' },
  states: {
    inspecting: {
      invoke: {
        id: 'inspect',
        src: 'inspect',
        onDone: [
          { guard: wasHalted, target: 'halted' },
          { guard: wasBootstrapped, target: 'catchingUp' },
          { target: 'bootstrapping' }
        ],
        onError
      }
    },
    bootstrapping: {
      initial: 'schema',
      states: {
        schema: { invoke: { id: 'fetchSchema', src: 'fetchSchema', onDone: 'downloading', onError } },
        downloading: {
          invoke: {
            id: 'download',
            src: 'download',
            onDone: [{ guard: outcomeIs('halted'), target: '#replica.halted' }, { target: 'loading' }],
            onError
          }
        },
        loading: { invoke: { id: 'load', src: 'load', onDone: 'checking', onError } },
        checking: {
          invoke: {
            id: 'check',
            src: 'check',
            onDone: [{ guard: outcomeIs('halted'), target: '#replica.halted' }, { target: '#replica.catchingUp' }],
            onError
          }
        }
      }
    },
    catchingUp: {
      invoke: {
        id: 'catchUp',
        src: 'catchUp',
        input: { reconcile: false },
        onDone: caughtUp,
        onError
      }
    },
    verifying: {
      invoke: {
        id: 'verify',
        src: 'verify',
        onDone: [...chainOutcomes, { target: 'live' }],
        onError
      }
    },
    live: {
      invoke: {
        id: 'follow',
        src: 'follow',
        onDone: [...chainOutcomes, { guard: outcomeIs('due'), target: 'verifying' }, { target: 'catchingUp' }],
        onError
      }
    },
    rollingBack: {
      invoke: {
        id: 'rollBack',
        src: 'rollBack',
        input: ({ context }) => ({ height: context.rollbackTo }),
        onDone: [
          { guard: outcomeIs('halted'), target: 'halted' },
          { guard: outcomeIs('lost'), target: 'bootstrapping' },
          { target: 'reconciling' }
        ],
        onError
      }
    },
    reconciling: {
      invoke: {
        id: 'reconcile',
        src: 'catchUp',
        input: { reconcile: true },
        onDone: caughtUp,
        onError
      }
    },
    reconnecting: { after: { reconnectDelay: 'inspecting' } },
    halted: { on: { 'halt.cleared': 'inspecting' } },
    stopping: { invoke: { id: 'release', src: 'release', onDone: 'stopped', onError: 'stopped' } },
    stopped: { type: 'final' },
    failed: { type: 'final' }
  }
});
