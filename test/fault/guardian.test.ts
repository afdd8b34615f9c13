import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { memoryVariables } from '../../src/process/guardian.ts';
import { makesAnswers } from '../../src/services.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { startGuardedService } from '../support/service-process.ts';
import { eventually } from '../support/sync/sync-process.ts';

const SERVICE = fileURLToPath(new URL('../fixtures/guarded-service.ts', import.meta.url));

interface Said {
  readonly event: string;
  readonly pid: number;
}

interface Guarded {
  readonly guardian: ChildProcess;
  readonly lines: Said[];
  /** Pauses before restarts, in milliseconds. */
  readonly pauses: number[];
  /** The next line that the service says with this event; fails after ten seconds. */
  next(event: string): Promise<Said>;
  /** The guardian's exit. */
  ended(): Promise<number | NodeJS.Signals>;
}

function startGuarded(...argv: string[]): Guarded {
  const guarded = follow(spawn(process.execPath, [SERVICE, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] }));
  after(() => {
    for (const { pid } of guarded.lines) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  return guarded;
}

function follow(guardian: ChildProcess): Guarded {
  const exit = once(guardian, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const lines: Said[] = [];
  const pauses: number[] = [];
  let read = 0;
  createInterface({ input: guardian.stdout! }).on('line', (line) => {
    const entry = JSON.parse(line) as Partial<Said & { readonly delayMs: number }>;
    if (entry.delayMs !== undefined) pauses.push(entry.delayMs);
    if (entry.event !== undefined) lines.push(entry as Said);
  });
  after(() => guardian.kill('SIGKILL'));
  return {
    guardian,
    lines,
    pauses,
    ended: async () => {
      const [code, signal] = await exit;
      return code ?? signal!;
    },
    next: async (event) => {
      const deadline = Date.now() + PATIENCE_MS;
      for (;;) {
        const at = lines.findIndex((entry, index) => index >= read && entry.event === event);
        if (at >= 0) {
          read = at + 1;
          return lines[at]!;
        }
        assert.ok(Date.now() < deadline, `the service never said ${event}`);
        await sleep(10);
      }
    }
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function untilGone(pid: number): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (isAlive(pid)) {
    assert.ok(Date.now() < deadline, `process ${pid} is still there`);
    await sleep(10);
  }
}

test('a service that is killed is started again, with room in the thread pool', async () => {
  const { guardian, next, ended } = startGuarded('serve');
  const first = await next('up');
  process.kill(first.pid, 'SIGKILL');
  await next(`threads ${availableParallelism() + 4}`);
  const second = await next('up');
  assert.notEqual(second.pid, first.pid);
  guardian.kill('SIGTERM');
  assert.equal(await ended(), 0);
});

test('each signal is forwarded once; the end that follows a stop is final and leaves no process behind', async () => {
  const { guardian, lines, next, ended } = startGuarded('serve');
  const { pid } = await next('up');
  guardian.kill('SIGHUP');
  await next('SIGHUP');
  guardian.kill('SIGTERM');
  assert.equal(await ended(), 0);
  await untilGone(pid);
  assert.deepEqual(lines.map(({ event }) => event).slice(-3), ['up', 'SIGHUP', 'SIGTERM']);
});

test('a service that a signal does not end is killed after its grace and a margin', async () => {
  const { guardian, next, ended } = startGuarded('deaf');
  const { pid } = await next('up');
  await sleep(200);
  guardian.kill('SIGTERM');
  const began = performance.now();
  assert.equal(await ended(), 128 + constants.signals.SIGKILL);
  assert.ok(performance.now() - began < 10_000);
  await untilGone(pid);
});

for (const code of [64, 78, 0]) {
  test(`exit code ${code} is final and passed on`, async () => {
    const { lines, ended } = startGuarded('exit', String(code));
    assert.equal(await ended(), code);
    assert.equal(new Set(lines.map(({ pid }) => pid)).size, 1);
  });
}

test('an abnormal exit is followed by a restart; a stop during the pause ends at once', async () => {
  const { guardian, lines, next, ended } = startGuarded('exit', '1');
  const first = await next(`threads ${availableParallelism() + 4}`);
  const second = await next(`threads ${availableParallelism() + 4}`);
  assert.notEqual(second.pid, first.pid);
  await untilGone(second.pid);
  guardian.kill('SIGTERM');
  await ended();
  const starts = lines.length;
  await sleep(200);
  assert.equal(lines.length, starts);
});

test('a service that dies early again and again is started again, however often, after pauses that double up to five minutes', async () => {
  const { guardian, lines, pauses, ended } = startGuarded('exit', '1', 'hasty');
  const deadline = Date.now() + PATIENCE_MS;
  while (lines.length < 24) {
    assert.ok(Date.now() < deadline && guardian.exitCode === null, `${lines.length} starts, exit ${guardian.exitCode}`);
    await sleep(20);
  }
  guardian.kill('SIGTERM');
  await ended();
  assert.deepEqual(
    pauses,
    pauses.map((_, restart) => 1e-6 * 2 ** restart)
  );
  const patient = startGuarded('exit', '1', 'patient');
  while (patient.pauses.length === 0) {
    assert.ok(Date.now() < deadline);
    await sleep(20);
  }
  assert.deepEqual(patient.pauses, [300_000]);
  patient.guardian.kill('SIGTERM');
  await patient.ended();
});

test('when the guardian is killed the service ends as by SIGTERM', async () => {
  const { guardian, next } = startGuarded('serve');
  const { pid } = await next('up');
  guardian.kill('SIGKILL');
  await next('SIGTERM');
  await untilGone(pid);
});

/** Megabytes of a process's memory. */
const memoryOf = (pid: number) =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1e3;

test('a guardian takes half of the memory that a service takes before it has done anything', async (t) => {
  const port = String(await freePort());
  const away = {
    HUB_DB_HOST: '127.0.0.1',
    HUB_DB_PORT: '9',
    HUB_DB_NAME: 'h',
    HUB_DB_USER: 'u',
    HUB_DB_PASS: 'unused-password'
  };
  const start = async () => {
    const started = startGuardedService('hub', { ...away, HUB_HOST: '127.0.0.1', HUB_PORT: port });
    const answers = async () => (await fetch(`http://127.0.0.1:${port}/livez`)).ok;
    await eventually('the hub answers', () => answers().catch(() => false));
    return started;
  };
  const first = await start();
  first.child.kill('SIGTERM');
  await first.exited; // what it compiled is kept for the next start
  const { child } = await start();
  const guardianMb = memoryOf(child.pid!);
  t.diagnostic(`${guardianMb} MB`);
  assert.ok(guardianMb < 75, `${guardianMb} MB`);
});

test('a service that answers strangers has a small young generation, unless the operator says otherwise', () => {
  const [small, own] = ['--max-semi-space-size=8', '--max-semi-space-size=64'];
  const variablesOf = (command: string, env = {}) => memoryVariables(makesAnswers(command), env);
  assert.equal(variablesOf('explorer')['NODE_OPTIONS'], small);
  assert.equal(variablesOf('hub', { NODE_OPTIONS: own })['NODE_OPTIONS'], `${small} ${own}`);
  assert.equal(variablesOf('indexer')['NODE_OPTIONS'], undefined);
  assert.equal(variablesOf('indexer', { MALLOC_ARENA_MAX: '8' })['MALLOC_ARENA_MAX'], undefined);
});
