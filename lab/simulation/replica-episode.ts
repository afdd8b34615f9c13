import { reap } from '../../actors/runtime/supervision/reaper.ts';
import { Supervisor } from '../../actors/runtime/supervision/supervisor.ts';
import { connect } from '../../src/db/connection.ts';
import { silentLogger } from '../../src/log.ts';
import type { ActorNotices, MainAsks, ReplicaActorData } from '../../src/replication/protocol.ts';
import type { SyncActorAsks, SyncActors } from '../../src/sync/actors.ts';
import type { DatabaseReport } from '../../src/wire/state/report.ts';
import balanceTops from '../../workers/sync/balance-tops.ts';
import merkleEpochs from '../../workers/sync/merkle-epochs.ts';
import { makeReplica } from './database/replica-database.ts';
import type { Episode, EpisodeReport } from './episode.ts';
import { findChange } from './hand.ts';
import { current } from './host/scheduler.ts';
import type { SimulatedThread } from './host/threads.ts';
import { Sources } from './sources.ts';
import { Witness } from './witness.ts';
import { ACTOR, ID, type Plague, threadOf, World } from './world.ts';

/** In peace blocks come until an epoch ends: what a comparison may find is found then. */
/** From its source, for only there doubles take the place of modules. */
const ENTRY = new URL('../../actors/replica/actor.ts', import.meta.url);
const CALM_BLOCK_MS = 5_000;

/** A statement whose answer nobody waits for any more is over by then. */
const LATE_CLEARING_MS = 120_000;

/** A replica and its sources, from its first block to its end: steps of trouble, then peace, in which all must come right. */
export class ReplicaEpisode implements Episode {
  readonly #world: World;
  readonly #sources: Sources;
  readonly #witness: Witness;
  readonly #data: Omit<ReplicaActorData, 'id' | 'generation'>;
  readonly #offersDigests: boolean;

  constructor(seed: string, logLevel: string) {
    const world = new World(seed, 'replica', logLevel, {
      watch: {
        started: (thread) => this.#witness.began(thread),
        onMessage: (thread, message) => this.#hear(thread, message),
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
    this.#offersDigests = random.next() < 0.8;
    this.#witness = new Witness({
      server,
      epochSize,
      judges: verifies ? sourceCount : null,
      haltFiles: () => files.count('.halt.json')
    });
    const hear = (note: (thread: SimulatedThread) => void) => {
      const thread = threadOf(current.getStore());
      if (thread) note(thread);
    };
    this.#sources = new Sources(world, {
      count: sourceCount,
      offersDigests: this.#offersDigests,
      verifies,
      blockMs: random.pick([1_000, 5_000, 20_000, 60_000]),
      learn: (block) => this.#witness.learn(block),
      listener: {
        onBlock: (url, block) => hear((thread) => this.#witness.announced(thread, url, block)),
        compared: (url, block) => hear((thread) => this.#witness.compared(thread, url, block)),
        deceived: () => hear((thread) => this.#witness.deceived(thread))
      }
    });
    this.#data = {
      ...ACTOR,
      coordinates: world.coordinates,
      sources: this.#sources.urls.map((url) => ({ url, apiKey: undefined })),
      verifyHashes: verifies,
      hashConfirmTimeoutMs: random.pick([2_000, 10_000]),
      maxRollbackDepth: random.pick([3, 6, 12]),
      epochSize,
      reconnectDelayMs: random.pick([200, 2_000]),
      maxRowBytes: 2 ** 20,
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
    this.#sources.mine();
    await world.suffer(steps, () => this.#plagues);
    await this.#makePeace();
    const { commits, halts, unseen, progress } = this.#witness;
    return world.report({ commits, halts, repairs: progress.repairs, 'reorgs unseen': unseen });
  }

  async #serve(firstGeneration: number): Promise<SyncActors['supervisor']> {
    const { coordinates } = this.#data;
    const supervisor = new Supervisor<SyncActorAsks, MainAsks, ActorNotices>({
      log: silentLogger,
      handlers: {
        'sync/balance-tops': balanceTops,
        'sync/merkle-epochs': merkleEpochs,
        'resume.keep': () => ({}),
        broadcast: () => ({})
      },
      listeners: { report: () => undefined },
      onFatal: (error) => this.accuse(`the service ends: ${error.message}`),
      reap: async ({ generation }) => {
        await reap(coordinates, coordinates.name, generation);
      },
      firstGeneration
    });
    supervisor.start({ id: ID, kind: 'replica', entry: ENTRY, workerData: this.#data });
    return supervisor;
  }

  #hear(thread: SimulatedThread, message: unknown): void {
    const { kind, type, body } = message as { kind: string; type?: string; body?: unknown };
    if (kind !== 'notice') return;
    if (type === 'report') this.#witness.reported((body as DatabaseReport).replica!);
    if (type !== 'transition') return;
    const { machine, to } = body as { machine: string; to: string };
    if (machine === 'halt') this.#witness.haltMoved(thread, to);
    if (machine === 'replica') this.#witness.replicaMoved(thread, to);
  }

  get #plagues(): Plague[] {
    const { plagues } = this.#world;
    plagues.push(...this.#sources.plagues, ['operator clears', () => this.#clear()]);
    if (!this.#offersDigests) return plagues;
    return [
      ...plagues,
      ['hand in the replica', () => this.#tamper()],
      ['hand in the replica', () => this.#tamper()],
      ['hands in the replica', () => Array.from({ length: 3 }, () => this.#tamper())]
    ];
  }

  /** Somebody changes a row of the replica, when no transaction is under way. */
  #tamper(): void {
    const { server, scheduler } = this.#world;
    const { height, phase } = this.#witness.progress;
    if (height === null || height < 1 || phase === 'bootstrapping' || this.#world.isPeace) return;
    if (server.isInTransaction) return void scheduler.after(1, () => this.#tamper(), null);
    server.change([findChange(server, scheduler.random, height)]);
    this.#witness.tampered();
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
    world.makePeace(() => this.#sources.grow());
    this.#sources.makePeace();
    const { scheduler } = world;
    for (let block = 1; block <= this.#data.epochSize; block++)
      scheduler.after(block * CALM_BLOCK_MS, () => this.#sources.grow(), null);
    // What follows then is no block any more: the replica must see by itself that it is to be compared.
    const last = scheduler.now + (this.#data.epochSize + 1) * CALM_BLOCK_MS;
    scheduler.after(last - scheduler.now, () => this.#offersDigests && this.#sources.replaceQuietly(), null);
    const isWhole = () => this.#isWhole() && (!this.#offersDigests || (scheduler.now > last && this.#isVerified()));
    await world.recover(
      isWhole,
      () => {
        this.#tend();
        // Without digests, what a replica may miss comes whole with the since-snapshot of a next block.
        if (!this.#offersDigests && scheduler.now > last) this.#sources.grow();
      },
      () => this.#describe()
    );
  }

  /** Acts as an operator in peace: clears halts whose reason is a known one, and starts again what has failed. */
  #tend(): void {
    const { server, supervisor } = this.#world;
    const [halt] = server.isInTransaction ? [] : server.read<{ reason: string }>('SELECT reason FROM sync_halt');
    const isKnown = (reason: string) =>
      reason === 'max-rollback-depth-exceeded' ||
      (reason === 'hash-mismatch' && this.#data.verifyHashes) ||
      (reason === 'digest-mismatch' && this.#offersDigests);
    if (halt && !isKnown(halt.reason)) this.accuse(`halted for no known reason: ${halt.reason}`);
    const state = supervisor?.state(ID);
    if (state === 'parked') this.accuse(`the actor does not go on: ${this.#describe()}`);
    if (state === 'failed' || state === 'parked' || state === 'stopped')
      void supervisor?.restart(ID).catch(() => undefined);
    else void this.#clear().catch(() => undefined);
  }

  #isWhole(): boolean {
    const { height, complete, phase } = this.#witness.progress;
    return height === this.#sources.tip.height && complete && phase === 'following' && !this.#witness.isHalted;
  }

  /** Compared at the end of the last epoch or later, and equal. */
  #isVerified(): boolean {
    const { epochSize } = this.#data;
    const { progress } = this.#witness;
    const { tip } = this.#sources;
    const end = Math.floor(tip.height / epochSize) * epochSize;
    return (progress.verified_height ?? 0) >= end && this.#witness.blemishes(tip).length === 0;
  }

  #describe(): string {
    const actor = this.#world.supervisor?.list()[0];
    const { progress, isHalted: halted } = this.#witness;
    const { tip } = this.#sources;
    const text = JSON.stringify({ ...progress, halted, blemishes: this.#witness.blemishes(tip), tip: tip.height });
    return `${text}; the actor is ${actor?.state} ${JSON.stringify(actor?.reason ?? null)}`;
  }
}
