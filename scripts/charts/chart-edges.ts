import type { AnyStateMachine } from 'xstate';
import { type Edge, edgesOf, nodesOf, pathOf } from './machine-edges.ts';
import { isWaitState } from './phases.ts';

/** Arrows of a chart that join the same two states, as one. */
export interface ChartEdge {
  /** Path of a state; empty: from wherever the machine is. */
  readonly from: string;
  readonly to: string;
  /** Names of the events, as transitions are told; one that ends in an asterisk stands for all that begin like it. */
  readonly events: readonly string[];
  readonly label: string;
}

/** One line below the chart for arrows that lead to the same state for the same reason. */
export interface Note extends ChartEdge {
  /** The states that it leads from; empty: any. */
  readonly sources: readonly string[];
}

export interface ChartEdges {
  /** Drawn always, with a place of their own. */
  readonly main: readonly ChartEdge[];
  /** Drawn across the chart once they were taken: there are too many of them. */
  readonly side: readonly ChartEdge[];
  /** The same in words. */
  readonly notes: readonly Note[];
}

/** How the event begins by which an effect's fault is told. */
const FAULT = 'xstate.error.';
/** What so many states do for the same reason is no arrow of each. */
const COMMON = 3;

/** Divides a machine's arrows into the way through it and what may happen in most of its states. */
export function chartEdges(machine: AnyStateMachine): ChartEdges {
  const all = nodesOf(machine.root)
    .flatMap(edgesOf)
    .filter(({ to }) => to.length > 0)
    .map((edge) => ({ ...toChartEdge(edge), isFault: edge.event.startsWith(FAULT) }));
  const isAside = ({ from, to }: ChartEdge) => [from, to].some((state) => isWaitState(machine, state));
  const groups = Map.groupBy(all, ({ label, to }) => `${label} → ${to}`);
  const isCommon = (edge: (typeof all)[number]) =>
    edge.from === '' || edge.isFault || isAside(edge) || groups.get(`${edge.label} → ${edge.to}`)!.length >= COMMON;
  const common = all.filter(isCommon);
  return {
    main: joined(all.filter((edge) => !isCommon(edge))),
    side: joined(common.filter(({ from }) => from !== '')),
    notes: [...Map.groupBy(common, ({ label, to }) => `${label} → ${to}`).values()].map(noteOf)
  };
}

function toChartEdge({ from, to, event, label }: Edge): ChartEdge {
  return { from: pathOf(from), to: pathOf(to[0]!), events: [event], label: shortLabel(label) };
}

/** `replica.catchingUp done [behind]` within the chart of `replica` is `behind`: the arrow's start says the rest. Work that just ended needs no word. */
function shortLabel(label: string): string {
  return label
    .replace(/^\S+ (done|error)\b/, '$1')
    .replace(/^done(?: \[(.+)\])?$/, '$1')
    .replace(/ \[guard\]$/, ' [if]');
}

function joined(edges: readonly ChartEdge[]): ChartEdge[] {
  return [...Map.groupBy(edges, ({ from, to }) => `${from} → ${to}`).values()].map((same) => ({
    from: same[0]!.from,
    to: same[0]!.to,
    events: [...new Set(same.flatMap(({ events }) => events))],
    label: [...new Set(same.map(({ label }) => label))].filter(Boolean).join(', ')
  }));
}

function noteOf(same: readonly (ChartEdge & { readonly isFault: boolean })[]): Note {
  const { to, label, isFault } = same[0]!;
  const events = isFault ? [`${FAULT}*`] : [...new Set(same.flatMap((edge) => edge.events))];
  return { from: '', to, label, events, sources: isFault ? [] : same.map(({ from }) => from).filter(Boolean) };
}
