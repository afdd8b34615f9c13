import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventFromLogic,
  type InputFrom,
  initialTransition,
  transition
} from 'xstate';

/** Returns the state of a machine without parallel states after some events. Pure: nothing is started. */
export function stateAfter<M extends AnyStateMachine>(
  machine: M,
  input: InputFrom<M>,
  events: readonly EventFromLogic<M>[]
): string {
  let [snapshot] = initialTransition(machine, input as never);
  for (const event of events) [snapshot] = transition(machine, snapshot, event);
  return String((snapshot as AnyMachineSnapshot).value);
}
