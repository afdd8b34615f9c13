import { pages } from '../../db/pages.ts';
import type { Lookup, Query } from '../lookup.ts';
import { MedianClock } from '../median-clock.ts';
import type { Price } from './prices.ts';
import type { Dispenser, DispensersBefore } from './run.ts';
import { isPartySince, KEYS } from './tills.ts';

/** A question for the dispenser that takes a payment. */
interface Asked {
  readonly address: string;
  readonly addressId: number;
  readonly isOwn: boolean;
  /** Base units. */
  readonly amount: bigint;
}

/** A row by its key, with the name of its address. */
interface Place {
  readonly txIndex: number;
  readonly address: string;
  readonly addressId: number;
}

/** Reads of the dispensers in the tables, each by a key. */
export class DispenserReads implements DispensersBefore {
  readonly #query: Query;
  readonly #addresses: Lookup;
  /** Oldest takers that were read ahead, by payment; undefined where there is none. */
  readonly #takers = new Map<string, number | undefined>();
  /** Dispensers that were read ahead. */
  readonly #rows = new Map<string, Dispenser>();

  constructor(query: Query, addresses: Lookup) {
    this.#query = query;
    this.#addresses = addresses;
  }

  /** Drops what was read ahead: the tables have changed. */
  forget(): void {
    this.#takers.clear();
    this.#rows.clear();
  }

  /**
   * Reads ahead what payments will ask for, many per statement: a block may pay tens of thousands of addresses that
   * somebody has watched.
   *
   * It reads for the greatest amounts of each address alone: what the others find depends on who takes these, and a
   * search for each of them would pass all dispensers of the address.
   */
  async prepare(payments: readonly { readonly address: string; readonly amount: bigint }[]): Promise<void> {
    const byAddress = Map.groupBy(payments, ({ address }) => address);
    const ids = await this.#addresses.knownIds([...byAddress.keys()]);
    const asked: Asked[] = [];
    for (const [address, paid] of byAddress) {
      const addressId = ids.get(address);
      for (const amount of greatestOf(paid.map(({ amount }) => amount))) {
        if (this.#takers.has(takerKey(address, true, amount))) continue;
        for (const isOwn of [true, false]) {
          this.#takers.set(takerKey(address, isOwn, amount), undefined);
          if (addressId !== undefined) asked.push({ address, addressId, isOwn, amount });
        }
      }
    }
    const places = new Map<string, Place>();
    for (const part of pages(asked))
      for (const { at, txIndex } of await this.#firstTakers(part)) {
        const { address, addressId, isOwn, amount } = part[at]!;
        this.#takers.set(takerKey(address, isOwn, amount), txIndex);
        if (!this.#rows.has(rowKey(txIndex, address)))
          places.set(rowKey(txIndex, address), { txIndex, address, addressId });
      }
    for (const part of pages([...places.values()]))
      for (const row of await this.#readRows(part)) this.#rows.set(rowKey(row.txIndex, row.address), row);
  }

  async taker(address: string, isOwn: boolean, amount: bigint, from: number): Promise<number | undefined> {
    const key = takerKey(address, isOwn, amount);
    const ahead = this.#takers.get(key);
    if (this.#takers.has(key) && (ahead === undefined || ahead >= from)) return ahead;
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
    const ahead = this.#rows.get(rowKey(txIndex, address));
    if (ahead) return ahead;
    const addressId = (await this.#addresses.idOf(address))!;
    return (await this.#readRows([{ txIndex, address, addressId }]))[0]!;
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

  /** Returns the first takers of those questions that have one, by the place of the question. */
  async #firstTakers(asked: readonly Asked[]): Promise<readonly { readonly at: number; readonly txIndex: number }[]> {
    const found = await this.#query<{ at: number; txIndex: number | null }>(
      `SELECT k.at, (SELECT w.tx_index FROM dispenser_tills w FORCE INDEX (dispenser_tills_takers)
         WHERE w.address_id = k.address_id AND w.is_own = k.is_own AND w.ended IS NULL AND w.least <= k.amount
         ORDER BY w.tx_index LIMIT 1) AS txIndex
       FROM (WITH k (at, address_id, is_own, amount) AS (VALUES ?) SELECT * FROM k) k`,
      [asked.map(({ addressId, isOwn, amount }, at) => [at, addressId, isOwn, String(amount)])]
    );
    return found.flatMap(({ at, txIndex }) => (txIndex === null ? [] : [{ at: Number(at), txIndex: Number(txIndex) }]));
  }

  async #readRows(places: readonly Place[]): Promise<readonly Dispenser[]> {
    const keys = places.map(({ txIndex, addressId }) => [txIndex, addressId]);
    type Row = Omit<Dispenser, 'address' | 'prices'> & Key;
    const found = await this.#query<Row>(
      `SELECT tx_index AS txIndex, address_id AS addressId, o.address AS oracleAddress, s.address AS source, d.expiration,
         d.expired_block_index AS expiredAt
       FROM ${KEYS} STRAIGHT_JOIN dispensers d USING (tx_index, address_id) STRAIGHT_JOIN transactions t USING (tx_index)
       STRAIGHT_JOIN index_addresses s ON s.id = t.source_id LEFT JOIN index_addresses o ON o.id = d.oracle_address_id`,
      [keys]
    );
    const rows = new Map(found.map(({ addressId, ...row }) => [`${row.txIndex} ${addressId}`, row]));
    const pricesOf = await this.#readPrices(keys);
    return places.map(({ txIndex, address, addressId }) => {
      const key = `${txIndex} ${addressId}`;
      return { ...rows.get(key)!, txIndex, address, prices: pricesOf(key) };
    });
  }

  /**
   * Reads the prices of rows. Payments that an earlier release counted without a price count for the highest.
   *
   * @param keys transactions and ids of addresses
   * @returns a function from a key, as text, to the prices of its row
   */
  async #readPrices(keys: readonly unknown[]): Promise<(key: string) => readonly Price[]> {
    type Row = Key & { readonly least: string; readonly count: number };
    const columns = 'tx_index AS txIndex, address_id AS addressId';
    const asked = await this.#query<Row>(
      `SELECT ${columns}, CAST(w.least AS CHAR) AS least, dispensers AS count
       FROM ${KEYS} STRAIGHT_JOIN dispenser_watches w USING (tx_index, address_id) ORDER BY w.least`,
      [keys]
    );
    const paid = await this.#query<Row>(
      `SELECT ${columns}, CAST(p.least AS CHAR) AS least, SUM(payments) AS count
       FROM ${KEYS} STRAIGHT_JOIN dispenser_payments p USING (tx_index, address_id)
       GROUP BY tx_index, address_id, p.least`,
      [keys]
    );
    const askedBy = Map.groupBy(asked, keyOf);
    const paidBy = Map.groupBy(paid, keyOf);
    return (key) => pricesFrom(askedBy.get(key) ?? [], paidBy.get(key) ?? []);
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

/** Key of a row. */
interface Key {
  readonly txIndex: number;
  readonly addressId: number;
}

const keyOf = ({ txIndex, addressId }: Key) => `${txIndex} ${addressId}`;
const rowKey = (txIndex: number, address: string) => `${txIndex} ${address}`;
const takerKey = (address: string, isOwn: boolean, amount: bigint) => `${isOwn} ${amount} ${address}`;

/** Amounts of an address that are read ahead. */
const MOST_AMOUNTS = 3;

function greatestOf(amounts: readonly bigint[]): readonly bigint[] {
  return [...new Set(amounts)].sort((a, b) => (a < b ? 1 : -1)).slice(0, MOST_AMOUNTS);
}

/** A price, and how many dispensers have it, or payments reached it. */
interface Counted {
  readonly least: string;
  readonly count: number;
}

function pricesFrom(asked: readonly Counted[], paid: readonly Counted[]): readonly Price[] {
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

/** Prices of rows of an earlier release, which have no watch: any payment may be for them. */
const ANY_PAYMENT: readonly Price[] = [{ least: 0n, dispensers: 1, payments: 0 }];
/** Blocks per query: about a day of a chain with ten-minute blocks. */
const TIMES_PER_QUERY = 200;
