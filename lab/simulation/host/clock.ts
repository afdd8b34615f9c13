import { type Appointment, current, type Scheduler } from './scheduler.ts';

/** Timer of `setTimeout`, in simulated time. */
class SimulatedTimer {
  readonly #scheduler: Scheduler;
  readonly #work: () => void;
  readonly #delayMs: number;
  readonly #repeats: boolean;
  readonly #life = current.getStore() ?? null;
  #appointment: Appointment;

  constructor(scheduler: Scheduler, work: () => void, delayMs: number, repeats: boolean) {
    this.#scheduler = scheduler;
    this.#work = work;
    this.#delayMs = Math.max(1, Number(delayMs) || 0);
    this.#repeats = repeats;
    this.#appointment = this.#schedule();
  }

  #schedule(): Appointment {
    return this.#scheduler.after(this.#delayMs, () => this.#fire(), this.#life);
  }

  #fire(): void {
    if (this.#repeats) this.#appointment = this.#schedule();
    this.#work();
  }

  refresh(): this {
    this.close();
    this.#appointment = this.#schedule();
    return this;
  }

  close(): this {
    this.#appointment.isCancelled = true;
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

type Callback = (...args: unknown[]) => void;

/** The clock of the stage that is played on; each episode has its own. */
let scheduler: Scheduler;

export function setClock(of: Scheduler): void {
  scheduler = of;
}

/** Replaces this process's timers, clocks and random numbers, for good: they are the scheduler's from now on. */
export function installClock(): void {
  const start =
    (repeats: boolean) =>
    (work: Callback, delayMs?: number, ...args: unknown[]) =>
      new SimulatedTimer(scheduler, () => work(...args), delayMs ?? 0, repeats);
  const clear = (timer: unknown) => {
    if (timer instanceof SimulatedTimer) timer.close();
  };
  const soon = (work: Callback, ...args: unknown[]) => start(false)(work, 0, ...args);
  Object.assign(globalThis, {
    setTimeout: start(false),
    setInterval: start(true),
    setImmediate: soon,
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear
  });
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...given: []) {
      super(...((given.length === 0 ? [scheduler.wallTime] : given) as []));
    }
    static override now(): number {
      return scheduler.wallTime;
    }
  } as DateConstructor;
  performance.now = () => scheduler.now;
  Math.random = () => scheduler.random.next();
  AbortSignal.timeout = (delayMs) => {
    const aborter = new AbortController();
    scheduler.after(delayMs, () => aborter.abort(new DOMException('the time is over', 'TimeoutError')));
    return aborter.signal;
  };
}
