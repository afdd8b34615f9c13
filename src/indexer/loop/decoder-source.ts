import type { ChainNetwork } from '../../coin/chains.ts';
import { isAddress } from '../../coin/script/address.ts';
import { parseAmount } from '../../consensus/amount.ts';
import { MEDIAN_BLOCKS } from '../../consensus/median-time.ts';
import { type Connection, connect, databaseError, rows, slowStatement } from '../../db/connection.ts';
import { inSnapshot } from '../../db/in-snapshot.ts';
import { lookAtWriter, type WriterLook } from '../../db/writer-lock.ts';
import { PlatformError } from '../../errors.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import type { ChainBlock, ChainTransaction } from '../block/block.ts';
import type { Output } from '../state/payment.ts';
import { refusedStatement } from '../store/refused-rows.ts';

/** Transactions of a group of blocks, unless one block has more. */
const MAX_TRANSACTIONS = 2_000;
/** Bytes of the texts of a group of blocks, unless one block has more. A taproot script may hold 390,000. */
const MAX_BYTES = 2 ** 25;

type BlockRow = {
  readonly height: number;
  readonly time: number | null;
  readonly hash: string | null;
  readonly previous: string | null;
};

interface TransactionRow extends Record<string, unknown> {
  readonly txIndex: number;
  readonly height: number;
  readonly hash: string | null;
  readonly source: string | null;
  readonly fee: number | null;
  readonly data: string | null;
}

const AMOUNT_PER_BASE_UNIT = 10n ** 10n;
const SAMPLED_ADDRESSES = 100;

/**
 * Reads the amount of an output as a count of 10^-18. Decoders in use write coins, always with 8 places (`0.00100000`); a whole
 * number is base units, as earlier releases wrote them. No text is both.
 *
 * @throws {PlatformError} DATABASE_UNUSABLE for any other text: an amount is never guessed
 */
function readOutputAmount(text: string | null, place: string): bigint {
  if (text !== null && /^\d{1,20}$/.test(text)) return BigInt(text) * AMOUNT_PER_BASE_UNIT;
  const coins = text !== null && /^\d{1,12}\.\d{8}$/.test(text) ? parseAmount(text) : null;
  if (coins !== null) return coins;
  const reason = `transaction_outputs.amount of ${place} is ${text}: coins with 8 places or whole base units are expected`;
  throw new PlatformError('DATABASE_UNUSABLE', { reason });
}

function transactionOf(
  { txIndex, hash, source, fee, data }: TransactionRow,
  outputs: readonly Output[] | undefined
): ChainTransaction {
  if (hash === null || source === null)
    throw hole(`transactions has no ${hash === null ? 'hash' : 'source'} of transaction ${txIndex}`);
  // A payment without an action has no text.
  return { hash, source, fee, data: data ?? '', ...(outputs ? { outputs } : {}) };
}

/**
 * Returns DATABASE_UNUSABLE for a decoder database that lacks what a decoder always writes. No block is executed
 * without it.
 */
function hole(reason: string): PlatformError {
  return new PlatformError('DATABASE_UNUSABLE', { reason: `decoder database: ${reason}` });
}

/** Blocks that follow each other. */
export interface BlockGroup {
  /** Hash of the block below the first. */
  readonly previousHash: string;
  /**
   * Times of the blocks below the first, oldest first: as many as the median of the first one needs besides its own.
   */
  readonly times: readonly number[];
  readonly blocks: readonly ChainBlock[];
}

/**
 * Reads a decoder database. A method that throws leaves the connection unusable.
 *
 * All methods may throw DATABASE_UNAVAILABLE.
 */
export class DecoderSource {
  readonly #connection: Connection;
  readonly #database: DatabaseCoordinates;

  private constructor(connection: Connection, database: DatabaseCoordinates) {
    this.#connection = connection;
    this.#database = database;
  }

  /**
   * Opens a decoder database. @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE, DATABASE_UNUSABLE (of
   * another chain, or with holes)
   */
  static async open(
    database: DatabaseCoordinates,
    network: ChainNetwork,
    statementLimitS: number
  ): Promise<DecoderSource> {
    const connection = await connect(database, { statementLimitS });
    const source = new DecoderSource(connection, database);
    const genesis = await source.hashAt(0);
    if (genesis === network.genesisHash) return source;
    const foreign = genesis === null ? await source.#foreignAddress(network) : null;
    if (genesis === null && foreign === null) return source;
    source.close();
    const sign =
      genesis === null ? `the address ${foreign} of ${database.name}` : `block 0 of ${database.name}, ${genesis},`;
    throw new PlatformError('DATABASE_UNUSABLE', {
      reason: `${sign} does not belong to ${network.name}: name the decoder database of that network`
    });
  }

  /**
   * Returns an address that the network does not have, if most of them are such. Without block 0 they show which chain
   * a database is of.
   */
  async #foreignAddress({ addresses }: ChainNetwork): Promise<string | null> {
    const found = await this.#query<{ address: string }>(
      "SELECT address FROM index_addresses WHERE address <> '' ORDER BY id LIMIT ?",
      [SAMPLED_ADDRESSES]
    );
    const foreign = found.filter(({ address }) => !isAddress(address, addresses));
    return 2 * foreign.length > found.length ? foreign[0]!.address : null;
  }

  /** Looks whether a decoder writes the database. */
  async lookAtWriter(): Promise<WriterLook> {
    return await lookAtWriter((sql) => this.#query(sql), 'decoder', this.#database);
  }

  /** Reads the lowest and highest block; null while there is none. */
  async readRange(): Promise<{ readonly lowest: number; readonly highest: number } | null> {
    const [range] = await this.#query<{ lowest: number | null; highest: number | null }>(
      'SELECT MIN(block_index) AS lowest, MAX(block_index) AS highest FROM blocks'
    );
    return range?.lowest == null || range.highest === null ? null : { lowest: range.lowest, highest: range.highest };
  }

  /** Reads the hash of the block at a height; null where there is none. */
  async hashAt(height: number): Promise<string | null> {
    const [block] = await this.#query<{ hash: string }>(
      'SELECT h.hash FROM blocks b JOIN index_transactions h ON h.id = b.block_hash_id WHERE b.block_index = ?',
      [height]
    );
    return block?.hash ?? null;
  }

  /**
   * Reads blocks from a height on, in one snapshot, with the hash of the block below the first.
   *
   * @param limit most blocks; there are fewer when they have many transactions, or long texts
   */
  async readBlocks(from: number, limit: number): Promise<BlockGroup | null> {
    return await this.#guarded(() => inSnapshot(this.#connection, () => this.#readGroup(from, limit)));
  }

  close(): void {
    this.#connection.destroy();
  }

  async #readGroup(from: number, limit: number): Promise<BlockGroup | null> {
    const found = await this.#query<BlockRow>(
      `SELECT b.block_index AS height, b.block_time AS time, h.hash, p.hash AS previous FROM blocks b
       LEFT JOIN index_transactions h ON h.id = b.block_hash_id
       LEFT JOIN index_transactions p ON p.id = b.previous_block_hash_id
       WHERE b.block_index >= ? ORDER BY b.block_index LIMIT ?`,
      [from, limit]
    );
    if (found[0] === undefined) return null;
    if (found[0].height !== from)
      throw hole(`blocks has no block ${from}, and block ${found[0].height} above it: decode them again`);
    const group = await this.#boundGroup(found);
    const transactions = await this.#query<TransactionRow>(
      `SELECT t.tx_index AS txIndex, t.block_index AS height, h.hash, a.address AS source, t.fee, t.data
       FROM transactions t
       LEFT JOIN index_transactions h ON h.id = t.tx_hash_id LEFT JOIN index_addresses a ON a.id = t.source_id
       WHERE t.block_index BETWEEN ? AND ? ORDER BY t.tx_index`,
      [from, group.at(-1)!.height]
    );
    const outputs = await this.#readOutputs(from, group.at(-1)!.height);
    const byHeight = Map.groupBy(transactions, ({ height }) => height);
    const blocks = group.map(({ height, time, hash }): ChainBlock => {
      if (time === null || hash === null) throw hole(`blocks has no time or hash of block ${height}`);
      const own = (byHeight.get(height) ?? []).map((row) => transactionOf(row, outputs.get(row.txIndex)));
      return { height, time, hash, transactions: own };
    });
    const below = await this.#query<{ time: number }>(
      'SELECT block_time AS time FROM blocks WHERE block_index BETWEEN ? AND ? ORDER BY block_index',
      [from - MEDIAN_BLOCKS + 1, from - 1]
    );
    return { previousHash: group[0]!.previous ?? '', times: below.map(({ time }) => Number(time)), blocks };
  }

  /** Reads the outputs that actions may be about, by transaction. */
  async #readOutputs(from: number, to: number): Promise<Map<number, Output[]>> {
    const found = await this.#query<{ txIndex: number; vout: number; address: string; amount: string | null }>(
      `SELECT o.tx_index AS txIndex, o.vout, a.address, o.amount FROM transaction_outputs o
       JOIN transactions t ON t.tx_index = o.tx_index JOIN index_addresses a ON a.id = o.destination_id
       WHERE t.block_index BETWEEN ? AND ? ORDER BY o.tx_index, o.vout`,
      [from, to]
    );
    return new Map(
      [...Map.groupBy(found, ({ txIndex }) => txIndex)].map(([txIndex, own]) => [
        txIndex,
        own.map(({ vout, address, amount }) => ({
          vout,
          address,
          amount: readOutputAmount(amount, `tx_index ${txIndex}, vout ${vout}`)
        }))
      ])
    );
  }

  /**
   * Returns the first block, and those after it while there are not too many transactions or too long texts, and each
   * follows the one below.
   */
  async #boundGroup(found: readonly BlockRow[]): Promise<readonly BlockRow[]> {
    const sizes = await this.#query<{ height: number; count: number; bytes: number | null }>(
      `SELECT block_index AS height, COUNT(*) AS count, SUM(LENGTH(data)) AS bytes FROM transactions WHERE block_index BETWEEN ? AND ?
       GROUP BY block_index`,
      [found[0]!.height, found.at(-1)!.height]
    );
    const sizeOf = new Map(sizes.map(({ height, ...size }) => [height, size]));
    let [count, bytes] = [0, 0];
    const end = found.findIndex(({ height, previous }, place) => {
      count += Number(sizeOf.get(height)?.count ?? 0);
      bytes += Number(sizeOf.get(height)?.bytes ?? 0);
      const isFull = count > MAX_TRANSACTIONS || bytes > MAX_BYTES;
      return place > 0 && (isFull || previous !== found[place - 1]!.hash);
    });
    return end === -1 ? found : found.slice(0, end);
  }

  async #query<T extends Record<string, unknown>>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    return await this.#guarded(() => rows<T>(this.#connection, sql, values));
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (caught) {
      this.#connection.destroy();
      throw refusedStatement(caught, 'the decoder database') ?? slowStatement(caught) ?? databaseError(caught);
    }
  }
}
