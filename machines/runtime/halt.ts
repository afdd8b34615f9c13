import { assign, setup } from 'xstate';
import type { Halt } from '../../src/wire/state/report.ts';

/** Input of the machine. */
interface HaltInput {
  /** Durable halt found at start; null when there is none. */
  readonly found: Halt | null;
  /** Milliseconds before a halt is written again after a failure. */
  readonly retryMs: number;
}

/**
 * Durable halt of one replica: running -> halted; only an operator leads back to running.
 *
 * The caller provides the effect `record`, which writes `context.halt` durably, and answers with `halt.recorded` or
 * `record.failed`.
 *
 * While the tag `refuse` is set, no block may be applied: from the moment a halt is raised, not only once it is
 * written. The first halt stays; later ones are ignored.
 *
 * A halt can be cleared only after it was written: a write still on its way would bring it back.
 */
export const haltMachine = setup({
  types: {
    input: {} as HaltInput,
    context: {} as { readonly halt: Halt | null; readonly retryMs: number },
    events: {} as
      | { readonly type: 'halt.raised'; readonly halt: Halt }
      | { readonly type: 'halt.recorded' }
      | { readonly type: 'record.failed' }
      | { readonly type: 'halt.cleared' },
    tags: {} as 'refuse'
  },
  actions: {
    keepHalt: assign(({ event }) => (event.type === 'halt.raised' ? { halt: event.halt } : {})),
    forgetHalt: assign({ halt: null }),
    record: () => undefined
  },
  guards: { isHalted: ({ context }) => context.halt !== null },
  delays: { retry: ({ context }) => context.retryMs }
}).createMachine({
  id: 'halt',
  context: ({ input }) => ({ halt: input.found, retryMs: input.retryMs }),
  initial: 'running',
  states: {
    running: {
      always: { guard: 'isHalted', target: 'halted.recorded' },
      on: { 'halt.raised': { target: 'halted', actions: 'keepHalt' } }
    },
    halted: {
      tags: 'refuse',
      initial: 'recording',
      states: {
        recording: { entry: 'record', on: { 'halt.recorded': 'recorded', 'record.failed': 'unrecorded' } },
        unrecorded: { after: { retry: 'recording' } },
        recorded: { on: { 'halt.cleared': { target: '#halt.running', actions: 'forgetHalt' } } }
      }
    }
  }
});
