import type { ReplicaPhase } from '../../src/replication/replica/database/state.ts';
import type { DatabaseReport } from '../../src/wire/state/report.ts';
import { above, at, type Block, BlockBook, type Hashes, nameOf } from './chain.ts';
import { type Content, contentOf, differences, readContent } from './content.ts';
import type { MemoryConnection } from './database/memory-connection.ts';
import type { MemoryServer } from './database/memory-server.ts';
import type { SimulatedThread } from './host/threads.ts';
import { Violation } from './violation.ts';

/** Acts and news of one thread. */
interface ThreadHistory {
  /** Sources that told it of a block, by the block's name. */
  readonly announcedBy: Map<string, Set<string>>;
  halt: string;
  /** A source lied to it in digests since it last counted as verified. */
  isDeceived: boolean;
  /** Blocks of whose rows it was told digests since then, with the sources that told them. */
  compared: Map<Block, Set<string>>;
  /** When its comparison under way first looked at the replica, and by which connection. */
  looked: { readonly by: MemoryConnection; readonly order: number } | null;
  /** Repairs of that comparison. */
  repairs: number;
}

interface WitnessOptions {
  readonly server: MemoryServer;
  readonly epochSize: number;
  /** Sources of which a strict majority must have named a block; null: blocks are not compared. */
  readonly judges: number | null;
  /** Halts that are kept in files. */
  readonly haltFiles: () => number;
}

/** Committed progress of the replica. */
interface Progress {
  readonly height: number | null;
  readonly block_time: number | null;
  readonly complete: boolean;
  /** Whether rows may differ that only a comparison finds. */
  readonly misses: boolean;
  readonly phase: ReplicaPhase;
  readonly verified_height: number | null;
  readonly verified_at: string | null;
  readonly repairs: number;
}

/** As many repairs of one comparison are made before it is given up. */
const MAX_REPAIRS = 20;
const MARKER =
  'SELECT height, block_time, complete, misses, phase, verified_height, verified_at, repairs FROM sync_state';

/** Holds what is committed against the tree of blocks, after each step that changed it. */
export class Witness {
  readonly #options: WitnessOptions;
  readonly #blocks = new BlockBook();
  readonly #lives = new Map<SimulatedThread, ThreadHistory>();
  #progress: Progress = {
    height: null,
    block_time: null,
    complete: false,
    misses: false,
    phase: 'bootstrapping',
    verified_height: null,
    verified_at: null,
    repairs: 0
  };
  #isHalted = false;
  /** The block whose rows the replica holds, of those that have its name; null before the first. */
  #held: Block | null = null;
  /** Differences of the replica that others caused, each with the look or change since which it stands. */
  #blemishes = new Map<string, number>();
  /** Rollbacks may bring back what others did: it may be in the undo journal. */
  #isTainted = false;
  #order = 0;
  #tamperedAt = 0;
  /** Halts that an operator is clearing. */
  clearings = 0;
  commits = 0;
  halts = 0;
  /** Number of times that a replica went on from rows of another block with the hashes of its own. */
  unseen = 0;

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** A block that some source may tell of. */
  learn(block: Block): void {
    this.#blocks.add(block);
  }

  get progress(): Progress {
    return this.#progress;
  }

  get isHalted(): boolean {
    return this.#isHalted;
  }

  /** Returns the differences of the replica from a block. */
  blemishes(block: Block): readonly string[] {
    const { server, epochSize } = this.#options;
    return server.isInTransaction
      ? ['a transaction is open']
      : differences(readContent(server, true), contentOf(block, epochSize));
  }

  began(thread: SimulatedThread): void {
    const others = [...this.#lives.keys()].filter(({ life }) => life.isAlive);
    if (others.length > 0) throw new Violation(`a thread starts while ${others.length} other one lives`);
    const life = {
      announcedBy: new Map(),
      halt: 'running',
      isDeceived: false,
      compared: new Map<Block, Set<string>>()
    };
    this.#lives.set(thread, { ...life, looked: null, repairs: 0 });
  }

  announced(thread: SimulatedThread, url: string, { hashes }: Block): void {
    const { announcedBy } = this.#lives.get(thread)!;
    const urls = announcedBy.get(nameOf(hashes)) ?? new Set();
    announcedBy.set(nameOf(hashes), urls.add(url));
  }

  /** A source told it digests of a block. */
  compared(thread: SimulatedThread, url: string, block: Block): void {
    const { compared } = this.#lives.get(thread)!;
    compared.set(block, (compared.get(block) ?? new Set()).add(url));
  }

  /** A source lied to it in digests. */
  deceived(thread: SimulatedThread): void {
    this.#lives.get(thread)!.isDeceived = true;
  }

  /** It begins to read in a snapshot. What one comparison reads, one connection reads. */
  looks(thread: SimulatedThread, by: MemoryConnection): void {
    const life = this.#lives.get(thread)!;
    if (life.looked?.by === by) return;
    Object.assign(life, { looked: { by, order: ++this.#order }, repairs: 0 });
  }

  /** Somebody changed rows behind the service's back. */
  tampered(): void {
    this.#isTainted = true;
    this.#note(this.#tipsAt(this.#progress.height!), true, 'a replica that was changed by hand');
    this.#tamperedAt = ++this.#order;
  }

  haltMoved(thread: SimulatedThread, to: string): void {
    this.#lives.get(thread)!.halt = to;
    if (to === 'halted.recorded' && !this.#isDurable())
      throw new Violation('a halt counts as recorded, and is neither in the database nor in a file');
  }

  /** A thread that has halted must not go on to any work on its replica. */
  replicaMoved(thread: SimulatedThread, to: string): void {
    const isIdle = /^(halted|inspecting|reconnecting|stopping|stopped|failed)/.test(to);
    if (!isIdle && this.#lives.get(thread)!.halt.startsWith('halted'))
      throw new Violation(`a thread that has halted goes on: ${to}`);
  }

  /** Checks a thread's report about its replica. */
  reported({ verification, verifiedHeight }: NonNullable<DatabaseReport['replica']>): void {
    if (verification === 'verified' && verifiedHeight === null)
      throw new Violation('a replica is said to be verified, and after a rollback it was not compared yet');
  }

  /** Called when halt files change. */
  filesChanged(): void {
    this.#lookAtHalt(undefined);
  }

  committed(by: MemoryConnection, thread: SimulatedThread | undefined): void {
    const { server } = this.#options;
    const before = this.#progress;
    const life = thread && this.#lives.get(thread);
    const [row] = server.read<Progress>(MARKER);
    if (!row) return;
    this.#progress = { ...row, complete: Number(row.complete) === 1, misses: Number(row.misses) === 1 };
    this.commits++;
    this.#lookAtHalt(life);
    const { height, phase } = this.#progress;
    if (height !== before.height && !server.holdsLock(by))
      throw new Violation(`a writer without the lock moved the replica from block ${before.height} to ${height}`);
    if (height === null || phase === 'bootstrapping') return;
    const rises = height > (before.height ?? 0);
    const falls = height < (before.height ?? 0);
    const tips = this.#tipsAt(height);
    if (rises) this.#mayApply(life, tips[0]!, before);
    else if (falls) this.#mayRollBack();
    this.#look(tips, life, before);
  }

  /** The rows of the replica are those of its branch, but for what others did. */
  #look(tips: readonly Block[], life: ThreadHistory | undefined, before: Progress): void {
    const { height, complete, phase, repairs, verified_at } = this.#progress;
    const hasRepaired = repairs > before.repairs;
    const falls = height! < (before.height ?? 0);
    const mayDiffer = hasRepaired ? life?.isDeceived === true : falls && this.#isTainted;
    this.#note(tips, mayDiffer, complete ? 'a complete replica' : `a replica that is ${phase}`);
    if (!life) return;
    if (hasRepaired && mayDiffer) this.#isTainted = true;
    if (hasRepaired && ++life.repairs > MAX_REPAIRS)
      throw new Violation(`${life.repairs} repairs in a row, and neither a halt nor an end`);
    if (verified_at === null || verified_at === before.verified_at) return;
    // Where sources are compared, one that lies must not deceive.
    if (!life.isDeceived || this.#options.judges !== null) this.#mayBeVerified(life);
    Object.assign(life, { isDeceived: false, looked: null, compared: new Map() });
  }

  #mayBeVerified({ looked, compared }: ThreadHistory): void {
    const isTampered = looked !== null && this.#tamperedAt > looked.order;
    for (const [blemish, since] of this.#blemishes)
      if (looked === null || since < looked.order || !isTampered)
        throw new Violation(`the replica counts as verified, and differed before it was compared: ${blemish}`);
    if (this.#blemishes.size === 0 && this.#progress.block_time !== this.#held!.time)
      throw new Violation(
        `the replica counts as verified, and its marker has another time than block ${this.#held!.height}`
      );
    // Blocks may have been applied since the comparison began.
    const isSame = (block: Block) => {
      const own = block.height < this.#progress.verified_height! ? null : at(this.#held!, block.height);
      return own?.height === block.height && differences(this.#contentOf(own), this.#contentOf(block)).length === 0;
    };
    const tellers = new Set([...compared].filter(([block]) => isSame(block)).flatMap(([, urls]) => [...urls]));
    const { judges } = this.#options;
    const needed = judges === null ? 1 : Math.floor(judges / 2) + 1;
    if (this.#blemishes.size === 0 && tellers.size < needed)
      throw new Violation(
        `the replica counts as verified, and ${tellers.size} sources told digests of the rows that it holds of block ${this.#progress.verified_height}`
      );
  }

  #contentOf(block: Block): Content {
    return contentOf(block, this.#options.epochSize);
  }

  /**
   * @param tips of these it holds the rows of the one that it differs least from
   * @param mayDiffer in other rows than before
   */
  #note(tips: readonly Block[], mayDiffer: boolean, what: string): void {
    const own = readContent(this.#options.server, true);
    const looks = tips.map((tip) => ({ tip, found: differences(own, this.#contentOf(tip)) }));
    const { tip, found } = looks.reduce((best, look) => (look.found.length < best.found.length ? look : best));
    // An epoch is made of the log as it is.
    const isLogWrong = [...this.#blemishes.keys()].some((blemish) => blemish.startsWith('sync_meta'));
    const isMade = (blemish: string) => isLogWrong && blemish.startsWith('merkle_epochs');
    const isNew = (blemish: string) => !this.#blemishes.has(blemish) && !isMade(blemish) && !mayDiffer;
    if (found.some(isNew)) {
      const unseen = this.#unseen(tips, tip);
      const strange = found.find((blemish) => isNew(blemish) && !unseen.has(blemish));
      if (strange !== undefined)
        throw new Violation(`${what} differs at block ${tip.height}: ${found.length} rows, such as ${strange}`);
      this.#isTainted = true;
      this.unseen++;
    }
    const since = found.length === 0 ? 0 : ++this.#order;
    this.#blemishes = new Map(found.map((blemish) => [blemish, this.#blemishes.get(blemish) ?? since]));
    this.#held = tip;
  }

  /**
   * Returns differences that hashes cannot show: between the rows of blocks of one name, and those of the blocks that both stand
   * on.
   */
  #unseen(tips: readonly Block[], tip: Block): ReadonlySet<string> {
    const here = this.#contentOf(tip);
    const ofTwins = tips.flatMap((twin) => differences(this.#contentOf(twin), here));
    const held = this.#held && at(this.#held, tip.height);
    const below = held && at(tip, held.height);
    if (!held || !below || held === below || nameOf(held.hashes) !== nameOf(below.hashes)) return new Set(ofTwins);
    return new Set([...ofTwins, ...differences(this.#contentOf(held), this.#contentOf(below))]);
  }

  #isDurable(): boolean {
    const [row] = this.#options.server.read<{ n: number }>('SELECT COUNT(*) AS n FROM sync_halt');
    return row!.n > 0 || this.#options.haltFiles() > 0;
  }

  #lookAtHalt(life: ThreadHistory | undefined): void {
    const { server } = this.#options;
    if (server.isInTransaction) return;
    const isDurable = this.#isDurable();
    if (this.#isHalted && !isDurable && this.clearings === 0) throw new Violation('a halt is lost');
    if (isDurable && !this.#isHalted) {
      this.halts++;
      const [halt] = server.read<{ reason: string }>('SELECT reason FROM sync_halt');
      if (life && halt?.reason === 'digest-mismatch') this.#mayMismatch(life);
    }
    this.#isHalted = isDurable;
  }

  /** Only what comes back right after its repair is a reason to halt. */
  #mayMismatch({ isDeceived, looked }: ThreadHistory): void {
    const isNew = looked !== null && this.#tamperedAt > looked.order;
    if (!isDeceived && !isNew) throw new Violation('halted by a difference that neither a source nor a hand made');
  }

  /** The replica's blocks without a gap, each with the hashes of one honest branch. @returns all that may be its last one */
  #tipsAt(height: number): readonly Block[] {
    const { server } = this.#options;
    const rows = server.read<Hashes & { block_index: number }>(
      'SELECT DISTINCT block_index, ledger_hash, actions_hash, contract_hash FROM blocks ORDER BY block_index'
    );
    const last = rows.at(-1);
    const tips = last ? this.#blocks.find(last) : [];
    const [tip] = tips;
    if (!tip || tip.height !== height || rows.length !== height)
      throw new Violation(
        `the replica says block ${height}, and holds ${rows.length} blocks up to ${last?.block_index}`
      );
    if (tip.kind === 'lie') throw new Violation(`block ${height} is one that only a lying source tells of`);
    for (const [index, block] of above(tip, 0).entries()) {
      if (rows[index]!.block_index !== block.height || nameOf(rows[index]!) !== nameOf(block.hashes))
        throw new Violation(`block ${block.height} of the replica is not of the branch of its tip`);
    }
    return tips;
  }

  #mayApply(life: ThreadHistory | undefined, { height, hashes }: Block, before: Progress): void {
    if (this.#isHalted) throw new Violation(`block ${height} was applied while a halt stands`);
    if (life?.halt.startsWith('halted')) throw new Violation(`block ${height} was applied after its thread had halted`);
    const { judges } = this.#options;
    const sourceCount = life?.announcedBy.get(nameOf(hashes))?.size ?? 0;
    if (judges !== null && sourceCount * 2 <= judges)
      throw new Violation(
        `block ${height} was applied above ${before.height}, and ${sourceCount} of ${judges} sources had named it`
      );
  }

  /** Notes a rollback: the rows that the source keeps of orphaned blocks are not known before the replica is reconciled. */
  #mayRollBack(): void {
    if (this.#isHalted) throw new Violation('blocks were undone while a halt stands');
    const { complete, phase } = this.#progress;
    if (complete || phase !== 'reconciling') throw new Violation(`after a rollback a replica says that it is ${phase}`);
  }
}
