import { assign, setup } from 'xstate';
import { effect } from '../runtime/effect.ts';

/** Result of looking for new blocks. */
export type Found = 'blocks' | 'fork';

/** Makes a guard that bears the name of what was found, which the charts show. */
const found = (what: Found) =>
  ({ [what]: ({ event }: { event: { output: Found } }): boolean => event.output === what })[what]!;

const onError = { target: '#source.failed', actions: 'keepFault' } as const;

/**
 * One authoritative database as a source: starting -> backfilling -> polling {caughtUp, behind} <-> reorging.
 *
 * Each state's work is an effect that the actor provides; the chart says where its end leads. An effect that fails is tried again
 * in its state, as often as the circuit breaker lets it; only a fault with which the process cannot go on ends it.
 */
export const sourceMachine = setup({
  types: {
    context: {} as { /** Error that ended the last effect. */ readonly fault: unknown },
    events: {} as { readonly type: 'stop' }
  },
  actors: {
    start: effect<void>('start'),
    backfill: effect<void>('backfill'),
    poll: effect<Found>('poll'),
    broadcastGroup: effect<void>('broadcastGroup'),
    broadcastReorg: effect<void>('broadcastReorg')
  },
  actions: {
    keepFault: assign({ fault: ({ event }) => (event as unknown as { error: unknown }).error })
  }
}).createMachine({
  id: 'source',
  context: { fault: null },
  initial: 'starting',
  on: { stop: '.stopping' },
  states: {
    starting: { invoke: { id: 'start', src: 'start', onDone: 'backfilling', onError } },
    backfilling: { invoke: { id: 'backfill', src: 'backfill', onDone: 'polling', onError } },
    polling: {
      initial: 'caughtUp',
      states: {
        caughtUp: {
          invoke: {
            id: 'poll',
            src: 'poll',
            onDone: [
              { guard: found('blocks'), target: 'behind' },
              { guard: found('fork'), target: '#source.reorging' }
            ],
            onError
          }
        },
        behind: { invoke: { id: 'broadcastGroup', src: 'broadcastGroup', onDone: 'caughtUp', onError } }
      }
    },
    reorging: { invoke: { id: 'broadcastReorg', src: 'broadcastReorg', onDone: 'polling', onError } },
    stopping: { type: 'final' },
    failed: { type: 'final' }
  }
});
