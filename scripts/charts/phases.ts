import type { AnyStateMachine } from 'xstate';

/** The phases of a machine's life, in the order in which a chart shows them, and the states that belong to each. */
const PHASES: Readonly<Record<string, readonly string[]>> = {
  begin: ['starting', 'connecting', 'inspecting', 'waitingForNode', 'backfilling', 'bootstrapping'],
  follow: ['catchingUp', 'verifying', 'live', 'polling', 'parsing', 'indexing', 'caughtUp'],
  repair: ['locatingFork', 'rollingBack', 'reorging', 'reconciling'],
  wait: ['reconnecting', 'refusing', 'halted'],
  end: ['stopping', 'stopped', 'failed']
};
/** A smaller machine is read without phases. */
const MIN_STATES = 5;

/** Whether a state only waits: what leads there and back is beside the way through the machine. */
export const isWaitState = (machine: AnyStateMachine, state: string): boolean =>
  phasesOf(machine).some(({ name, states }) => name === 'wait' && states.includes(state));

export interface Phase {
  readonly name: string;
  readonly states: readonly string[];
}

/** The phases that a machine's top states belong to; states of none are left out; a small machine, or one of a single phase, has none. */
export function phasesOf(machine: AnyStateMachine): Phase[] {
  const own = Object.keys(machine.root.states);
  if (own.length < MIN_STATES) return [];
  const phases = Object.entries(PHASES).map(([name, states]) => ({
    name,
    states: states.filter((state) => own.includes(state))
  }));
  const found = phases.filter(({ states }) => states.length > 0);
  return found.length > 1 ? found : [];
}
