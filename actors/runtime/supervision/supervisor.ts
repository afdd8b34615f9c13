import { randomInt } from 'node:crypto';
import type { RestartInput } from '../../../machines/runtime/restart.ts';
import { PlatformError } from '../../../src/errors.ts';
import type { Logger } from '../../../src/log.ts';
import type { Counters } from '../../../src/observe/counters.ts';
import type { DatabaseId } from '../../../src/wire/data/database.ts';
import { type ActorName, actorKey } from '../../../src/wire/state/actor.ts';
import type { ActorState, ActorView } from '../../../src/wire/state/actor-view.ts';
import type { TimelineEntry, TimelineEvent } from '../../../src/wire/state/timeline.ts';
import type { Handlers, Listeners, Notices, Protocol } from '../channel.ts';
import type { ActorHandle } from './actor-handle.ts';
import type { KeptPauses } from './kept-pauses.ts';
import { StartGate } from './start-gate.ts';
import { type ActorSpec, SupervisedActor } from './supervised-actor.ts';
import { Timeline } from './timeline.ts';

export type { ActorSpec } from './supervised-actor.ts';

/** Restarts from a fifth of a second to half a minute apart; ten in five minutes are the last. */
const DEFAULT_RESTART: RestartInput = { baseDelayMs: 200, maxDelayMs: 30_000, budget: 10, windowMs: 300_000 };

export interface SupervisorOptions<ToMain extends Protocol, Heard extends Notices, Id extends ActorName = DatabaseId> {
  readonly log: Logger;
  /** Answers what actors ask of the main thread. */
  readonly handlers: {
    readonly [K in keyof ToMain]: (body: ToMain[K]['request'], from: Id) => ReturnType<Handlers<ToMain>[K]>;
  };
  /** Take what actors tell, beside the supervisor's own notices. */
  readonly listeners: { readonly [K in keyof Heard]: (body: Heard[K], from: Id) => void };
  /** Takes what an actor's thread counted since the last time, once a second. */
  readonly onCounters?: (id: Id, counters: Counters) => void;
  /** An actor met an error of policy `exit`: the process must end. */
  readonly onFatal: (error: PlatformError, id: Id) => void;
  /** Ends what a dead thread left running in its database; runs after each death, before the successor starts. */
  readonly reap?: (dead: { readonly spec: ActorSpec<Id>; readonly generation: number }) => Promise<void>;
  readonly restart?: RestartInput;
  /** A thread whose last beacon is older, and that computed meanwhile, is ended and restarted. @see Watchdog */
  readonly beaconTimeoutMs?: number;
  /** Threads that load their modules at once; default: two per core. */
  readonly startsAtOnce?: number;
  /** A thread cannot be ended; default: the process is killed, for nothing else ends it then. */
  readonly onStuck?: (id: Id) => void;
  /** Longest time that a thread may take to end; default: ten seconds. */
  readonly endPatienceMs?: number;
  readonly reapDeadlineMs?: number;
  /** Time after which an actor is started again whose account MariaDB refused, or that spent its restarts on a database that was away. */
  readonly refusedRetryMs?: number;
  /**
   * Number of each actor's first start; random unless a test says otherwise. Generations mark statements in MariaDB, and two
   * processes on one database (a decoder and the server of its database) must not end each other's.
   */
  readonly firstGeneration?: number;
  /** Entries of the timeline over all actors. */
  readonly timelineSize?: number;
  /** Sees each of them as it comes. */
  readonly onTimelineEvent?: (entry: TimelineEntry) => void;
  /** Transitions kept for each actor. */
  readonly ringSize?: number;
  /** Asks of one actor to the main thread that may be in work at once. */
  readonly mailboxLimit?: number;
  /** Pauses that outlive the process; without it they end with the process. */
  readonly pauses?: KeptPauses;
}

/** Keeps one actor per database alive: one for one, by the restart policy and the policy of the error that ended it. */
export class Supervisor<
  ToActor extends Protocol = Protocol,
  ToMain extends Protocol = Protocol,
  Heard extends Notices = Record<never, never>,
  Id extends ActorName = DatabaseId
> {
  readonly #options: SupervisorOptions<ToMain, Heard, Id>;
  readonly #firstGeneration: number;
  readonly #actors = new Map<string, SupervisedActor<ToActor, ToMain, Heard, Id>>();
  readonly #gate: StartGate;
  /** All that happened to all actors, as far back as it is kept. */
  readonly timeline: Timeline;

  constructor(options: SupervisorOptions<ToMain, Heard, Id>) {
    this.#options = options;
    this.timeline = new Timeline(options.timelineSize, options.onTimelineEvent);
    this.#gate = new StartGate(options.startsAtOnce);
    this.#firstGeneration = options.firstGeneration ?? randomInt(2 ** 30) * 1_000 + 1;
  }

  /**
   * Starts an actor. A running actor of that id is left as it is; a stopped one is started again; one that an operator of an
   * earlier process paused stays paused.
   */
  start(spec: ActorSpec<Id>): void {
    const key = actorKey(spec.id);
    const known = this.#actors.get(key);
    if (known) {
      if (known.state === 'stopped') known.start();
      return;
    }
    const actor = new SupervisedActor<ToActor, ToMain, Heard, Id>(spec, this.#context(spec));
    this.#actors.set(key, actor);
    const reason = this.#options.pauses?.reasonOf(key);
    if (reason === undefined) actor.start();
    else {
      this.#options.log.warn({ database: key, reason }, 'the actor stays paused until an operator resumes it');
      void actor.stop(0, new PlatformError('ACTOR_PAUSED', { reason }));
    }
  }

  /** Ends an actor gracefully within the grace, else by force, and keeps it in the list as stopped. */
  async stop(id: ActorName, graceMs = 10_000): Promise<void> {
    await this.#find(id).stop(graceMs);
  }

  async stopAll(graceMs: number): Promise<void> {
    await Promise.all([...this.#actors.values()].map((actor) => actor.stop(graceMs)));
  }

  /**
   * Pauses an actor for an operator: it stays down until an operator restarts it, even if its database changes.
   *
   * @param by who asked for it, and why; shown with the time for as long as it is paused
   */
  async pause(id: ActorName, by: string, graceMs = 10_000): Promise<void> {
    const reason = `an operator paused it at ${new Date().toISOString()} (${by})`;
    await this.#find(id).stop(graceMs, new PlatformError('ACTOR_PAUSED', { reason }));
    await this.#options.pauses?.note(actorKey(id), reason);
  }

  /** Restarts an actor for an operator: at once out of parked, failed, stopped, paused or backoff, and with a full budget. */
  async restart(id: ActorName, graceMs = 10_000): Promise<void> {
    const actor = this.#find(id);
    await this.#options.pauses?.note(actorKey(id), null);
    await actor.stop(graceMs);
    actor.start();
  }

  /** Ends the thread as a crash would; it comes back by the restart policy. */
  async kill(id: ActorName): Promise<void> {
    await this.#find(id).kill();
  }

  /** @throws {PlatformError} DATABASE_UNKNOWN, ACTOR_NOT_READY */
  handle(id: ActorName): ActorHandle<ToActor, ToMain, Heard> {
    return this.#find(id).handle;
  }

  /** @throws {PlatformError} DATABASE_UNKNOWN */
  state(id: ActorName): ActorState {
    return this.#find(id).state;
  }

  /** @throws {PlatformError} DATABASE_UNKNOWN */
  view(id: ActorName): ActorView<Id> {
    return this.#find(id).view;
  }

  ids(): Id[] {
    return [...this.#actors.values()].map((actor) => actor.id);
  }

  /** Lists the actors for `GET /debug/actors`. */
  list(): ActorView<Id>[] {
    return [...this.#actors.values()].map((actor) => actor.view);
  }

  #find(id: ActorName): SupervisedActor<ToActor, ToMain, Heard, Id> {
    const actor = this.#actors.get(actorKey(id));
    if (!actor) throw new PlatformError('DATABASE_UNKNOWN', { database: actorKey(id) });
    return actor;
  }

  #context(spec: ActorSpec<Id>) {
    const { handlers, listeners, onCounters, onFatal, reap, onStuck } = this.#options;
    const log = this.#options.log.child({ database: actorKey(spec.id), actor: spec.kind });
    return {
      log,
      gate: this.#gate,
      endPatienceMs: this.#options.endPatienceMs,
      onStuck: () => (onStuck ? onStuck(spec.id) : killProcess(log)),
      handlers: boundTo(spec.id, handlers) as Handlers<ToMain>,
      listeners: boundTo(spec.id, listeners) as Listeners<Heard>,
      onCounters: (counters: Counters) => onCounters?.(spec.id, counters),
      onFatal: (error: PlatformError) => onFatal(error, spec.id),
      reap: async (generation: number) => reap?.({ spec, generation }),
      restart: this.#options.restart ?? DEFAULT_RESTART,
      beaconTimeoutMs: this.#options.beaconTimeoutMs ?? 15_000,
      reapDeadlineMs: this.#options.reapDeadlineMs ?? 5_000,
      refusedRetryMs: this.#options.refusedRetryMs ?? 60_000,
      firstGeneration: this.#firstGeneration,
      ringSize: this.#options.ringSize ?? 200,
      mailboxLimit: this.#options.mailboxLimit ?? 256,
      tell: (event: TimelineEvent) => this.timeline.add(spec.id, event)
    };
  }
}

/** Functions of a message's body and its sender, as functions of the body alone. */
function boundTo<Id>(
  from: Id,
  functions: Readonly<Record<string, (body: never, from: Id) => unknown>>
): Readonly<Record<string, (body: never) => unknown>> {
  const bound = Object.entries(functions).map(([type, run]) => [type, (body: never) => run(body, from)]);
  return Object.fromEntries(bound);
}

/** Kills the process; `process.exit` would wait for the thread. */
function killProcess(log: Logger): void {
  log.fatal('the thread does not end: killing the process; its guardian restarts it');
  process.kill(process.pid, 'SIGKILL');
}
