import { setTimeout as sleep } from 'node:timers/promises';
import type { ResourceLimits } from 'node:worker_threads';
import { createActor } from 'xstate';
import { type RestartInput, restartMachine } from '../../../machines/runtime/restart.ts';
import { type ErrorCode, hasCode, PlatformError } from '../../../src/errors.ts';
import type { Logger } from '../../../src/log.ts';
import type { Counters } from '../../../src/observe/counters.ts';
import type { DatabaseId } from '../../../src/wire/data/database.ts';
import { type ActorKind, type ActorName, actorKey } from '../../../src/wire/state/actor.ts';
import type { ActorState, ActorView, Beacon, Death, Waiting } from '../../../src/wire/state/actor-view.ts';
import type { TimelineEvent } from '../../../src/wire/state/timeline.ts';
import type { Transition } from '../../../src/wire/state/transition.ts';
import type { Handlers, Listeners, Notices, Protocol } from '../channel.ts';
import type { SupervisedNotices } from '../notices.ts';
import { observeMachine } from '../observe.ts';
import { ActorHandle } from './actor-handle.ts';
import { ActorRecord } from './actor-record.ts';
import type { StartGate } from './start-gate.ts';
import { Watchdog } from './watchdog.ts';

/** Causes that end by themselves, however long that takes: an actor that spent its restarts on them is started again later. */
const PASSING: ReadonlySet<ErrorCode> = new Set(['DATABASE_UNAVAILABLE', 'DATABASE_READ_ONLY', 'LOG_TAKEN']);

/** Start parameters of an actor. */
export interface ActorSpec<Id extends ActorName = DatabaseId> {
  readonly id: Id;
  readonly kind: ActorKind;
  readonly entry: URL;
  /** Given to the thread with `id` and `generation` added; a function is called at each start. */
  readonly workerData: object | (() => object);
  readonly resourceLimits?: ResourceLimits;
}

/** Dependencies of one supervised actor. */
interface ActorContext<ToMain extends Protocol, Heard extends Notices> {
  readonly log: Logger;
  readonly handlers: Handlers<ToMain>;
  readonly listeners: Listeners<Heard>;
  readonly onCounters: (counters: Counters) => void;
  /** An error whose policy is `exit`. */
  readonly onFatal: (error: PlatformError) => void;
  /** Ends what the dead thread left running in its database. */
  readonly reap: (generation: number) => Promise<void>;
  /** A thread of this process cannot be ended. */
  readonly onStuck: () => void;
  readonly endPatienceMs: number | undefined;
  /** Gate at which threads wait for their turn to start. */
  readonly gate: StartGate;
  readonly restart: RestartInput;
  readonly beaconTimeoutMs: number;
  readonly reapDeadlineMs: number;
  readonly refusedRetryMs: number;
  readonly firstGeneration: number;
  readonly ringSize: number;
  readonly mailboxLimit: number;
  /** Sees what happens to the actor. */
  readonly tell: (event: TimelineEvent) => void;
}

/** The life of one actor: its threads one after another, and the policy between them. */
export class SupervisedActor<
  ToActor extends Protocol,
  ToMain extends Protocol,
  Heard extends Notices,
  Id extends ActorName = DatabaseId
> {
  readonly #spec: ActorSpec<Id>;
  readonly #context: ActorContext<ToMain, Heard>;
  readonly #record: ActorRecord;
  readonly #policy;
  #state: ActorState = 'stopped';
  #reason: PlatformError | null = null;
  #handle: ActorHandle<ToActor, ToMain, Heard> | undefined;
  #watchdog: Watchdog | undefined;
  /** Gives the turn to start back. */
  #leaveGate: () => void = () => undefined;
  /** Fulfilled when the last thread and its statements are gone; the successor waits for it. */
  #past: Promise<void> = Promise.resolve();
  /** Reason why the thread is being ended from here; undefined when it dies by itself. */
  #ending: 'hung' | 'killed' | undefined;

  constructor(spec: ActorSpec<Id>, context: ActorContext<ToMain, Heard>) {
    this.#spec = spec;
    this.#context = context;
    this.#record = new ActorRecord(context.ringSize, context.firstGeneration, context.tell);
    const inspect = observeMachine('restart', (transition) => this.#record.keepTransition(transition));
    this.#policy = createActor(restartMachine, { input: context.restart, inspect });
    this.#policy.subscribe(({ value }) => {
      if (value === 'running' && this.#state === 'backoff') void this.#launch();
    });
    this.#policy.start();
  }

  /** @throws {PlatformError} ACTOR_NOT_READY */
  get handle(): ActorHandle<ToActor, ToMain, Heard> {
    if (this.#state === 'running' && this.#handle) return this.#handle;
    const reason = this.#reason?.message ?? `the actor is ${this.#state}`;
    throw new PlatformError('ACTOR_NOT_READY', { reason, actor: actorKey(this.#spec.id), state: this.#state });
  }

  get id(): Id {
    return this.#spec.id;
  }

  get state(): ActorState {
    return this.#state;
  }

  get view(): ActorView<Id> {
    const deaths = this.#policy.getSnapshot().context.deaths;
    const { windowMs, budget } = this.#context.restart;
    const oldest = performance.now() - windowMs;
    return {
      id: this.#spec.id,
      kind: this.#spec.kind,
      state: this.#state,
      reason: this.#reason?.toWire() ?? null,
      ...this.#record.view(deaths.filter((at) => at > oldest).length, budget)
    };
  }

  /** Starts a thread when none lives: the first, or the next after a stop, a halt, or a spent budget. */
  start(): void {
    if (this.#state === 'starting' || this.#state === 'running') return;
    this.#leave('stopped', null);
    this.#policy.send({ type: 'operator.restarted' });
    void this.#launch();
  }

  /** Asks the thread to finish and ends it; it is gone when this returns. @param pause who paused it; null: it is stopped */
  async stop(graceMs: number, pause: PlatformError | null = null): Promise<void> {
    const handle = this.#handle;
    this.#leave(pause ? 'paused' : 'stopped', pause);
    if (handle) this.#past = this.#finish(handle, graceMs);
    await this.#past;
  }

  /** Ends the thread as a crash would; the restart policy answers. */
  async kill(cause: 'hung' | 'killed' = 'killed'): Promise<void> {
    const handle = this.#handle;
    if (!handle) return;
    this.#ending = cause;
    await handle.terminate();
  }

  async #finish(handle: ActorHandle<ToActor, ToMain, Heard>, graceMs: number): Promise<void> {
    const generation = this.#record.generation;
    try {
      await handle.ask('stop', { graceMs }, { deadlineMs: graceMs });
      await handle.terminate();
    } catch (caught) {
      this.#context.log.warn({ err: caught }, 'the actor did not stop in time: ending its thread');
      await handle.terminate();
      await this.#reap(generation);
    }
    this.#record.forgetThread();
  }

  async #launch(): Promise<void> {
    this.#leave('starting', null);
    const generation = this.#record.startGeneration();
    await this.#past;
    const leaveGate = await this.#context.gate.enter();
    if (this.#state !== 'starting' || this.#record.generation !== generation) return leaveGate();
    this.#leaveGate = leaveGate;
    try {
      this.#spawn(generation);
    } catch (caught) {
      this.#onDeath(PlatformError.from(caught));
    }
  }

  #spawn(generation: number): void {
    const { id, entry, workerData, resourceLimits } = this.#spec;
    const { handlers, listeners, log, mailboxLimit, beaconTimeoutMs, onStuck, endPatienceMs } = this.#context;
    const data = typeof workerData === 'function' ? (workerData as () => object)() : workerData;
    const handle = new ActorHandle<ToActor, ToMain, Heard>({
      entry,
      name: actorKey(id),
      workerData: { ...data, id, generation },
      ...(resourceLimits ? { resourceLimits } : {}),
      handlers,
      mailboxLimit,
      onStuck,
      ...(endPatienceMs === undefined ? {} : { endPatienceMs }),
      onMessage: (message) => this.#context.tell({ kind: 'message', ...message }),
      onFault: (error, type) => log.warn({ err: error, type }, `a request to the actor failed: ${error.message}`),
      listeners: {
        ...listeners,
        beacon: (beacon: Beacon) => this.#onBeacon(handle, beacon),
        counters: this.#context.onCounters,
        transition: (transition: Transition) => this.#record.keepTransition(transition),
        waiting: (waiting: Waiting) => this.#record.keepWaiting(waiting)
      } satisfies Listeners<SupervisedNotices> as Listeners<Heard & SupervisedNotices>
    });
    this.#handle = handle;
    this.#watchdog = new Watchdog({
      timeoutMs: beaconTimeoutMs,
      cpuMs: () => handle.cpuMs(),
      onHung: () => void this.kill('hung')
    });
    void handle.exited.then((error) => {
      if (handle === this.#handle) this.#onDeath(error);
    });
  }

  #onBeacon(handle: ActorHandle<ToActor, ToMain, Heard>, beacon: Beacon): void {
    this.#record.keepBeacon(beacon);
    if (handle !== this.#handle) return;
    this.#watchdog?.feed(beacon.cpuMs);
    this.#leaveGate();
    this.#state = 'running';
  }

  /** Acts on a death that nobody asked for, by the policy of its error. */
  #onDeath(error: PlatformError): void {
    const cause = this.#ending ?? error.code;
    const policy = this.#ending ? 'restart' : error.policy;
    this.#record.died(cause, error.message);
    this.#leave(policy === 'restart' ? 'backoff' : 'parked', error);
    this.#past = this.#reap(this.#record.generation);
    if (policy === 'restart') this.#comeBack(cause, error);
    else {
      this.#context.log.error(
        { cause, hint: error.hint },
        `${policy === 'exit' ? 'the process ends' : 'the actor is parked'}: ${error.message}`
      );
      if (policy === 'exit') this.#context.onFatal(error);
      if (hasCode(error, 'DATABASE_REFUSED')) this.#startLater();
    }
  }

  /** Starts an actor that is down after a while, unless it was started or stopped meanwhile. */
  #startLater(): void {
    const { generation } = this.#record;
    const isWaiting = () =>
      (this.#state === 'parked' || this.#state === 'failed') && this.#record.generation === generation;
    setTimeout(() => void (isWaiting() && this.start()), this.#context.refusedRetryMs).unref();
  }

  #comeBack(cause: Death['cause'], error: PlatformError): void {
    const { log } = this.#context;
    this.#policy.send({ type: 'actor.died', at: performance.now(), jitter: Math.random() });
    const { value, context } = this.#policy.getSnapshot();
    if (value === 'failed') {
      this.#state = 'failed';
      log.error({ cause }, `actor failed, its budget of ${context.budget} restarts is spent: ${error.message}`);
      if (PASSING.has(error.code)) this.#startLater();
    } else log.warn({ cause, delayMs: context.delayMs }, `actor died and will be restarted: ${error.message}`);
  }

  #leave(state: ActorState, reason: PlatformError | null): void {
    this.#handle = undefined;
    this.#ending = undefined;
    this.#watchdog?.stop();
    this.#leaveGate();
    this.#state = state;
    this.#reason = reason;
  }

  /** Ends the statements of an actor's earlier start. A failure is only logged: the successor still waits for the writer's lock. */
  async #reap(generation: number): Promise<void> {
    const { log, reap, reapDeadlineMs } = this.#context;
    const patience = new AbortController();
    const late = sleep(reapDeadlineMs, undefined, { signal: patience.signal, ref: false }).then(() => {
      throw new PlatformError('ACTOR_TIMEOUT', {
        reason: 'ending its statements at MariaDB took too long',
        deadlineMs: reapDeadlineMs
      });
    });
    try {
      await Promise.race([reap(generation), late]);
    } catch (caught) {
      log.warn({ err: caught }, 'statements of the dead actor could not be ended');
    } finally {
      late.catch(() => undefined);
      patience.abort();
    }
  }
}
