import { actorEntry } from '../../actors/actor-handle.ts';
import type { MainAsks, ReplicaActorData, ReplicaAsks } from '../../actors/protocol.ts';
import { reap } from '../../actors/reaper.ts';
import { HASH_MISMATCH } from '../../actors/replica-council.ts';
import { TOO_DEEP } from '../../actors/replica-session.ts';
import { Supervisor } from '../../actors/supervisor.ts';
import { connect } from '../../src/db/connection.ts';
import { createRandom } from '../../src/devnet/random.ts';
import { silentLogger } from '../../src/log.ts';
import { at, type Block, extend, resetChain } from './chain.ts';
import { setClock } from './clock.ts';
import { MemoryFiles } from './files.ts';
import { type MemoryConnection, MemoryServer } from './memory-server.ts';
import { Network, type NetworkFaults } from './network.ts';
import { makeReplica } from './replica-database.ts';
import { current, type Life, Scheduler } from './scheduler.ts';
import { ID, SimulatedSource } from './source.ts';
import { stage } from './stage.ts';
import type { SimulatedThread } from './threads.ts';
import { Violation, Witness } from './witness.ts';

const CALM: NetworkFaults = { refused: 0, reset: 0, stalled: 0, busy: 0, cut: 0, slow: 0 };
/** After the last fault, so much of the simulated time is enough to be whole again. */
const RECOVERY_MS = 20 * 60_000;
const LAST_FAULT_MS = 15_000;
const RECOVERY_STEPS = 30_000;
/** Between two faults, on an average. */
const WORRY_MS = 20_000;
const DATABASE = 'replica';

/** What one episode was. */
export interface EpisodeReport {
  readonly seed: string;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly trace: string;
  readonly faults: Readonly<Record<string, number>>;
  readonly commits: number;
  readonly halts: number;
  readonly violation: string | null;
}

/** One world from its first block to its end: `steps` steps of trouble, then peace, in which all must come right. */
export class Episode {
  readonly #seed: string;
  readonly #scheduler: Scheduler;
  readonly #server: MemoryServer;
  readonly #network: Network;
  readonly #sources: SimulatedSource[];
  readonly #witness: Witness;
  readonly #data: Omit<ReplicaActorData, 'id' | 'generation'>;
  readonly #faults: Record<string, number> = {};
  /** Whose each connection is. */
  readonly #owners = new Map<MemoryConnection, Life>();
  #process: Life = { isAlive: true };
  readonly #blockMs: number;
  #supervisor: Supervisor<ReplicaAsks, MainAsks>;
  #generation = 1;
  readonly #threads = new Set<SimulatedThread>();
  #tip: Block;
  #violation: string | null = null;
  #isPeace = false;
  #statementFaults = 0;
  #slowStatements = 0;

  /** @param logLevel of the threads; at other levels than `silent` faults are told too */
  constructor(seed: string, logLevel = 'silent') {
    const random = createRandom(seed);
    this.#seed = seed;
    const scheduler = new Scheduler(random);
    this.#scheduler = scheduler;
    setClock(scheduler);
    resetChain();
    const sourceCount = random.pick([1, 2, 3]);
    const verifies = sourceCount > 1 && random.next() < 0.8;
    const epochSize = random.pick([3, 4, 7]);
    const maxRollbackDepth = random.pick([3, 6, 12]);
    this.#blockMs = random.pick([1_000, 5_000, 20_000]);
    const files = new MemoryFiles(scheduler, () => this.#guard(() => this.#witness.filesChanged()));
    this.#network = new Network(scheduler, CALM);
    this.#server = new MemoryServer('memory', DATABASE, {
      later: (work) => void scheduler.after(this.#patience(), work, null),
      whenAlive: (work) => void scheduler.after(scheduler.delay(0.2, 4), work),
      connected: (connection) => {
        const life = current.getStore();
        if (life) this.#owners.set(connection, life);
      },
      refused: (why) => this.accuse(why),
      fate: (sql) => {
        const isHalt = this.#statementFaults > 0 && sql.includes('sync_halt (');
        if (!scheduler.chance(isHalt ? 0.3 : this.#statementFaults)) return 'answered';
        const fate = scheduler.chance(0.5) ? 'lost' : 'unanswered';
        this.#count(`statement ${fate}`);
        return fate;
      },
      now: () => new Date().toISOString().slice(0, 23).replace('T', ' '),
      committed: (by) => this.#guard(() => this.#witness.committed(by, threadOf(this.#owners.get(by))))
    });
    this.#witness = new Witness({
      server: this.#server,
      epochSize,
      judges: verifies ? sourceCount : null,
      haltFiles: () => files.count
    });
    this.#tip = this.#extend(null, true);
    for (let height = random.between(3, 12); height > 0; height--) this.#tip = this.#extend(this.#tip, true);
    Object.assign(stage, {
      scheduler,
      network: this.#network,
      files,
      watch: {
        started: (thread: SimulatedThread) => {
          this.#threads.add(thread);
          this.#guard(() => this.#witness.began(thread));
        },
        died: ({ life }: SimulatedThread) => this.#abandon(life),
        froze: ({ life }: SimulatedThread) => {
          for (const [connection, owner] of this.#owners) if (owner === life) connection.mute();
        },
        said: (thread: SimulatedThread, message: unknown) => this.#guard(() => this.#hear(thread, message))
      }
    });
    const urls = Array.from({ length: sourceCount }, (_, index) => `http://source${index}`);
    this.#sources = urls.map((url) => {
      const source = new SimulatedSource(url, this.#tip, scheduler, (from, block) => {
        const thread = threadOf(current.getStore());
        if (thread) this.#witness.told(thread, from, block);
      });
      this.#network.add(url, source);
      return source;
    });
    this.#data = {
      coordinates: { host: 'memory', port: 0, user: 'replica', pass: '', name: DATABASE },
      sources: urls.map((url) => ({ url, apiKey: undefined })),
      verifyHashes: verifies,
      hashConfirmTimeoutMs: random.pick([2_000, 10_000]),
      maxRollbackDepth,
      epochSize,
      stateDomain: null,
      reconnectDelayMs: random.pick([200, 2_000]),
      localTables: [],
      maxRowBytes: 2 ** 20,
      stateDirectory: '/state',
      circuitFailures: 5,
      circuitCooldownMs: 10_000,
      logLevel
    };
    this.#supervisor = this.#supervise();
  }

  async run(steps: number): Promise<EpisodeReport> {
    const scheduler = this.#scheduler;
    const connection = await this.#drive(connect(this.#data.coordinates));
    await this.#drive(makeReplica(connection));
    connection.destroy();
    this.#start();
    this.#mine();
    this.#worry();
    const chance = () => scheduler.chance(0.7);
    if (chance())
      this.#network.faults = { refused: 0.02, reset: 0.01, stalled: 0.002, busy: 0.01, cut: 0.01, slow: 0.05 };
    if (chance()) this.#statementFaults = 0.003;
    if (chance()) this.#slowStatements = 0.002;
    if (chance()) stage.files.full = 0.3;
    while (this.#violation === null && scheduler.steps < steps && (await scheduler.step()));
    await this.#makePeace();
    return {
      seed: this.#seed,
      steps: scheduler.steps,
      simulatedMs: scheduler.now,
      trace: scheduler.trace,
      faults: this.#faults,
      commits: this.#witness.commits,
      halts: this.#witness.halts,
      violation: this.#violation
    };
  }

  /** What a dead one was connected to is left alone: its statements go on. */
  #abandon(life: Life): void {
    for (const [connection, owner] of this.#owners) {
      if (owner !== life) continue;
      connection.abandon();
    }
  }

  /** What went wrong outside of what was watched, such as a rejection that nobody handles. */
  accuse(reason: string): void {
    this.#violation ??= reason;
  }

  async #drive<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    while (!isDone && (await this.#scheduler.step()));
    return work;
  }

  #guard(look: () => void): void {
    try {
      look();
    } catch (caught) {
      this.accuse(caught instanceof Violation ? caught.message : ((caught as Error).stack ?? String(caught)));
    }
  }

  /** How long a statement takes; some are slow, and go on when whoever sent them is dead. */
  #patience(): number {
    const { chance, delay } = { chance: this.#scheduler.chance(this.#slowStatements), delay: this.#scheduler };
    return chance ? delay.delay(500, 6_000) : delay.delay(0.2, 4);
  }

  #count(fault: string): void {
    if (this.#data.logLevel !== 'silent')
      console.log(`${Math.round(this.#scheduler.now)} ms, step ${this.#scheduler.steps}: ${fault}`);
    this.#faults[fault] = (this.#faults[fault] ?? 0) + 1;
  }

  #extend(parent: Block | null, isHonest: boolean, like?: Block): Block {
    const block = extend(parent, this.#scheduler.random, isHonest, like);
    this.#witness.learn(block);
    return block;
  }

  #supervise(): Supervisor<ReplicaAsks, MainAsks> {
    const { coordinates } = this.#data;
    this.#generation += 1_000;
    return this.#within(
      () =>
        new Supervisor<ReplicaAsks, MainAsks>({
          log: silentLogger,
          handlers: { 'task.run': () => null, broadcast: () => ({}) },
          onNotice: () => undefined,
          onFatal: (error) => this.accuse(`the service ends: ${error.message}`),
          reap: async ({ generation }) => {
            await reap(coordinates, coordinates.name, generation);
          },
          firstGeneration: this.#generation
        })
    );
  }

  /** Does something in the service's process, which may die before it is done. */
  #within<T>(work: () => T): T {
    return current.run(this.#process, work);
  }

  #start(): void {
    const spec = { id: ID, kind: 'replica', entry: actorEntry('replica'), workerData: this.#data };
    this.#within(() => this.#supervisor.start(spec));
  }

  #hear(thread: SimulatedThread, message: unknown): void {
    const { kind, type, body } = message as { kind: string; type?: string; body?: { machine: string; to: string } };
    if (kind !== 'notice' || type !== 'transition') return;
    if (body!.machine === 'halt') this.#witness.haltMoved(thread, body!.to);
    if (body!.machine === 'replica') this.#witness.replicaMoved(thread, body!.to);
  }

  /** Blocks come, and now and then another branch takes the place of the last ones; sources learn of it one after another. */
  #mine(): void {
    const scheduler = this.#scheduler;
    if (this.#isPeace) return;
    scheduler.after(-Math.log(1 - scheduler.random.next()) * this.#blockMs, () => {
      if (this.#isPeace) return;
      const { random } = scheduler;
      let from = this.#tip;
      let length = scheduler.chance(0.25) ? random.between(2, 4) : 1;
      if (scheduler.chance(0.12)) {
        const depth = scheduler.chance(0.1) ? random.between(4, 16) : random.between(1, 3);
        from = at(from, Math.max(1, from.height - depth))!;
        length = Math.max(1, this.#tip.height - from.height + random.between(-1, 1));
        this.#count('reorg');
      }
      for (; length > 0; length--) from = this.#extend(from, true);
      this.#tip = from;
      for (const source of this.#sources)
        scheduler.after(scheduler.chance(0.1) ? scheduler.delay(0, 15_000) : scheduler.delay(0, 800), () =>
          this.#show(source)
        );
      this.#mine();
    });
  }

  #show(source: SimulatedSource): void {
    if (source.tip.isHonest || this.#isPeace) source.adopt(this.#tip);
    else source.adopt(this.#extend(source.tip, false));
    if (source.otherTip) source.otherTip = this.#tip;
  }

  /** The next fault, and so on until there is peace. */
  #worry(): void {
    const scheduler = this.#scheduler;
    scheduler.after(-Math.log(1 - scheduler.random.next()) * WORRY_MS, () => {
      if (this.#isPeace) return;
      const [name, fault] = scheduler.random.pick(this.#plagues as [Plague, ...Plague[]]);
      this.#count(name);
      this.#within(() => void fault());
      this.#worry();
    });
  }

  get #plagues(): Plague[] {
    const scheduler = this.#scheduler;
    const { random } = scheduler;
    const source = random.pick(this.#sources as [SimulatedSource, ...SimulatedSource[]]);
    return [
      ['thread killed', () => this.#supervisor.kill(ID)],
      ['thread killed in a slow statement', () => this.#leaveGhost()],
      ['thread hangs', () => this.#hang()],
      ['database down', () => this.#crashDatabase(scheduler.delay(100, 40_000))],
      ['source down', () => this.#takeDown(source, scheduler.delay(1_000, 120_000))],
      ['streams cut', () => this.#network.cutAll()],
      ['clock jumps', () => scheduler.jump()],
      ['source stutters', () => this.#stutter(source)],
      ['source lies', () => this.#lie(source)],
      ['operator restarts', () => this.#supervisor.restart(ID, 1_000).catch(() => undefined)],
      ['service restarts', () => this.#restartService()],
      ['operator clears', () => this.#clear()]
    ];
  }

  /** The statement of a dead thread goes on, and its successor comes meanwhile. */
  #leaveGhost(): void {
    const usual = this.#slowStatements;
    this.#slowStatements = 0.5;
    this.#scheduler.after(this.#scheduler.delay(50, 2_000), () => {
      this.#slowStatements = this.#isPeace ? 0 : usual;
      this.#within(() => void this.#supervisor.kill(ID));
    });
  }

  /** Nothing of a thread's goes on; its supervisor must notice. */
  #hang(): void {
    for (const thread of this.#threads) if (thread.life.isAlive) thread.freeze();
  }

  #crashDatabase(forMs: number): void {
    this.#server.crash();
    this.#scheduler.after(forMs, () => {
      this.#server.isUp = true;
    });
  }

  #takeDown(source: SimulatedSource, forMs: number): void {
    source.goDown();
    this.#scheduler.after(forMs, () => {
      source.isUp = true;
    });
  }

  /** At most one of three lies, or one of two; alone, a source is believed. */
  #lie(source: SimulatedSource): void {
    if (!this.#data.verifyHashes || this.#sources.some(({ tip }) => !tip.isHonest)) return;
    const { random } = this.#scheduler;
    if (this.#scheduler.chance(0.3)) source.otherTip = source.tip;
    const from = at(source.tip, Math.max(1, source.tip.height - random.between(0, 2)));
    const like = at(source.tip, from!.height + 1) ?? undefined;
    source.adopt(this.#extend(from, false, this.#scheduler.chance(0.5) ? like : undefined));
    this.#scheduler.after(this.#scheduler.delay(5_000, 300_000), () => this.#repent(source));
  }

  #stutter(source: SimulatedSource): void {
    source.stutters = this.#scheduler.chance(0.5) ? 'some' : 'all';
    this.#scheduler.after(this.#scheduler.delay(5_000, 60_000), () => {
      source.stutters = 'no';
    });
  }

  #repent(source: SimulatedSource): void {
    source.otherTip = null;
    source.stutters = 'no';
    source.adopt(this.#tip);
  }

  /** As a process that was killed, and started again by its guardian. */
  #restartService(): void {
    this.#process.isAlive = false;
    this.#abandon(this.#process);
    for (const thread of this.#threads) thread.vanish();
    this.#threads.clear();
    this.#process = { isAlive: true };
    this.#supervisor = this.#supervise();
    this.#start();
  }

  async #clear(): Promise<void> {
    if (!this.#witness.isHalted) return;
    this.#witness.isClearing = true;
    try {
      await this.#supervisor.handle(ID).ask('halt.clear', {});
    } catch {
      // It is not there to be asked, or did not answer: an operator tries again.
    } finally {
      this.#witness.isClearing = false;
    }
  }

  async #makePeace(): Promise<void> {
    const scheduler = this.#scheduler;
    this.#isPeace = true;
    this.#network.faults = CALM;
    this.#statementFaults = 0;
    this.#slowStatements = 0;
    stage.files.full = 0;
    this.#server.isUp = true;
    if (scheduler.chance(0.5)) this.#setClockBack();
    this.#tip = this.#extend(this.#tip, true);
    for (const source of this.#sources) {
      source.isUp = true;
      this.#repent(source);
    }
    const [end, lastStep] = [scheduler.now + RECOVERY_MS, scheduler.steps + RECOVERY_STEPS];
    const calmAt = scheduler.now + LAST_FAULT_MS;
    for (let lookAt = 0; this.#violation === null && (scheduler.now <= calmAt || !this.#isWhole()); ) {
      if (scheduler.now > end || scheduler.steps > lastStep)
        return this.accuse(
          `not whole again ${Math.round((scheduler.now - end + RECOVERY_MS) / 1000)} s after the last fault: ${this.#describe()}`
        );
      if (scheduler.now >= lookAt) {
        lookAt = scheduler.now + 60_000;
        this.#within(() => this.#tend());
      }
      if (!(await scheduler.step())) return this.accuse('nothing happens any more');
    }
  }

  /** The last of the faults: what was noted by the clock on the wall lies in the future now. */
  #setClockBack(): void {
    this.#count('clock set back');
    this.#network.cutAll();
    this.#scheduler.after(LAST_FAULT_MS, () => {
      this.#scheduler.wallOffsetMs -= 2 * RECOVERY_MS;
      this.#server.crash();
      this.#server.isUp = true;
      this.#tip = this.#extend(this.#tip, true);
      for (const source of this.#sources) source.adopt(this.#tip);
    });
  }

  /** What an operator does in peace: clears halts whose reason is a known one, and starts again what has failed. */
  #tend(): void {
    const [halt] = this.#server.isInTransaction
      ? []
      : this.#server.read<{ reason: string }>('SELECT reason FROM sync_halt');
    if (halt && halt.reason !== TOO_DEEP && !(halt.reason === HASH_MISMATCH && this.#data.verifyHashes))
      this.accuse(`halted for no known reason: ${halt.reason}`);
    const state = this.#supervisor.state(ID);
    if (state === 'halted') this.accuse(`the actor does not go on: ${this.#describe()}`);
    if (state === 'failed' || state === 'halted' || state === 'stopped')
      void this.#supervisor.restart(ID).catch(() => undefined);
    else void this.#clear().catch(() => undefined);
  }

  #isWhole(): boolean {
    const { height, complete, phase } = this.#witness.standing;
    return height === this.#tip.height && complete && phase === 'following' && !this.#witness.isHalted;
  }

  #describe(): string {
    const [actor] = this.#supervisor.list();
    const standing = JSON.stringify({
      ...this.#witness.standing,
      halted: this.#witness.isHalted,
      tip: this.#tip.height
    });
    return `${standing}; the actor is ${actor?.state} ${JSON.stringify(actor?.reason ?? null)}`;
  }
}

/** The thread that a life is; undefined for a process. */
function threadOf(life: Life | undefined): SimulatedThread | undefined {
  return (life as Partial<SimulatedThread['life']> | undefined)?.thread;
}

type Plague = readonly [name: string, fault: () => unknown];
