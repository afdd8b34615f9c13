import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { MACHINES } from '../../machines/all.ts';
import { drawChart } from '../charts/draw-chart.ts';
import { ROOT } from '../root.ts';

const OUT = join(ROOT, 'dist', 'web');
/** Colours of the console's icon by the state of its service. */
const ICON_COLOURS = {
  well: '#127a47',
  working: '#2457c5',
  waiting: '#935400',
  failed: '#c02b24',
  unknown: '#5a6678'
};

/** Builds dist/web: scripts and static files of the console and of the other pages, and a chart of every machine. */
async function buildWeb(): Promise<void> {
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(join(OUT, 'charts'), { recursive: true });
  for (const name of ['index.html', 'icon.svg']) cpSync(join(ROOT, 'web', name), join(OUT, name));
  const icon = readFileSync(join(ROOT, 'web', 'icon.svg'), 'utf8');
  for (const [state, colour] of Object.entries(ICON_COLOURS))
    writeFileSync(join(OUT, `icon-${state}.svg`), icon.replace('#2457c5', colour));
  const entry = (out: string, ...path: string[]) => ({ in: join(ROOT, 'web', ...path), out });
  await build({
    entryPoints: [
      entry('console', 'main.ts'),
      entry('console', 'styles', 'console.css'),
      entry('explorer', 'explorer', 'explorer.ts'),
      entry('docs', 'docs', 'docs.ts'),
      entry('miner', 'miner', 'miner.ts'),
      entry('explorer', 'explorer', 'explorer.css')
    ],
    outdir: OUT,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2024',
    logLevel: 'error'
  });
  for (const [name, machine] of Object.entries(MACHINES))
    writeFileSync(join(OUT, 'charts', `${name}.svg`), await drawChart(name, machine));
}

await buildWeb();
