import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type AnyStateMachine, type AnyStateNode, StateMachine } from 'xstate';
import { edgesOf, nodesOf, pathOf } from '../charts/machine-edges.ts';
import { ROOT } from '../root.ts';

/** Directory of the diagrams. */
export const DIAGRAM_DIRECTORY = join(ROOT, 'docs', 'machines');

/** Returns the pages of docs/machines/, content by file name. */
export async function renderDiagrams(): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  for (const file of globSync('machines/**/*.ts', { cwd: ROOT }).sort()) {
    const exported = Object.values((await import(pathToFileURL(join(ROOT, file)).href)) as Record<string, unknown>);
    const machines = exported.filter((value): value is AnyStateMachine => value instanceof StateMachine);
    if (machines.length > 0) pages.set(`${basename(file, '.ts')}.md`, page(file, machines));
  }
  return pages;
}

function page(file: string, machines: readonly AnyStateMachine[]): string {
  const head = `Generated from [${file}](../../${file}) by\n\`npm run diagrams\`. Do not edit.`;
  return [`# ${basename(file, '.ts')}`, head, ...machines.map(chart)].join('\n\n').concat('\n');
}

function chart(machine: AnyStateMachine): string {
  const lines = ['```mermaid', 'stateDiagram-v2', ...inside(machine.root, '  '), '```'];
  const rest = [
    ...list(
      'From every state',
      edgesOf(machine.root).filter(({ to }) => to.length > 0),
      ({ label, to }) => `${label} → ${to.map(pathOf).join(', ')}`
    ),
    ...list(
      'Without a change of state',
      nodesOf(machine.root)
        .flatMap(edgesOf)
        .filter(({ to }) => to.length === 0),
      (edge) => `${edge.from === machine.root ? 'every state' : pathOf(edge.from)}: ${edge.label}`
    )
  ];
  return [lines.join('\n'), ...rest].join('\n\n');
}

/** Returns the inner states of a state, the initial one, and the arrows that leave each. */
function inside(node: AnyStateNode, indent: string): string[] {
  const children = Object.values(node.states);
  const initial = node.type === 'parallel' ? [] : node.initial.target.map((to) => `${indent}[*] --> ${nameOf(to)}`);
  const regions = children.flatMap((child, index) => {
    const below = Object.keys(child.states).length > 0;
    const separator = node.type === 'parallel' && index > 0 ? [`${indent}--`] : [];
    const declared = `state "${child.key}" as ${nameOf(child)}`;
    return below
      ? [...separator, `${indent}${declared} {`, ...inside(child, `${indent}  `), `${indent}}`]
      : [...separator, `${indent}${declared}`];
  });
  const arrows = children.flatMap((child) => [
    ...edgesOf(child).flatMap(({ label, to }) =>
      to.map((target) => `${indent}${nameOf(child)} --> ${nameOf(target)} : ${label}`)
    ),
    ...(child.type === 'final' ? [`${indent}${nameOf(child)} --> [*]`] : [])
  ]);
  return [...initial, ...regions, ...arrows];
}

function nameOf(node: AnyStateNode): string {
  return node.path.join('_');
}

function list<T>(title: string, items: readonly T[], text: (item: T) => string): string[] {
  return items.length === 0 ? [] : [`${title}:`, items.map((item) => `- ${text(item)}`).join('\n')];
}

if (import.meta.main) {
  rmSync(DIAGRAM_DIRECTORY, { recursive: true, force: true });
  mkdirSync(DIAGRAM_DIRECTORY, { recursive: true });
  for (const [name, content] of await renderDiagrams()) writeFileSync(join(DIAGRAM_DIRECTORY, name), content);
}
