import { randomUUID } from 'node:crypto';
import type { SqlRow } from '../db/connection.ts';
import { ExclusiveDatabase } from '../db/exclusive-database.ts';
import { PlatformError } from '../errors.ts';
import type { BlockRef, BlockStore } from '../follower/work.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';
import type { BlockChanges } from './coins/changes.ts';
import { CoinReader } from './coins/coin-reader.ts';
import { CoinWriter } from './coins/coin-writer.ts';
import { asBuffer } from './coins/records.ts';
import { type ReducedChanges, reduceChanges, scriptsOf } from './coins/reduce.ts';
import { FirstSync, type FirstSyncDeps, type FirstSyncProgress } from './first-sync/first-sync.ts';
import { COINS_OF_SCRIPTS, SCHEMA } from './schema.ts';

/** Options of a store. */
interface TrackerStoreOptions {
  readonly queryTimeoutMs?: number;
  /** Blocks that can be rolled back. */
  readonly undoDepth: number;
  /**
   * Returns the height of the node's tip; null while it is unknown. Blocks far below it are written without undo data.
   */
  readonly nodeHeight: () => number | null;
  /** Runs `reduceChanges` in another thread. Default: in this one. */
  readonly reduce?: FirstSyncDeps['reduce'];
}

/** Most blocks of one transaction. @see the section "Limits" of the specification */
export const MOST_GROUP_BLOCKS = 200;
/** Most bytes of those blocks, roughly. */
export const GROUP_BYTES = 16 * 2 ** 20;

/** Further blocks below those that can be rolled back that keep undo data: a node may come back a little lower. */
const UNDO_MARGIN = 200;

/**
 * Opens a tracker's database and creates what is missing. @throws {PlatformError} DATABASE_REFUSED,
 * DATABASE_UNAVAILABLE, DATABASE_UNUSABLE
 */
export async function openTrackerStore(
  database: DatabaseCoordinates,
  options: TrackerStoreOptions
): Promise<TrackerStore> {
  const { queryTimeoutMs, reduce = async (changes) => reduceChanges(changes) } = options;
  const opened = await ExclusiveDatabase.open(database, {
    service: 'tracker',
    ...(queryTimeoutMs === undefined ? {} : { queryTimeoutMs }),
    prepare: async (writer) => {
      for (const statement of SCHEMA) await writer.query(statement);
    }
  });
  const deps = { database: opened, writer: new CoinWriter(opened), reduce };
  try {
    return await TrackerStore.open(deps, options);
  } catch (caught) {
    await opened.close();
    throw caught;
  }
}

/** Reads and writes the unspent outputs of one chain, block by block. */
export class TrackerStore implements BlockStore<BlockChanges> {
  readonly database: ExclusiveDatabase;
  readonly #id = randomUUID();
  readonly #coins: CoinReader;
  readonly #deps: FirstSyncDeps;
  readonly #options: TrackerStoreOptions;
  #firstSync: FirstSync | null;
  /** Whether the table of coins matches the stored blocks; false during a first sync. */
  #hasCoins: boolean;
  #version = 0;

  private constructor(deps: FirstSyncDeps, options: TrackerStoreOptions, firstSync: FirstSync | null, isNew: boolean) {
    this.database = deps.database;
    this.#deps = deps;
    this.#options = options;
    this.#firstSync = firstSync;
    this.#hasCoins = !isNew && firstSync === null;
    this.#coins = new CoinReader(deps.database.pool, deps.database.patienceMs);
  }

  /**
   * Opens the store of a database. @throws {PlatformError} DATABASE_UNUSABLE for tables of an earlier build;
   * DATABASE_UNAVAILABLE
   */
  static async open(deps: FirstSyncDeps, options: TrackerStoreOptions): Promise<TrackerStore> {
    const columns = await deps.database.query("SHOW COLUMNS FROM coins LIKE 'maturity'");
    if (columns.length === 0) {
      const reason =
        'its table coins lacks the column maturity, so an earlier build made it: drop the database and start the tracker; it reads the chain again';
      throw new PlatformError('DATABASE_UNUSABLE', { reason });
    }
    const [block] = await deps.database.query('SELECT 1 FROM blocks LIMIT 1');
    return new TrackerStore(deps, options, await FirstSync.open(deps), block === undefined);
  }

  /** Reader of the coins. @throws {PlatformError} COINS_INCOMPLETE before the end of a first sync */
  get coins(): CoinReader {
    if (this.#hasCoins) return this.#coins;
    throw new PlatformError('COINS_INCOMPLETE', { reason: 'the tracker has not read the whole chain yet' });
  }

  /** Text that changes with each change of the coins. */
  get version(): string {
    return `${this.#id} ${this.#version}`;
  }

  /** Progress of the first sync; null when none is under way. */
  get firstSync(): FirstSyncProgress | null {
    return this.#firstSync?.progress ?? null;
  }

  /** Last block that a first sync gathers; null when none is under way. */
  get gathersTo(): number | null {
    return this.firstSync?.lastBlock ?? null;
  }

  /**
   * Prepares an empty database for a first sync of all blocks that no reorg will reach. Call it before blocks are
   * written.
   *
   * @param tip height of the node's tip
   * @returns last block that may be written next: what a first sync gathers has no undo data
   */
  async prepare(tip: number): Promise<number> {
    if (!this.#hasCoins && !this.#firstSync) await this.#begin(this.#undoFrom(tip) - 1);
    return Math.min(tip, this.gathersTo ?? tip);
  }

  async #begin(lastBlock: number): Promise<void> {
    if (lastBlock > 0) {
      this.#firstSync = await FirstSync.begin(this.#deps, lastBlock);
    } else {
      await this.database.queryWithoutLimit(COINS_OF_SCRIPTS);
      this.#hasCoins = true;
    }
  }

  /** Loads the next shard of a first sync. @returns whether it was the last step */
  async loadNext(): Promise<boolean> {
    if (this.#firstSync && !(await this.#firstSync.loadNext())) return false;
    this.#firstSync = null;
    this.#hasCoins = true;
    return true;
  }

  /** Returns the newest block; null when there is none. */
  async readTip(): Promise<BlockRef | null> {
    return (await this.#readBlocks('', [], 1))[0] ?? null;
  }

  /** Returns the newest blocks below a height, highest first. */
  async readBlocksBelow(height: number, limit: number): Promise<readonly BlockRef[]> {
    return await this.#readBlocks('WHERE block_index < ?', [height], limit);
  }

  /** Writes consecutive blocks in one transaction. Those near the node's tip keep undo data. */
  async writeBlocks(blocks: readonly BlockChanges[]): Promise<void> {
    const last = blocks.at(-1)!.height;
    const undoFrom = this.#undoFrom(this.#options.nodeHeight() ?? last);
    const firstSync = this.#firstSync;
    const together = firstSync ? blocks : blocks.filter(({ height }) => height < undoFrom);
    const changes = together.length > 0 ? await this.#deps.reduce(changesOf(together)) : null;
    await this.#change(async () => {
      if (changes) await (firstSync ? firstSync.gather(last, changes) : this.#deps.writer.apply(changes));
      for (const block of blocks.slice(together.length)) await this.#writeWithUndo(block);
      const rows = blocks.map(({ height, hash }) => `(${height},X'${hash}')`);
      await this.database.query(`INSERT INTO blocks (block_index, hash) VALUES ${rows.join()}`);
      for (const table of ['made', 'spent'])
        await this.database.query(`DELETE FROM ${table} WHERE block_index < ?`, [this.#undoFrom(last)]);
    });
  }

  /**
   * Deletes the newest block and restores the coins that it spent. @returns the new tip @throws {PlatformError}
   * DATABASE_UNUSABLE when its undo data is missing
   */
  async rollBackTip(): Promise<BlockRef | null> {
    const tip = await this.readTip();
    if (!tip) return null;
    const { height } = tip;
    await this.#change(async () => {
      // A block without undo data was written far below the tip, or lies that far below by now.
      const [kept] = await this.database.query('SELECT 1 FROM made WHERE block_index = ? LIMIT 1', [height]);
      if (!kept) {
        const reason = `block ${height} cannot be rolled back, because its undo data is missing: drop the database and start the tracker; it reads the chain again`;
        throw new PlatformError('DATABASE_UNUSABLE', { reason });
      }
      const run = (sql: string) => this.database.query(sql, [height]);
      await run(`INSERT INTO coins (script_hash, outpoint, value, height, maturity)
        SELECT script_hash, outpoint, value, height, maturity FROM spent WHERE block_index = ?`);
      await run('DELETE c FROM coins c JOIN made m ON m.outpoint = c.outpoint WHERE m.block_index = ?');
      await run(`UPDATE scripts s JOIN (
          SELECT script_hash, SUM(value) AS value FROM made WHERE block_index = ? GROUP BY script_hash
        ) m ON m.script_hash = s.script_hash SET s.received = s.received - m.value`);
      await this.database.query(
        'DELETE s FROM scripts s JOIN made m ON m.script_hash = s.script_hash WHERE m.block_index = ? AND s.first_height = ?',
        [height, height]
      );
      for (const table of ['made', 'spent', 'blocks']) await run(`DELETE FROM ${table} WHERE block_index = ?`);
      await this.database.halts.note('REORG', [{ block_index: height, block_hash: tip.hash }]);
    });
    return await this.readTip();
  }

  async #change(work: () => Promise<void>): Promise<void> {
    try {
      await this.database.transaction(work);
    } finally {
      // Also after an error: the transaction may have been committed.
      this.#version++;
    }
  }

  async #writeWithUndo(block: BlockChanges): Promise<void> {
    const { height, made } = block;
    const changes = reduceChanges(changesOf([block]));
    await this.#deps.writer.keepUndo(height, asBuffer(made), changes);
    await this.#deps.writer.apply(changes);
  }

  /** Returns the first block that keeps undo data while the node is at this height. */
  #undoFrom(tip: number): number {
    return Math.max(0, tip - this.#options.undoDepth - UNDO_MARGIN);
  }

  async #readBlocks(where: string, values: readonly unknown[], limit: number): Promise<BlockRef[]> {
    const found = await this.database.query<{ height: number; hash: Buffer } & SqlRow>(
      `SELECT block_index AS height, hash FROM blocks ${where} ORDER BY block_index DESC LIMIT ?`,
      [...values, limit]
    );
    return found.map(({ height, hash }) => ({ height, hash: hash.toString('hex') }));
  }
}

function changesOf(blocks: readonly BlockChanges[]): ReducedChanges {
  const made = Buffer.concat(blocks.map((block) => block.made));
  return { made, spent: Buffer.concat(blocks.map(({ spent }) => spent)), scripts: scriptsOf(made) };
}
