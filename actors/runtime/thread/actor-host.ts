import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import type { InspectionEvent } from 'xstate';
import { PlatformError } from '../../../src/errors.ts';
import type { Logger } from '../../../src/log.ts';
import { count, takeCounters } from '../../../src/observe/counters.ts';
import type { Beacon } from '../../../src/wire/state/actor-view.ts';
import { machineName } from '../../../src/wire/state/machine-name.ts';
import { type AskOptions, Channel, type Handlers, type Notices, type Protocol, portableError } from '../channel.ts';
import { cpuMsOf } from '../cpu.ts';
import type { HostAsks, HostNotices, HostOrders } from '../notices.ts';
import { observeMachine } from '../observe.ts';

const BEACON_INTERVAL_MS = 1_000;
/** Pause between two looks at the event loop; a shorter one costs more than it tells. */
const DELAY_RESOLUTION_MS = 500;
/** A shorter delay of the event loop is none: timers of a calm thread are as late. */
const LEAST_DELAY_MS = 20;
const DEFAULT_MAILBOX_LIMIT = 256;

interface HostOptions<ToActor extends Protocol> {
  /** Answers what the main thread asks. */
  readonly handlers: Handlers<ToActor>;
  /** Finishes work and releases everything; the thread ends after it, or when the grace is over. */
  readonly stop: (graceMs: number) => Promise<void>;
  readonly log: Logger;
  readonly mailboxLimit?: number;
  /** Asks that are taken even when the mailbox is full; few are under way at once. */
  readonly urgent?: readonly (keyof ToActor & string)[];
  readonly beaconIntervalMs?: number;
}

/** Sends a notice to the main thread. */
type Tell<N extends Notices> = <K extends keyof N & string>(type: K, body: N[K]) => void;

/** An actor's side of its thread: the connection to the main thread, and everything that makes the actor observable. */
export interface ActorHost<ToMain extends Protocol, Told extends Notices> {
  /** @throws {PlatformError} ACTOR_TIMEOUT, or whatever the main thread's handler threw */
  ask<K extends keyof ToMain & string>(
    type: K,
    body: ToMain[K]['request'],
    options?: AskOptions
  ): Promise<ToMain[K]['reply']>;
  readonly tell: Tell<Told>;
  /**
   * Returns the `inspect` option for a root machine: its changes of state reach the supervisor.
   *
   * @param instance tells several machines of one kind apart, e.g. the breakers of two databases
   */
  observe(machine: string, instance?: string): (inspection: InspectionEvent) => void;
  /** Says what the actor waits for from now on; null: for nothing. */
  waiting(on: string | null): void;
  /** Ends the thread with this error; the supervisor acts by its policy: restart, halt or exit. */
  fail(thrown: unknown): never;
}

/**
 * Hosts one actor at the thread's end. Call it once, first thing in an actor's entry.
 *
 * Faults of handlers are answered and logged; an error that nobody caught is logged with its cause, told to the
 * supervisor, and ends the thread.
 */
export function hostActor<
  ToActor extends Protocol,
  ToMain extends Protocol,
  Told extends Notices = Record<never, never>
>(options: HostOptions<ToActor>): ActorHost<ToMain, Told> {
  if (!parentPort) throw new PlatformError('INTERNAL', { reason: 'an actor runs in a worker thread' });
  const { log, stop, mailboxLimit = DEFAULT_MAILBOX_LIMIT, beaconIntervalMs = BEACON_INTERVAL_MS } = options;
  const channel = new Channel<ToActor & HostAsks, ToMain, HostOrders, Told & HostNotices>(parentPort, {
    handlers: {
      ...options.handlers,
      stop: async ({ graceMs }: HostAsks['stop']['request']) => {
        await stop(graceMs);
        return {};
      }
    } as Handlers<ToActor & HostAsks>,
    listeners: { end: () => process.exit(1) },
    onFault: (error, type) =>
      error.code === 'INTERNAL'
        ? log.error({ err: error, type }, 'request failed')
        : log.debug({ code: error.code, type }, error.message),
    mailboxLimit,
    urgent: ['stop', ...(options.urgent ?? [])]
  });
  const tell = channel.tell.bind(channel) as Tell<HostNotices> & Tell<Told>;
  const fail = (thrown: unknown): never => {
    const error = PlatformError.from(thrown);
    log.error({ err: error, policy: error.policy }, `actor ends: ${error.message}`);
    tell('fault', portableError(error));
    process.exit(1);
  };
  process.on('uncaughtException', fail);
  startBeacon(channel, beaconIntervalMs, (beacon) => {
    tell('beacon', beacon);
    const counters = takeCounters();
    if (counters) tell('counters', counters);
  });
  return {
    ask: (type, body, askOptions) => channel.ask(type, body, askOptions),
    tell,
    observe: (machine, instance) =>
      observeMachine(machineName(machine, instance), (transition) => tell('transition', transition)),
    waiting: (on) => tell('waiting', { on, since: Date.now() }),
    fail
  };
}

/** Starts the beacon. The first one goes out at once: it says that the thread is up. */
function startBeacon(
  mailbox: { mailboxDepth: number; oldestMs: number },
  intervalMs: number,
  send: (beacon: Beacon) => void
): void {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) count('gcMs', duration);
  }).observe({ entryTypes: ['gc'] });
  const beat = () => {
    // A sample is the whole time between two looks, the pause between them included.
    const delayMs = Math.round(delay.max / 1e6) - DELAY_RESOLUTION_MS;
    const isLate = delayMs >= LEAST_DELAY_MS;
    send({
      mailboxDepth: mailbox.mailboxDepth,
      oldestMs: Math.round(mailbox.oldestMs),
      heapUsedBytes: getHeapStatistics().used_heap_size,
      eventLoopDelayMs: isLate ? delayMs : 0,
      cpuMs: cpuMsOf(process.threadCpuUsage())
    });
    if (isLate) delay.reset(); // which costs the next sample
  };
  beat();
  setInterval(beat, intervalMs).unref();
}
