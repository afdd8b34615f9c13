import ELKModule, { type ElkEdgeSection, type ElkExtendedEdge, type ElkNode } from 'elkjs/lib/elk.bundled.js';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { arcBetween, type Box, type Point } from './arc.ts';
import { type ChartEdge, chartEdges, type Note } from './chart-edges.ts';
import { pathOf } from './machine-edges.ts';
import { phasesOf } from './phases.ts';

const LETTER = 7.6;
const SMALL_LETTER = 6.6;
const OPTIONS = {
  'elk.algorithm': 'layered',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.layered.spacing.nodeNodeBetweenLayers': '34',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '12',
  'elk.spacing.nodeNode': '22',
  'elk.spacing.edgeNode': '14',
  'elk.spacing.edgeEdge': '12',
  'elk.spacing.edgeLabel': '3',
  'elk.layered.nodePlacement.strategy': 'BRANDES_KOEPF',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.json.edgeCoords': 'ROOT'
};
const INSIDE = { 'elk.padding': '[top=28,left=14,bottom=14,right=14]' };
const PHASE = 'phase ';
const MIDDLE = ' text-anchor="middle"';
/** Height of a state without inner states. */
const LEAF_HEIGHT = 30;
/** Size of the console's frame in a window 1280 pixels wide. */
const FRAME = { width: 1_200, height: 620 };

/**
 * Draws one machine as an SVG whose states and arrows the console can highlight.
 *
 * `data-state` is the path of a state. `data-from`, `data-to` and `data-event` (names separated by spaces) match
 * transitions. The console shows arrows of class `side` and texts of class `note` when they are needed.
 */
export async function drawChart(name: string, machine: AnyStateMachine): Promise<string> {
  // The constructor is the module itself under one loader and its default under the other.
  const Elk = (ELKModule as unknown as { default?: typeof ELKModule.default }).default ?? (ELKModule as never);
  const { main, side, notes } = chartEdges(machine);
  const layouts = ['RIGHT', 'DOWN'].map((direction) =>
    new Elk().layout({
      id: 'root',
      layoutOptions: { ...OPTIONS, 'elk.direction': direction },
      children: topNodes(machine),
      edges: main.map(elkEdge)
    })
  );
  const graph = (await Promise.all<ElkNode>(layouts)).reduce((best, next) => (fit(next) > fit(best) ? next : best));
  const [width, height] = [Math.ceil(graph.width ?? 0), Math.ceil(graph.height ?? 0)];
  const boxes = new Map((graph.children ?? []).flatMap((node) => boxesOf(node, 0, 0)));
  const states = [...boxes].map(([id, box]) => drawBox(id, box)).join('');
  const arrows = (graph.edges ?? []).map((edge, index) => drawEdge(edge, main[index]!)).join('');
  const arcs = side.map((edge) => drawArc(edge, boxes, { x: 0, y: 0, width, height })).join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="state chart of ${name}">${states}${arrows}${arcs}${notes.map(drawNote).join('')}</svg>\n`;
}

/** Returns the scale at which a layout fits the console's frame; at most 1. */
function fit({ width = 1, height = 1 }: ElkNode): number {
  return Math.min(1, FRAME.width / width, FRAME.height / height);
}

function topNodes(machine: AnyStateMachine): ElkNode[] {
  const phases = phasesOf(machine);
  const grouped = new Set(phases.flatMap(({ states }) => states));
  const rest = Object.values(machine.root.states).filter(({ key }) => !grouped.has(key));
  const groups = phases.map(({ name, states }) => ({
    id: `${PHASE}${name}`,
    layoutOptions: INSIDE,
    children: states.map((state) => elkNode(machine.root.states[state]!))
  }));
  return [...groups, ...rest.map(elkNode)];
}

function elkNode(node: AnyStateNode): ElkNode {
  const children = Object.values(node.states);
  const size = { width: Math.ceil(node.key.length * LETTER) + 24, height: LEAF_HEIGHT };
  return children.length === 0
    ? { id: pathOf(node), ...size }
    : { id: pathOf(node), layoutOptions: INSIDE, children: children.map(elkNode) };
}

function elkEdge({ from, to, label }: ChartEdge, index: number): ElkExtendedEdge {
  const labels = [{ text: label, width: Math.ceil((label.length + 4) * SMALL_LETTER), height: 14 }];
  return { id: `e${index}`, sources: [from], targets: [to], ...(label === '' ? {} : { labels }) };
}

/** Returns every box with its position in the chart, outer ones first. */
function boxesOf(node: ElkNode, left: number, top: number): [string, Box][] {
  const [x, y] = [left + (node.x ?? 0), top + (node.y ?? 0)];
  const own: [string, Box] = [node.id, { x, y, width: node.width ?? 0, height: node.height ?? 0 }];
  return [own, ...(node.children ?? []).flatMap((child) => boxesOf(child, x, y))];
}

function drawBox(id: string, { x, y, width, height }: Box): string {
  const rect = `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>`;
  const text = (name: string, left: number, down: number) =>
    `<text x="${x + left}" y="${y + down}">${escapeXml(name)}</text>`;
  if (id.startsWith(PHASE)) return `<g class="phase">${rect}${text(id.slice(PHASE.length), 12, 18)}</g>`;
  const name = id.split('.').at(-1)!;
  const isGroup = height > LEAF_HEIGHT;
  return `<g class="state${isGroup ? ' group' : ''}" data-state="${id}">${rect}${text(name, 12, isGroup ? 18 : 19.5)}</g>`;
}

function drawEdge({ sections = [], labels = [] }: ElkExtendedEdge, edge: ChartEdge): string {
  const lines = sections.map(({ startPoint, bendPoints = [], endPoint }: ElkEdgeSection) =>
    drawLine([startPoint, ...bendPoints, endPoint])
  );
  const texts = labels.map(({ text = '', x = 0, y = 0 }) => drawLabel(text, x + 2, y + 11, ''));
  const points = sections.flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint]);
  if (texts.length === 0 && points.length > 1) texts.push(drawCount(points));
  return `<g class="edge"${dataOf(edge)}>${lines.join('')}${texts.join('')}</g>`;
}

/** Draws a curve from one state to another, across others. */
function drawArc(edge: ChartEdge, boxes: ReadonlyMap<string, Box>, frame: Box): string {
  const leaves = [...boxes].filter(([id, { height }]) => height <= LEAF_HEIGHT && id !== edge.from && id !== edge.to);
  const size = { width: (edge.label.length + 4) * SMALL_LETTER, height: 14 };
  const others = leaves.map(([, box]) => box);
  const { start, knee, end, label } = arcBetween(boxes.get(edge.from)!, boxes.get(edge.to)!, others, frame, size);
  const path = `M${round(start.x)} ${round(start.y)}Q${round(knee.x)} ${round(knee.y)} ${round(end.x)} ${round(end.y)}`;
  const text = drawLabel(edge.label, label.x, label.y + 4, MIDDLE);
  return `<g class="edge side"${dataOf(edge)}><path d="${path}"/>${drawHead(knee, end)}${text}</g>`;
}

/** Draws one line below the chart. */
function drawNote({ label, to, events, sources }: Note): string {
  const from = sources.length === 0 ? 'from anywhere' : `from ${sources.join(', ')}`;
  return `<text class="note"${dataOf({ from: '', to, events, label })}>${escapeXml(`${from}: ${label || 'done'} → ${to}`)}</text>`;
}

const dataOf = ({ from, to, events }: ChartEdge): string =>
  ` data-from="${from}" data-to="${to}" data-event="${escapeXml(events.join(' '))}"`;

const drawLabel = (text: string, x: number, y: number, more: string): string =>
  `<text class="label" x="${round(x)}" y="${round(y)}"${more}>${escapeXml(text)}<tspan class="count"></tspan></text>`;

/** Draws the number of times that an arrow without a label was taken, beside its longest part. */
function drawCount(points: readonly Point[]): string {
  const parts = points.slice(1).map((end, index) => ({ start: points[index]!, end }));
  const length = ({ start, end }: (typeof parts)[number]) => Math.hypot(end.x - start.x, end.y - start.y);
  const { start, end } = parts.reduce((longest, part) => (length(part) > length(longest) ? part : longest));
  const [x, y] = [(start.x + end.x) / 2, (start.y + end.y) / 2];
  return start.y === end.y ? drawLabel('', x, y - 4, MIDDLE) : drawLabel('', x + 2, y + 4, '');
}

function drawLine(points: readonly Point[]): string {
  const path = points.map(({ x, y }) => `${round(x)} ${round(y)}`).join('L');
  return `<path d="M${path}"/>${drawHead(points.at(-2)!, points.at(-1)!)}`;
}

function drawHead(before: Point, end: Point): string {
  const angle = Math.atan2(end.y - before.y, end.x - before.x);
  const corner = (turn: number) =>
    `${round(end.x - 8 * Math.cos(angle + turn))} ${round(end.y - 8 * Math.sin(angle + turn))}`;
  return `<path class="head" d="M${round(end.x)} ${round(end.y)}L${corner(0.4)}L${corner(-0.4)}Z"/>`;
}

const round = (value: number): number => Math.round(value * 10) / 10;

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
