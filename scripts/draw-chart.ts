import ELKModule, { type ElkEdgeSection, type ElkExtendedEdge, type ElkNode } from 'elkjs/lib/elk.bundled.js';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { type Edge, edgesOf, nodesOf, pathOf } from './machine-edges.ts';

/** How the event begins by which an effect's fault is told. */
const FAULT = 'xstate.error.';
const LETTER = 6.6;
const SMALL_LETTER = 5.4;
const OPTIONS = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'POLYLINE',
  'elk.layered.spacing.nodeNodeBetweenLayers': '28',
  'elk.spacing.nodeNode': '24',
  'elk.spacing.edgeLabel': '3',
  'elk.json.edgeCoords': 'ROOT'
};
const INSIDE = { 'elk.padding': '[top=26,left=12,bottom=12,right=12]' };

/**
 * One machine as an SVG: states and arrows carry what the console lights them by.
 *
 * `data-state` is the state's path; `data-from`, `data-to` and `data-event` are what a transition is told by.
 */
export async function drawChart(name: string, machine: AnyStateMachine): Promise<string> {
  // The constructor is the module itself under one loader and its default under the other.
  const Elk = (ELKModule as unknown as { default?: typeof ELKModule.default }).default ?? (ELKModule as never);
  const all = nodesOf(machine.root)
    .flatMap(edgesOf)
    .filter(({ to }) => to.length > 0);
  // What leads away from anywhere would hide the rest: it is told below the chart.
  const isCommon = ({ from, event }: Edge) => from === machine.root || event.startsWith(FAULT);
  const edges = all.filter((edge) => !isCommon(edge));
  const graph: ElkNode = await new Elk().layout({
    id: 'root',
    layoutOptions: OPTIONS,
    children: Object.values(machine.root.states).map(elkNode),
    edges: edges.map(elkEdge)
  });
  const [width, height] = [Math.ceil(graph.width ?? 0), Math.ceil(graph.height ?? 0)];
  const states = (graph.children ?? []).map((node) => drawState(node, 0, 0)).join('');
  const arrows = (graph.edges ?? []).map((edge, index) => drawEdge(edge, edges[index]!)).join('');
  const notes = commonEdges(all.filter(isCommon)).map(
    ({ event, label, to }, index) =>
      `<g class="edge" data-from="" data-to="${to}" data-event="${escapeXml(event)}"><text class="label" x="2" y="${height + 16 + index * 15}">${escapeXml(label)}<tspan class="count"></tspan></text></g>`
  );
  const [fullWidth, fullHeight] = [Math.max(width, 240), height + notes.length * 15 + 6];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${fullWidth} ${fullHeight}" width="${fullWidth}" role="img" aria-label="state chart of ${name}">${arrows}${states}${notes.join('')}</svg>\n`;
}

/** One line for each event and target that leads away from anywhere; all faults of effects are one event. */
function commonEdges(edges: readonly Edge[]): { event: string; label: string; to: string }[] {
  const lines = edges.map(({ event, label, to }) => {
    const isFault = event.startsWith(FAULT);
    const guard = / \[[^\]]+\]$/.exec(label)?.[0] ?? '';
    const target = pathOf(to[0]!);
    const text = `from anywhere: ${isFault ? `error${guard}` : label} → ${target}`;
    return { event: isFault ? `${FAULT}*` : event, label: text, to: target };
  });
  return [...new Map(lines.map((line) => [line.label, line])).values()];
}

function elkNode(node: AnyStateNode): ElkNode {
  const children = Object.values(node.states);
  const size = { width: node.key.length * LETTER + 24, height: 28 };
  return children.length === 0
    ? { id: pathOf(node), ...size }
    : { id: pathOf(node), layoutOptions: INSIDE, children: children.map(elkNode) };
}

function elkEdge({ from, to, label }: Edge, index: number): ElkExtendedEdge {
  const text = shortLabel(label);
  return {
    id: `e${index}`,
    sources: [pathOf(from)],
    targets: [pathOf(to[0]!)],
    labels: [{ text, width: (text.length + 4) * SMALL_LETTER, height: 12 }]
  };
}

/** `replica.catchingUp done [guard]` within the chart of `replica` is `done`: the arrow's start says the rest. */
function shortLabel(label: string): string {
  return label.replace(/^\S+ (done|error)\b/, '$1').replace(/ \[guard\]$/, ' [if]');
}

function drawState(node: ElkNode, left: number, top: number): string {
  const [x, y] = [left + (node.x ?? 0), top + (node.y ?? 0)];
  const key = node.id.split('.').at(-1)!;
  const [textX, textY] = node.children ? [x + 10, y + 17] : [x + 12, y + 18];
  const inner = (node.children ?? []).map((child) => drawState(child, x, y)).join('');
  const box = `<rect x="${x}" y="${y}" width="${node.width}" height="${node.height}" rx="7"${node.children ? ' fill-opacity="0.35"' : ''}/>`;
  return `<g class="state" data-state="${node.id}">${box}<text x="${textX}" y="${textY}">${escapeXml(key)}</text></g>${inner}`;
}

function drawEdge({ sections = [], labels = [] }: ElkExtendedEdge, { from, to, event }: Edge): string {
  const lines = sections.map((section) => drawSection(section)).join('');
  const texts = labels.map(
    ({ text = '', x = 0, y = 0 }) =>
      `<text class="label" x="${x}" y="${y + 10}">${escapeXml(text)}<tspan class="count"></tspan></text>`
  );
  return `<g class="edge" data-from="${pathOf(from)}" data-to="${pathOf(to[0]!)}" data-event="${escapeXml(event)}">${lines}${texts.join('')}</g>`;
}

function drawSection({ startPoint, bendPoints = [], endPoint }: ElkEdgeSection): string {
  const points = [startPoint, ...bendPoints, endPoint];
  const path = points.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L');
  const before = points.at(-2)!;
  const angle = Math.atan2(endPoint.y - before.y, endPoint.x - before.x);
  const corner = (turn: number) =>
    `${(endPoint.x - 8 * Math.cos(angle + turn)).toFixed(1)} ${(endPoint.y - 8 * Math.sin(angle + turn)).toFixed(1)}`;
  const head = `M${endPoint.x.toFixed(1)} ${endPoint.y.toFixed(1)}L${corner(0.4)}L${corner(-0.4)}Z`;
  return `<path d="M${path}"/><path class="head" d="${head}"/>`;
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
