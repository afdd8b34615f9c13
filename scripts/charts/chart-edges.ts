import type { AnyStateMachine } from 'xstate';
import { type Edge, edgesOf, nodesOf, pathOf } from './machine-edges.ts';
import { isWaitState } from './phases.ts';

/** All arrows of a chart that join the same two states, as one. */
export interface ChartEdge {
  /** Path of a state; empty for an arrow from any state. */
  readonly from: string;
  readonly to: string;
  /** Event names as in transitions. A name that ends in an asterisk stands for all with that beginning. */
  readonly events: readonly string[];
  readonly label: string;
}

/** One line below the chart, for arrows that lead to the same state for the same reason. */
export interface Note extends ChartEdge {
  /** States that it leads from; empty for any. */
  readonly sources: readonly string[];
}

/** The arrows of a chart, by how they are drawn. */
interface ChartEdges {
  /** Always drawn, with a place of their own. */
  readonly main: readonly ChartEdge[];
  /** Drawn across the chart once they were taken: there are too many of them. */
  readonly side: readonly ChartEdge[];
  /** The same arrows as `side`, and those from any state, in words. */
  readonly notes: readonly Note[];
}

/** Prefix of the event that reports an effect's fault. */
const FAULT = 'xstate.error.';
/** Number of states from which the same arrow becomes a note instead. */
const COMMON = 3;

/** Divides a machine's arrows into its main path and arrows that most of its states have. */
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

/**
 * Shortens a label. In the chart of `replica`, `replica.catchingUp done [behind]` becomes `behind`: the arrow's start
 * shows the rest. Work that simply ends needs no label.
 */
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
