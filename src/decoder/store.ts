import type { AddressVersions } from '../coin/chains.ts';
import type { SortedMarks } from '../coin/script/sorted-marks.ts';
import type { DatabaseBase } from '../db/base.ts';
import { rows, type SqlRow } from '../db/connection.ts';
import { ExclusiveDatabase } from '../db/exclusive-database.ts';
import { pages } from '../db/pages.ts';
import { PlatformError } from '../errors.ts';
import type { BlockRef, BlockStore } from '../follower/work.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';
import { bindDecoderBase } from './base.ts';
import type { BlockRows } from './block-rows.ts';
import { BlockWriter } from './block-writer.ts';
import { KEPT_BLOCKS } from './dispensers/run.ts';
import { refreshTills } from './dispensers/tills.ts';
import { MempoolStore, NO_LONGER_WAITING } from './mempool-store.ts';
import { migrate } from './migrations.ts';

/** Options of a store. */
export interface DecoderStoreOptions {
  readonly queryTimeoutMs?: number | undefined;
  /**
   * First block whose payments to a dispenser count against the number that it can serve: the profile's
   * DISPENSER_LIMITS. Default: never.
   */
  readonly dispenserLimitHeight?: number;
  /** Settings and rules of the rows; a database of another base is refused. Default: not checked. */
  readonly base?: DatabaseBase;
}

/**
 * Opens a decoder database for writing. Creates it when it is missing and migrates it.
 *
 * @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE, MIGRATION_CHANGED, DATABASE_UNUSABLE for another base
 */
export async function openDecoderStore(
  database: DatabaseCoordinates,
  { queryTimeoutMs, dispenserLimitHeight = Number.POSITIVE_INFINITY, base }: DecoderStoreOptions = {}
): Promise<DecoderStore> {
  let parseErrors = 0;
  const opened = await ExclusiveDatabase.open(database, {
    service: 'decoder',
    ...(queryTimeoutMs === undefined ? {} : { queryTimeoutMs }),
    prepare: async (writer) => {
      await migrate(writer, ['auto']);
      await refreshTills(writer);
      if (base) await bindDecoderBase(writer, base);
      const [counted] = await rows(writer, "SELECT COUNT(*) AS count FROM events WHERE code = 'PARSE_ERROR'");
      parseErrors = Number(counted?.['count'] ?? 0);
    }
  });
  return new DecoderStore(opened, parseErrors, dispenserLimitHeight);
}

/** Reads and writes a decoder database. Every method may throw DATABASE_UNAVAILABLE; then close the database. */
export class DecoderStore implements BlockStore<BlockRows> {
  readonly database: ExclusiveDatabase;
  readonly #blocks: BlockWriter;
  readonly mempool: MempoolStore;
  #parseErrors: number;

  constructor(database: ExclusiveDatabase, parseErrors: number, dispenserLimitHeight: number) {
    this.database = database;
    this.#parseErrors = parseErrors;
    this.#blocks = new BlockWriter(
      <T extends object>(sql: string, values?: readonly unknown[]) => database.query<T & SqlRow>(sql, values),
      dispenserLimitHeight
    );
    this.mempool = new MempoolStore(database.pool);
  }

  /** Returns the newest block; null when there is none. */
  async readTip(): Promise<BlockRef | null> {
    const [row] = await this.database.query<{ height: number; hash: string }>(
      `SELECT b.block_index AS height, h.hash FROM blocks b JOIN index_transactions h ON h.id = b.block_hash_id
       ORDER BY b.block_index DESC LIMIT 1`
    );
    return row ? { height: row.height, hash: row.hash } : null;
  }

  /** Returns the newest blocks below a height, highest first. */
  async readBlocksBelow(height: number, limit: number): Promise<readonly BlockRef[]> {
    return await this.database.query<{ height: number; hash: string }>(
      `SELECT b.block_index AS height, h.hash FROM blocks b JOIN index_transactions h ON h.id = b.block_hash_id
       WHERE b.block_index < ? ORDER BY b.block_index DESC LIMIT ?`,
      [height, limit]
    );
  }

  /**
   * Returns marks of the scripts of dispensers: further blocks must be searched for payments to them.
   *
   * @param versions address formats of the chain
   */
  async paymentMarks(versions: AddressVersions): Promise<SortedMarks> {
    return await this.#blocks.paymentMarks(versions);
  }

  /**
   * Writes consecutive blocks in one transaction: all of them are durable when this returns, or none. The rows do not
   * depend on how many blocks are written at once.
   */
  async writeBlocks(blocks: readonly BlockRows[]): Promise<void> {
    await this.#transaction(async () => {
      const more = Map.groupBy(await this.#blocks.write(blocks), ({ height }) => height);
      // In the same transaction, so that no reader sees a transaction twice.
      for (const part of pages(blocks.flatMap(({ transactions }) => transactions.map(({ hash }) => hash))))
        await this.database.query(NO_LONGER_WAITING, [part]);
      const events = blocks.flatMap(({ height, findings }) =>
        [...findings, ...(more.get(height) ?? [])].map(({ code, hash, reason }) => {
          return { code, data: [{ block_index: height, tx_hash: hash, reason }] };
        })
      );
      await this.database.halts.noteAll(events);
    });
    this.#parseErrors += blocks.flatMap(({ findings }) => findings).filter(({ code }) => code === 'PARSE_ERROR').length;
  }

  /**
   * Deletes the newest block with its rows and records a REORG event.
   *
   * @returns the new tip
   * @throws {PlatformError} DATABASE_UNUSABLE so far below the highest block that expired dispensers may be gone
   */
  async rollBackTip(): Promise<BlockRef | null> {
    const tip = await this.readTip();
    if (!tip) return null;
    await this.#refuseForgotten(tip.height);
    await this.#transaction(async () => {
      await this.#blocks.undo(tip.height);
      await this.database.halts.note('REORG', [{ block_index: tip.height, block_hash: tip.hash }]);
    });
    return await this.readTip();
  }

  /**
   * Refuses a rollback below the kept dispensers. Expired ones are deleted after 126 blocks; deeper, a rollback would
   * leave dispensers closed that were open.
   */
  async #refuseForgotten(height: number): Promise<void> {
    const [{ highest } = { highest: null }] = await this.database.query<{ highest: number | null }>(
      "SELECT MAX(CAST(JSON_VALUE(data, '$[0].block_index') AS SIGNED)) AS highest FROM events WHERE code = 'REORG'"
    );
    if (height > Math.max(height, highest ?? 0) - KEPT_BLOCKS) return;
    const [dispenser] = await this.database.query(
      "SELECT 1 FROM transactions WHERE block_index < ? AND UPPER(data) LIKE '%DISPENSER%' LIMIT 1",
      [height]
    );
    if (!dispenser) return;
    const reason = `block ${height} cannot be rolled back, because dispensers that were open then are no longer kept: drop the database and start the decoder; it reads the chain again`;
    throw new PlatformError('DATABASE_UNUSABLE', { reason });
  }

  /** Number of transactions that could not be read, over all blocks ever written. */
  get parseErrors(): number {
    return this.#parseErrors;
  }

  async #transaction(work: () => Promise<void>): Promise<void> {
    try {
      await this.database.transaction(work);
    } catch (caught) {
      this.#blocks.forget();
      throw caught;
    }
  }
}
