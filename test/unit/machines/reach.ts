import {
  type Actor,
  type AnyStateMachine,
  type AnyStateNode,
  createActor,
  type EventFromLogic,
  type InputFrom,
  SimulatedClock,
  type StateValue
} from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { stateText } from '../../../actors/runtime/observe.ts';

/** A started machine on a clock that only the test moves. */
export function onSimulatedClock<M extends AnyStateMachine>(
  machine: M,
  input: InputFrom<M>
): { actor: Actor<M>; clock: SimulatedClock; state: () => string } {
  const clock = new SimulatedClock();
  const actor = createActor(machine, { input, clock } as never) as Actor<M>;
  actor.start();
  return { actor, clock, state: () => stateText((actor.getSnapshot() as { value: StateValue }).value) };
}

/** The states that events can lead to, by the shortest paths; delays count as events. Sorted. */
export function reachedStates<M extends AnyStateMachine>(
  machine: M,
  input: InputFrom<M>,
  events: readonly EventFromLogic<M>[]
): string[] {
  const paths = getShortestPaths(machine, {
    input,
    events: [...events, ...delays(machine.root)],
    limit: 5_000
  } as never);
  return [...new Set(paths.map(({ state }) => stateText((state as unknown as { value: StateValue }).value)))].sort();
}

/** The events that the passing of time sends. */
function delays(node: AnyStateNode): { type: string }[] {
  const own = node.after.map(({ eventType }) => ({ type: eventType }));
  return [...own, ...Object.values(node.states).flatMap(delays)];
}

/** Every state that a machine can be in, leaves only. Sorted. */
export function everyState(node: AnyStateNode | AnyStateMachine): string[] {
  const root: AnyStateNode = 'root' in node ? node.root : node;
  const below = Object.values(root.states);
  if (below.length === 0) return [root.path.join('.')];
  return below.flatMap(everyState).sort();
}
