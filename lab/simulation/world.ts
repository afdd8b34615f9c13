import { createRandom } from '../../src/devnet/random.ts';
import type { SyncActors } from '../../src/sync/actors.ts';
import type { DatabaseCoordinates, DatabaseId } from '../../src/wire/data/database.ts';
import { resetChain } from './chain.ts';
import type { MemoryConnection } from './database/memory-connection.ts';
import { MemoryServer } from './database/memory-server.ts';
import type { EpisodeReport } from './episode.ts';
import { setClock } from './host/clock.ts';
import { MemoryFiles } from './host/files.ts';
import { Network, type NetworkFaults } from './host/network.ts';
import { current, type Life, Scheduler } from './host/scheduler.ts';
import { stage } from './host/stage.ts';
import type { SimulatedThread } from './host/threads.ts';
import { Violation } from './violation.ts';

export const ID: DatabaseId = { dbType: 'indexer', chain: 'litecoin', network: 'regtest' };
/** Data of the actor of every episode. */
export const ACTOR = {
  stateDomain: null,
  localTables: [],
  binlog: 'off',
  stateDirectory: '/state',
  circuitFailures: 5,
  circuitCooldownMs: 10_000
} as const;
const CALM: NetworkFaults = { refused: 0, reset: 0, stalled: 0, busy: 0, cut: 0, slow: 0 };
const TROUBLE: NetworkFaults = { refused: 0.02, reset: 0.01, stalled: 0.002, busy: 0.01, cut: 0.01, slow: 0.05 };
/** Mean time between two faults. */
const WORRY_MS = 20_000;
/** After the last fault, so much of the simulated time is enough to be whole again. */
const RECOVERY_MS = 20 * 60_000;
const RECOVERY_STEPS = 30_000;
const LAST_FAULT_MS = 15_000;

/** One kind of fault. */
export type Plague = readonly [name: string, fault: () => unknown];

/** Looks at everything that may break a promise; what it throws ends the episode. */
interface Watch {
  started(thread: SimulatedThread): void;
  onMessage(thread: SimulatedThread, message: unknown): void;
  committed(by: MemoryConnection, thread: SimulatedThread | undefined): void;
  looks(by: MemoryConnection, thread: SimulatedThread | undefined): void;
  filesChanged(): void;
}

/** A service with the actor of one database. */
interface Play {
  readonly watch: Watch;
  /** Starts the service in a new process, with its actor. @param firstGeneration of that */
  serve(firstGeneration: number): Promise<SyncActors['supervisor']>;
  /** Statements that are lost more often than others. */
  readonly fragile?: (sql: string) => boolean;
}

/** Time, chance, a database, a network and a process with one supervised actor: all that an episode is played with. */
export class World {
  readonly scheduler: Scheduler;
  readonly server: MemoryServer;
  readonly network: Network;
  readonly files: MemoryFiles;
  readonly coordinates: DatabaseCoordinates;
  readonly faults: Record<string, number> = {};
  readonly #seed: string;
  readonly #logLevel: string;
  readonly #play: Play;
  /** Owners of the connections. */
  readonly #owners = new Map<MemoryConnection, Life>();
  readonly #threads = new Set<SimulatedThread>();
  #process: Life = { isAlive: true };
  /** Undefined while the service is starting. */
  supervisor: SyncActors['supervisor'] | undefined;
  #generation = 1;
  #statementFaults = 0;
  #slowStatements = 0;
  violation: string | null = null;
  isPeace = false;

  /** @param logLevel of the threads; at other levels than `silent` faults are told too */
  constructor(seed: string, database: string, logLevel: string, play: Play) {
    const scheduler = new Scheduler(createRandom(seed));
    this.#seed = seed;
    this.#logLevel = logLevel;
    this.#play = play;
    this.scheduler = scheduler;
    setClock(scheduler);
    resetChain();
    const { watch } = play;
    this.files = new MemoryFiles(scheduler, () => this.guard(() => watch.filesChanged()));
    this.network = new Network(scheduler, CALM);
    this.coordinates = { host: 'memory', port: 0, user: 'simulated', pass: '', name: database };
    this.server = new MemoryServer('memory', database, {
      later: (work) => void scheduler.after(this.#patience(), work, null),
      whenAlive: (work) => void scheduler.after(scheduler.delay(0.2, 4), work),
      connected: (connection) => {
        const life = current.getStore();
        if (life) this.#owners.set(connection, life);
      },
      looks: (by) => this.guard(() => watch.looks(by, threadOf(this.#owners.get(by)))),
      refused: (why) => this.accuse(why),
      fate: (sql) => {
        const isFragile = this.#statementFaults > 0 && play.fragile?.(sql);
        if (!scheduler.chance(isFragile ? 0.8 : this.#statementFaults)) return 'answered';
        const fate = scheduler.chance(0.5) ? 'lost' : 'unanswered';
        this.count(`statement ${fate}`);
        return fate;
      },
      now: () => new Date().toISOString().slice(0, 23).replace('T', ' '),
      committed: (by) => this.guard(() => watch.committed(by, threadOf(this.#owners.get(by))))
    });
    Object.assign(stage, {
      scheduler,
      network: this.network,
      files: this.files,
      watch: {
        started: (thread: SimulatedThread) => {
          this.#threads.add(thread);
          this.guard(() => watch.started(thread));
        },
        died: ({ life }: SimulatedThread) => this.#abandon(life),
        froze: ({ life }: SimulatedThread) => {
          for (const [connection, owner] of this.#owners) if (owner === life) connection.silence();
        },
        onMessage: (thread: SimulatedThread, message: unknown) => this.guard(() => watch.onMessage(thread, message))
      }
    });
  }

  /** Records a violation, also outside of what is watched, such as a rejection that nobody handles. */
  accuse(reason: string): void {
    this.violation ??= reason;
  }

  /** @param figures what was looked at */
  report(figures: EpisodeReport['figures']): EpisodeReport {
    const { scheduler, faults, violation } = this;
    const { steps, now: simulatedMs, trace } = scheduler;
    return { seed: this.#seed, steps, simulatedMs, trace, faults, figures, violation };
  }

  count(fault: string): void {
    if (this.#logLevel !== 'silent')
      console.log(`${Math.round(this.scheduler.now)} ms, step ${this.scheduler.steps}: ${fault}`);
    this.faults[fault] = (this.faults[fault] ?? 0) + 1;
  }

  /** Takes steps until a promise is settled. */
  async drive<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    while (!isDone && (await this.scheduler.step()));
    return work;
  }

  /** Does something in the service's process, which may die before it is done. */
  within<T>(work: () => T): T {
    return current.run(this.#process, work);
  }

  /** Starts the service in its process. */
  startService(): void {
    const own = this.#process;
    this.#generation += 1_000;
    this.supervisor = undefined;
    const started = this.within(() => this.#play.serve(this.#generation));
    const use = (supervisor: SyncActors['supervisor']) => {
      if (own.isAlive) this.supervisor = supervisor;
    };
    started.then(use, (caught: unknown) => this.accuse(`the service does not start: ${(caught as Error).stack}`));
  }

  /** Steps with faults, each kind of which is there or not in one episode, until there have been enough. */
  async suffer(steps: number, plagues: () => readonly Plague[]): Promise<void> {
    const { scheduler } = this;
    const isHere = () => scheduler.chance(0.7);
    this.#worry(plagues);
    if (isHere()) this.network.faults = TROUBLE;
    if (isHere()) this.#statementFaults = 0.003;
    if (isHere()) this.#slowStatements = 0.002;
    if (isHere()) this.files.full = 0.3;
    while (this.violation === null && scheduler.steps < steps && (await scheduler.step()));
  }

  /** Ends all faults but the last: a thread that hangs, or the clock on the wall, by which things were noted, set back some moments later. */
  makePeace(clockIsSetBack: () => void): void {
    const { scheduler, server } = this;
    this.isPeace = true;
    this.network.faults = CALM;
    this.#statementFaults = 0;
    this.#slowStatements = 0;
    this.files.full = 0;
    server.isUp = true;
    if (scheduler.chance(0.3)) this.#hang();
    else if (scheduler.chance(0.6)) this.#setClockBack(clockIsSetBack);
  }

  #setClockBack(clockIsSetBack: () => void): void {
    const { scheduler, server } = this;
    this.count('clock set back');
    this.network.cutAll();
    scheduler.after(LAST_FAULT_MS, () => {
      scheduler.wallOffsetMs -= 2 * RECOVERY_MS;
      server.crash();
      server.isUp = true;
      clockIsSetBack();
    });
  }

  /** Steps until everything is well; it must be within twenty minutes. @param tend what an operator does each minute */
  async recover(isWhole: () => boolean, tend: () => void, describe: () => string): Promise<void> {
    const { scheduler } = this;
    const began = scheduler.now;
    const lastStep = scheduler.steps + RECOVERY_STEPS;
    const isCalm = () => scheduler.now > began + LAST_FAULT_MS;
    for (let lookAt = 0; this.violation === null && !(isCalm() && isWhole()); ) {
      if (scheduler.now > began + RECOVERY_MS || scheduler.steps > lastStep)
        return this.accuse(
          `not whole again ${Math.round((scheduler.now - began) / 1000)} s after the last fault: ${describe()}`
        );
      if (scheduler.now >= lookAt) {
        lookAt = scheduler.now + 60_000;
        this.within(tend);
      }
      if (!(await scheduler.step())) return this.accuse('nothing happens any more');
    }
  }

  /** Faults of threads, of the database and of the whole process. */
  get plagues(): Plague[] {
    const { scheduler } = this;
    return [
      ['thread killed', () => this.supervisor?.kill(ID)],
      ['thread killed in a slow statement', () => this.#leaveGhost()],
      ['thread hangs', () => this.#hang()],
      ['database down', () => this.#crashDatabase(scheduler.delay(100, 40_000))],
      ['clock jumps', () => scheduler.jump()],
      ['operator restarts', () => this.supervisor?.restart(ID, 1_000).catch(() => undefined)],
      ['service restarts', () => this.#restartService()]
    ];
  }

  /** Looks, and accuses of what is thrown. */
  guard(look: () => void): void {
    try {
      look();
    } catch (caught) {
      this.accuse(caught instanceof Violation ? caught.message : ((caught as Error).stack ?? String(caught)));
    }
  }

  /** Returns the duration of a statement; some are slow, and go on when their sender is dead. */
  #patience(): number {
    const { scheduler } = this;
    return scheduler.chance(this.#slowStatements) ? scheduler.delay(500, 6_000) : scheduler.delay(0.2, 4);
  }

  /** Abandons a dead life's connections: their statements go on. */
  #abandon(life: Life): void {
    for (const [connection, owner] of this.#owners) if (owner === life) connection.abandon();
  }

  /** The next fault, and so on until there is peace. */
  #worry(plagues: () => readonly Plague[]): void {
    const { scheduler } = this;
    scheduler.after(-Math.log(1 - scheduler.random.next()) * WORRY_MS, () => {
      if (this.isPeace) return;
      const [name, fault] = scheduler.random.pick(plagues() as [Plague, ...Plague[]]);
      this.count(name);
      this.within(() => void fault());
      this.#worry(plagues);
    });
  }

  /** The statement of a dead thread goes on, and its successor comes meanwhile. */
  #leaveGhost(): void {
    const usual = this.#slowStatements;
    this.#slowStatements = 0.5;
    this.scheduler.after(this.scheduler.delay(50, 2_000), () => {
      this.#slowStatements = this.isPeace ? 0 : usual;
      this.within(() => void this.supervisor?.kill(ID));
    });
  }

  /** Nothing of a thread's goes on; its supervisor must notice. */
  #hang(): void {
    for (const thread of this.#threads) if (thread.life.isAlive) thread.freeze();
  }

  #crashDatabase(forMs: number): void {
    this.server.crash();
    this.scheduler.after(forMs, () => {
      this.server.isUp = true;
    });
  }

  /** As a process that was killed, and started again by its guardian. */
  #restartService(): void {
    this.#process.isAlive = false;
    this.#abandon(this.#process);
    for (const thread of this.#threads) thread.vanish();
    this.#threads.clear();
    this.#process = { isAlive: true };
    this.startService();
  }
}

/** The thread that a life is; undefined for a process. */
export function threadOf(life: Life | undefined): SimulatedThread | undefined {
  return (life as Partial<SimulatedThread['life']> | undefined)?.thread;
}
