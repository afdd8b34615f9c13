import { setTimeout as sleep } from 'node:timers/promises';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { PlatformError } from '../../../src/errors.ts';
import { entryUrl } from '../../../src/process/program.ts';
import type { ActorKind } from '../../../src/wire/state/actor.ts';
import type { Exchange } from '../../../src/wire/state/timeline.ts';
import { type AskOptions, Channel, type Handlers, type Listeners, type Notices, type Protocol } from '../channel.ts';
import { cpuMsOf } from '../cpu.ts';
import type { HostAsks, HostNotices, HostOrders, SupervisedNotices } from '../notices.ts';

/** A thread that runs JavaScript answers sooner, in a loop too. */
const CPU_PATIENCE_MS = 1_000;
/** Time for a thread's event loop to reach the order to end. */
const ORDER_PATIENCE_MS = 100;
/** Time for a thread to end; one that is idle or runs JavaScript needs milliseconds. */
const END_PATIENCE_MS = 10_000;

/** Returns what the thread of a kind of actor starts from. @throws {PlatformError} TEMP_UNUSABLE */
export function actorEntry(kind: ActorKind): URL {
  return entryUrl(`actors/${kind}/actor`);
}

interface HandleOptions<ToMain extends Protocol, Heard extends Notices> {
  readonly entry: URL;
  /** Shown by debuggers and in traces. */
  readonly name: string;
  readonly workerData: unknown;
  readonly resourceLimits?: ResourceLimits;
  readonly handlers: Handlers<ToMain>;
  /** Listeners for the thread's notices, except for the error that ends it. */
  readonly listeners: Listeners<Heard & SupervisedNotices>;
  readonly onFault: (error: PlatformError, type: string) => void;
  /** Sees each ask of either side when it is settled. */
  readonly onMessage?: (exchange: Exchange) => void;
  readonly mailboxLimit: number;
  /** The thread does not end: it is in a native call (JSON.parse of a huge text), which nothing interrupts. */
  readonly onStuck?: () => void;
  /** Time that a thread may take to end before `onStuck` is called; default: ten seconds. */
  readonly endPatienceMs?: number;
}

/** The main thread's end of one actor: its thread, the channel to it, and its death. */
export class ActorHandle<
  ToActor extends Protocol = Protocol,
  ToMain extends Protocol = Protocol,
  Heard extends Notices = Record<never, never>
> {
  readonly #thread: Worker;
  readonly #channel: Channel<ToMain, ToActor & HostAsks, Heard & HostNotices, HostOrders>;
  readonly #exited = Promise.withResolvers<PlatformError>();
  readonly #onStuck: () => void;
  readonly #endPatienceMs: number;
  #fault: PlatformError | undefined;

  constructor(options: HandleOptions<ToMain, Heard>) {
    const { entry, name, workerData, resourceLimits = {}, onStuck = () => undefined } = options;
    this.#onStuck = onStuck;
    this.#endPatienceMs = options.endPatienceMs ?? END_PATIENCE_MS;
    this.#thread = new Worker(entry, { name, workerData, resourceLimits });
    this.#channel = new Channel(this.#thread, {
      handlers: options.handlers,
      mailboxLimit: options.mailboxLimit,
      onFault: options.onFault,
      ...(options.onMessage ? { onExchange: options.onMessage } : {}),
      listeners: {
        ...options.listeners,
        fault: (error) => {
          this.#fault = PlatformError.fromWire(error);
        }
      } as Listeners<Heard & HostNotices>
    });
    this.#thread.once('error', (cause) => {
      this.#fault ??= PlatformError.from(cause, 'ACTOR_EXITED');
    });
    this.#thread.once('exit', (exitCode) => this.#die(exitCode));
  }

  /** Fulfilled when the thread is gone, with what ended it: the error it reported, else ACTOR_EXITED. Never rejects. */
  get exited(): Promise<PlatformError> {
    return this.#exited.promise;
  }

  /** @throws {PlatformError} ACTOR_TIMEOUT, ACTOR_EXITED, or whatever the actor itself threw */
  ask<K extends keyof (ToActor & HostAsks) & string>(
    type: K,
    body: (ToActor & HostAsks)[K]['request'],
    options?: AskOptions
  ): Promise<(ToActor & HostAsks)[K]['reply']> {
    return this.#channel.ask(type, body, options);
  }

  /** Returns the CPU time of the thread since its start, in milliseconds; undefined when it does not answer within a second. */
  async cpuMs(): Promise<number | undefined> {
    const patience = new AbortController();
    const late = sleep(CPU_PATIENCE_MS, undefined, { signal: patience.signal, ref: false }).catch(() => undefined);
    const answer = this.#thread.cpuUsage().then(cpuMsOf, () => undefined); // a thread that is gone has no answer
    try {
      return await Promise.race([answer, late]);
    } finally {
      patience.abort();
    }
  }

  /**
   * Ends the thread at once; `onStuck` is called if it does not end in time. Its running statement may continue in MariaDB.
   *
   * It ends by itself if it can: Node takes the whole process down when a thread is terminated while it makes a zlib object.
   */
  async terminate(): Promise<void> {
    const stuck = setTimeout(this.#onStuck, this.#endPatienceMs);
    this.#channel.tell('end', {});
    const patience = new AbortController();
    const late = sleep(ORDER_PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined);
    await Promise.race([this.#exited.promise, late]);
    patience.abort();
    await this.#thread.terminate();
    clearTimeout(stuck);
  }

  #die(exitCode: number): void {
    const reason = this.#fault ? this.#fault.message : 'the thread ended';
    const death = new PlatformError('ACTOR_EXITED', { reason, exitCode }, { cause: this.#fault });
    this.#channel.close(death);
    this.#exited.resolve(this.#fault ?? death);
  }
}
