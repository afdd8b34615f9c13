import type { WebSocket } from 'ws';
import { silentLogger } from '../../src/log.ts';
import { NO_TRACE } from '../../src/observe/trace.ts';
import type { SourceActorData } from '../../src/replication/protocol.ts';
import { createActors, type SyncActors } from '../../src/sync/actors.ts';
import { FanOut } from '../../src/sync/fan-out/fan-out.ts';
import { ResumePointStore } from '../../src/sync/resume-point-store.ts';
import balanceTops from '../../workers/sync/balance-tops.ts';
import merkleEpochs from '../../workers/sync/merkle-epochs.ts';
import { above, amend, at, type Block, BlockBook, extend, type Kind, nextKind } from './chain.ts';
import { contentOf, differences, logText, readContent } from './content.ts';
import { SIMULATED_KEY } from './database/dialect.ts';
import type { Episode, EpisodeReport } from './episode.ts';
import type { SimulatedThread } from './host/threads.ts';
import { Indexer } from './indexer.ts';
import { type DrainingSocket, GoodSubscriber } from './subscriber.ts';
import { Violation } from './violation.ts';
import { ACTOR, ID, World } from './world.ts';

/** From its source, for only there doubles take the place of modules. */
const ENTRY = new URL('../../actors/source/actor.ts', import.meta.url);
const FAN_OUT = {
  WS_MAX_PER_IP: 100,
  WS_MAX_MESSAGE_BYTES: 2 ** 28,
  WS_BACKPRESSURE_MAX_BYTES: 2 ** 20,
  WS_BACKPRESSURE_STALL_MS: 120_000,
  WS_STATUS_INTERVAL: 60_000,
  WS_PING_INTERVAL: 30_000,
  VALIDATOR_HEARTBEAT_TTL: 60_000,
  SYNC_PUBLIC_HOSTS: undefined,
  VALIDATOR_PUBKEYS: undefined
};
/** A subscriber whose connection is gone comes again. */
const RECONNECT_MS = [50, 3_000] as const;

/** A source's actor, its process and a good subscriber, while its database grows, is reorganised and fails. */
export class SourceEpisode implements Episode {
  readonly #world: World;
  readonly #data: Omit<SourceActorData, 'id' | 'generation' | 'resume'>;
  readonly #blocks = new BlockBook();
  readonly #indexer: Indexer;
  readonly #subscriber: GoodSubscriber;
  readonly #blockMs: number;
  readonly #threads = new Set<SimulatedThread>();
  #tip: Block;
  /** A branch that was left, to which the chain may come back. */
  #left: Block | null = null;
  #socket: DrainingSocket | null = null;
  #commits = 0;

  constructor(seed: string, logLevel: string) {
    const world = new World(seed, 'source', logLevel, {
      watch: {
        started: (thread) => this.#began(thread),
        onMessage: () => undefined,
        committed: () => {
          this.#commits++;
        },
        looks: () => undefined,
        filesChanged: () => undefined
      },
      serve: () => this.#serve()
    });
    this.#world = world;
    const { scheduler, server } = world;
    const { random } = scheduler;
    this.#blockMs = random.pick([500, 2_000, 10_000, 60_000]);
    this.#tip = this.#extend(null);
    for (let height = random.between(0, 12); height > 0; height--) this.#tip = this.#extend(this.#tip);
    this.#indexer = new Indexer(server, scheduler, this.#tip, () => world.isPeace);
    this.#subscriber = new GoodSubscriber({
      find: (hashes) => this.#blocks.find(hashes),
      onBlock: (block) => this.#checkLog(block),
      guard: (look) => world.guard(look)
    });
    this.#data = {
      ...ACTOR,
      compatibleClients: false,
      settleBudgetMs: 5_000,
      coordinates: world.coordinates,
      finderKey: SIMULATED_KEY,
      readOnly: false,
      pollIntervalMs: random.pick([200, 1_000, 5_000]),
      epochSize: random.pick([3, 4, 7]),
      logLevel
    };
  }

  accuse(reason: string): void {
    this.#world.accuse(reason);
  }

  async run(steps: number): Promise<EpisodeReport> {
    const world = this.#world;
    world.startService();
    this.#grow();
    await world.suffer(steps, () => [...world.plagues, ['subscriber cut', () => this.#socket?.terminate()]]);
    world.makePeace(() => undefined);
    this.#tip = this.#extend(this.#tip, 'busy');
    this.#indexer.moveTo(this.#tip);
    await world.recover(
      () => this.#isWhole(),
      () => this.#tend(),
      () => this.#describe()
    );
    const { blocks, reorgs } = this.#subscriber;
    return world.report({ commits: this.#commits, 'blocks told': blocks, 'reorgs told': reorgs });
  }

  /** The service as it is composed, but for its routes. */
  async #serve(): Promise<SyncActors['supervisor']> {
    const { coordinates } = this.#data;
    this.#socket = null; // the last process's
    const directory = `${ACTOR.stateDirectory}/broadcasts`;
    // What could not be written is told again, perhaps in other groups, of which a reorg undoes other parts.
    if ([...this.#world.files.refused].some((path) => path.startsWith(directory))) this.#subscriber.forget();
    const broadcasts = await ResumePointStore.open(directory, silentLogger);
    const fanOut = new FanOut({
      config: FAN_OUT,
      log: silentLogger,
      lastReport: () => actors.list().find(() => true)?.report
    });
    const { supervisor, directory: actors } = createActors({
      log: silentLogger,
      tasks: { 'sync/balance-tops': balanceTops, 'sync/merkle-epochs': merkleEpochs },
      fanOut,
      broadcasts,
      whereIs: () => coordinates,
      onFatal: (error) => this.accuse(`the service ends: ${error.message}`),
      onTimelineEvent: () => undefined,
      onCounters: () => undefined,
      trace: NO_TRACE
    });
    const workerData = () => ({ ...this.#data, resume: broadcasts.last(ID) });
    supervisor.start({ id: ID, kind: 'source', entry: ENTRY, workerData });
    this.#subscribe(fanOut);
    return supervisor;
  }

  /** The subscriber comes, and comes again when its connection is gone, as long as this process lives. */
  #subscribe(fanOut: FanOut): void {
    const { scheduler } = this.#world;
    scheduler.after(scheduler.delay(...RECONNECT_MS), () => {
      const socket = this.#subscriber.connect();
      socket.on('close', () => this.#subscribe(fanOut));
      this.#socket = socket;
      fanOut.subscribe(ID, socket as unknown as WebSocket, {
        infraOnly: false,
        address: 'subscriber',
        sendBuffer: () => ({ waitingBytes: 0, takenBytes: 0 })
      });
    });
  }

  #began(thread: SimulatedThread): void {
    if ([...this.#threads].some(({ life }) => life.isAlive)) throw new Violation('a thread starts while another lives');
    this.#threads.add(thread);
  }

  /** Before a block is told it is in the transparency log, and each epoch up to it has the root of its leaves. */
  #checkLog(tip: Block): void {
    const { server } = this.#world;
    if (server.isInTransaction) return;
    const own = readContent(server);
    const isTold = (limit: number) => (text: string) => Number(text.split(' ', 1)[0]) <= limit;
    const { epochSize } = this.#data;
    // The database may have gone on to other blocks of the same names.
    const logged = above(tip, 0).map((block) => {
      const texts = this.#blocks.find(block.hashes).map(logText);
      return texts.find((text) => own['sync_meta']!.includes(text)) ?? texts[0]!;
    });
    const here = {
      sync_meta: own['sync_meta']!.filter(isTold(tip.height)),
      merkle_epochs: own['merkle_epochs']!.filter(isTold(Math.floor(tip.height / epochSize)))
    };
    const [strange] = differences(here, { ...contentOf(tip, epochSize), sync_meta: logged });
    if (strange !== undefined) throw new Violation(`block ${tip.height} is told, and the log differs: ${strange}`);
  }

  #extend(parent: Block | null, kind: Kind = nextKind(this.#world.scheduler.random, null)): Block {
    const { scheduler } = this.#world;
    const next = extend(parent, scheduler.random, kind);
    const block = scheduler.chance(0.3) ? amend(next, scheduler.random) : next;
    this.#blocks.add(block);
    return block;
  }

  /**
   * Blocks come, and now and then another branch takes the place of the last ones, or the one that was left before.
   *
   * @param isTorn right after a reorg: what was left may come back at once
   */
  #grow(isTorn = false): void {
    const { scheduler } = this.#world;
    const { random } = scheduler;
    scheduler.after(isTorn ? scheduler.delay(100, 3_000) : -Math.log(1 - random.next()) * this.#blockMs, () => {
      if (this.#world.isPeace) return;
      const before = this.#tip;
      let from = before;
      const isReorg = scheduler.chance(isTorn ? 0.6 : 0.15);
      if (isReorg) {
        this.#world.count('reorg');
        const depth = scheduler.chance(0.1) ? random.between(4, 16) : random.between(1, 3);
        if (this.#left && scheduler.chance(isTorn ? 0.8 : 0.3)) from = this.#left;
        else from = at(from, Math.max(1, from.height - depth))!;
        this.#left = this.#tip;
      }
      for (let length = scheduler.chance(0.25) ? random.between(0, 4) : 1; length > 0; length--) {
        const instead = from.height < before.height ? at(before, from.height + 1) : null;
        from = this.#extend(from, nextKind(random, instead));
      }
      this.#tip = from;
      this.#indexer.moveTo(from);
      this.#grow(isReorg && scheduler.chance(0.5));
    });
  }

  #tend(): void {
    const { supervisor } = this.#world;
    const state = supervisor?.state(ID);
    if (state === 'parked') this.accuse(`the actor does not go on: ${this.#describe()}`);
    if (state === 'failed' || state === 'stopped') void supervisor?.restart(ID).catch(() => undefined);
  }

  #isWhole(): boolean {
    const { server } = this.#world;
    if (this.#subscriber.tip !== this.#tip || server.isInTransaction) return false;
    return differences(readContent(server), contentOf(this.#tip, this.#data.epochSize)).length === 0;
  }

  #describe(): string {
    const { server, supervisor } = this.#world;
    const actor = supervisor?.list()[0];
    const [wrong] = server.isInTransaction
      ? ['a transaction is open']
      : differences(readContent(server), contentOf(this.#tip, this.#data.epochSize));
    const heights = `the subscriber is at block ${this.#subscriber.tip?.height} of ${this.#tip.height}`;
    return `${heights}; ${wrong ?? 'no row differs'}; the actor is ${actor?.state} ${JSON.stringify(actor?.reason ?? null)}`;
  }
}
