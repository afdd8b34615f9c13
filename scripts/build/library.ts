import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { ROOT } from '../root.ts';

const OUT = join(ROOT, 'dist', 'library');

/** Builds dist/library, the modules that package.json exports: one file each, and the declarations of all that they name. */
async function buildLibrary(): Promise<void> {
  rmSync(OUT, { recursive: true, force: true });
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/library/client.ts', 'src/library/machines.ts'],
    outdir: OUT,
    bundle: true,
    packages: 'external', // XState's tools must meet the same XState
    platform: 'node',
    format: 'esm',
    target: 'node22',
    splitting: true,
    logLevel: 'warning'
  });
  const compiler = join(ROOT, 'node_modules', '.bin', 'tsc');
  execFileSync(compiler, ['-p', join(ROOT, 'scripts', 'build', 'library.tsconfig.json')], { stdio: 'inherit' });
}

await buildLibrary();
