import type { Pool } from 'mysql2/promise';
import { databaseError, preparedRows, rows, type SqlRow } from '../db/core/connection.ts';

/** A stored coin. */
export interface StoredCoin {
  readonly outpoint: Buffer;
  /** Base units. */
  readonly value: bigint;
  readonly height: number;
}

/** Coins of one script behind a place, and the block that they are of. */
export interface CoinPage {
  readonly coins: readonly StoredCoin[];
  /** Height of the last block; -1 before the first. */
  readonly tip: number;
}

/** What a script has and ever had. */
export interface ScriptSummary {
  /** Base units of confirmed coins that may be spent in the next block. */
  readonly confirmed: bigint;
  /** Base units of everything that was ever paid to it in blocks. */
  readonly received: bigint;
  readonly coins: number;
  /** Height of the first block that paid to it; null: none did. */
  readonly firstHeight: number | null;
}

/** Rewards so young may not be spent in the next block. */
const immature = 'is_coinbase = 1 AND height > (SELECT MAX(block_index) FROM blocks) + 1 - ?';

/** Reads beside the writer: each statement sees whole groups of blocks. Every method may throw DATABASE_UNAVAILABLE. */
export class CoinReader {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Coins in the order of their outpoints.
   *
   * @param after  an outpoint; empty: from the first
   * @param maturity  blocks after which a reward may be spent
   */
  async page(scriptHash: Buffer, after: Buffer, limit: number, maturity: number): Promise<CoinPage> {
    // The tip and the coins of one moment; their union is sent as it is read.
    const [tip, ...found] = await this.#prepared<{ outpoint: Buffer; value: string; height: number }>(
      `(SELECT MAX(block_index) AS height, NULL AS outpoint, NULL AS value FROM blocks)
       UNION ALL (SELECT height, outpoint, CAST(value AS CHAR) FROM coins
         WHERE script_hash = ? AND outpoint > ? AND NOT (${immature}) ORDER BY outpoint LIMIT ?)`,
      [scriptHash, after, maturity, limit]
    );
    return {
      coins: found.map(({ outpoint, value, height }) => ({ outpoint, value: BigInt(value), height })),
      tip: tip?.height ?? -1
    };
  }

  async summary(scriptHash: Buffer, maturity: number): Promise<ScriptSummary> {
    const [[sums], [script]] = await Promise.all([
      this.#rows<{ value: string | null; coins: number }>(
        `SELECT CAST(SUM(value) AS CHAR) AS value, COUNT(*) AS coins FROM coins WHERE script_hash = ? AND NOT (${immature})`,
        [scriptHash, maturity]
      ),
      this.#rows<{ first: number; received: string }>(
        'SELECT first_height AS first, CAST(received AS CHAR) AS received FROM scripts WHERE script_hash = ?',
        [scriptHash]
      )
    ]);
    return {
      confirmed: BigInt(sums?.value ?? 0),
      received: BigInt(script?.received ?? 0),
      coins: Number(sums?.coins ?? 0),
      firstHeight: script?.first ?? null
    };
  }

  /** Whose coins stand at these places, as far as they are stored. */
  async owners(
    outpoints: readonly Buffer[]
  ): Promise<readonly { readonly outpoint: Buffer; readonly scriptHash: Buffer; readonly value: bigint }[]> {
    if (outpoints.length === 0) return [];
    const found = await this.#rows<{ outpoint: Buffer; scriptHash: Buffer; value: string }>(
      'SELECT outpoint, script_hash AS scriptHash, CAST(value AS CHAR) AS value FROM coins WHERE outpoint IN (?)',
      [outpoints]
    );
    return found.map(({ value, ...place }) => ({ ...place, value: BigInt(value) }));
  }

  /** As `#rows`, parsed by MariaDB once for each connection. */
  async #prepared<T extends object>(sql: string, values: readonly (Buffer | number)[]): Promise<(T & SqlRow)[]> {
    try {
      return await preparedRows<T & SqlRow>(this.#pool, sql, values);
    } catch (caught) {
      throw databaseError(caught);
    }
  }

  async #rows<T extends object>(sql: string, values: readonly unknown[]): Promise<(T & SqlRow)[]> {
    try {
      return await rows<T & SqlRow>(this.#pool, sql, values);
    } catch (caught) {
      throw databaseError(caught);
    }
  }
}
