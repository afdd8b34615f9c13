import { amend, at, type Block, extend, falsify, type Kind, nextKind } from './chain.ts';
import { COMPARED_TABLES, type DigestLie } from './digests.ts';
import { type Listener, SimulatedSource } from './source.ts';
import type { Plague, World } from './world.ts';

interface SourcesOptions {
  readonly count: number;
  readonly offersDigests: boolean;
  /** Sources are compared with each other: then one of them may lie of blocks. */
  readonly verifies: boolean;
  /** Mean time between two blocks. */
  readonly blockMs: number;
  /** Sees each block before anyone is told of it. */
  readonly learn: (block: Block) => void;
  readonly listener: Listener;
}

/** All sources of a replica, the chain that they tell of, and what becomes of them. */
export class Sources {
  readonly #world: World;
  readonly #options: SourcesOptions;
  readonly #all: SimulatedSource[];
  /** Tip of the honest chain. */
  tip: Block;

  /** They begin with some blocks. */
  constructor(world: World, options: SourcesOptions) {
    this.#world = world;
    this.#options = options;
    const { scheduler, network } = world;
    this.tip = this.#extend(null, 'busy');
    for (let height = scheduler.random.between(3, 12); height > 0; height--) this.tip = this.#extend(this.tip);
    const { count, offersDigests, listener } = options;
    const urls = Array.from({ length: count }, (_, index) => `http://source${index}`);
    this.#all = urls.map((url) => new SimulatedSource(url, this.tip, offersDigests, scheduler, listener));
    for (const source of this.#all) network.add(source.url, source);
  }

  get urls(): readonly string[] {
    return this.#all.map(({ url }) => url);
  }

  /**
   * Blocks come, and now and then another branch takes the place of the last ones; sources learn of it one after another.
   *
   * @param isTorn right after a reorg: the next may come while it is still on its way
   */
  mine(isTorn = false): void {
    const { scheduler } = this.#world;
    const { random } = scheduler;
    const pauseMs = isTorn ? scheduler.delay(5, 300) : -Math.log(1 - random.next()) * this.#options.blockMs;
    scheduler.after(pauseMs, () => {
      if (this.#world.isPeace) return;
      const before = this.tip;
      let from = before;
      let length = scheduler.chance(0.25) ? random.between(2, 4) : 1;
      const isReorg = scheduler.chance(isTorn ? 0.6 : 0.15);
      if (isReorg) {
        const depth = scheduler.chance(0.15) ? random.between(4, 16) : random.between(1, 3);
        from = at(from, Math.max(1, from.height - depth))!;
        length = Math.max(1, this.tip.height - from.height + random.between(-1, 1));
        this.#world.count('reorg');
      }
      for (; length > 0; length--) {
        const instead = from.height < before.height ? at(before, from.height + 1) : null;
        from = this.#extend(from, nextKind(random, instead));
      }
      this.tip = from;
      for (const source of this.#all)
        scheduler.after(scheduler.chance(0.1) ? scheduler.delay(0, 15_000) : scheduler.delay(0, 800), () =>
          this.#show(source)
        );
      this.mine(isReorg && scheduler.chance(0.5));
    });
  }

  #show(source: SimulatedSource): void {
    const { kind } = source.tip;
    if (this.#world.isPeace || (kind !== 'lie' && kind !== 'false')) source.adopt(this.tip);
    else source.adopt(kind === 'lie' ? this.#extend(source.tip, 'lie') : this.#falsified(this.tip));
    if (source.otherTip) source.otherTip = this.tip;
  }

  /** Faults that may happen to one of them. */
  get plagues(): Plague[] {
    const { scheduler, network } = this.#world;
    const source = scheduler.random.pick(this.#all as [SimulatedSource, ...SimulatedSource[]]);
    const plagues: Plague[] = [
      ['source down', () => this.#takeDown(source, scheduler.delay(1_000, 120_000))],
      ['streams cut', () => network.cutAll()],
      ['source stutters', () => this.#stutter(source)],
      ['source lies', () => this.#lie(source)]
    ];
    if (this.#options.verifies) plagues.push(['source lies about rows', () => this.#lieAboutRows(source)]);
    if (this.#options.offersDigests) plagues.push(['source lies in digests', () => this.#lieInDigests(source)]);
    return plagues;
  }

  /** All are there and tell the truth, of one block more. */
  makePeace(): void {
    this.grow();
    for (const source of this.#all) {
      source.isUp = true;
      source.digestLie = null;
      source.restless = { unsettled: 0, behind: 0 };
      this.#repent(source);
    }
  }

  /** One more block, and all have it. */
  grow(kind: Kind = 'busy'): void {
    this.tip = this.#extend(this.tip, kind);
    for (const source of this.#all) source.adopt(this.tip);
  }

  /** A quiet block comes, and another with the same hashes takes its place, which all see happen. */
  replaceQuietly(): void {
    const before = this.tip;
    this.grow('quiet');
    this.tip = this.#extend(before, 'quiet');
    for (const source of this.#all) source.adopt(this.tip, false);
  }

  #extend(parent: Block | null, kind: Kind = nextKind(this.#world.scheduler.random, null), like?: Block): Block {
    const { scheduler } = this.#world;
    const next = extend(parent, scheduler.random, kind, like);
    const block = kind !== 'lie' && scheduler.chance(0.2) ? amend(next, scheduler.random) : next;
    this.#options.learn(block);
    return block;
  }

  #takeDown(source: SimulatedSource, forMs: number): void {
    source.goDown();
    this.#world.scheduler.after(forMs, () => {
      source.isUp = true;
    });
  }

  /** Whether one lies: where sources are compared at most one of three lies, or one of two; a single source is believed. */
  get #hasLiar(): boolean {
    return this.#all.some(({ tip, digestLie }) => tip.kind === 'lie' || tip.kind === 'false' || digestLie !== null);
  }

  #falsified(tip: Block): Block {
    const block = falsify(tip, this.#world.scheduler.random);
    this.#options.learn(block);
    return block;
  }

  /** It says the same of its rows everywhere: in its stream, its snapshots and its digests. */
  #lieAboutRows(source: SimulatedSource): void {
    if (this.#hasLiar) return;
    const { scheduler } = this.#world;
    source.adopt(this.#falsified(this.tip));
    scheduler.after(scheduler.delay(5_000, 300_000), () => this.#repent(source));
  }

  #lie(source: SimulatedSource): void {
    if (!this.#options.verifies || this.#hasLiar) return;
    const { scheduler } = this.#world;
    const { random } = scheduler;
    if (scheduler.chance(0.3)) source.otherTip = source.tip;
    else source.isMute = scheduler.chance(0.3);
    const from = at(source.tip, Math.max(1, source.tip.height - random.between(0, 2)));
    const like = at(source.tip, from!.height + 1) ?? undefined;
    source.adopt(this.#extend(from, 'lie', scheduler.chance(0.5) ? like : undefined));
    scheduler.after(scheduler.delay(5_000, 300_000), () => this.#repent(source));
  }

  /** Makes a source lie in digests: where sources are not compared, the followed one is believed, or found to contradict itself. */
  #lieInDigests(source: SimulatedSource): void {
    if (this.#options.verifies && this.#hasLiar) return;
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

  #stutter(source: SimulatedSource): void {
    const { scheduler } = this.#world;
    source.stutters = scheduler.chance(0.5) ? 'some' : 'all';
    scheduler.after(scheduler.delay(5_000, 60_000), () => {
      source.stutters = 'no';
    });
  }

  #repent(source: SimulatedSource): void {
    source.otherTip = null;
    source.isMute = false;
    source.stutters = 'no';
    source.adopt(this.tip);
  }
}
