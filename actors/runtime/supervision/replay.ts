import { type AnyStateMachine, type StateValue, transition } from 'xstate';
import { MACHINES } from '../../../machines/all.ts';
import { machineOf } from '../../../src/wire/state/machine-name.ts';
import type { Transition } from '../../../src/wire/state/transition.ts';
import { stateText } from '../observe.ts';

/** Result of running one recorded transition through its machine again. */
interface Replayed {
  readonly outcome: 'same' | 'parted' | 'skipped';
  /** The state that the machine enters now, or the reason why the transition was not run. */
  readonly found: string;
}

/**
 * Runs one recorded transition through its machine: from the recorded state and context, by the recorded event.
 *
 * What a machine was started from is not recorded, so starts are skipped.
 */
export function replayTransition({ machine: name, event, from, to, detail, before }: Transition): Replayed {
  const machine = MACHINES[machineOf(name)];
  if (!machine) return { outcome: 'skipped', found: `there is no machine ${name} in this version` };
  if (from === null) return { outcome: 'skipped', found: 'a start' };
  try {
    const snapshot = machine.resolveState({ value: stateValue(machine, from), context: before ?? {} });
    const [next] = transition(machine, snapshot, { ...detail, type: event });
    const found = stateText(next.value as StateValue);
    return { outcome: found === to ? 'same' : 'parted', found };
  } catch (caught) {
    return { outcome: 'parted', found: (caught as Error).message };
  }
}

/**
 * Returns the state value of a text, as the opposite of `stateText`, for machines without parallel states.
 *
 * @throws {Error} naming a state that does not exist
 */
function stateValue(machine: AnyStateMachine, text: string): StateValue {
  const path = text.split('.');
  let node = machine.root;
  for (const key of path) {
    const inner = node.states[key];
    if (!inner) throw new Error(`${machine.id} has no state ${text}`);
    node = inner;
  }
  return path.reduceRight<StateValue>((inner, key) => (inner === '' ? key : { [key]: inner }), '');
}
