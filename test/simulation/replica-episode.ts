import { actorEntry } from '../../actors/actor-handle.ts';
import type { MainAsks, ReplicaActorData } from '../../actors/protocol.ts';
import { reap } from '../../actors/reaper.ts';
import { HASH_MISMATCH } from '../../actors/replica-council.ts';
import { TOO_DEEP } from '../../actors/replica-halt.ts';
import { DIGEST_MISMATCH } from '../../actors/replica-verifier.ts';
import { Supervisor } from '../../actors/supervisor.ts';
import { connect } from '../../src/db/connection.ts';
import { silentLogger } from '../../src/log.ts';
import type { SyncActorAsks, SyncActors } from '../../src/sync/actors.ts';
import { at, type Block, extend } from './chain.ts';
import { COMPARED_TABLES, type DigestLie } from './digests.ts';
import type { Episode, EpisodeReport } from './episode.ts';
import { findChange } from './hand.ts';
import { makeReplica } from './replica-database.ts';
import { current } from './scheduler.ts';
import { SimulatedSource } from './source.ts';
import type { SimulatedThread } from './threads.ts';
import { Witness } from './witness.ts';
import { ID, type Plague, threadOf, World } from './world.ts';

/** In peace blocks come until an epoch ends: what a comparison may find is found then. */
const CALM_BLOCK_MS = 30_000;

/** A statement whose answer nobody waits for any more is over by then. */
const LATE_CLEARING_MS = 120_000;

/** A replica and its sources, from its first block to its end: steps of trouble, then peace, in which all must come right. */
export class ReplicaEpisode implements Episode {
  readonly #seed: string;
  readonly #world: World;
  readonly #sources: SimulatedSource[];
  readonly #witness: Witness;
  readonly #data: Omit<ReplicaActorData, 'id' | 'generation'>;
  readonly #offersDigests: boolean;
  readonly #blockMs: number;
  #tip: Block;

  constructor(seed: string, logLevel: string) {
    this.#seed = seed;
    const world = new World(seed, 'replica', logLevel, {
      watch: {
        started: (thread) => this.#witness.began(thread),
        said: (thread, message) => this.#hear(thread, message),
        committed: (by, thread) => this.#witness.committed(by, thread),
        looks: (by, thread) => thread && this.#witness.looks(thread, by),
        filesChanged: () => this.#witness.filesChanged()
      },
      serve: (firstGeneration) => this.#serve(firstGeneration),
      fragile: (sql) => sql.includes('sync_halt (')
    });
    this.#world = world;
    const { scheduler, server, files } = world;
    const { random } = scheduler;
    const sourceCount = random.pick([1, 2, 3]);
    const verifies = sourceCount > 1 && random.next() < 0.8;
    const epochSize = random.pick([3, 4, 7]);
    this.#blockMs = random.pick([1_000, 5_000, 20_000, 60_000]);
    this.#offersDigests = random.next() < 0.8;
    this.#witness = new Witness({
      server,
      epochSize,
      judges: verifies ? sourceCount : null,
      haltFiles: () => files.count
    });
    this.#tip = this.#extend(null, true);
    for (let height = random.between(3, 12); height > 0; height--) this.#tip = this.#extend(this.#tip, true);
    const hear = (note: (thread: SimulatedThread) => void) => {
      const thread = threadOf(current.getStore());
      if (thread) note(thread);
    };
    const listener = {
      told: (url: string, block: Block) => hear((thread) => this.#witness.told(thread, url, block)),
      deceived: () => hear((thread) => this.#witness.deceived(thread))
    };
    const urls = Array.from({ length: sourceCount }, (_, index) => `http://source${index}`);
    this.#sources = urls.map((url) => new SimulatedSource(url, this.#tip, this.#offersDigests, scheduler, listener));
    for (const source of this.#sources) world.network.add(source.url, source);
    this.#data = {
      coordinates: world.coordinates,
      sources: urls.map((url) => ({ url, apiKey: undefined })),
      verifyHashes: verifies,
      hashConfirmTimeoutMs: random.pick([2_000, 10_000]),
      maxRollbackDepth: random.pick([3, 6, 12]),
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
  }

  accuse(reason: string): void {
    this.#world.accuse(reason);
  }

  async run(steps: number): Promise<EpisodeReport> {
    const world = this.#world;
    const connection = await world.drive(connect(this.#data.coordinates));
    await world.drive(makeReplica(connection));
    connection.destroy();
    world.startService();
    this.#mine();
    await world.suffer(steps, () => [...world.plagues, ...this.#plagues]);
    await this.#makePeace();
    const { scheduler, faults, violation } = world;
    const { commits, halts, standing } = this.#witness;
    const figures = { commits, halts, repairs: standing.repairs };
    const taken = { steps: scheduler.steps, simulatedMs: scheduler.now, trace: scheduler.trace };
    return { seed: this.#seed, ...taken, faults, figures, violation };
  }

  async #serve(firstGeneration: number): Promise<SyncActors['supervisor']> {
    const { coordinates } = this.#data;
    const supervisor = new Supervisor<SyncActorAsks, MainAsks>({
      log: silentLogger,
      handlers: { 'task.run': () => null, broadcast: () => ({}) },
      onNotice: () => undefined,
      onFatal: (error) => this.accuse(`the service ends: ${error.message}`),
      reap: async ({ generation }) => {
        await reap(coordinates, coordinates.name, generation);
      },
      firstGeneration
    });
    supervisor.start({ id: ID, kind: 'replica', entry: actorEntry('replica'), workerData: this.#data });
    return supervisor;
  }

  #extend(parent: Block | null, isHonest: boolean, like?: Block): Block {
    const block = extend(parent, this.#world.scheduler.random, isHonest, like);
    this.#witness.learn(block);
    return block;
  }

  #hear(thread: SimulatedThread, message: unknown): void {
    const { kind, type, body } = message as { kind: string; type?: string; body?: { machine: string; to: string } };
    if (kind !== 'notice' || type !== 'transition') return;
    if (body!.machine === 'halt') this.#witness.haltMoved(thread, body!.to);
    if (body!.machine === 'replica') this.#witness.replicaMoved(thread, body!.to);
  }

  /** Blocks come, and now and then another branch takes the place of the last ones; sources learn of it one after another. */
  #mine(): void {
    const { scheduler, isPeace } = this.#world;
    if (isPeace) return;
    scheduler.after(-Math.log(1 - scheduler.random.next()) * this.#blockMs, () => {
      if (this.#world.isPeace) return;
      const { random } = scheduler;
      let from = this.#tip;
      let length = scheduler.chance(0.25) ? random.between(2, 4) : 1;
      if (scheduler.chance(0.12)) {
        const depth = scheduler.chance(0.1) ? random.between(4, 16) : random.between(1, 3);
        from = at(from, Math.max(1, from.height - depth))!;
        length = Math.max(1, this.#tip.height - from.height + random.between(-1, 1));
        this.#world.count('reorg');
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
    if (source.tip.isHonest || this.#world.isPeace) source.adopt(this.#tip);
    else source.adopt(this.#extend(source.tip, false));
    if (source.otherTip) source.otherTip = this.#tip;
  }

  get #plagues(): Plague[] {
    const { scheduler, network } = this.#world;
    const source = scheduler.random.pick(this.#sources as [SimulatedSource, ...SimulatedSource[]]);
    const plagues: Plague[] = [
      ['source down', () => this.#takeDown(source, scheduler.delay(1_000, 120_000))],
      ['streams cut', () => network.cutAll()],
      ['source stutters', () => this.#stutter(source)],
      ['source lies', () => this.#lie(source)],
      ['operator clears', () => this.#clear()]
    ];
    if (!this.#offersDigests) return plagues;
    return [
      ...plagues,
      ['source lies in digests', () => this.#lieInDigests(source)],
      ['hand in the replica', () => this.#tamper()],
      ['hands in the replica', () => Array.from({ length: 3 }, () => this.#tamper())]
    ];
  }

  #takeDown(source: SimulatedSource, forMs: number): void {
    source.goDown();
    this.#world.scheduler.after(forMs, () => {
      source.isUp = true;
    });
  }

  /** At most one of three lies, or one of two; alone, a source is believed. */
  #lie(source: SimulatedSource): void {
    if (!this.#data.verifyHashes || this.#sources.some(({ tip }) => !tip.isHonest)) return;
    const { scheduler } = this.#world;
    const { random } = scheduler;
    if (scheduler.chance(0.3)) source.otherTip = source.tip;
    const from = at(source.tip, Math.max(1, source.tip.height - random.between(0, 2)));
    const like = at(source.tip, from!.height + 1) ?? undefined;
    source.adopt(this.#extend(from, false, scheduler.chance(0.5) ? like : undefined));
    scheduler.after(scheduler.delay(5_000, 300_000), () => this.#repent(source));
  }

  /** Digests are nobody's to compare but the source's that is followed: it is believed, or found to contradict itself. */
  #lieInDigests(source: SimulatedSource): void {
    const { scheduler } = this.#world;
    const { random } = scheduler;
    const kind = random.pick(['sum', 'mood', 'row'] as const);
    const constant = random.between(1, 1_000);
    source.digestLie = {
      table: random.pick(COMPARED_TABLES as [string, ...string[]]),
      kind,
      noise: () => (kind === 'mood' ? random.between(1, 1_000_000) : constant)
    } satisfies DigestLie;
    scheduler.after(scheduler.delay(5_000, 120_000), () => {
      source.digestLie = null;
    });
  }

  /** Somebody changes a row of the replica, when no transaction is under way. */
  #tamper(): void {
    const { server, scheduler } = this.#world;
    const { height, phase } = this.#witness.standing;
    if (height === null || height < 1 || phase === 'bootstrapping' || this.#world.isPeace) return;
    if (server.isInTransaction) return void scheduler.after(1, () => this.#tamper(), null);
    server.change([findChange(server, scheduler.random, height)]);
    this.#witness.tampered();
  }

  #stutter(source: SimulatedSource): void {
    const { scheduler } = this.#world;
    source.stutters = scheduler.chance(0.5) ? 'some' : 'all';
    scheduler.after(scheduler.delay(5_000, 60_000), () => {
      source.stutters = 'no';
    });
  }

  #repent(source: SimulatedSource): void {
    source.otherTip = null;
    source.stutters = 'no';
    source.adopt(this.#tip);
  }

  async #clear(): Promise<void> {
    const { supervisor, scheduler } = this.#world;
    if (!this.#witness.isHalted || !supervisor) return;
    this.#witness.clearings++;
    const end = () => {
      this.#witness.clearings--;
    };
    try {
      await supervisor.handle(ID).ask('halt.clear', {});
      end();
    } catch {
      // It is not there to be asked, or did not answer, and may do it all the same: an operator tries again.
      scheduler.after(LATE_CLEARING_MS, end, null);
    }
  }

  async #makePeace(): Promise<void> {
    const world = this.#world;
    world.makePeace(() => this.#grow());
    this.#grow();
    for (const source of this.#sources) {
      source.isUp = true;
      source.digestLie = null;
      this.#repent(source);
    }
    const { scheduler } = world;
    for (let block = 1; block <= this.#data.epochSize; block++)
      scheduler.after(block * CALM_BLOCK_MS, () => this.#grow(), null);
    const last = scheduler.now + (this.#data.epochSize + 1) * CALM_BLOCK_MS;
    const isWhole = () => this.#isWhole() && (!this.#offersDigests || (scheduler.now > last && this.#isVerified()));
    await world.recover(
      isWhole,
      () => this.#tend(),
      () => this.#describe()
    );
  }

  /** In peace: one more block, and all sources have it. */
  #grow(): void {
    this.#tip = this.#extend(this.#tip, true);
    for (const source of this.#sources) source.adopt(this.#tip);
  }

  /** What an operator does in peace: clears halts whose reason is a known one, and starts again what has failed. */
  #tend(): void {
    const { server, supervisor } = this.#world;
    const [halt] = server.isInTransaction ? [] : server.read<{ reason: string }>('SELECT reason FROM sync_halt');
    const isKnown = (reason: string) =>
      reason === TOO_DEEP ||
      (reason === HASH_MISMATCH && this.#data.verifyHashes) ||
      (reason === DIGEST_MISMATCH && this.#offersDigests);
    if (halt && !isKnown(halt.reason)) this.accuse(`halted for no known reason: ${halt.reason}`);
    const state = supervisor?.state(ID);
    if (state === 'halted') this.accuse(`the actor does not go on: ${this.#describe()}`);
    if (state === 'failed' || state === 'halted' || state === 'stopped')
      void supervisor?.restart(ID).catch(() => undefined);
    else void this.#clear().catch(() => undefined);
  }

  #isWhole(): boolean {
    const { height, complete, phase } = this.#witness.standing;
    return height === this.#tip.height && complete && phase === 'following' && !this.#witness.isHalted;
  }

  /** Compared at the end of the last epoch or later, and equal. */
  #isVerified(): boolean {
    const { epochSize } = this.#data;
    const { standing, blemishes } = this.#witness;
    const end = Math.floor(this.#tip.height / epochSize) * epochSize;
    return (standing.verified_height ?? 0) >= end && blemishes.length === 0;
  }

  #describe(): string {
    const actor = this.#world.supervisor?.list()[0];
    const { standing, isHalted: halted, blemishes } = this.#witness;
    const text = JSON.stringify({ ...standing, halted, blemishes, tip: this.#tip.height });
    return `${text}; the actor is ${actor?.state} ${JSON.stringify(actor?.reason ?? null)}`;
  }
}
