import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';

/** One arrow of a machine's chart. */
export interface Edge {
  readonly from: AnyStateNode;
  readonly event: string;
  readonly label: string;
  readonly to: readonly AnyStateNode[];
}

/** Returns a state and all states inside it. */
export function nodesOf(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesOf)];
}

/** Returns the arrows that leave a state. */
export function edgesOf(node: AnyStateNode): Edge[] {
  const transitions = [...node.transitions.values()].flat().concat(node.always ?? []);
  return transitions.map((transition) => ({
    from: node,
    event: transition.eventType,
    label: labelOf(transition),
    to: (transition.target ?? []) as readonly AnyStateNode[]
  }));
}

/** Returns the path of a state, with points between its parts. */
export const pathOf = (node: AnyStateNode): string => node.path.join('.');

function labelOf({ eventType, delay, guard }: AnyTransitionDefinition & { delay?: unknown }): string {
  const done = /^xstate\.(done|error)\.(actor|state)\.(?:\d+\.)?(.+)$/.exec(eventType);
  const event = delay !== undefined ? `after ${delay}` : done ? `${done[3]} ${done[1]}` : eventType || 'always';
  return guard === undefined ? event : `${event} [${guardText(guard)}]`;
}

function guardText(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  const { type, name } = guard as { type?: string; name?: string };
  return type || name || 'guard';
}
