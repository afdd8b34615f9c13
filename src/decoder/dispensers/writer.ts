import type { AddressVersions } from '../../coin/chains.ts';
import type { SortedMarks } from '../../coin/script/sorted-marks.ts';
import { pages } from '../../db/pages.ts';
import type { BlockRows, Finding, OutputRow, TransactionRow } from '../block-rows.ts';
import type { Lookup, Query } from '../lookup.ts';
import type { MedianClock } from '../median-clock.ts';
import { DispenserEnds } from './ends.ts';
import { DispenserForgetting, type DispenserKey } from './forgetting.ts';
import { PaymentMarks } from './payment-marks.ts';
import { leastOf } from './prices.ts';
import { DispenserReads } from './reads.ts';
import { DispenserRun, type Stops } from './run.ts';

/** A transaction with a row, its index and height. */
export interface PlacedTransaction extends TransactionRow {
  readonly txIndex: number;
  readonly height: number;
}

/** Result of placing blocks: transactions with rows, and findings about others. */
export interface Placed {
  readonly transactions: readonly PlacedTransaction[];
  readonly findings: readonly (Finding & { readonly height: number })[];
  /** Number of blocks that were placed. */
  readonly count: number;
}

/**
 * Reads and writes the dispensers of a decoder database. Each call is part of the transaction that writes or deletes
 * its block.
 *
 * Anybody may have very many dispensers watched, for ever. So they stay in the tables: blocks read what they ask for.
 */
export class DispenserWriter {
  readonly #query: Query;
  readonly #addresses: Lookup;
  readonly #limitFrom: number;
  readonly #reads: DispenserReads;
  readonly #ends: DispenserEnds;
  readonly #forgetting: DispenserForgetting;
  /** Clock at the newest block; undefined until it is read. */
  #clock: MedianClock | undefined;
  /** Scripts to whose payments further blocks must be searched; undefined until somebody asks. */
  #marks: PaymentMarks | undefined;
  #run: DispenserRun | undefined;

  /**
   * @param limitFrom first block whose payments to a dispenser count against the number that it can serve; Infinity for
   *   never
   */
  constructor(query: Query, addresses: Lookup, limitFrom: number) {
    this.#query = query;
    this.#addresses = addresses;
    this.#limitFrom = limitFrom;
    this.#reads = new DispenserReads(query, addresses);
    this.#ends = new DispenserEnds(query);
    this.#forgetting = new DispenserForgetting(query);
  }

  /** Returns marks of the scripts to whose payments further blocks must be searched. */
  async marks(versions: AddressVersions): Promise<SortedMarks> {
    if (this.#marks) return this.#marks.sorted;
    const marks = new PaymentMarks(versions);
    for await (const addresses of this.#readAddresses()) marks.change(addresses, 1);
    this.#marks = marks;
    return marks.sorted;
  }

  /**
   * Decides, in the order of the chain, which transactions have a row, which outputs pay an open dispenser, and how
   * dispensers change.
   *
   * Two kinds of transactions have no row: those without an action that pay no dispenser, and those that pay from a
   * script without an address, because a ledger could serve nobody.
   *
   * @param first index of the first transaction with a row
   * @returns the first block and those that follow it, up to one at whose beginning dispensers end or are forgotten:
   *   write them, and place the others then
   */
  async place(blocks: readonly BlockRows[], first: number): Promise<Placed> {
    const run = await this.#begin(blocks[0]!.height);
    const transactions: PlacedTransaction[] = [];
    const findings: (Finding & { height: number })[] = [];
    let count = 0;
    for (const block of blocks) {
      const { height } = block;
      if (count > 0 && !run.accepts(height)) break;
      count += 1;
      const payments = paymentsIn(block);
      await this.#reads.prepare(payments);
      run.enter(height, block.time, payments);
      for (const transaction of block.transactions) {
        const { hash, source, data } = transaction;
        if (data === '' && source === '') {
          const isLost =
            (await keep(transaction.outputs, ({ address, amount }) => run.isTaken(address, amount))).length > 0;
          if (isLost) findings.push({ code: 'PAYER_UNKNOWN', hash, reason: PAYER_UNKNOWN, height });
          continue;
        }
        const outputs = await keep(transaction.outputs, async ({ isPayment, isNeeded, address, amount }) => {
          if (data !== '' || !isPayment) return isNeeded || !isPayment;
          return !run.isOwnChange(source, address) && (await run.take(address, amount));
        });
        if (data === '' && outputs.length === 0) continue;
        const row = { ...transaction, outputs, height, txIndex: first + transactions.length };
        transactions.push(row);
        await run.apply(row);
      }
    }
    return { transactions, findings, count };
  }

  /** Writes the changes of the placed transactions. Their addresses must have ids. */
  async write(): Promise<void> {
    const { dispensers: rows, openedAt, extensions, payments } = this.#run!.changes;
    this.#marks?.change(openedAt, 1);
    const { ids } = await this.#addresses.idsOf([
      [
        ...rows.flatMap(({ address, oracleAddress, source }) => [address, oracleAddress ?? '', source]),
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
      'dispenser_tills (tx_index, address_id, source_id, is_own, least, due, ended)',
      rows.map(({ txIndex, address, source, expiration, prices, expiredAt }) => [
        txIndex,
        idOf(address),
        idOf(source),
        source === address,
        String(leastOf(prices) ?? 0),
        expiredAt === null ? expiration : null,
        expiredAt
      ]),
      // An edit may have extended one of an earlier block.
      `ON DUPLICATE KEY UPDATE least = VALUES(least), ended = VALUES(ended), due = IF(VALUES(ended) IS NULL, due, NULL)`
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
  }

  /** Undoes a block. Must run before its transactions are deleted. */
  async undo(height: number): Promise<void> {
    this.#clock = undefined;
    this.#ends.forget();
    await this.#forgetting.undo(height);
    const opened = await this.#query<Key & { readonly address: string }>(
      `SELECT w.tx_index AS txIndex, w.address_id AS addressId, a.address FROM transactions t
       STRAIGHT_JOIN dispenser_tills w USING (tx_index) STRAIGHT_JOIN index_addresses a ON a.id = w.address_id
       WHERE t.block_index = ?`,
      [height]
    );
    this.#marks?.change(
      opened.map(({ address }) => address),
      -1
    );
    await this.#forgetting.delete(opened.map(keyOf));
    await this.#ends.undo(height);
    await this.#query('DELETE FROM dispenser_payments WHERE block_index = ?', [height]);
    await this.#query('DELETE FROM dispenser_extensions WHERE block_index = ?', [height]);
  }

  /** Drops cached state: the next call reads the tables. */
  forget(): void {
    this.#clock = undefined;
    this.#marks = undefined;
    this.#run = undefined;
    this.#reads.forget();
    this.#ends.forget();
  }

  /** Ends and forgets dispensers at the beginning of a block. @returns the run that begins with it */
  async #begin(height: number): Promise<DispenserRun> {
    this.#reads.forget();
    const isNew = this.#clock === undefined;
    const clock = this.#clock ?? (await this.#reads.clock());
    this.#clock = clock;
    const { height: forgets, time: ends } = await this.#stopsAfter(height - 1);
    if (isNew || height >= forgets)
      for await (const addresses of this.#forgetting.forgetBefore(height, isNew)) this.#marks?.change(addresses, -1);
    if (ends < clock.aged) await this.#ends.endBefore(height, clock.aged);
    this.#run = new DispenserRun(this.#reads, clock, {
      limitFrom: this.#limitFrom,
      stops: await this.#stopsAfter(height)
    });
    return this.#run;
  }

  async #stopsAfter(height: number): Promise<Stops> {
    return { height: await this.#forgetting.nextAfter(height), time: await this.#ends.nextEnd() };
  }

  async *#readAddresses(): AsyncGenerator<readonly string[]> {
    let last: Key = { txIndex: -1, addressId: 0 };
    for (;;) {
      const found = await this.#query<Key & { readonly address: string }>(
        `SELECT tx_index AS txIndex, address_id AS addressId, address FROM dispensers
         STRAIGHT_JOIN index_addresses ON id = address_id WHERE tx_index > ? OR (tx_index = ? AND address_id > ?)
         ORDER BY tx_index, address_id LIMIT ${PAGE}`,
        [last.txIndex, last.txIndex, last.addressId]
      );
      yield found.map(({ address }) => address);
      if (found.length < PAGE) return;
      last = found.at(-1)!;
    }
  }
}

/** Returns the outputs that pass, asked one after the other. */
async function keep(
  outputs: readonly OutputRow[],
  passes: (output: OutputRow) => Promise<boolean>
): Promise<readonly OutputRow[]> {
  const kept: OutputRow[] = [];
  for (const output of outputs) if (await passes(output)) kept.push(output);
  return kept;
}

/** Returns the outputs of a block that may pay a dispenser. */
function paymentsIn({ transactions }: BlockRows): readonly OutputRow[] {
  return transactions.flatMap(({ data, outputs }) => (data === '' ? outputs : []));
}

/** Keys of a row. */
interface Key {
  readonly txIndex: number;
  readonly addressId: number;
}

/** Rows per statement: anybody may have millions end in one block. */
const PAGE = 10_000;
const PAYER_UNKNOWN = 'it pays a dispenser from a script without an address, so no ledger serves it';

const keyOf = ({ txIndex, addressId }: Key): DispenserKey => [txIndex, addressId];
