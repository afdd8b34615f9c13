import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** The simulation has a process of its own, whose clock it replaces. It takes a quarter of this on a quiet machine. */
const DEADLINE_MS = 120_000;

function simulate(...options: string[]): { readonly status: number | null; readonly said: string } {
  const main = fileURLToPath(new URL('../../lab/simulation/main.ts', import.meta.url));
  const flags = ['--disable-warning=ExperimentalWarning', main, ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, flags, { encoding: 'utf8', timeout: DEADLINE_MS });
  return { status, said: `${stdout}${stderr}` };
}

test('100,000 steps of faults break no invariant, and each episode ends whole', () => {
  const { status, said } = simulate('--steps', '100000', '--seed', '1');
  assert.equal(status, 0, said);
});

test('a seed plays the same steps again', () => {
  const play = () => simulate('--seed', '2', '--episode', '3').said;
  const [first, again] = [play(), play()];
  const trace = (said: string) => /trace \w{16}/.exec(said)?.[0];
  assert.ok(trace(first), first);
  assert.equal(trace(first), trace(again));
});
