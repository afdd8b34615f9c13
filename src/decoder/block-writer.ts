import { toDecimal } from '../coin/amount.ts';
import type { AddressVersions } from '../coin/chains.ts';
import type { SortedMarks } from '../coin/script/sorted-marks.ts';
import { pages } from '../db/pages.ts';
import type { BlockRows } from './block-rows.ts';
import { DispenserWriter, type Placed, type PlacedTransaction } from './dispensers/writer.ts';
import { Lookup, type Query } from './lookup.ts';
import { EMPTY_ID } from './schema.ts';

/** Previous hash of the first block of a chain. */
const NO_BLOCK = '0'.repeat(64);
/** Value of the column `fee`: compatible decoders compute none. */
const NO_FEE = 0;
const NONE: readonly string[] = [];

/** Result of a lookup table: ids by name, and for each block the highest id before it. */
type Given = Awaited<ReturnType<Lookup['idsOf']>>;

/** Writes the rows of blocks. Each call is part of one transaction. After a failed one, call `forget`. */
export class BlockWriter {
  readonly #query: Query;
  readonly #addresses: Lookup;
  readonly #hashes: Lookup;
  readonly #dispensers: DispenserWriter;

  /**
   * @param dispenserLimitHeight first block whose payments to a dispenser count against the number that it can serve
   */
  constructor(query: Query, dispenserLimitHeight: number) {
    this.#query = query;
    this.#addresses = new Lookup(query, 'index_addresses', 'address');
    this.#hashes = new Lookup(query, 'index_transactions', 'hash');
    this.#dispensers = new DispenserWriter(query, this.#addresses, dispenserLimitHeight);
  }

  /** Returns marks of the scripts to whose payments further blocks must be searched. */
  async paymentMarks(versions: AddressVersions): Promise<SortedMarks> {
    return await this.#dispensers.marks(versions);
  }

  /**
   * Writes consecutive blocks. Ids follow the order of the chain, however many blocks are written at once.
   *
   * @returns findings beside those of the blocks
   */
  async write(blocks: readonly BlockRows[]): Promise<Placed['findings']> {
    const findings: Placed['findings'][] = [];
    for (let rest = blocks; rest.length > 0; ) {
      const placed = await this.#dispensers.place(rest, await this.#next('tx_index', 'transactions', 0));
      findings.push(placed.findings);
      await this.#writeRun(rest.slice(0, placed.count), placed.transactions);
      rest = rest.slice(placed.count);
    }
    return findings.flat();
  }

  async #writeRun(blocks: readonly BlockRows[], transactions: readonly PlacedTransaction[]): Promise<void> {
    const byHeight = Map.groupBy(transactions, ({ height }) => height);
    const byBlock = blocks.map(({ height }) => byHeight.get(height) ?? []);
    const hashes = await this.#hashes.idsOf(
      blocks.map(({ previousHash, hash }, position) => [
        hash,
        previousHash || NO_BLOCK,
        ...byBlock[position]!.map((transaction) => transaction.hash)
      ])
    );
    const addresses = await this.#addresses.idsOf(byBlock.flatMap((own) => [NONE, ...own.map(addressesOf)]));
    let lists = 0;
    const firstLists = byBlock.map((own) => {
      lists += 1 + own.length;
      return lists - 1 - own.length;
    });
    await this.#insert(
      'blocks (block_index, block_time, block_hash_id, previous_block_hash_id)',
      blocks.map(({ height, time, hash, previousHash }) => [
        height,
        time,
        hashes.ids.get(hash),
        hashes.ids.get(previousHash || NO_BLOCK)
      ])
    );
    await this.#writeTransactions(transactions, hashes, addresses);
    const shown = byBlock.map((own, position) =>
      own.filter(({ source, pubkey }, place) => {
        const lastId = addresses.lastIds[firstLists[position]! + 1 + place]!;
        return pubkey !== null && addresses.ids.get(source)! <= lastId;
      })
    );
    const lastPubkeyIds = await this.#writePubkeys(shown, addresses);
    await this.#dispensers.write();
    const lastIds = blocks.map(({ height }, position) => [
      height,
      addresses.lastIds[firstLists[position]!],
      hashes.lastIds[position],
      lastPubkeyIds[position]
    ]);
    await this.#insert('lookup_undo (block_index, address_id, hash_id, pubkey_id)', lastIds);
  }

  /** Deletes the newest block and the ids that it introduced. */
  async undo(height: number): Promise<void> {
    await this.#dispensers.undo(height);
    await this.#query(
      'DELETE o FROM transaction_outputs o JOIN transactions t USING (tx_index) WHERE t.block_index = ?',
      [height]
    );
    await this.#query('DELETE FROM transactions WHERE block_index = ?', [height]);
    await this.#query('DELETE FROM blocks WHERE block_index = ?', [height]);
    const [before] = await this.#query<{ addressId: number; hashId: number; pubkeyId: number }>(
      'SELECT address_id AS addressId, hash_id AS hashId, pubkey_id AS pubkeyId FROM lookup_undo WHERE block_index = ?',
      [height]
    );
    if (!before) return; // written by an earlier release, which left ids where they were
    await this.#query('DELETE FROM pubkeys WHERE id > ?', [before.pubkeyId]);
    await this.#addresses.cutBack(before.addressId);
    await this.#hashes.cutBack(before.hashId);
    await this.#query('DELETE FROM lookup_undo WHERE block_index = ?', [height]);
  }

  /** Drops cached state: the next call reads the tables. */
  forget(): void {
    this.#addresses.forget();
    this.#hashes.forget();
    this.#dispensers.forget();
  }

  async #writeTransactions(transactions: readonly PlacedTransaction[], hashes: Given, addresses: Given): Promise<void> {
    await this.#insert(
      'transactions (tx_index, tx_hash_id, block_index, source_id, destination_id, fee, data, raw_data)',
      transactions.map(({ txIndex, hash, height, source, data, rawData }) => [
        txIndex,
        hashes.ids.get(hash),
        height,
        addresses.ids.get(source),
        EMPTY_ID,
        NO_FEE,
        data,
        rawData && Buffer.from(rawData)
      ])
    );
    await this.#insert(
      'transaction_outputs (tx_index, vout, destination_id, amount)',
      transactions.flatMap(({ txIndex, outputs }) =>
        outputs.map(({ vout, address, amount }) => [txIndex, vout, addresses.ids.get(address), toDecimal(amount)])
      )
    );
  }

  /**
   * Writes the first known key of each address. As in compatible decoders, a key counts only if an earlier row has
   * named its address.
   *
   * @param shown transactions whose keys count, by block
   * @returns for each block the highest id before it
   */
  async #writePubkeys(shown: readonly (readonly PlacedTransaction[])[], { ids }: Given): Promise<readonly number[]> {
    const known = await this.#knownPubkeys(shown.flatMap((own) => own.map(({ source }) => ids.get(source)!)));
    const next = await this.#next('id', 'pubkeys', 1);
    const added: [number, number, string][] = [];
    const lastIds = shown.map((own) => {
      const lastId = next + added.length - 1;
      for (const { source, pubkey } of own) {
        const addressId = ids.get(source)!;
        if (known.has(addressId)) continue;
        known.add(addressId);
        added.push([next + added.length, addressId, pubkey!]);
      }
      return lastId;
    });
    await this.#insert('pubkeys (id, address_id, pubkey)', added);
    return lastIds;
  }

  async #knownPubkeys(addressIds: readonly number[]): Promise<Set<number>> {
    const known = new Set<number>();
    for (const part of pages([...new Set(addressIds)])) {
      const found = await this.#query<{ id: number }>('SELECT address_id AS id FROM pubkeys WHERE address_id IN (?)', [
        part
      ]);
      for (const { id } of found) known.add(id);
    }
    return known;
  }

  async #next(column: string, table: string, first: number): Promise<number> {
    const [row] = await this.#query<{ next: number | null }>(`SELECT MAX(${column}) + 1 AS next FROM ${table}`);
    return Number(row?.next ?? first);
  }

  async #insert(into: string, values: readonly (readonly unknown[])[]): Promise<void> {
    for (const part of pages(values)) await this.#query(`INSERT INTO ${into} VALUES ?`, [part]);
  }
}

/** Returns the addresses of a transaction, in the order in which they get ids. */
function addressesOf({ source, outputs, dispensers: { opened } }: PlacedTransaction): readonly string[] {
  return [
    source,
    ...outputs.map(({ address }) => address),
    ...opened.flatMap((one) => [one.address ?? '', one.oracleAddress ?? ''])
  ];
}
