import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { ResourceLimits, Transferable } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { PlatformError } from '../../src/errors.ts';
import { entryUrl } from '../../src/process/program.ts';
import type { TaskOrder, TaskOutcome } from './task-entry.ts';
import type { TaskInput, TaskOutput, Tasks } from './tasks.ts';

export interface TaskPoolOptions {
  /** Module that a thread starts from. */
  readonly entry?: URL;
  /** The module of a task, by its name (`sync/merkle-epochs`): in `workers/` unless a test says otherwise. */
  readonly locate?: (name: string) => URL;
  readonly maxThreads?: number;
  /** Tasks that may wait for a thread; further ones are refused with TASKS_BUSY. */
  readonly maxQueue?: number;
  /** Limits of each thread. */
  readonly resourceLimits?: ResourceLimits;
}

interface RunTaskOptions {
  /** Ends the task's thread when it is aborted. */
  readonly signal?: AbortSignal;
  readonly transfer?: readonly Transferable[];
}

const IDLE_TIMEOUT_MS = 30_000;

/** Heavy work off the main thread: stateless tasks, one file each below `workers/`, on a few threads that come and go. */
export class TaskPool<T extends Tasks> {
  readonly #locate: (name: string) => URL;
  readonly #pool: Piscina<TaskOrder, TaskOutcome>;

  constructor({
    entry = entryUrl('actors/runtime/task-entry'),
    locate = (name) => entryUrl(`workers/${name}`),
    maxThreads = availableParallelism(),
    maxQueue = 64,
    resourceLimits = {}
  }: TaskPoolOptions = {}) {
    this.#locate = locate;
    this.#pool = new Piscina({
      filename: fileURLToPath(entry),
      minThreads: 1,
      maxThreads,
      maxQueue,
      resourceLimits,
      idleTimeout: IDLE_TIMEOUT_MS
    });
  }

  /** Tasks that wait for a thread. */
  get queueDepth(): number {
    return this.#pool.queueSize;
  }

  /**
   * Runs a task; one may return `Transferred` to move buffers.
   *
   * @throws {PlatformError} TASKS_BUSY, or what the task threw; the signal's reason
   */
  async run<Name extends keyof T & string>(
    name: Name,
    input: TaskInput<T[Name]>,
    { signal, transfer = [] }: RunTaskOptions = {}
  ): Promise<TaskOutput<T[Name]>> {
    signal?.throwIfAborted();
    if (this.queueDepth >= this.#pool.options.maxQueue) {
      throw new PlatformError('TASKS_BUSY', { reason: 'the task queue is full', waiting: this.queueDepth });
    }
    const outcome = await this.#outcome({ module: this.#locate(name).href, input }, signal, transfer);
    if (outcome.ok) return outcome.value as TaskOutput<T[Name]>;
    const cause = Object.assign(new Error(outcome.error.message), { stack: outcome.stack });
    throw new PlatformError(outcome.error.code, outcome.error.detail, { cause });
  }

  /** Ends every thread; tasks in work or waiting are rejected. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #outcome(
    order: TaskOrder,
    signal: AbortSignal | undefined,
    transfer: readonly Transferable[]
  ): Promise<TaskOutcome> {
    try {
      return await this.#pool.run(order, { transferList: [...transfer] as never, signal: signal ?? null });
    } catch (caught) {
      signal?.throwIfAborted();
      throw PlatformError.from(caught);
    }
  }
}
