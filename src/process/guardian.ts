import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { environment } from '../config/environment.ts';
import type { Environment } from '../config/variables.ts';
import { type GuardianLog, guardianLog } from './guardian-log.ts';
import { SELF, sharedEntries } from './self.ts';

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

/** A service that a guardian keeps running. */
export interface GuardedService {
  /** Its arguments; `--no-guardian` is added for the child. */
  readonly argv: readonly string[];
  /** Whether its main thread mostly makes answers. */
  readonly makesAnswers?: boolean;
  /** Whether it is to send a usage ping, once in the guardian's life. */
  readonly reports?: boolean;
  /** Its name in the guardian's log lines; needed where the guardian has several. */
  readonly name?: string;
  /** Its variables; default: those of this process. */
  readonly env?: Environment;
  /** Its working directory; default: that of this process. */
  readonly directory?: string;
  /** File to which its output is appended; default: the output of this process. */
  readonly logFile?: string;
}

/** Times of a guardian, for tests. */
interface GuardianTimes {
  readonly marginMs?: number;
  readonly firstPauseMs?: number;
}

/** Settings of a guardian of one service. */
interface GuardOptions extends GuardianTimes, Pick<GuardedService, 'makesAnswers'> {
  /** Whether its service is to send a usage ping for this start. */
  readonly reports?: boolean;
}

/** Message of a guardian to its service: a usage ping may be sent for the start of the guardian. */
const REPORT = 'report the start';
/** Time from its start until then: a service has both cores to start with, and one that ends before is told by a later start. */
const REPORT_AFTER_MS = 2_000;

/**
 * Runs this program again as a child, the service, and restarts it when it dies.
 *
 * @param argv the service's arguments
 * @returns the exit code for this process
 */
export async function runGuarded(
  argv: readonly string[],
  { makesAnswers = false, reports = false, ...times }: GuardOptions = {}
): Promise<number> {
  const [code] = await guardAll([{ argv, makesAnswers, reports }], guardianLog('guardian'), times);
  return code!;
}

/**
 * Runs this program as a child for each service, and restarts those that die.
 *
 * A child has its own process group, so that a terminal's signal reaches it only once, through this process. After a
 * signal its end is final, and so are the exit codes 0 and 64 to 78. Any other end leads to a restart, without a limit:
 * the cause may pass while nobody watches. Pauses grow to five minutes. A service that outlives its grace and a margin
 * after a signal is killed.
 *
 * @returns the exit codes, when all have ended
 */
export async function guardAll(
  services: readonly GuardedService[],
  log: GuardianLog,
  { marginMs = STOP_MARGIN_MS, firstPauseMs = FIRST_PAUSE_MS }: GuardianTimes = {}
): Promise<readonly number[]> {
  const stop = new AbortController();
  const entries = await sharedEntries();
  const guarded = services.map((service) => new Guarded(service, log, entries));
  for (const signal of FORWARDED) {
    process.on(signal, () => {
      for (const each of guarded) each.signal(signal, stop.signal.aborted ? null : marginMs);
      stop.abort();
    });
  }
  return await Promise.all(guarded.map((each) => each.run(stop.signal, firstPauseMs)));
}

/** The life of one service: its processes one after another. */
class Guarded {
  readonly #service: GuardedService;
  readonly #log: GuardianLog;
  readonly #entries: Environment;
  #child: ChildProcess | undefined;
  #graceMs = DEFAULT_GRACE_MS;

  constructor(service: GuardedService, log: GuardianLog, entries: Environment) {
    this.#service = service;
    this.#log = service.name === undefined ? log : log.child({ service: service.name });
    this.#entries = entries;
  }

  /** Sends a signal. @param marginMs time beyond the grace after which the process is killed; null: an earlier signal set it */
  signal(signal: NodeJS.Signals, marginMs: number | null): void {
    const kill = () => {
      if (!this.#isRunning()) return; // of several services, others run on
      this.#log.fatal({ graceMs: this.#graceMs }, 'the service did not end after the signal and is killed');
      this.#child?.kill('SIGKILL');
    };
    if (marginMs !== null) setTimeout(kill, this.#graceMs + marginMs).unref();
    this.#child?.kill(signal);
  }

  /** The service sends it: a guardian does not load what a ping needs. */
  #askForReport(): void {
    if (this.#child?.connected) this.#child.send(REPORT, () => undefined); // one that ends now is told by a later start
  }

  #isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** Keeps it running until the signal. @returns its exit code */
  async run(stop: AbortSignal, firstPauseMs: number): Promise<number> {
    if (this.#service.reports) setTimeout(() => this.#askForReport(), REPORT_AFTER_MS).unref();
    for (let deaths = 0; !stop.aborted; ) {
      const startedAt = performance.now();
      this.#child = start(this.#service, this.#entries);
      this.#child.on('message', (named: { graceMs?: number }) => (this.#graceMs = named.graceMs ?? this.#graceMs));
      const end = await ended(this.#child);
      if (isFinal(end.code)) {
        if (end.code !== 0 && this.#service.name !== undefined)
          this.#log.error({ exitCode: end.code }, 'the service ended for good; its log tells why');
        return end.code;
      }
      if (stop.aborted) return end.code ?? 128 + constants.signals[end.signal ?? 'SIGKILL'];
      deaths = performance.now() - startedAt < STEADY_MS ? deaths + 1 : 1;
      const delayMs = Math.min(LONGEST_PAUSE_MS, firstPauseMs * 2 ** (deaths - 1));
      this.#log.error({ ...end, deaths, delayMs }, 'the service ended abnormally and will be restarted');
      await sleep(delayMs, undefined, { signal: stop }).catch(() => undefined);
    }
    return 0;
  }
}

function start(service: GuardedService, entries: Environment): ChildProcess {
  const { argv, makesAnswers = false, env = environment, directory, logFile } = service;
  const [command, ...first] = SELF;
  const log = logFile === undefined ? 'inherit' : openSync(logFile, 'a', 0o600);
  try {
    return spawn(command, [...first, ...argv, '--no-guardian'], {
      stdio: [logFile === undefined ? 'inherit' : 'ignore', log, log, 'ipc'],
      detached: true,
      ...(directory === undefined ? {} : { cwd: directory }),
      env: { ...env, ...memoryVariables(makesAnswers, env), ...entries }
    });
  } finally {
    if (typeof log === 'number') closeSync(log);
  }
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

/** Tells the guardian, from within the service, how long a graceful stop may take. @param graceMs milliseconds */
export function nameGrace(graceMs: number): void {
  graceInService = graceMs;
  if (process.connected) process.send?.({ graceMs });
}

/**
 * Stops the service when its guardian is gone: as by SIGTERM, and by force when that takes too long.
 *
 * @param report sends a usage ping; called when the guardian wants one
 */
export function endWithGuardian(report: () => void = () => undefined): void {
  if (!process.connected) return;
  process.on('message', (message) => {
    if (message === REPORT) report();
  });
  process.channel?.unref();
  process.once('disconnect', () => {
    // `process.exit` would wait for a thread that cannot be interrupted.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), graceInService + STOP_MARGIN_MS).unref();
    process.kill(process.pid, 'SIGTERM');
  });
}
