import { EventEmitter } from 'node:events';
import { current, type Life } from './scheduler.ts';
import type { Stage } from './stage.ts';

export interface ThreadOptions {
  readonly name: string;
  readonly workerData: unknown;
}

export interface ThreadWatch {
  started(thread: SimulatedThread): void;
  died(thread: SimulatedThread): void;
  froze(thread: SimulatedThread): void;
  /** A word of a thread to the main one. */
  onMessage(thread: SimulatedThread, message: unknown): void;
}

const PORT_MS = 0.1;
let count = 0;

/** Ends whatever runs in a thread that called `process.exit`. */
class ThreadEnded extends Error {}

/** A thread that the scheduler runs: its entry evaluated anew, its life ended at any await. */
export class SimulatedThread extends EventEmitter {
  readonly name: string;
  readonly port = new EventEmitter();
  readonly life: Life & { readonly thread: SimulatedThread } = { isAlive: true, thread: this };
  readonly number = count++;
  readonly #stage: Stage;
  /** The process that it is a part of. */
  readonly #owner = current.getStore() ?? null;
  #frozenAt: number | null = null;
  #exited = Promise.withResolvers<number>();

  constructor(stage: Stage, entry: URL, { name, workerData }: ThreadOptions, setData: (data: unknown) => void) {
    super();
    this.name = name;
    this.#stage = stage;
    stage.watch.started(this);
    stage.scheduler.after(
      stage.scheduler.delay(5, 50),
      () => {
        setData(structuredClone(workerData));
        return import(`${entry.href}?thread=${this.number}`);
      },
      this.life
    );
  }

  /** @throws when the main thread calls */
  static current(): SimulatedThread {
    return (current.getStore() as SimulatedThread['life']).thread;
  }

  /** To the thread. */
  postMessage(message: unknown): void {
    const copy: unknown = structuredClone(message);
    this.#stage.scheduler.after(PORT_MS, () => this.port.emit('message', copy), this.life);
  }

  toMain(message: unknown): void {
    const copy: unknown = structuredClone(message);
    if (!this.life.isAlive) return;
    this.#stage.watch.onMessage(this, copy);
    this.#stage.scheduler.after(PORT_MS, () => this.emit('message', copy), this.#owner);
  }

  /** Nothing of it goes on, as in an endless loop, and it still has to be ended. */
  freeze(): void {
    this.life.isAlive = false;
    this.#frozenAt = performance.now();
    this.#stage.watch.froze(this);
  }

  /** A loop computes all the time; the rest takes none of the world's. */
  async cpuUsage(): Promise<{ readonly user: number; readonly system: number }> {
    const { user, system } = process.threadCpuUsage();
    return { user: user + (this.#frozenAt === null ? 0 : (performance.now() - this.#frozenAt) * 1_000), system };
  }

  /** Ends it with its whole process. */
  vanish(): void {
    this.life.isAlive = false;
    this.#stage.watch.died(this);
  }

  /** Ends it, in the middle of whatever it awaits. */
  async terminate(code = 1): Promise<number> {
    if (this.life.isAlive || this.#frozenAt !== null) {
      this.life.isAlive = false;
      this.#frozenAt = null;
      this.#stage.watch.died(this);
      const { scheduler } = this.#stage;
      const end = () => {
        this.emit('exit', code);
        this.#exited.resolve(code);
      };
      scheduler.after(scheduler.delay(1, 4), end, this.#owner);
    }
    return this.#exited.promise;
  }
}

/** Ends of a thread by its own hand do not end the process. */
export function installThreadEnds(): void {
  const [on, exit] = [process.on.bind(process), process.exit.bind(process)];
  process.on = ((event: string, listener: (...args: unknown[]) => void) =>
    current.getStore() ? process : on(event, listener)) as typeof process.on;
  process.exit = ((code?: number) => {
    const life = current.getStore() as Partial<SimulatedThread['life']> | undefined;
    if (!life?.thread) return exit(code);
    void life.thread.terminate(code);
    throw new ThreadEnded('the thread has ended');
  }) as typeof process.exit;
}
