import type { AnyStateMachine } from 'xstate';

/** Phases of a machine's life in the order of a chart, with their states. */
const PHASES: Readonly<Record<string, readonly string[]>> = {
  begin: ['starting', 'connecting', 'inspecting', 'waitingForNode', 'backfilling', 'bootstrapping'],
  follow: ['catchingUp', 'verifying', 'live', 'polling', 'parsing', 'indexing', 'caughtUp'],
  repair: ['locatingFork', 'rollingBack', 'reorging', 'reconciling'],
  wait: ['reconnecting', 'refusing', 'halted'],
  end: ['stopping', 'stopped', 'failed']
};
/** Least number of states for phases: a smaller machine is readable without. */
const MIN_STATES = 5;

/** Returns whether a state only waits: its arrows are not part of the machine's main path. */
export const isWaitState = (machine: AnyStateMachine, state: string): boolean =>
  phasesOf(machine).some(({ name, states }) => name === 'wait' && states.includes(state));

/** A phase with its states. */
interface Phase {
  readonly name: string;
  readonly states: readonly string[];
}

/**
 * Returns the phases of a machine's top states. States of no phase are left out. A small machine, or one with a single
 * phase, has none.
 */
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
