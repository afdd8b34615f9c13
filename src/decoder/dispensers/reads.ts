import type { Lookup, Query } from '../lookup.ts';
import { MedianClock } from '../median-clock.ts';
import type { Price } from './prices.ts';
import type { Dispenser, DispensersBefore } from './run.ts';
import { isPartySince } from './tills.ts';

/** Reads of the dispensers in the tables, each by a key. */
export class DispenserReads implements DispensersBefore {
  readonly #query: Query;
  readonly #addresses: Lookup;

  constructor(query: Query, addresses: Lookup) {
    this.#query = query;
    this.#addresses = addresses;
  }

  async taker(address: string, isOwn: boolean, amount: bigint, from: number): Promise<number | undefined> {
    const id = await this.#addresses.idOf(address);
    if (id === undefined) return undefined;
    const [found] = await this.#query<{ txIndex: number }>(
      `SELECT tx_index AS txIndex FROM dispenser_tills FORCE INDEX (dispenser_tills_takers)
       WHERE address_id = ? AND is_own = ? AND ended IS NULL AND tx_index >= ? AND least <= ? ORDER BY tx_index LIMIT 1`,
      [id, isOwn, from, String(amount)]
    );
    return found && Number(found.txIndex);
  }

  async dispenser(txIndex: number, address: string): Promise<Dispenser> {
    const key = [txIndex, await this.#addresses.idOf(address)];
    const [found] = await this.#query<Omit<Dispenser, 'txIndex' | 'address' | 'prices'>>(
      `SELECT o.address AS oracleAddress, s.address AS source, d.expiration, d.expired_block_index AS expiredAt
       FROM dispensers d JOIN transactions t ON t.tx_index = d.tx_index JOIN index_addresses s ON s.id = t.source_id
       LEFT JOIN index_addresses o ON o.id = d.oracle_address_id WHERE d.tx_index = ? AND d.address_id = ?`,
      key
    );
    return { txIndex, address, ...found!, prices: await this.#readPrices(key) };
  }

  async extendedTo(address: string): Promise<number> {
    const [found] = await this.#query<{ latest: number | null }>(
      'SELECT MAX(expiration) AS latest FROM dispenser_extensions WHERE address_id = ?',
      [(await this.#addresses.idOf(address)) ?? null]
    );
    return Number(found?.latest ?? 0);
  }

  async isParty(address: string, height: number): Promise<boolean> {
    const id = await this.#addresses.idOf(address);
    if (id === undefined) return false;
    const found = await this.#query(`SELECT 1 FROM DUAL WHERE ${isPartySince(String(id))}`, [height, height]);
    return found.length > 0;
  }

  /**
   * Returns the prices of a row. Payments that an earlier release counted without a price count for the highest.
   *
   * @param key transaction and address
   */
  async #readPrices(key: readonly unknown[]): Promise<readonly Price[]> {
    type Row = { readonly least: string; readonly count: number };
    const asked = await this.#query<Row>(
      `SELECT CAST(w.least AS CHAR) AS least, dispensers AS count FROM dispenser_watches w
       WHERE tx_index = ? AND address_id = ? ORDER BY w.least`,
      key
    );
    const paid = await this.#query<Row>(
      `SELECT CAST(p.least AS CHAR) AS least, SUM(payments) AS count FROM dispenser_payments p
       WHERE tx_index = ? AND address_id = ? GROUP BY p.least`,
      key
    );
    const highest = asked.at(-1)?.least;
    if (highest === undefined) return ANY_PAYMENT;
    const known = new Set(asked.map(({ least }) => least));
    const counts = new Map<string, number>();
    for (const { least, count } of paid) {
      const at = known.has(least) ? least : highest;
      counts.set(at, (counts.get(at) ?? 0) + Number(count));
    }
    return asked.map(({ least, count }) => {
      return { least: BigInt(least), dispensers: Number(count), payments: counts.get(least) ?? 0 };
    });
  }

  /** Returns the clock at the newest block. It needs the blocks of at least an hour. */
  async clock(): Promise<MedianClock> {
    let times: readonly number[] = [];
    for (let below = Number.MAX_SAFE_INTEGER; ; ) {
      const found = await this.#query<{ block: number; time: number }>(
        `SELECT block_index AS block, block_time AS time FROM blocks WHERE block_index < ?
         ORDER BY block_index DESC LIMIT ${TIMES_PER_QUERY}`,
        [below]
      );
      times = [...found.map(({ time }) => Number(time)).reverse(), ...times];
      const isCut = found.length === TIMES_PER_QUERY;
      const clock = new MedianClock(times, isCut);
      if (!isCut || clock.aged !== Number.NEGATIVE_INFINITY) return clock;
      below = Number(found.at(-1)!.block);
    }
  }
}

/** Prices of rows of an earlier release, which have no watch: any payment may be for them. */
const ANY_PAYMENT: readonly Price[] = [{ least: 0n, dispensers: 1, payments: 0 }];
/** Blocks per query: about a day of a chain with ten-minute blocks. */
const TIMES_PER_QUERY = 200;
