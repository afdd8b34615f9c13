import { setup } from 'xstate';

/** What the actor does in a state; it repeats it until an event leads elsewhere. */
export type SourceEffect = 'start' | 'backfill' | 'poll' | 'broadcastGroup' | 'broadcastReorg';

export type SourceEvent =
  | { readonly type: 'started' }
  | { readonly type: 'backfilled' }
  | { readonly type: 'blocks.found' }
  | { readonly type: 'group.ended' }
  | { readonly type: 'fork.found' }
  | { readonly type: 'reorg.ended' }
  | { readonly type: 'stop' };

/**
 * One authoritative database as a source: starting -> backfilling -> polling {caughtUp, behind} <-> reorging.
 *
 * Pure policy: each state names the effect that the actor runs in it, and the effect's outcome is the next event. An effect
 * that fails sends none, so it is tried again; how often, the circuit breaker says.
 */
export const sourceMachine = setup({
  types: {
    events: {} as SourceEvent,
    meta: {} as { readonly effect: SourceEffect }
  }
}).createMachine({
  id: 'source',
  initial: 'starting',
  on: { stop: '.stopping' },
  states: {
    starting: { meta: { effect: 'start' }, on: { started: 'backfilling' } },
    backfilling: { meta: { effect: 'backfill' }, on: { backfilled: 'polling' } },
    polling: {
      initial: 'caughtUp',
      on: { 'fork.found': 'reorging' },
      states: {
        caughtUp: { meta: { effect: 'poll' }, on: { 'blocks.found': 'behind' } },
        behind: { meta: { effect: 'broadcastGroup' }, on: { 'group.ended': 'caughtUp' } }
      }
    },
    reorging: { meta: { effect: 'broadcastReorg' }, on: { 'reorg.ended': 'polling' } },
    stopping: { type: 'final' }
  }
});
