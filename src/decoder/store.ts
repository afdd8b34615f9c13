import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolConnection } from 'mysql2/promise';
import type { BlockRef, BlockStore, RollbackHalt } from '../chain/work.ts';
import { databaseError, openPool, rows, type SqlRow } from '../db/core/connection.ts';
import { PlatformError } from '../errors.ts';
import type { DatabaseCoordinates } from '../wire/database.ts';
import type { BlockRows } from './block-rows.ts';
import { BlockWriter } from './block-writer.ts';
import { MempoolStore } from './mempool-store.ts';
import { migrate } from './migrations.ts';
import { createDecoderDatabase } from './schema.ts';

const POOL_SIZE = 10;
const LOCK_WAIT_S = 2;
const CLOSE_LIMIT_MS = 2_000;
const DEFAULT_QUERY_TIMEOUT_MS = 30_000;

/** Name of the advisory lock that the one writer of a database holds. */
export function writerLock({ name }: Pick<DatabaseCoordinates, 'name'>): string {
  return `decoder ${name}`;
}

/**
 * Opens a decoder database for writing, making it when it is missing and bringing its definitions up to date.
 *
 * There is one writer at a time: the advisory lock is held until `close`, or until the connection is lost.
 *
 * @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE, MIGRATION_CHANGED
 */
export async function openDecoderStore(
  database: DatabaseCoordinates,
  queryTimeoutMs = DEFAULT_QUERY_TIMEOUT_MS
): Promise<DecoderStore> {
  let pool: Pool | undefined;
  try {
    await createDecoderDatabase(database);
    pool = openPool(database, POOL_SIZE);
    pool.pool.on('connection', (raw) => {
      raw.query(`SET SESSION max_statement_time = ${queryTimeoutMs / 1000}`, (fault) => fault && raw.destroy());
    });
    const writer = await pool.getConnection();
    writer.on('error', () => undefined); // told to the statement that waits, or to the next one
    const [lock] = await rows(writer, 'SELECT GET_LOCK(?, ?) AS taken', [writerLock(database), LOCK_WAIT_S]);
    if (lock?.['taken'] !== 1) {
      throw new PlatformError('DATABASE_UNAVAILABLE', {
        reason: 'another decoder holds the writer lock of this database'
      });
    }
    await migrate(writer, ['auto']);
    const [counted] = await rows(writer, "SELECT COUNT(*) AS count FROM events WHERE code = 'PARSE_ERROR'");
    return new DecoderStore(pool, writer, queryTimeoutMs, Number(counted?.['count'] ?? 0));
  } catch (caught) {
    await endPool(pool);
    throw databaseError(caught, { database: database.name });
  }
}

/** All that the decoder reads and writes. Every method may throw DATABASE_UNAVAILABLE; the store is then to be closed. */
export class DecoderStore implements BlockStore<BlockRows> {
  readonly #pool: Pool;
  readonly #writer: PoolConnection;
  readonly #queryTimeoutMs: number;
  readonly #blocks: BlockWriter;
  readonly mempool: MempoolStore;
  #parseErrors: number;

  constructor(pool: Pool, writer: PoolConnection, queryTimeoutMs: number, parseErrors: number) {
    this.#parseErrors = parseErrors;
    this.#pool = pool;
    this.#writer = writer;
    this.#queryTimeoutMs = queryTimeoutMs;
    this.#blocks = new BlockWriter(<T extends object>(sql: string, values?: readonly unknown[]) =>
      this.#query<T & SqlRow>(sql, values)
    );
    this.mempool = new MempoolStore(pool);
  }

  /** The newest block; null when there is none. */
  async readTip(): Promise<BlockRef | null> {
    const [row] = await this.#query<{ height: number; hash: string }>(
      `SELECT b.block_index AS height, h.hash FROM blocks b JOIN index_transactions h ON h.id = b.block_hash_id
       ORDER BY b.block_index DESC LIMIT 1`
    );
    return row ? { height: row.height, hash: row.hash } : null;
  }

  /** The newest blocks below a height, highest first. */
  async readBlocksBelow(height: number, limit: number): Promise<readonly BlockRef[]> {
    return await this.#query<{ height: number; hash: string }>(
      `SELECT b.block_index AS height, h.hash FROM blocks b JOIN index_transactions h ON h.id = b.block_hash_id
       WHERE b.block_index < ? ORDER BY b.block_index DESC LIMIT ?`,
      [height, limit]
    );
  }

  /** Addresses whose payments are to be looked for in the blocks behind the newest: those of dispensers. */
  async paidAddresses(): Promise<readonly string[]> {
    return await this.#blocks.paidAddresses();
  }

  /**
   * Blocks in a row, and all that belongs to them, are durable when this returns, or nothing of them is. What is written does not
   * depend on how many blocks are written at once.
   */
  async writeBlocks(blocks: readonly BlockRows[]): Promise<void> {
    await this.#transaction(async () => {
      await this.#blocks.write(blocks);
      for (const { height, findings } of blocks) {
        for (const { code, hash, reason } of findings) {
          await this.#recordEvent(code, [{ block_index: height, tx_hash: hash, reason }]);
        }
      }
    });
    this.#parseErrors += blocks.flatMap(({ findings }) => findings).filter(({ code }) => code === 'PARSE_ERROR').length;
  }

  /** Deletes the newest block with all that it brought, and records it as REORG. @returns the new tip */
  async rollBackTip(): Promise<BlockRef | null> {
    const tip = await this.readTip();
    if (!tip) return null;
    await this.#transaction(async () => {
      await this.#blocks.undo(tip.height);
      await this.#recordEvent('REORG', [{ block_index: tip.height, block_hash: tip.hash }]);
    });
    return await this.readTip();
  }

  /** The halt that stands: the last word on it is neither an operator's nor a rollback's. */
  async readHalt(): Promise<RollbackHalt | null> {
    const last = await this.#lastVerdict();
    return last?.code === 'HALT' ? (JSON.parse(last.data) as [RollbackHalt])[0] : null;
  }

  /** Whether an operator has allowed the rollback that was refused at this height. */
  async isRollbackAllowed(height: number): Promise<boolean> {
    const last = await this.#lastVerdict();
    return last?.code === 'HALT_CLEARED' && (JSON.parse(last.data) as [RollbackHalt])[0].block_index === height;
  }

  async recordHalt(halt: RollbackHalt): Promise<void> {
    await this.#recordEvent('HALT', [halt]);
  }

  /** An operator's word: the rollback that was refused may happen. @returns the halt that stood, null when none did */
  async clearHalt(): Promise<RollbackHalt | null> {
    const halt = await this.readHalt();
    if (halt) await this.#recordEvent('HALT_CLEARED', [{ block_index: halt.block_index }]);
    return halt;
  }

  /** Transactions that could not be read, of all blocks that were ever written. */
  get parseErrors(): number {
    return this.#parseErrors;
  }

  /** Whether the database answers in time, on a connection of its own. */
  async probe(limitMs: number): Promise<boolean> {
    const late = sleep(limitMs, false, { ref: false });
    const answer = rows(this.#pool, 'SELECT 1').then(
      () => true,
      () => false
    );
    return await Promise.race([answer, late]);
  }

  /** Lets go of all connections; the lock goes with them. */
  async close(): Promise<void> {
    this.#writer.destroy();
    await endPool(this.#pool);
  }

  async #lastVerdict(): Promise<{ code: string; data: string } | undefined> {
    const [last] = await this.#query<{ code: string; data: string }>(
      "SELECT code, data FROM events WHERE code IN ('HALT', 'HALT_CLEARED', 'REORG') ORDER BY id DESC LIMIT 1"
    );
    return last;
  }

  async #recordEvent(code: string, data: readonly object[]): Promise<void> {
    await this.#query('INSERT INTO events (time, code, data) VALUES (?)', [
      [Math.floor(Date.now() / 1000), code, JSON.stringify(data)]
    ]);
  }

  async #transaction(work: () => Promise<void>): Promise<void> {
    await this.#query('START TRANSACTION');
    try {
      await work();
      await this.#query('COMMIT');
    } catch (caught) {
      this.#writer.destroy(); // rolls back, whatever state the connection is in
      this.#blocks.forget();
      throw caught;
    }
  }

  async #query<T extends SqlRow = SqlRow>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.#writer.destroy();
      const reason = `MariaDB did not answer within ${this.#queryTimeoutMs} ms`;
      reject(new PlatformError('DATABASE_UNAVAILABLE', { reason }));
    }, this.#queryTimeoutMs + 1_000); // the server's own limit first
    try {
      return await Promise.race([rows<T>(this.#writer, sql, values), late]);
    } catch (caught) {
      throw databaseError(caught);
    } finally {
      clearTimeout(timer);
    }
  }
}

async function endPool(pool: Pool | undefined): Promise<void> {
  const ended = pool?.end().catch(() => undefined);
  await Promise.race([ended, sleep(CLOSE_LIMIT_MS, undefined, { ref: false })]);
}
