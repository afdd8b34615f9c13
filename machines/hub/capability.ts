import { setup } from 'xstate';

/** States of the machine, as hubs tell them. */
export type CapabilityPhase = 'disabled' | 'unqualified' | 'qualified' | 'ready';

/** Events of the machine. */
type CapabilityEvent = {
  readonly type: 'hub.checked';
  /** Whether its stake is enough; null: nobody could say, which changes nothing. */
  readonly hasStake: boolean | null;
  /** Whether its self-test passed. */
  readonly passes: boolean;
};

interface CapabilityInput {
  /** State in which it was before a restart. */
  readonly phase: CapabilityPhase;
}

/**
 * A capability of a hub. It qualifies by its stake and a first self-test; then it counts among those whose part is missed, whether its
 * self-test goes on to pass or not, until its stake is too low.
 *
 * @see the section "States and transitions" of the specification
 */
export const capabilityMachine = setup({
  types: { events: {} as CapabilityEvent, input: {} as CapabilityInput, context: {} as CapabilityInput },
  guards: {
    lacksStake: ({ event }) => event.hasStake === false,
    passes: ({ event }) => event.passes,
    fails: ({ event }) => !event.passes,
    qualifies: ({ event }) => event.hasStake === true && event.passes,
    wasDisabled: ({ context }) => context.phase === 'disabled',
    wasQualified: ({ context }) => context.phase === 'qualified',
    wasReady: ({ context }) => context.phase === 'ready'
  }
}).createMachine({
  id: 'capability',
  context: ({ input }) => input,
  initial: 'known',
  states: {
    known: {
      always: [
        { guard: 'wasDisabled', target: 'disabled' },
        { guard: 'wasQualified', target: 'qualified' },
        { guard: 'wasReady', target: 'ready' },
        { target: 'unqualified' }
      ]
    },
    disabled: { type: 'final' },
    unqualified: { on: { 'hub.checked': { guard: 'qualifies', target: 'ready' } } },
    qualified: {
      on: {
        'hub.checked': [
          { guard: 'lacksStake', target: 'unqualified' },
          { guard: 'passes', target: 'ready' }
        ]
      }
    },
    ready: {
      on: {
        'hub.checked': [
          { guard: 'lacksStake', target: 'unqualified' },
          { guard: 'fails', target: 'qualified' }
        ]
      }
    }
  }
});
