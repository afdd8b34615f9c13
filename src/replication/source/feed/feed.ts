import type { Connection } from '../../../db/connection.ts';
import { inSnapshot } from '../../../db/in-snapshot.ts';
import type { SerialConnection } from '../../../db/serial-connection.ts';
import { StatementBatch } from '../../../db/statement-batch.ts';
import type { Logger } from '../../../log.ts';
import type { Broadcast } from '../../../wire/data/broadcast.ts';
import { sameBlock } from '../../../wire/data/database.ts';
import type { Learned } from '../../../wire/data/messages.ts';
import type { MissedChanges } from '../../../wire/data/snapshot.ts';
import type { BinlogReport, DatabaseReport, SweepReport } from '../../../wire/state/report.ts';
import type { SourceRoots } from '../../commitment/source-roots.ts';
import type { SourceActorData } from '../../protocol.ts';
import { type BlockHead, type HeadLayout, readBlockHeads, readTip } from '../../tables/block-hashes.ts';
import { readLayout, type SourceLayout } from '../../tables/source-layout.ts';
import type { BroadcastBlock, LoggedBlock } from '../../tables/transparency-log.ts';
import { BinlogChanges } from '../binlog/changes.ts';
import type { Amendment } from '../reading/amendment.ts';
import { type DatabaseMark, findOtherDatabase, readMark } from '../reading/database-mark.ts';
import { inconsistentTables, readEngineState } from '../reading/engine-guard.ts';
import { readGroup } from '../reading/group-reader.ts';
import type { SourceMemory } from '../reading/memory.ts';
import { memoryAtTip, resumeMemory } from '../reading/memory-start.ts';
import { isStep, type ResumePoint, type ResumeStep } from '../reading/resume-point.ts';
import { ServedTables, type TableColumns } from '../reading/served-tables.ts';
import { Sweep } from '../reading/sweep.ts';
import { BlockBatch, encodeAmendment, encodeBlock, encodeReorg, encodeSettled } from './block-batch.ts';
import { SnapshotReaders } from './readers.ts';
import { Settler } from './settler.ts';

/** Bytes of messages that are handed over at once. */
const BATCH_BYTES = 8 * 1024 * 1024;
/** The sweep gets one part in this many of the time. */
const SWEEP_SHARE = 40;
/** Seconds that statements may run: of a poll, and of a read of blocks. */
const POLL_LIMIT_S = 5;
const READ_LIMIT_S = 60;

export interface FeedOptions {
  readonly data: Pick<
    SourceActorData,
    'id' | 'coordinates' | 'localTables' | 'resume' | 'binlog' | 'settleBudgetMs' | 'compatibleClients'
  >;
  readonly log: Logger;
  /** Used by nothing else. */
  readonly reader: SerialConnection;
  /** Connection for reads outside of the reader's snapshot. */
  readonly control: SerialConnection;
  /** Opens another connection. */
  readonly open: () => Promise<Connection>;
  /** Called before a group of an indexer is read, with the blocks that were broadcast before it. */
  readonly beginGroup: (recent: readonly BroadcastBlock[], heads: HeadLayout) => void;
  /** Called before blocks are broadcast, in order, with the blocks that were broadcast before them. */
  readonly record: (
    blocks: readonly LoggedBlock[],
    recent: readonly BroadcastBlock[],
    heads: HeadLayout
  ) => Promise<void>;
  /** Gives the log the times that blocks have now: an amendment changes their rows. */
  readonly retime: (recent: readonly BroadcastBlock[], heads: HeadLayout) => Promise<void>;
  /** Called before a reorg is broadcast. */
  readonly prune: (fork: number) => Promise<void>;
  /** Computes the state roots of an indexer; null: none are. */
  readonly roots: SourceRoots | null;
  /** Keeps where a successor continues; durable when fulfilled. It must not fail: the thread ends instead. */
  readonly keep: (resume: ResumePoint | ResumeStep) => Promise<void>;
  /**
   * Accepts messages in order; fulfilled when they count as broadcast. It must not fail: the thread ends instead.
   *
   * @returns whether some subscribers take no amendments
   */
  readonly broadcast: (messages: Broadcast[], resume: ResumePoint | ResumeStep, readSince?: number) => Promise<boolean>;
}

/** Result of a poll. */
type PollResult = 'same' | 'blocks' | 'fork';

/** Turns what happens in one authoritative database into messages, in order, without a gap and without a repeat. */
export class SourceFeed {
  readonly #options: FeedOptions;
  #layout: SourceLayout | null = null;
  #fingerprint: string | null = null;
  #notReplicated: Readonly<Record<string, string>> = {};
  #memory: SourceMemory | undefined;
  #mark: DatabaseMark | undefined;
  /** The tables as the last resume point has them. */
  #keptServed: TableColumns | undefined;
  #tip: BlockHead | null = null;
  #gap: string | null = null;
  readonly #binlog: BinlogChanges;
  readonly #sweep = new Sweep();
  #sweepAt = 0;
  readonly #settler: Settler;
  /** Readers of snapshots, who continue with the next group. */
  readonly readers: SnapshotReaders;
  /** The tables that were served, which must not vanish unnoticed. */
  readonly served: ServedTables;

  constructor(options: FeedOptions) {
    this.#options = options;
    const { data, log, open } = options;
    this.#settler = new Settler({
      log,
      read: (work) => this.#read(work),
      budgetMs: data.settleBudgetMs,
      amend: (connection, layout, tables) => this.#amend(connection, layout, tables),
      tell: (height, isUnknown) => this.#tellSettled(height, isUnknown),
      readLayout: (connection) => this.#readLayout(connection)
    });
    this.served = new ServedTables(data.resume?.served);
    this.#binlog = new BinlogChanges({ mode: data.binlog, coordinates: data.coordinates, log, open });
    this.readers = new SnapshotReaders({
      height: () => this.#memory?.height ?? null,
      reconcile: (checksums) => this.#memory?.reconcileReaders(checksums),
      keep: () => this.#keep()
    });
  }

  /** The last broadcast block; null before the first. */
  get last(): Pick<ResumePoint, 'height' | 'blockTime' | 'hashes'> | null {
    return this.#memory && this.#memory.height >= 0 ? this.#memory : null;
  }

  /** Base that this source learned; null: none, undefined: it has not begun. */
  get learned(): Learned | null | undefined {
    return this.#memory && (this.#memory.learned ?? null);
  }

  /** Names this start of the source; undefined: it has not begun. */
  get life(): string | undefined {
    return this.#memory?.lives.at(-1)?.id;
  }

  get tip(): BlockHead | null {
    return this.#tip;
  }

  /** Broadcast reorgs. Rows read before a reorg may differ after it, even under the same hashes. */
  get reorgs(): number {
    return this.#memory?.reorgs ?? this.#options.data.resume?.reorgs ?? 0;
  }

  /** Amendments of a block that were broadcast; null: not known. */
  amendmentsOf(height: number): number | null {
    return this.#memory?.amendmentsOf(height) ?? null;
  }

  /** The database that is read, as it was found at the start. */
  get mark(): DatabaseMark | null {
    return this.#mark ?? null;
  }

  get fingerprint(): string | null {
    return this.#fingerprint;
  }

  /** Tables that are left out, with the reason, as the schema was read last. */
  get notReplicated(): Readonly<Record<string, string>> {
    return this.#notReplicated;
  }

  /** A change that the last group could not carry, or why there is no next group; null when neither is. */
  get gap(): string | null {
    return this.#gap ?? this.#binlog.obstacle;
  }

  /** Takes up what the predecessor left, or starts at the tip. @returns false when the database moved meanwhile: call it again */
  async start(): Promise<boolean> {
    const { data, log } = this.#options;
    const before = await this.#engineState();
    const memory = await this.#read((connection) =>
      inSnapshot(connection, async () => {
        const layout = await this.#readLayout(connection);
        this.#tip = layout.heads && (await readTip(connection, layout.heads));
        this.#mark = await readMark(connection, data.coordinates, layout);
        const other = data.resume && (await findOtherDatabase(connection, layout, data.resume, this.#mark));
        if (other) log.warn(`the saved resume point belongs to another database (${other}): starting at the tip`);
        else if (!data.resume) log.info('no resume point is saved: starting at the tip');
        const resume = other ? null : data.resume;
        if (other) this.served.forget();
        await this.served.check(connection, layout);
        // In a database that was restored, the log does not name what its rows were before.
        const isSameAge = resume?.of?.created === this.#mark.created;
        const logged = isSameAge ? (resume?.binlog ?? null) : null;
        const isLogged = await this.#binlog.begin(connection, layout, logged);
        if (!resume) return memoryAtTip(connection, layout, this.#tip);
        return resumeMemory(connection, layout, resume, isLogged);
      })
    );
    if (before !== (await this.#engineState())) return false;
    if (before !== null) log.warn('inconsistent-engine: tables outside InnoDB are read only while nothing changes');
    this.#memory = memory;
    this.#settler.begin(memory, this.#binlog.report.used);
    await this.#keep();
    this.readers.serve();
    return true;
  }

  /**
   * Returns whether a table is as it was at this block, the tip; otherwise the next group carries the change. Where the
   * binary log does not tell, the table is compared with what was broadcast of it.
   */
  async isSettled(
    connection: Connection,
    layout: SourceLayout,
    table: string,
    tip: Pick<BlockHead, 'height' | 'hashes'>
  ): Promise<boolean> {
    const memory = this.#memory;
    if (memory?.height !== tip.height || !sameBlock(memory.hashes, tip.hashes)) return false;
    // The transparency log is made of the rows of another table.
    const plan = layout.plans.find(({ name }) => name === (table === 'sync_meta' ? 'blocks' : table));
    if (!plan) return false;
    const watch = memory.watches.get(plan.name);
    const isUnchanged = watch ? await this.#binlog.isUnchanged(connection, plan.name) : null;
    // The log goes back to the last group; what a reorg changed since was looked at without it.
    const isLookedAt = memory.isTakenBack && watch?.isLooked === true;
    return isUnchanged === null || isLookedAt ? memory.holds(connection, plan) : isUnchanged;
  }

  /** Reads the changes of older rows between two blocks, after waiting for the second one to be broadcast; null: not known. */
  async missedSince(since: number, head: Pick<BlockHead, 'height' | 'hashes'>): Promise<MissedChanges | null> {
    await this.readers.reached(head.height);
    return this.#memory?.missedSince(since, head) ?? null;
  }

  /** Looks at the tip and at the last broadcast block, with two cheap statements. */
  async poll(): Promise<PollResult> {
    const memory = this.#started();
    const { reader, control } = this.#options;
    const isHeld = this.#settler.isHolding;
    return (isHeld ? control : reader).use(async (connection) => {
      const heads = this.#layout?.heads ?? (await this.#readLayout(connection)).heads;
      if (!heads) return memory.height < 0 ? 'same' : 'fork';
      try {
        const { height } = memory;
        // The other connection takes one statement at a time.
        const statements = isHeld ? connection : new StatementBatch(connection);
        const [tip, last] = await Promise.all([
          readTip(statements, heads),
          height < 0 ? [] : readBlockHeads(statements, heads, height, height)
        ]);
        this.#tip = tip;
        if (memory.findFork(last, tip?.height ?? -1) !== null) return 'fork';
        return (tip?.height ?? -1) > memory.height ? 'blocks' : 'same';
      } catch (caught) {
        this.#layout = null; // the table may have another shape now
        throw caught;
      }
    });
  }

  /** Broadcasts every new block as one group. */
  async broadcastGroup(): Promise<void> {
    await this.readers.between(() => this.#broadcastGroup());
  }

  async #broadcastGroup(): Promise<void> {
    const { data, log, roots, reader } = this.#options;
    const { id, localTables, compatibleClients } = data;
    const memory = this.#started();
    await this.#settler.release();
    const layout = this.#layout;
    const isCovered = layout !== null && inconsistentTables(layout).length === 0;
    const before = isCovered ? null : await this.#engineState();
    const batch = new BlockBatch(before === null ? BATCH_BYTES : Number.POSITIVE_INFINITY);
    let isBroadcast = false;
    let readOn: Connection | undefined;
    if (id.dbType === 'indexer' && layout?.heads)
      this.#options.beginGroup(memory.recent as readonly BroadcastBlock[], layout.heads);
    try {
      await this.#read(async (connection) => {
        readOn = connection;
        for await (const read of readGroup(
          connection,
          id.dbType,
          localTables,
          memory,
          this.#binlog,
          this.served,
          true
        )) {
          // Another schema may have other engines: the group is read again when that is known.
          if (isCovered && read.layout.fingerprint !== layout.fingerprint) this.#layout = null;
          if (isCovered && this.#layout === null) continue;
          const block = roots && read.changes ? await roots.complete(connection, read) : read;
          batch.add(block, encodeBlock(id, block, log, compatibleClients));
          if (batch.isFull && !block.changes) await this.#flush(batch);
        }
      });
      if (before !== null && before !== (await this.#engineState())) {
        await reader.use((connection) => connection.query('COMMIT'));
        return; // read again at the next poll
      }
      const last = batch.last ?? null;
      await this.#flush(batch);
      isBroadcast = true;
      await reader.use(async (connection) => {
        const looked = [...(last?.changes?.tables ?? [])]
          .filter(([, { notes }]) => notes.isLooked)
          .map(([name]) => name);
        // Another one, where that was lost, is in no snapshot.
        const held = connection === readOn ? connection : null;
        if (last?.changes) await this.#settler.afterGroup(held, memory, last.layout, [...looked, ...last.own.keys()]);
        else await held?.query('COMMIT');
      });
    } finally {
      await roots?.settle(isBroadcast);
    }
  }

  /** Broadcasts rows that changed up to the last block, and that its message did not bring. */
  async #amend(connection: Connection, layout: SourceLayout, tables: Amendment): Promise<number> {
    const { data, log, roots, retime } = this.#options;
    const memory = this.#started();
    // What may fail comes before the memory counts it as sent.
    if (tables.has('blocks') && layout.heads) await retime(memory.recent as readonly BroadcastBlock[], layout.heads);
    await roots?.amend(connection, layout, memory.height, tables.get('balances'));
    const number = memory.amend(tables);
    const { fingerprint } = layout;
    const message = encodeAmendment(data.id, memory, { fingerprint, number, tables }, log);
    const bytes = message.bytes.length;
    if (await this.#broadcast([message])) memory.repeat(tables);
    return bytes;
  }

  async #tellSettled(height: number, isUnknown: boolean): Promise<void> {
    const memory = this.#started();
    if (isUnknown) memory.learn();
    const hashes =
      height === memory.height ? memory.hashes : memory.recent.find((each) => each.height === height)?.hashes;
    if (!hashes) return;
    await this.#broadcast([
      encodeSettled(this.#options.data.id, { height, hashes }, memory.amendmentsOf(height), isUnknown)
    ]);
  }

  /** Uses the time between two polls that found nothing. */
  async rest(): Promise<void> {
    const memory = this.#started();
    await this.#options.roots?.rest(memory);
    if (await this.#settler.work(memory)) await this.#sweepOn();
  }

  /** Ends the snapshot that is open between effects. After a fault it is of no use, and a change of a table may wait for it. */
  letGo(): void {
    this.#settler.letGo();
    this.#options.reader.destroy();
  }

  /** The highest block of which everything that changed was sent, the last block's amendments, and how far the next look is. */
  get settling(): Pick<DatabaseReport, 'settledHeight' | 'amendments' | 'settling'> {
    const { settledHeight, report: settling } = this.#settler;
    const memory = this.#memory;
    return { settledHeight, settling, amendments: memory ? memory.amendmentsOf(memory.height) : null };
  }

  /** State of the method by which groups find changes. */
  get binlog(): BinlogReport {
    return this.#binlog.report;
  }

  /** Ends what it reads beside the statements of its connections. */
  stop(): void {
    this.#binlog.stop();
  }

  /** Progress of the sweep over rows that no group looks at. */
  get sweep(): SweepReport {
    return this.#sweep.report;
  }

  /** Takes a step of the sweep, as long as steps take a small share of the time. */
  async #sweepOn(): Promise<void> {
    const memory = this.#started();
    const layout = this.#layout;
    if (!layout?.heads || performance.now() < this.#sweepAt) return;
    const { heads } = layout;
    const began = performance.now();
    await this.#read((connection) =>
      inSnapshot(connection, async () => {
        // What the database has beyond the last broadcast block is no change of older rows.
        const tip = await readTip(connection, heads);
        if (tip?.height !== memory.height || !sameBlock(tip.hashes, memory.hashes)) return;
        const step = await this.#sweep.step(connection, layout, memory.watches, memory.height);
        if (step) await this.#binlog.check(connection, step.table, step.found);
      })
    );
    this.#sweepAt = performance.now() + SWEEP_SHARE * (performance.now() - began);
  }

  async #flush(batch: BlockBatch): Promise<void> {
    const { blocks, messages, readSince } = batch.take();
    if (blocks.length === 0) return;
    const memory = this.#started();
    if (this.#options.data.id.dbType === 'indexer') {
      const logged = blocks.map(({ head }) => head) as readonly (BlockHead & LoggedBlock)[];
      const recent = memory.recent as readonly BroadcastBlock[];
      await this.#options.record(logged, recent, blocks[0]!.layout.heads!);
    }
    for (const block of blocks) memory.accept(block);
    const last = blocks.at(-1);
    if (last?.changes && last.binlog) this.#binlog.accept(last.binlog);
    await this.#broadcast(messages, readSince);
    if (!last?.changes) return;
    this.#gap = last.changes.gaps[0] ?? null;
    for (const gap of last.changes.gaps) this.#options.log.error({ height: last.head.height }, gap);
    if (last.layout.fingerprint !== this.#fingerprint) this.#layout = null;
    this.#note(last.layout);
  }

  /** Finds the fork, and broadcasts the first orphaned height. */
  async broadcastReorg(): Promise<void> {
    await this.readers.between(() => this.#broadcastReorg());
  }

  async #broadcastReorg(): Promise<void> {
    const { data, log, reader } = this.#options;
    const memory = this.#started();
    await this.#settler.release();
    const { fork, heads } = await reader.use(async (connection) => {
      const layout = await this.#readLayout(connection);
      this.#tip = layout.heads && (await readTip(connection, layout.heads));
      const from = memory.recent[0]?.height ?? 0;
      const found = layout.heads ? await readBlockHeads(connection, layout.heads, from, memory.height) : [];
      return { fork: memory.findFork(found, this.#tip?.height ?? -1), heads: found };
    });
    if (fork === null) return;
    log.warn({ fork, height: memory.height, depth: memory.height - fork + 1 }, 'reorg');
    await this.#options.prune(fork);
    await this.#options.roots?.rollBack(fork);
    memory.rollBack(fork, this.#layout, heads.find(({ height }) => height === fork - 1)?.blockTime ?? null);
    this.#settler.rolledBack(memory.height);
    await this.#broadcast([encodeReorg(data.id, fork)]);
  }

  async #broadcast(messages: Broadcast[], readSince?: number): Promise<boolean> {
    const resume = this.#resumePoint();
    if (resume === null) return false;
    const hasPlain = await this.#options.broadcast(messages, resume, readSince);
    this.#memory!.isAmended = !hasPlain;
    return hasPlain;
  }

  async #keep(): Promise<void> {
    const resume = this.#resumePoint();
    if (resume) await this.#options.keep(resume);
  }

  /** Returns the point at which a successor continues, or a step to it; null before the start. */
  #resumePoint(): ResumePoint | ResumeStep | null {
    if (!this.#memory || !this.#mark) return null;
    const { columns: served } = this.served;
    const isKept = served === this.#keptServed;
    this.#keptServed = served;
    const facts = { binlog: this.#binlog.kept, ...(isKept ? {} : { served }) };
    const resume = { ...this.#memory.tell(this.readers.isUncertain), ...facts };
    return isStep(resume) ? resume : { ...resume, of: this.#mark, served };
  }

  #started(): SourceMemory {
    if (!this.#memory) throw new Error('the feed is not started');
    return this.#memory;
  }

  async #readLayout(connection: Connection): Promise<SourceLayout> {
    const { id, localTables } = this.#options.data;
    this.#layout = await readLayout(connection, id.dbType, localTables);
    this.#note(this.#layout);
    return this.#layout;
  }

  #note({ fingerprint, notReplicated }: SourceLayout): void {
    if (fingerprint === this.#fingerprint) return;
    this.#fingerprint = fingerprint;
    this.#notReplicated = Object.fromEntries(notReplicated);
    const tables = [...notReplicated.keys()];
    if (tables.length > 0)
      this.#options.log.warn({ tables: this.#notReplicated }, 'these tables cannot be replicated and are left out');
  }

  #engineState(): Promise<string | null> {
    const { id, localTables } = this.#options.data;
    return this.#options.control.use((connection) => readEngineState(connection, id.dbType, localTables));
  }

  /** Reads blocks by statements that may take longer than those of a poll. */
  async #read<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#options.reader.use(async (connection) => {
      await connection.query(`SET SESSION max_statement_time = ${READ_LIMIT_S}`);
      const result = await work(connection);
      await connection.query(`SET SESSION max_statement_time = ${POLL_LIMIT_S}`);
      return result;
    });
  }
}
