import { availableParallelism, loadavg } from 'node:os';

/** CPU within which any thread has loaded its modules, whatever the machine is. */
const LOADING_CPU_MS = 10_000;
/** The share of its silence that a thread must have computed to be in a loop. */
const BUSY_SHARE = 0.5;
/** A load that leaves a thread less than this part of a core is no excuse any more. */
const MOST_PATIENCE = 8;
/** Pause between two looks at a silent thread, as a part of the timeout. */
const LOOK_SHARE = 0.25;

interface WatchdogOptions {
  /** Silence after which the thread is looked at, in milliseconds. */
  readonly timeoutMs: number;
  /** CPU that the thread has used since it started, in milliseconds; undefined when it does not answer that either. */
  readonly cpuMs: () => Promise<number | undefined>;
  /** Called once. */
  readonly onHung: () => void;
  /** Runnable threads of the machine per core. */
  readonly loadPerCore?: () => number;
}

/**
 * Tells a thread that hangs from one that the machine does not let run. Silence alone is no proof: a thread that is silent for `timeoutMs`
 * is hung when it computed for half of that time without a beacon; a thread that still loads its modules (no beacon yet) when it computed
 * for 10 s. One that computes less waits for a core, and is waited for, up to 8 times as long. One that does not even say how much it
 * computed (it is in a native call) has as much longer as the machine's load takes from it, and as the main thread was late itself.
 */
export class Watchdog {
  readonly #options: Required<WatchdogOptions>;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #fedAt = performance.now();
  #fedCpuMs = 0;
  #isLoading = true;
  #lateMs = 0;
  #isStopped = false;

  constructor(options: WatchdogOptions) {
    this.#options = { loadPerCore: () => (loadavg()[0] ?? 0) / availableParallelism(), ...options };
    this.#lookIn(options.timeoutMs);
  }

  /** Takes a beacon. @param cpuMs what the thread had computed when it sent it */
  feed(cpuMs: number): void {
    if (this.#isStopped) return;
    this.#fedAt = performance.now();
    this.#fedCpuMs = cpuMs;
    this.#isLoading = false;
    this.#lateMs = 0;
    this.#lookIn(this.#options.timeoutMs);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = performance.now() + ms;
    // A main thread that was busy finds its timers due before the messages that wait for it: those are read first.
    this.#timer = setTimeout(() => setImmediate(() => void this.#look()), ms).unref();
  }

  async #look(): Promise<void> {
    const { timeoutMs, cpuMs, onHung } = this.#options;
    const [fedAt, lateMs] = [this.#fedAt, performance.now() - this.#dueAt];
    // A timer may be due a fraction of a millisecond early.
    const restMs = timeoutMs - (performance.now() - fedAt);
    if (this.#isStopped) return;
    if (restMs > 0) return this.#lookIn(restMs);
    this.#lateMs += lateMs;
    const computedMs = await cpuMs();
    if (this.#isStopped || this.#fedAt !== fedAt) return;
    if (!this.#isHung(performance.now() - fedAt, computedMs)) return this.#lookIn(timeoutMs * LOOK_SHARE);
    this.stop();
    onHung();
  }

  #isHung(silentMs: number, computedMs: number | undefined): boolean {
    const { loadPerCore } = this.#options;
    const timeoutMs = this.#isLoading ? Math.max(this.#options.timeoutMs, LOADING_CPU_MS) : this.#options.timeoutMs;
    if (computedMs === undefined) {
      const patience = this.#isLoading ? MOST_PATIENCE : Math.min(MOST_PATIENCE, Math.max(1, loadPerCore()));
      return silentMs >= timeoutMs * patience + this.#lateMs;
    }
    const limitMs = this.#isLoading ? timeoutMs : timeoutMs * BUSY_SHARE;
    return computedMs - this.#fedCpuMs >= limitMs || silentMs >= timeoutMs * MOST_PATIENCE + this.#lateMs;
  }
}
