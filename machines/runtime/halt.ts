import { assign, setup } from 'xstate';
import type { Halt } from '../../src/wire/state/report.ts';

export interface HaltInput {
  /** The durable halt found at start; null when there is none. */
  readonly found: Halt | null;
  /** Pause before a halt that could not be written is written again, in milliseconds. */
  readonly retryMs: number;
}

/**
 * The durable stop of one replica: running -> halted -> running, the way back only by an operator.
 *
 * The caller provides the effect `record`, which writes `context.halt` where it survives a restart, and answers with
 * `halt.recorded` or `record.failed`. No block may be applied while the tag `refuse` is set: from the moment a halt is raised,
 * not only once it is written. The first halt stays; later ones say nothing new. A halt is cleared only after it was written, so
 * that no write on its way brings it back.
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
