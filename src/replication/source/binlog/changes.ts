import type { Connection, Statements } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { Logger } from '../../../log.ts';
import type { DatabaseCoordinates } from '../../../wire/data/database.ts';
import type { BinlogMode, BinlogReport } from '../../../wire/state/report.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import { rangingOf } from '../changes/ranging.ts';
import { commonSpans, type Span } from '../changes/spans.ts';
import type { TableFacts } from '../changes/table-facts.ts';
import { isWatched } from '../changes/watch-reader.ts';
import { isOfOneLog, readLogState, type ServerPosition } from './position.ts';
import { findBinlogObstacle, readLoggedName } from './support.ts';
import { BinlogTail } from './tail.ts';
import { TouchedLog, type TouchedTables } from './touched.ts';

const NO_POSITION = 'the server tells no position of a snapshot: start it with log_bin; it must be a MariaDB';
const UNSYNCED =
  'sync_binlog or innodb_flush_log_at_trx_commit is not 1, so that a crash may take the end of the binary log, or rows that it names: after each restart of MariaDB all rows are compared; set both to 1';
/** Actions of a foreign key by which InnoDB changes rows of the child. */
const CASCADES = new Set(['CASCADE', 'SET NULL', 'SET DEFAULT']);
/**
 * Engines whose tables have rows of their own, which the log names. Others may show the rows of other tables or servers:
 * MRG_MYISAM, FEDERATED, CONNECT, SPIDER.
 */
const LOGGED_ENGINES = new Set(['INNODB', 'MYISAM', 'ARIA', 'MEMORY']);
/** Time for which a group waits for the log; it is mostly there before the snapshot. */
const ARRIVAL_MS = 2_000;
/** A server without what it takes is looked at again after this long. */
const LOOK_AGAIN_MS = 5_000;

interface BinlogChangesOptions {
  readonly mode: BinlogMode;
  readonly coordinates: DatabaseCoordinates;
  readonly log: Logger;
  /** Opens a connection of its own: a global right that was granted counts for new connections only. */
  readonly open: () => Promise<Connection>;
}

/** Facts that show that a table was made anew. TRUNCATE moves no time. */
type MadeFacts = Pick<TableFacts, 'createTime' | 'rows'>;

function isMadeAnew(before: MadeFacts | undefined, now: MadeFacts): boolean {
  return before !== undefined && (before.createTime !== now.createTime || (before.rows > 0 && now.rows === 0));
}

/** The rows that changed up to the position of a snapshot. */
export interface BinlogRead {
  readonly touched: TouchedTables;
  readonly at: ServerPosition;
}

/** Rows that changed in a source's database since its last broadcast, as its server's binary log names them. */
export class BinlogChanges {
  readonly #options: BinlogChangesOptions;
  readonly #log = new TouchedLog();
  #tail: BinlogTail | undefined;
  #columns = new Map<string, string | null>();
  /** By parent: tables whose rows its changes may change without a word in the log. */
  #children = new Map<string, string[]>();
  /** Tables that may change at any time without a word in the log. */
  #unlogged: ReadonlySet<string> = new Set();
  /** Facts of the tables at the last broadcast group, and at the group at hand. */
  #factsBefore: ReadonlyMap<string, MadeFacts> = new Map();
  #facts: ReadonlyMap<string, MadeFacts> = new Map();
  /** Position up to which all changes were broadcast; null: not known. */
  #done: ServerPosition | null = null;
  #reason: string | null = 'it was not looked at yet';
  #lookAt = 0;
  /** Connections of the tail before which the account's rights and the server's filters were looked at. */
  #looked = 1;
  /** The changes before the next group are not fully known. */
  #hasGap = false;
  #missed = 0;
  /** Name of the database in the log. */
  #database: string;

  constructor(options: BinlogChangesOptions) {
    this.#options = options;
    this.#database = options.coordinates.name;
    if (options.mode === 'off') this.#reason = 'SYNC_BINLOG is off';
  }

  /** Whether groups are made of the log, and why not. */
  get report(): BinlogReport {
    return { used: this.#reason === null, reason: this.#reason, missed: this.#missed };
  }

  /** Reason why no group is read although blocks are there; null when groups are read. */
  get obstacle(): string | null {
    return this.#options.mode === 'required' && this.#reason !== null ? `binary log: ${this.#reason}` : null;
  }

  /** Position at which a successor continues; null: it is not known, or not all that changed before it was broadcast. */
  get kept(): ServerPosition | null {
    if (this.#hasGap) return null;
    const began = this.#done && this.#tail?.beginningOf(this.#done.file);
    return this.#done && typeof began === 'number' ? { ...this.#done, began } : this.#done;
  }

  /**
   * Begins at the state that counts as broadcast.
   *
   * @param statements of the snapshot with that state
   * @param kept where the predecessor was, if its state is the broadcast one; null: the snapshot's is
   * @returns whether the log names all that changed since the predecessor
   */
  async begin(statements: Statements, layout: SourceLayout, kept: ServerPosition | null): Promise<boolean> {
    this.stop();
    if (this.#options.mode === 'off') return false;
    this.align(layout);
    const { at: here, obstacle } = await readLogState(statements);
    // Without the predecessor's position, what changed after its last group is known by checksums alone.
    const isOfOne = kept !== null && here !== null && isOfOneLog(kept, here);
    this.#done = isOfOne ? kept : here;
    this.#hasGap = false;
    if (here && !here.isSynced) this.#options.log.warn(UNSYNCED);
    if (obstacle !== null || !here) this.#without(obstacle ?? NO_POSITION);
    else if (await this.#follow(here)) this.#reason = null;
    return isOfOne && this.#reason === null;
  }

  /** Takes over the columns that divide the tables, and their foreign keys. */
  align({ plans, tables, outsideChildren }: SourceLayout): void {
    const columnOf = (plan: SourceLayout['plans'][number]) => rangingOf(plan, tables).column;
    this.#columns = new Map(plans.filter(isWatched).map((plan) => [plan.name, columnOf(plan)]));
    const others = plans.filter(({ engine }) => !LOGGED_ENGINES.has(engine.toUpperCase()));
    this.#unlogged = new Set([...outsideChildren, ...others.map(({ name }) => name)]);
    this.#children = new Map();
    for (const { name, foreignKeys } of tables) {
      for (const { referencedTable, onDelete, onUpdate } of foreignKeys) {
        if (![onDelete, onUpdate].some((rule) => CASCADES.has(rule))) continue;
        this.#children.set(referencedTable, [...(this.#children.get(referencedTable) ?? []), name]);
      }
    }
  }

  /**
   * Returns the rows that changed between the last broadcast state and a snapshot's; null when the log does not tell them.
   *
   * @param statements of the snapshot
   */
  async upTo(statements: Statements): Promise<BinlogRead | null> {
    if (this.#options.mode === 'off') return null;
    const { at, obstacle } = await readLogState(statements);
    if (obstacle !== null || !at) {
      this.#lose();
      return this.#without(obstacle ?? NO_POSITION);
    }
    if (this.#done && !isOfOneLog(this.#done, at)) this.#lose();
    return this.#read(at);
  }

  async #read(at: ServerPosition): Promise<BinlogRead | null> {
    const tail = await this.#follow(at);
    if (!tail) return null;
    const done = this.#done;
    if (!(await tail.reached(at, ARRIVAL_MS))) {
      if (tail !== this.#tail) return null;
      if (tail.isLost) this.#lose();
      else tail.noteLate();
      return this.#without(tail.fault ?? 'the binary log did not arrive in time');
    }
    // Behind another connection may be another start of the server, with other filters.
    const { connections } = tail;
    const found = connections === this.#looked ? null : await this.#findObstacle();
    // What was noted is gone where a group was broadcast meanwhile, or another question found a gap.
    if (tail !== this.#tail || done !== this.#done) return null;
    if (found !== null) {
      this.#lose();
      return this.#without(found);
    }
    this.#looked = connections;
    if (this.#reason !== null) this.#options.log.info(at, 'changes are read from the binary log');
    this.#reason = null;
    const touched = this.#log.upTo(at);
    if (this.#hasGap) touched.isAll = true;
    touched.addDividedOtherwise(this.#columns);
    touched.addCascades(this.#children, this.#unlogged);
    return { touched, at };
  }

  /**
   * Reads changes for a group, as `upTo` does. A table that was made anew or emptied counts as altered, also where a
   * session did so without the log.
   *
   * @param facts of the tables, no older than the snapshot
   * @throws {PlatformError} BINLOG_UNUSABLE where the log is required and does not tell them
   */
  async readForGroup(statements: Statements, facts: ReadonlyMap<string, MadeFacts>): Promise<BinlogRead | null> {
    const read = await this.upTo(statements);
    if (read === null && this.#options.mode === 'required')
      throw new PlatformError('BINLOG_UNUSABLE', { reason: this.#reason });
    this.#facts = facts;
    for (const [name, now] of facts) if (isMadeAnew(this.#factsBefore.get(name), now)) read?.touched.addAltered(name);
    return read;
  }

  /**
   * Returns whether a table has the rows that were broadcast; null when the log does not tell, as after a change of its definition.
   *
   * @param statements of a snapshot, which may be older than the last group
   */
  async isUnchanged(statements: Statements, table: string): Promise<boolean | null> {
    const read = await this.#readBeside(statements);
    if (read === null) return null;
    if (read.touched.has(table)) return false;
    return read.touched.isAltered(table) ? null : true;
  }

  /** Counts parts of a table that changed and that the log did not name. @param statements of the snapshot in which they were found */
  async check(statements: Statements, table: string, found: readonly Span[]): Promise<void> {
    const read = found.length === 0 ? null : await this.#readBeside(statements);
    if (!read || read.touched.isWhole(table) || read.touched.isAltered(table)) return;
    const named = read.touched.spans(table);
    const missed = found.filter((span) => commonSpans([span], named).length === 0);
    if (missed.length === 0) return;
    this.#missed += missed.length;
    this.#options.log.error(
      { table, missed: missed.slice(0, 10) },
      'rows changed that the binary log does not name: they are sent now; find the program that writes without the log'
    );
  }

  /** Answers a question beside the groups: whatever its snapshot's position, the log stays to the groups as it is. */
  async #readBeside(statements: Statements): Promise<BinlogRead | null> {
    if (!this.#tail) return null;
    const { at, obstacle } = await readLogState(statements);
    // A group may have been broadcast since their snapshot was opened.
    if (obstacle !== null || !at || !this.#tail || !this.#done || !isOfOneLog(this.#done, at)) return null;
    return this.#read(at);
  }

  /** Forgets what a group carried. @param at position of its snapshot */
  accept(at: ServerPosition): void {
    this.#log.forget(at);
    this.#factsBefore = this.#facts;
    this.#done = at;
    this.#hasGap = false;
  }

  /** Ends it; `begin` begins again. */
  stop(): void {
    this.#tail?.stop();
    this.#tail = undefined;
    this.#log.clear();
  }

  /** Returns the tail to wait for; null: there is none. */
  async #follow(at: ServerPosition): Promise<BinlogTail | null> {
    if (this.#tail) return this.#tail;
    if (performance.now() < this.#lookAt) return null;
    const obstacle = await this.#findObstacle();
    if (this.#tail) return this.#tail;
    if (obstacle !== null) {
      this.#lookAt = performance.now() + LOOK_AGAIN_MS;
      // Groups without the log go on from here.
      this.#done = null;
      return this.#without(obstacle);
    }
    if (this.#done === null) [this.#hasGap, this.#done] = [true, at];
    const valueColumn = (table: string) => this.#columns.get(table);
    const tables = () => this.#columns.keys();
    this.#looked = 1;
    const coordinates = { ...this.#options.coordinates, name: this.#database };
    this.#tail = new BinlogTail(coordinates, this.#done, this.#log, { tables, valueColumn });
    return this.#tail;
  }

  async #findObstacle(): Promise<string | null> {
    const connection = await this.#options.open();
    try {
      this.#database = await readLoggedName(connection);
      return await findBinlogObstacle(connection, this.#database);
    } finally {
      connection.destroy();
    }
  }

  #lose(): void {
    this.stop();
    this.#done = null;
  }

  #without(reason: string): null {
    if (this.#reason !== reason)
      this.#options.log.warn({ reason }, 'changes are found by checksums, without the binary log');
    this.#reason = reason;
    return null;
  }
}
