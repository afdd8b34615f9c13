import type { Pool } from 'mysql2/promise';
import { type Connection, databaseError, isDriverError, readFault, rows, type SqlRow } from '../../db/connection.ts';
import { inSnapshot } from '../../db/in-snapshot.ts';
import { pages } from '../../db/pages.ts';
import { streamRowBytes, type TakeRowBytes } from '../../db/row-stream.ts';
import type { BlockRef } from '../../follower/work.ts';
import type { Digits } from './coin-json.ts';
import { OUTPOINT_BYTES } from './records.ts';

/**
 * Receives a coin of a page while it is read. The bytes are valid during the call only.
 *
 * @param outpointAt offset of the outpoint in the value's bytes
 * @param maturity blocks that a coin needs before it may be spent
 */
type TakeCoin = (outpointAt: number, value: Digits, height: number, maturity: number) => void;

/** Totals of a script. */
interface ScriptSummary {
  /** Base units of confirmed coins that may be spent in the next block. */
  readonly confirmed: bigint;
  /** Base units that blocks ever paid to it. */
  readonly received: bigint;
  readonly coins: number;
  /** Height of the first block that paid to it; null when none did. */
  readonly firstHeight: number | null;
}

/** Condition for coins that may be spent in the next block. */
const MATURE = 'height + maturity <= (SELECT MAX(block_index) FROM blocks) + 1';

const PAGE = {
  table: 'coins',
  columns: [],
  sql: `SELECT height, outpoint, value, maturity FROM coins FORCE INDEX (coins_script)
    WHERE script_hash = ? AND outpoint > ? AND ${MATURE} ORDER BY outpoint LIMIT ?`
};
/** Most outpoints in one statement. */
const OUTPOINTS = 5_000;
/** Signal that never aborts: the statement's own limit ends it. */
const NEVER = new AbortController().signal;

/** A stored coin with its script. */
interface CoinOwner {
  readonly outpoint: Buffer;
  readonly scriptHash: Buffer;
  /** Base units. */
  readonly value: bigint;
}

/** A page of a script's coins. */
interface CoinPage {
  readonly scriptHash: Buffer;
  /** Outpoint of the last coin before the page; empty for the first page. */
  readonly after: Buffer;
  readonly limit: number;
}

/** Reads coins on connections other than the writer's. Every method may throw DATABASE_UNAVAILABLE. */
export class CoinReader {
  readonly #pool: Pool;
  readonly #limitMs: number;

  /** @param limitMs longest time of a look, in milliseconds: longer than MariaDB lets a statement take */
  constructor(pool: Pool, limitMs: number) {
    this.#pool = pool;
    this.#limitMs = limitMs;
  }

  /** Runs several reads on one snapshot, which never shows a part of a group of blocks. */
  async look<T>(read: (coins: CoinView) => Promise<T>): Promise<T> {
    const connection = await this.#pool.getConnection().catch((caught: unknown) => {
      throw databaseError(caught);
    });
    // One that says nothing any more would keep its place in the pool for ever.
    const timer = setTimeout(() => connection.destroy(), this.#limitMs);
    try {
      const found = await inSnapshot(connection, () => read(new CoinView(connection)));
      connection.release();
      return found;
    } catch (caught) {
      connection.destroy();
      throw isDriverError(caught) ? readFault(caught) : caught;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Returns the stored coins at some outpoints, with their scripts. Each 5,000 are a look with a limit of its own, so a block may
   * change the coins between them.
   */
  async owners(outpoints: readonly Buffer[]): Promise<readonly CoinOwner[]> {
    const owners: CoinOwner[] = [];
    for (const part of pages(outpoints, OUTPOINTS))
      for (const owner of await this.look((coins) => coins.owners(part))) owners.push(owner);
    return owners;
  }
}

/** The stored coins in one snapshot. */
export class CoinView {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Returns the newest block; null when there is none. */
  async newest(): Promise<BlockRef | null> {
    const [block] = await this.#rows<BlockRef>(
      'SELECT block_index AS height, LOWER(HEX(hash)) AS hash FROM blocks ORDER BY block_index DESC LIMIT 1',
      []
    );
    return block ? { height: block.height, hash: block.hash } : null;
  }

  /** Streams coins in the order of their outpoints. */
  async page({ scriptHash, after, limit }: CoinPage, take: TakeCoin): Promise<void> {
    const takeRow: TakeRowBytes = (bytes, start) => {
      const heightAt = start + 1;
      const outpointAt = heightAt + bytes[start]! + 1;
      const valueAt = outpointAt + OUTPOINT_BYTES + 1;
      const value = { bytes, from: valueAt, to: valueAt + bytes[valueAt - 1]! };
      const maturity = numberIn(bytes, value.to + 1, value.to + 1 + bytes[value.to]!);
      take(outpointAt, value, numberIn(bytes, heightAt, outpointAt - 1), maturity);
      return undefined;
    };
    await streamRowBytes(this.#connection, { ...PAGE, values: [scriptHash, after, limit] }, takeRow, NEVER);
  }

  /** Returns the totals of a script. @param scriptHash SHA-256 of the script */
  async summary(scriptHash: Buffer): Promise<ScriptSummary> {
    const [[sums], [script]] = await Promise.all([
      this.#rows<{ value: string | null; coins: number }>(
        `SELECT CAST(SUM(value) AS CHAR) AS value, COUNT(*) AS coins FROM coins FORCE INDEX (coins_script) WHERE script_hash = ? AND ${MATURE}`,
        [scriptHash]
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

  /** Returns the stored coins at some outpoints, with their scripts. */
  async owners(outpoints: readonly Buffer[]): Promise<readonly CoinOwner[]> {
    const owners: CoinOwner[] = [];
    for (const part of pages(outpoints, OUTPOINTS)) {
      const found = await this.#rows<{ outpoint: Buffer; scriptHash: Buffer; value: string }>(
        'SELECT outpoint, script_hash AS scriptHash, CAST(value AS CHAR) AS value FROM coins WHERE outpoint IN (?)',
        [part]
      );
      for (const { value, ...place } of found) owners.push({ ...place, value: BigInt(value) });
    }
    return owners;
  }

  async #rows<T extends object>(sql: string, values: readonly unknown[]): Promise<(T & SqlRow)[]> {
    try {
      return await rows<T & SqlRow>(this.#connection, sql, values);
    } catch (caught) {
      throw readFault(caught);
    }
  }
}

function numberIn(bytes: Buffer, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) number = 10 * number + bytes[at]! - 0x30;
  return number;
}
