import { createHash } from 'node:crypto';
import type { ReplicaPhase } from '../../src/db/replica-state.ts';
import { above, type Block, type Hashes, nameOf } from './chain.ts';
import type { MemoryConnection, MemoryServer } from './memory-server.ts';
import type { SimulatedThread } from './threads.ts';

/** What must never happen has happened. */
export class Violation extends Error {}

/** What one thread has done and been told. */
interface Biography {
  /** Sources that told it of a block, by the block's name. */
  readonly told: Map<string, Set<string>>;
  halt: string;
}

export interface WitnessOptions {
  readonly server: MemoryServer;
  readonly epochSize: number;
  /** Sources of which a strict majority must have named a block; null: blocks are not compared. */
  readonly judges: number | null;
  /** Halts that are kept in files. */
  readonly haltFiles: () => number;
}

/** What is committed in the replica. */
interface Standing {
  readonly height: number | null;
  readonly complete: boolean;
  readonly phase: ReplicaPhase;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** An epoch's root by the words of the specification, apart from the code that is tested. */
function rootOf(leaves: readonly string[]): string {
  if (leaves.length === 1) return leaves[0]!;
  const pairs = Array.from({ length: Math.ceil(leaves.length / 2) }, (_, index) => {
    const left = leaves[2 * index]!;
    return sha256(left + (leaves[2 * index + 1] ?? left));
  });
  return rootOf(pairs);
}

/** Holds what is committed against the tree of blocks, after each step that changed it. */
export class Witness {
  readonly #options: WitnessOptions;
  readonly #blocks = new Map<string, Block>();
  readonly #lives = new Map<SimulatedThread, Biography>();
  #standing: Standing = { height: null, complete: false, phase: 'bootstrapping' };
  #isHalted = false;
  #log = '';
  /** An operator is clearing a halt. */
  isClearing = false;
  commits = 0;
  halts = 0;

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** A block that some source may tell of. */
  learn(block: Block): void {
    this.#blocks.set(nameOf(block.hashes), block);
  }

  get standing(): Standing {
    return this.#standing;
  }

  get isHalted(): boolean {
    return this.#isHalted;
  }

  began(thread: SimulatedThread): void {
    const others = [...this.#lives.keys()].filter(({ life }) => life.isAlive);
    if (others.length > 0) throw new Violation(`a thread starts while ${others.length} other one lives`);
    this.#lives.set(thread, { told: new Map(), halt: 'running' });
  }

  told(thread: SimulatedThread, url: string, { hashes }: Block): void {
    const { told } = this.#lives.get(thread)!;
    const urls = told.get(nameOf(hashes)) ?? new Set();
    told.set(nameOf(hashes), urls.add(url));
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

  /** Called when halt files change. */
  filesChanged(): void {
    this.#lookAtHalt();
  }

  committed(by: MemoryConnection, thread: SimulatedThread | undefined): void {
    const { server } = this.#options;
    const before = this.#standing;
    const [row] = server.read<{ height: number | null; complete: number; phase: ReplicaPhase }>(
      'SELECT height, complete, phase FROM sync_state'
    );
    if (!row) return;
    this.#standing = { height: row.height, complete: row.complete === 1, phase: row.phase };
    this.commits++;
    this.#lookAtHalt();
    const { height, complete, phase } = this.#standing;
    if (height !== before.height && !server.holdsLock(by))
      throw new Violation(`a writer without the lock moved the replica from block ${before.height} to ${height}`);
    if (height === null || phase === 'bootstrapping') return;
    const rises = height > (before.height ?? 0);
    const tip = this.#chainAt(height);
    if (rises) this.#mayApply(thread, tip, before);
    else if (height < before.height!) this.#mayRollBack();
    this.#compare(tip, complete ? 'a complete replica' : `a replica that is ${phase}`);
    this.#checkLog(tip);
  }

  #isDurable(): boolean {
    const [row] = this.#options.server.read<{ n: number }>('SELECT COUNT(*) AS n FROM sync_halt');
    return row!.n > 0 || this.#options.haltFiles() > 0;
  }

  #lookAtHalt(): void {
    if (this.#options.server.isInTransaction) return;
    const isDurable = this.#isDurable();
    if (this.#isHalted && !isDurable && !this.isClearing) throw new Violation('a halt is lost');
    if (isDurable && !this.#isHalted) this.halts++;
    this.#isHalted = isDurable;
  }

  /** The replica's blocks without a gap, each with the hashes of one honest branch. */
  #chainAt(height: number): Block {
    const { server } = this.#options;
    const rows = server.read<Hashes & { block_index: number }>(
      'SELECT block_index, ledger_hash, actions_hash, contract_hash FROM blocks ORDER BY block_index, id'
    );
    const last = rows.at(-1);
    const tip = last && this.#blocks.get(nameOf(last));
    if (!tip || tip.height !== height || rows.length !== height)
      throw new Violation(
        `the replica says block ${height}, and holds ${rows.length} blocks up to ${last?.block_index}`
      );
    if (!tip.isHonest) throw new Violation(`block ${height} is one that only a lying source tells of`);
    for (const [index, block] of above(tip, 0).entries()) {
      if (rows[index]!.block_index !== block.height || nameOf(rows[index]!) !== nameOf(block.hashes))
        throw new Violation(`block ${block.height} of the replica is not of the branch of its tip`);
    }
    return tip;
  }

  #mayApply(thread: SimulatedThread | undefined, { height, hashes }: Block, before: Standing): void {
    const life = thread && this.#lives.get(thread);
    if (this.#isHalted) throw new Violation(`block ${height} was applied while a halt stands`);
    if (life?.halt.startsWith('halted')) throw new Violation(`block ${height} was applied after its thread had halted`);
    const { judges } = this.#options;
    const said = life?.told.get(nameOf(hashes))?.size ?? 0;
    if (judges !== null && said * 2 <= judges)
      throw new Violation(
        `block ${height} was applied above ${before.height}, and ${said} of ${judges} sources had named it`
      );
  }

  /** What the source keeps of blocks that it took back is not known before the replica is reconciled. */
  #mayRollBack(): void {
    if (this.#isHalted) throw new Violation('blocks were undone while a halt stands');
    const { complete, phase } = this.#standing;
    if (complete || phase !== 'reconciling') throw new Violation(`after a rollback a replica says that it is ${phase}`);
  }

  /** Row by row what a database holds at a block. */
  #compare(tip: Block, what: string): void {
    const { server } = this.#options;
    const blocks = above(tip, 0);
    const expected = {
      index_addresses: blocks.flatMap(({ addresses }) => addresses).map((row) => `${row['id']} ${row['address']}`),
      transfers: blocks
        .flatMap(({ transfers }) => transfers)
        .map((row) => `${row['block_index']} ${row['address_id']} ${row['amount']}`),
      tokens: [...tip.tokens.values()].map((row) => `${row['tick']} ${row['supply']}`)
    };
    const columns = {
      index_addresses: "id || ' ' || address",
      transfers: "block_index || ' ' || address_id || ' ' || amount",
      tokens: "tick || ' ' || supply"
    };
    for (const [table, list] of Object.entries(expected)) {
      const found = server.read<{ text: string }>(
        `SELECT ${columns[table as keyof typeof columns]} AS text FROM ${table}`
      );
      const here = found.map(({ text }) => text).sort();
      const there = list.sort();
      if (here.length === there.length && here.every((text, index) => text === there[index])) continue;
      const surplus = here.filter((text) => !there.includes(text));
      const missing = there.filter((text) => !here.includes(text));
      const counts = `${here.length} rows for ${there.length}`;
      const shown = JSON.stringify({ surplus, missing }).slice(0, 300);
      throw new Violation(`table ${table} of ${what} differs at block ${tip.height}: ${counts} ${shown}`);
    }
  }

  /** The transparency log is the blocks, and each epoch's root is that of its leaves. */
  #checkLog(tip: Block): void {
    const { server, epochSize } = this.#options;
    const epochs = server.read<{ epoch: number; merkle_root: string; leaf_count: number }>(
      'SELECT epoch, merkle_root, leaf_count FROM merkle_epochs ORDER BY epoch'
    );
    const leaves = above(tip, 0).map(({ hashes: { ledger_hash, actions_hash, contract_hash } }) =>
      sha256(ledger_hash + actions_hash + contract_hash)
    );
    const [row] = server.read<{ n: number }>(
      'SELECT COUNT(*) AS n FROM sync_meta m JOIN blocks b ON b.block_index = m.block_index AND b.ledger_hash = m.ledger_hash AND b.actions_hash = m.actions_hash AND b.contract_hash = m.contract_hash'
    );
    const [all] = server.read<{ n: number }>('SELECT COUNT(*) AS n FROM sync_meta');
    // A since-snapshot names its last block; it logs what its rows say of all.
    if (row!.n !== tip.height || all!.n !== tip.height)
      throw new Violation(`the log holds ${all!.n} blocks, ${row!.n} of them the replica's ${tip.height}`);
    const text = `${tip.hashes.ledger_hash} ${JSON.stringify(epochs)}`;
    if (text === this.#log) return;
    this.#log = text;
    const full = Math.floor(tip.height / epochSize);
    if (epochs.length !== full)
      throw new Violation(`${epochs.length} epochs are committed at block ${tip.height}, ${full} are full`);
    for (const { epoch, merkle_root } of epochs) {
      const own = leaves.slice((epoch - 1) * epochSize, epoch * epochSize);
      if (merkle_root !== rootOf(own))
        throw new Violation(`the root of epoch ${epoch} is not that of its ${own.length} leaves`);
    }
  }
}
