import { pages } from '../db/pages.ts';
import type { BlockRows, Finding, TransactionRow } from './block-rows.ts';
import { type Dispenser, DispenserBook, type DispenserChanges, type Extension, type Price } from './dispenser-book.ts';
import type { Lookup, Query } from './lookup.ts';
import { MedianClock } from './median-clock.ts';

/** A transaction with a row, its index and height. */
export interface PlacedTransaction extends TransactionRow {
  readonly txIndex: number;
  readonly height: number;
}

/** Result of placing blocks: transactions with rows, and findings about others. */
export interface Placed {
  readonly transactions: readonly PlacedTransaction[];
  readonly findings: readonly (Finding & { readonly height: number })[];
}

/**
 * Reads and writes the dispensers of a decoder database. Each call is part of the transaction that writes or deletes
 * its block.
 */
export class DispenserWriter {
  readonly #query: Query;
  readonly #addresses: Lookup;
  readonly #limitFrom: number;
  /** State of the tables; undefined until it is read. */
  #book: DispenserBook | undefined;

  /**
   * @param limitFrom first block whose payments to a dispenser count against the number that it can serve; Infinity for
   *   never
   */
  constructor(query: Query, addresses: Lookup, limitFrom: number) {
    this.#query = query;
    this.#addresses = addresses;
    this.#limitFrom = limitFrom;
  }

  /** Returns addresses to whose payments further blocks must be searched. */
  async addresses(): Promise<readonly string[]> {
    return (await this.#opened()).addresses();
  }

  /**
   * Decides, in the order of the chain, which transactions have a row, which outputs pay an open dispenser, and how
   * dispensers change.
   *
   * Two kinds of transactions have no row: those without an action that pay no dispenser, and those that pay from a
   * script without an address, because a ledger could serve nobody.
   *
   * @param first index of the first transaction with a row
   */
  async place(blocks: readonly BlockRows[], first: number): Promise<Placed> {
    const book = await this.#opened();
    const transactions: PlacedTransaction[] = [];
    const findings: (Finding & { height: number })[] = [];
    for (const block of blocks) {
      const { height } = block;
      book.enter(height, block.time);
      for (const transaction of block.transactions) {
        const { hash, source, data } = transaction;
        if (data === '' && source === '') {
          const isLost = transaction.outputs.some(({ address, amount }) => book.isTaken(address, amount));
          if (isLost) findings.push({ code: 'PAYER_UNKNOWN', hash, reason: PAYER_UNKNOWN, height });
          continue;
        }
        const outputs = transaction.outputs.filter(({ isPayment, isNeeded, address, amount }) => {
          if (data !== '' || !isPayment) return isNeeded || !isPayment;
          return !book.isOwnChange(source, address) && book.take(address, amount);
        });
        if (data === '' && outputs.length === 0) continue;
        const row = { ...transaction, outputs, height, txIndex: first + transactions.length };
        transactions.push(row);
        book.apply(row);
      }
    }
    return { transactions, findings };
  }

  /**
   * Writes the changes of the placed transactions and deletes what no rollback can restore. Their addresses must have
   * ids.
   */
  async write(): Promise<void> {
    const book = await this.#opened();
    const { rows, extensions, payments, forgotten } = book.takeChanges();
    const { ids } = await this.#addresses.idsOf([
      [
        ...rows.flatMap(({ address, oracleAddress }) => [address, oracleAddress ?? '']),
        ...payments.map(({ dispenser }) => dispenser.address),
        ...extensions.map(({ address }) => address)
      ]
    ]);
    const idOf = (address: string) => ids.get(address)!;
    const insert = async (into: string, values: readonly (readonly unknown[])[], more = '') => {
      for (const part of pages(values)) await this.#query(`INSERT INTO ${into} VALUES ? ${more}`, [part]);
    };
    await insert(
      'dispensers (tx_index, address_id, expiration, oracle_address_id, expired_block_index)',
      rows.map(({ txIndex, address, expiration, oracleAddress, expiredAt }) => [
        txIndex,
        idOf(address),
        expiration,
        oracleAddress && idOf(oracleAddress),
        expiredAt
      ]),
      'ON DUPLICATE KEY UPDATE expired_block_index = VALUES(expired_block_index)'
    );
    await insert(
      'dispenser_watches (tx_index, address_id, least, dispensers)',
      rows.flatMap(({ txIndex, address, prices }) =>
        prices.map(({ least, dispensers }) => [txIndex, idOf(address), String(least), dispensers])
      ),
      'ON DUPLICATE KEY UPDATE dispensers = VALUES(dispensers)'
    );
    await insert(
      'dispenser_extensions (block_index, address_id, expiration)',
      extensions.map(({ height: at, address, expiration }) => [at, idOf(address), expiration]),
      'ON DUPLICATE KEY UPDATE expiration = VALUES(expiration)'
    );
    await insert(
      'dispenser_payments (block_index, tx_index, address_id, least, payments)',
      payments.map(({ height: at, dispenser: { txIndex, address }, least, count }) => [
        at,
        txIndex,
        idOf(address),
        String(least),
        count
      ])
    );
    await this.#purge(forgotten);
  }

  /** Undoes a block. Must run before its transactions are deleted. */
  async undo(height: number): Promise<void> {
    this.forget();
    for (const table of ['dispenser_extensions', 'dispenser_payments'])
      await this.#query(`DELETE FROM ${table} WHERE block_index = ?`, [height]);
    await this.#query('UPDATE dispensers SET expired_block_index = NULL WHERE expired_block_index = ?', [height]);
    for (const table of ['dispenser_watches', 'dispensers'])
      await this.#query(`DELETE d FROM ${table} d JOIN transactions t USING (tx_index) WHERE t.block_index = ?`, [
        height
      ]);
  }

  /** Drops cached state: the next call reads the tables. */
  forget(): void {
    this.#book = undefined;
  }

  async #purge({ rows, extensions }: DispenserChanges['forgotten']): Promise<void> {
    const { ids } = await this.#addresses.idsOf([[...rows, ...extensions].map(({ address }) => address)]);
    for (const part of pages(rows)) {
      const keys = part.map(({ txIndex, address }) => [txIndex, ids.get(address)!]);
      for (const table of ['dispensers', 'dispenser_payments', 'dispenser_watches'])
        await this.#query(`DELETE FROM ${table} WHERE (tx_index, address_id) IN (?)`, [keys]);
    }
    for (const { address, height: last } of extensions) {
      await this.#query('DELETE FROM dispenser_extensions WHERE address_id = ? AND block_index <= ?', [
        ids.get(address)!,
        last
      ]);
    }
  }

  async #opened(): Promise<DispenserBook> {
    this.#book ??= new DispenserBook(
      {
        dispensers: await this.#readDispensers(),
        extensions: await this.#query<Extension>(
          `SELECT block_index AS height, a.address, expiration FROM dispenser_extensions
           JOIN index_addresses a ON a.id = address_id`
        ),
        clock: await this.#readClock()
      },
      this.#limitFrom
    );
    return this.#book;
  }

  async #readDispensers(): Promise<Dispenser[]> {
    const found = await this.#query<Omit<Dispenser, 'prices'> & { readonly addressId: number }>(
      `SELECT d.tx_index AS txIndex, d.address_id AS addressId, a.address, o.address AS oracleAddress, s.address AS source,
         d.expiration, d.expired_block_index AS expiredAt
       FROM dispensers d JOIN index_addresses a ON a.id = d.address_id
       JOIN transactions t ON t.tx_index = d.tx_index JOIN index_addresses s ON s.id = t.source_id
       LEFT JOIN index_addresses o ON o.id = d.oracle_address_id ORDER BY d.tx_index, d.address_id`
    );
    const prices = await this.#readPrices();
    return found.map(({ addressId, ...row }) => {
      return { ...row, prices: prices.get(`${row.txIndex} ${addressId}`) ?? ANY_PAYMENT };
    });
  }

  /**
   * Returns prices by transaction and address. Payments that an earlier release counted without a price count for the
   * highest.
   */
  async #readPrices(): Promise<ReadonlyMap<string, readonly Price[]>> {
    type Row = { readonly place: string; readonly least: string; readonly count: number };
    const place = "CONCAT(tx_index, ' ', address_id) AS place, CAST(least AS CHAR) AS least";
    const asked = await this.#query<Row>(
      `SELECT ${place}, dispensers AS count FROM dispenser_watches ORDER BY tx_index, address_id, dispenser_watches.least`
    );
    const paid = await this.#query<Row>(
      `SELECT ${place}, SUM(payments) AS count FROM dispenser_payments GROUP BY tx_index, address_id, dispenser_payments.least`
    );
    const counted = Map.groupBy(paid, (row) => row.place);
    const prices = new Map<string, readonly Price[]>();
    for (const [at, rows] of Map.groupBy(asked, (row) => row.place)) {
      const leasts = rows.map(({ least }) => least);
      const highest = leasts.at(-1);
      const payments = (counted.get(at) ?? []).map(({ least, count }) => {
        return { least: leasts.includes(least) ? least : highest, count: Number(count) };
      });
      const all = rows.map(({ least, count }) => ({
        least: BigInt(least),
        dispensers: Number(count),
        payments: payments.reduce((sum, one) => sum + (one.least === least ? one.count : 0), 0)
      }));
      prices.set(at, all);
    }
    return prices;
  }

  /** Returns the clock at the newest block. It needs the blocks of at least an hour. */
  async #readClock(): Promise<MedianClock> {
    const times: number[] = [];
    for (let below = Number.MAX_SAFE_INTEGER; ; ) {
      const found = await this.#query<{ block: number; time: number }>(
        `SELECT block_index AS block, block_time AS time FROM blocks WHERE block_index < ?
         ORDER BY block_index DESC LIMIT ${TIMES_PER_QUERY}`,
        [below]
      );
      times.unshift(...found.map(({ time }) => Number(time)).reverse());
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
const PAYER_UNKNOWN = 'it pays a dispenser from a script without an address, so no ledger serves it';
