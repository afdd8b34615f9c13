import type { AnyStateMachine, InspectionEvent, SnapshotFrom, StateValue } from 'xstate';
import type { Transition } from './notices.ts';

const MAX_FACTS = 16;
const MAX_FACT_LENGTH = 200;

/** A state value as text: `polling.behind`; parallel regions joined by ` & `. */
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
 * An XState `inspect` callback that reports each change of the root machine's state, and nothing else.
 *
 * @param report must not throw; the machine is in the middle of a transition
 */
export function observeMachine(
  machine: string,
  report: (transition: Transition) => void
): (inspection: InspectionEvent) => void {
  let from: string | null = null;
  return (inspection) => {
    if (inspection.type !== '@xstate.snapshot' || inspection.actorRef.sessionId !== inspection.rootId) return;
    const { value, context } = inspection.snapshot as SnapshotFrom<AnyStateMachine>;
    const to = stateText(value);
    if (to === from) return;
    report({ machine, event: inspection.event.type, from, to, at: Date.now(), context: smallFacts(context) });
    from = to;
  };
}

/** What of a context is worth a line: plain values, few and short. */
function smallFacts(context: unknown): NonNullable<Transition['context']> {
  const facts = Object.entries(context ?? {}).filter(
    ([, value]) =>
      value === null ||
      typeof value === 'number' ||
      typeof value === 'boolean' ||
      (typeof value === 'string' && value.length <= MAX_FACT_LENGTH)
  );
  return Object.fromEntries(facts.slice(0, MAX_FACTS));
}
