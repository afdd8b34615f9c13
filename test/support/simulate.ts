import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The simulation has a process of its own, whose clock it replaces. It takes a quarter of this on a quiet machine. */
const DEADLINE_MS = 120_000;

/** Plays the simulation with options. @returns its exit code and all that it said */
export function simulate(...options: string[]): { readonly status: number | null; readonly output: string } {
  const main = fileURLToPath(new URL('../../lab/simulation/main.ts', import.meta.url));
  const flags = ['--disable-warning=ExperimentalWarning', main, ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, flags, { encoding: 'utf8', timeout: DEADLINE_MS });
  return { status, output: `${stdout}${stderr}` };
}
