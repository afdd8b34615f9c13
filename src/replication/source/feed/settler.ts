import type { Connection } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { Logger } from '../../../log.ts';
import { sameBlock } from '../../../wire/data/database.ts';
import type { SettlingReport } from '../../../wire/state/report.ts';
import { readTip } from '../../tables/block-hashes.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import { type Amendment, readAmendment } from '../reading/amendment.ts';
import type { SourceMemory } from '../reading/memory.ts';
import { TablePass } from '../reading/table-pass.ts';

/** Rows of one step: some 50 ms of MariaDB. */
const STEP_ROWS = 16_384;
/** Work between two polls. */
const SLICE_MS = 100;
/** Once its budget is spent, the look gets one part in this many of the time. */
const LATE_SHARE = 4;
/** Before a look that failed begins again. */
const FAULT_PAUSE_MS = 5_000;
/** Bytes of rows in one amendment, as they are in the database: its message stays below a mebibyte. */
const AMENDMENT_BYTES = 512 * 1024;
/** Rows that are read for one amendment, as many as filled the one before. */
const FIRST_ROWS = 1_000;
const LEAST_ROWS = 16;
const MOST_ROWS = 8_000;

interface SettlerOptions {
  readonly log: Logger;
  /** Reads on the connection by which groups are read. */
  readonly read: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;
  /** Milliseconds after a block for which the look is as fast as it can be. */
  readonly budgetMs: number;
  /** Sends rows that the last block's message did not bring. @returns the size of the message in bytes */
  readonly amend: (connection: Connection, layout: SourceLayout, tables: Amendment) => Promise<number>;
  /** Says that everything that changed up to a block was sent. */
  readonly tell: (height: number, isUnknown: boolean) => Promise<void>;
  readonly readLayout: (connection: Connection) => Promise<SourceLayout>;
}

/** One look at all tables that a group did not look at whole. */
interface Look {
  /** Block up to which everything that changed was sent, once the look ends. */
  readonly height: number;
  readonly pass: TablePass;
  readonly tables: number;
  readonly beganAt: number;
  /** The block whose snapshot the table under way was begun in. */
  tableHeight: number;
  /** The log says that it takes long. */
  isTold: boolean;
}

/**
 * Looks at what a group did not look at, in the snapshot that the group was read in, and sends what changed as amendments of its last
 * block. When it has seen everything, the block is settled. A block that comes meanwhile goes first; the look goes on in its snapshot.
 */
export class Settler {
  readonly #options: SettlerOptions;
  /** The open snapshot of the last block. */
  #held: { readonly connection: Connection; readonly layout: SourceLayout } | null = null;
  #look: Look | null = null;
  #settledHeight: number | null = null;
  /** Whether rows were looked at whose broadcast state is not known, and no subscriber has heard of it yet. */
  #isUnknown = false;
  #rows = FIRST_ROWS;
  #restUntil = 0;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /** The snapshot of the last block is open on the reader: whatever is read there is of that block. */
  get isHolding(): boolean {
    return this.#held !== null;
  }

  /** The highest block of which everything was sent; null: none since the start. */
  get settledHeight(): number | null {
    return this.#settledHeight;
  }

  /** The progress of the look; null when there is none. */
  get report(): SettlingReport | null {
    const look = this.#look;
    if (!look) return null;
    const { height, pass, tables, beganAt } = look;
    const sinceMs = Math.round(performance.now() - beganAt);
    return { height, tables, left: pass.left.size, table: pass.table, sinceMs };
  }

  /** Takes up what a predecessor left. @param isLogged a binary log names what changes from now on */
  begin(memory: SourceMemory, isLogged: boolean): void {
    this.#look = null;
    this.#held = null;
    this.#settledHeight = null;
    // Another snapshot is needed. Without a log nobody knows what changed while nobody looked, also in rows that all were sent.
    if (!memory.isSettled || !isLogged) memory.unlook();
  }

  /**
   * Keeps the snapshot of a group that was broadcast, to look in it for changes that its message lacked.
   *
   * @param connection in its snapshot, which stays open if there is more to look at; null: it is lost, so another one is needed
   */
  async afterGroup(
    connection: Connection | null,
    memory: SourceMemory,
    layout: SourceLayout,
    changed: Iterable<string>
  ): Promise<void> {
    if (memory.openGroup !== null) return;
    const look = this.#look;
    for (const table of changed) if (look?.pass.table === table) look.tableHeight = -1;
    if (look?.pass.table && look.tableHeight >= 0) look.tableHeight = memory.height;
    if (memory.isSettled) {
      this.#look = null;
      await connection?.query('COMMIT');
      // The message of the block said so, but for what is not known.
      if (this.#isUnknown) await this.#settle(memory, memory.height);
      else this.#settledHeight = memory.height;
    } else this.#held = connection && { connection, layout };
  }

  /** Ends the snapshot: a group or a reorg is next. */
  async release(): Promise<void> {
    if (!this.#held) return;
    this.#held = null;
    await this.#options.read((connection) => connection.query('COMMIT'));
  }

  /** Lets go of the snapshot, which the caller ends. What was not looked at in it is looked at in another. */
  letGo(): void {
    this.#held = null;
  }

  /**
   * Begins anew after the broadcast of a reorg: looks at everything with the next group, or at the block below the fork, which is not
   * settled before.
   */
  rolledBack(height: number): void {
    this.#look = null;
    if (this.#settledHeight !== null) this.#settledHeight = Math.min(this.#settledHeight, height - 1);
  }

  /** Goes on for a slice of time. @returns true when there is nothing to do */
  async work(memory: SourceMemory): Promise<boolean> {
    if (memory.openGroup !== null || memory.recent.at(-1)?.height !== memory.height) return true;
    if (memory.isSettled && !this.#look && !this.#held) {
      if (this.#settledHeight === memory.height) return true;
      // A predecessor sent everything; subscribers may not have heard of it.
      await this.#settle(memory, memory.height);
      return false;
    }
    if (performance.now() < this.#restUntil) return false;
    const began = performance.now();
    try {
      await this.#slice(began, memory);
    } catch (caught) {
      if (!(caught instanceof PlatformError)) throw caught;
      // Blocks go on: whether the database is away, the next poll finds. Everything is looked at again.
      this.#held = null;
      this.#restUntil = performance.now() + FAULT_PAUSE_MS;
      this.#options.log.warn({ err: caught }, 'the search for changes in older rows failed; it begins again');
      return false;
    }
    const isLate = this.#look !== null && performance.now() - this.#look.beganAt > this.#options.budgetMs;
    if (isLate && !this.#look!.isTold) {
      this.#look!.isTold = true;
      this.#options.log.info(
        { ...this.report },
        'older rows are still looked at for changes: replicas are not complete yet'
      );
    }
    this.#restUntil = isLate ? performance.now() + (LATE_SHARE - 1) * (performance.now() - began) : 0;
    return false;
  }

  async #slice(began: number, memory: SourceMemory): Promise<void> {
    await this.#options.read(async (connection) => {
      if (this.#held?.connection !== connection && !(await this.#open(connection, memory))) return;
      while (this.#held && performance.now() - began < SLICE_MS)
        await this.#step(connection, memory, this.#held.layout);
    });
  }

  /** Opens another snapshot of the same block: the group's own is gone with its connection, so everything is looked at again. */
  async #open(connection: Connection, memory: SourceMemory): Promise<boolean> {
    this.#held = null;
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
    const layout = await this.#options.readLayout(connection);
    const tip = layout.heads && (await readTip(connection, layout.heads));
    if (tip?.height !== memory.height || !sameBlock(tip.hashes, memory.hashes)) {
      await connection.query('COMMIT');
      return false;
    }
    memory.unlook();
    this.#look = null;
    this.#held = { connection, layout };
    return true;
  }

  async #step(connection: Connection, memory: SourceMemory, layout: SourceLayout): Promise<void> {
    const { watches, height } = memory;
    if (layout.plans.some(({ name }) => (watches.get(name)?.pending.length ?? 0) > 0)) {
      await this.#amend(connection, memory, layout);
      return;
    }
    this.#look ??= this.#begin(memory, layout);
    const look = this.#look;
    for (const table of look.pass.left) if (watches.get(table)?.isLooked !== false) look.pass.skip(table);
    if (look.pass.table === null) look.tableHeight = height;
    const step = await look.pass.step(connection, layout.plans, watches);
    if (step) {
      const watch = watches.get(step.table)!;
      if (step.found.length > 0) watch.isOwing = true;
      this.#isUnknown ||= step.isLearned;
      if (step.isLast) watch.isLooked = look.tableHeight === height;
      return;
    }
    this.#look = null;
    if (!memory.isSettled) {
      // Blocks came meanwhile: what they changed in tables that were looked at before is the next look's.
      if (look.height < height) await this.#settle(memory, look.height);
      return;
    }
    this.#held = null;
    await connection.query('COMMIT');
    await this.#settle(memory, height);
  }

  #begin(memory: SourceMemory, { plans }: SourceLayout): Look {
    // Of a table that is gone there is nothing to look at.
    for (const [name, watch] of memory.watches)
      if (!plans.some((plan) => plan.name === name)) [watch.isLooked, watch.isOwing] = [true, false];
    const tables = [...memory.watches].filter(([, { isLooked }]) => !isLooked).map(([name]) => name);
    const pass = new TablePass(tables, { stepRows: STEP_ROWS, from: 'newest' });
    const facts = { height: memory.height, tableHeight: memory.height, tables: tables.length };
    return { ...facts, pass, beganAt: performance.now(), isTold: false };
  }

  async #amend(connection: Connection, memory: SourceMemory, layout: SourceLayout): Promise<void> {
    const room = { rows: this.#rows, bytes: AMENDMENT_BYTES };
    const tables = await readAmendment(connection, layout, memory.watches, room);
    if (tables.size === 0) return;
    const bytes = await this.#options.amend(connection, layout, tables);
    const rows = [...tables.values()].reduce(
      (sum, { updated, ranges }) => sum + updated.length + (ranges?.rows.length ?? 0),
      0
    );
    if (rows < this.#rows / 2 && bytes < AMENDMENT_BYTES / 2) return;
    this.#rows = Math.max(LEAST_ROWS, Math.min(MOST_ROWS, Math.floor((rows * AMENDMENT_BYTES) / Math.max(1, bytes))));
  }

  async #settle(memory: SourceMemory, height: number): Promise<void> {
    // Rows of derived tables that a reorg undid at the replicas go with the next group.
    const isUnknown = this.#isUnknown || memory.forced.size > 0;
    this.#isUnknown = false;
    this.#settledHeight = height;
    await this.#options.tell(height, isUnknown);
  }
}
