import type { AnyStateMachine, InspectionEvent, SnapshotFrom, StateValue } from 'xstate';
import type { Transition } from '../../src/wire/state/transition.ts';
import { factsOf } from './facts.ts';

/** Returns a state value as text: `polling.behind`; parallel regions joined by ` & `. */
export function stateText(value: StateValue): string {
  if (typeof value === 'string') return value;
  return Object.entries(value)
    .map(([name, inner]) => {
      const below = inner === undefined ? '' : stateText(inner);
      return below === '' ? name : `${name}.${below}`;
    })
    .join(' & ');
}

/**
 * Returns an XState `inspect` callback that reports each change of the root machine's state, and nothing else.
 *
 * @param report must not throw; the machine is in the middle of a transition
 */
export function observeMachine(
  machine: string,
  report: (transition: Transition) => void
): (inspection: InspectionEvent) => void {
  let from: string | null = null;
  let known: unknown = {};
  return (inspection) => {
    if (inspection.type !== '@xstate.snapshot' || inspection.actorRef.sessionId !== inspection.rootId) return;
    const { value, context } = inspection.snapshot as SnapshotFrom<AnyStateMachine>;
    const before = known;
    known = context;
    const to = stateText(value);
    if (to === from) return;
    const { type, ...detail } = inspection.event;
    const facts = { detail: factsOf(detail), before: factsOf(before), context: factsOf(context) };
    report({ machine, event: type, from, to, at: Date.now(), ...facts });
    from = to;
  };
}
