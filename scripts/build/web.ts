import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { MACHINES } from '../../machines/all.ts';
import { drawChart } from '../charts/draw-chart.ts';
import { ROOT } from '../root.ts';

const OUT = join(ROOT, 'dist', 'web');

/** Builds the console page into dist/web: one script, the static files, and a chart of every machine. */
async function buildWeb(): Promise<void> {
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(join(OUT, 'charts'), { recursive: true });
  for (const name of ['index.html', 'console.css', 'icon.svg']) cpSync(join(ROOT, 'web', name), join(OUT, name));
  await build({
    entryPoints: [join(ROOT, 'web', 'main.ts')],
    outfile: join(OUT, 'console.js'),
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
