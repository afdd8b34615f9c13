import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { environment } from '../config/environment.ts';
import type { Environment } from '../config/variables.ts';
import { createLogger, type Logger } from '../log.ts';
import { SELF, sharedEntries } from './program.ts';

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Lifetime of a service after which a restart begins with the shortest pause again. */
const STEADY_MS = 60_000;
/** Pause before the first restart in a row. Each further one is twice as long. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 300_000;
/** Grace of a service that did not name one. */
const DEFAULT_GRACE_MS = 10_000;
/**
 * Settings of the C library's allocator for a service.
 *
 * They return freed pieces of 64 KiB and more to the system: the read buffers of a message of up to 256 MiB. By default
 * each thread would keep up to 64 MiB of such pieces, which no other thread may use.
 */
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_ARENA_MAX: '2' } as const;
/** Bounds V8's young generation to 24 MiB a thread; by default garbage of one stranger's questions lets it grow by 90 MiB. */
const SMALL_YOUNG_GENERATION = '--max-semi-space-size=8';
/** Time beyond the grace for ending unfinished work and closing files. */
const STOP_MARGIN_MS = 10_000;

/**
 * Returns the variables that bound the memory of a service's process.
 *
 * @param makesAnswers whether its main thread mostly makes answers
 * @param env of the operator, who wins
 */
export function memoryVariables(makesAnswers: boolean, env: Environment = {}): Readonly<Record<string, string>> {
  const missing = Object.entries(ALLOCATOR).filter(([name]) => env[name] === undefined);
  if (!makesAnswers) return Object.fromEntries(missing);
  const options = `${SMALL_YOUNG_GENERATION} ${env['NODE_OPTIONS'] ?? ''}`.trimEnd();
  return { ...Object.fromEntries(missing), NODE_OPTIONS: options };
}

/** Returns whether an exit code is final: a restart would not change the outcome. A death by signal has no code. */
function isFinal(code: number | null): code is number {
  return code === 0 || (code !== null && code >= 64 && code <= 78);
}

/**
 * Runs this program again as a child, the service, and restarts it when it dies.
 *
 * The child has its own process group, so that a terminal's signal reaches it only once, through this process. After a
 * signal its end is final, and so are the exit codes 0 and 64 to 78. Any other end leads to a restart, without a limit:
 * the cause may pass while nobody watches. Pauses grow to five minutes. A service that outlives its grace and a margin
 * after a signal is killed.
 *
 * @param argv the service's arguments; `--no-guardian` is added for the child
 * @returns the exit code for this process
 */
export async function runGuarded(
  argv: readonly string[],
  log: Logger = createLogger('guardian'),
  { marginMs = STOP_MARGIN_MS, firstPauseMs = FIRST_PAUSE_MS, makesAnswers = false } = {}
): Promise<number> {
  const stop = new AbortController();
  let service: ChildProcess | undefined;
  let graceMs = DEFAULT_GRACE_MS;
  const kill = () => {
    log.fatal({ graceMs }, 'the service did not end after the signal and is killed');
    service?.kill('SIGKILL');
  };
  for (const signal of FORWARDED) {
    process.on(signal, () => {
      if (!stop.signal.aborted) setTimeout(kill, graceMs + marginMs).unref();
      stop.abort();
      service?.kill(signal);
    });
  }
  const variables = { ...environment, ...memoryVariables(makesAnswers, environment), ...sharedEntries() };
  for (let deaths = 0; !stop.signal.aborted; ) {
    const startedAt = performance.now();
    service = start(argv, variables);
    service.on('message', (named: { graceMs?: number }) => (graceMs = named.graceMs ?? graceMs));
    const end = await ended(service);
    if (isFinal(end.code)) return end.code;
    if (stop.signal.aborted) return end.code ?? 128 + constants.signals[end.signal ?? 'SIGKILL'];
    deaths = performance.now() - startedAt < STEADY_MS ? deaths + 1 : 1;
    const delayMs = Math.min(LONGEST_PAUSE_MS, firstPauseMs * 2 ** (deaths - 1));
    log.error({ ...end, deaths, delayMs }, 'the service ended abnormally and will be restarted');
    await sleep(delayMs, undefined, { signal: stop.signal }).catch(() => undefined);
  }
  return 0;
}

function start(argv: readonly string[], env: Environment): ChildProcess {
  const [command, ...first] = SELF;
  return spawn(command, [...first, ...argv, '--no-guardian'], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: true,
    env
  });
}

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

function ended(service: ChildProcess): Promise<End> {
  const { promise, resolve, reject } = Promise.withResolvers<End>();
  service.once('error', reject);
  service.once('exit', (code, signal) => resolve({ code, signal }));
  return promise;
}

let graceInService = DEFAULT_GRACE_MS;

/** In the service: tells the guardian how long a graceful stop may take. @param graceMs milliseconds */
export function nameGrace(graceMs: number): void {
  graceInService = graceMs;
  if (process.connected) process.send?.({ graceMs });
}

/** In the service: when the guardian is gone, stops as by SIGTERM, and by force when that takes too long. */
export function endWithGuardian(): void {
  if (!process.connected) return;
  process.channel?.unref();
  process.once('disconnect', () => {
    // `process.exit` would wait for a thread that cannot be interrupted.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), graceInService + STOP_MARGIN_MS).unref();
    process.kill(process.pid, 'SIGTERM');
  });
}
