import type { ChainNames } from '../../consensus/balance-leaf.ts';
import type { KnownIds } from '../../consensus/ids-by-text.ts';
import type { DatabaseBase } from '../../db/base.ts';
import {
  type Connection,
  connect,
  databaseError,
  isDriverError,
  quoteName,
  rows,
  slowStatement
} from '../../db/connection.ts';
import { inTransaction, WriterSeat } from '../../db/exclusive-database.ts';
import { Halts } from '../../db/halts.ts';
import { StatementBatch, write } from '../../db/statement-batch.ts';
import { PlatformError } from '../../errors.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import type { BlockHashes, ChainBlock, ExecutedBlock } from '../block/block.ts';
import type { Progress } from '../block/progress.ts';
import { plainText } from '../definitions/ascii.ts';
import type { Rules } from '../profile/rules.ts';
import { pricePushes, retractionPush, tipPush } from '../pushes/push.ts';
import { enqueuePushes, readGeneration } from '../pushes/queue.ts';
import { writeDecisions } from './decision-writer.ts';
import { bindLedgerBase, noteFirst, refuseForeignBlocks } from './ledger-base.ts';
import { LeftOutSums } from './left-out-sums.ts';
import { isNoted, undoHighestIds, writeHighestIds } from './lookup-undo.ts';
import { Lookups } from './lookups.ts';
import { fillMarkets } from './markets/market-fill.ts';
import { writeMarkets } from './markets/markets.ts';
import { migrateRows } from './migrations.ts';
import { type PreparedBlocks, Preparer } from './preparer.ts';
import { findRefusedRows, refusedStatement } from './refused-rows.ts';
import { rollBack } from './rollback.ts';
import { encodeColumns, encodeRows, textsOf, tupleOf } from './row-encoder.ts';
import { insert, writeBalances, writeEnded } from './row-writer.ts';
import { checkSanity } from './sanity.ts';
import { SanitySchedule } from './sanity-schedule.ts';
import { createIndexerTables, openIndexerDatabase } from './schema.ts';
import { type FollowedBalances, insertRoots } from './state-roots.ts';
import { readTimeouts, type Timeouts } from './timeouts.ts';
import { writeTokens } from './token-rows.ts';
import { VALID_STATUS } from './valid-status.ts';

/** Height and hash of a block. */
export interface BlockRef {
  readonly height: number;
  readonly hash: string;
}

/** Options of what is queued for a hub. */
interface PushOptions {
  /** `mainnet`. */
  readonly network: string;
  /** Called when something was queued. @param lost number of the oldest pushes that were dropped for it */
  readonly onQueued: (lost: number) => void;
}

/** Options of a store beside the ledger. */
interface StoreExtras {
  /** Chain names and tree from which blocks get state roots. Default: they have none. */
  readonly roots?: { readonly names: ChainNames; readonly balances: FollowedBalances };
  /** Base that the database must be made for; any other database is refused. Default: not checked. */
  readonly base?: DatabaseBase;
  /** Callback that follows the work on blocks. */
  readonly progress?: Progress;
  /** Queue of what a hub is sent. Default: nothing is queued. */
  readonly pushes?: PushOptions;
}

interface Connections {
  readonly connection: Connection;
  readonly reader: Connection;
  readonly checker: Connection;
  readonly seat: WriterSeat;
}

/** Lag behind the decoder, in blocks, from which on the newest block is not sent to a hub. */
const TIP_WITHIN_BLOCKS = 100;
/** Rows that are held as text at once, beside the rows themselves. */
const ENCODED_ROWS = 20_000;
/** Most characters of a halt's reason. The column holds 250, with the code beside it. */
const LONGEST_REASON = 150;

/**
 * Indexer database and its one writer.
 *
 * A method that throws leaves the database as it was and the store unusable: close it, and open another.
 */
export class IndexerStore {
  readonly #connection: Connection;
  readonly #rules: Rules;
  readonly #extras: StoreExtras;
  readonly #lookups = new Lookups();
  /** Connection that reads what blocks need, while the ones before them are being written. */
  readonly #reader: Connection;
  /** Connection that checks rows which the writer has not committed yet. */
  readonly #checker: Connection;
  readonly #preparer: Preparer;
  readonly #sanity = new SanitySchedule();
  readonly #leftOut = new LeftOutSums();
  readonly #seat: WriterSeat;
  /** Durable halts of the writer, and other events. */
  readonly halts: Halts;
  /** Hashing of the balances of the last group. */
  #rooting: Promise<unknown> = Promise.resolve();

  private constructor({ connection, reader, checker, seat }: Connections, rules: Rules, extras: StoreExtras) {
    this.#seat = seat;
    this.halts = new Halts({
      query: (sql, values) => this.#query(sql, values),
      time: 'UTC_TIMESTAMP()',
      fit: (reason) => plainText(reason, LONGEST_REASON)
    });
    this.#connection = connection;
    this.#reader = reader;
    this.#checker = checker;
    this.#preparer = new Preparer(rules, extras.progress);
    this.#rules = rules;
    this.#extras = extras;
  }

  /**
   * Opens a database for writing. Makes it and its tables when they are missing. There is one writer at a time.
   *
   * @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE, DATABASE_UNUSABLE (of another base or indexer)
   */
  static async open(
    database: DatabaseCoordinates,
    rules: Rules,
    statementLimitS: number,
    extras: StoreExtras = {}
  ): Promise<IndexerStore> {
    const opened: Connection[] = [];
    try {
      const connection = await openIndexerDatabase(database);
      opened.push(connection);
      const seat = await WriterSeat.take(connection, 'indexer', database);
      await refuseForeignBlocks(connection);
      await createIndexerTables(connection);
      if (extras.base) await bindLedgerBase(connection, extras.base);
      await migrateRows(connection, rules.coin);
      await fillMarkets(connection);
      await connection.query(`SET SESSION max_statement_time = ${statementLimitS}`);
      const reader = await connect(database, { statementLimitS });
      opened.push(reader);
      const checker = await connect(database, { statementLimitS });
      opened.push(checker);
      await checker.query('SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED');
      const store = new IndexerStore({ connection, reader, checker, seat }, rules, extras);
      await store.#lookups.restart(connection);
      await store.#lookups.prepare(connection, new Map([['index_statuses', new Set(['valid'])]]));
      if (store.#lookups.idOf('index_statuses', 'valid') !== VALID_STATUS)
        throw new PlatformError('DATABASE_UNUSABLE', { reason: 'index_statuses: the first status is not "valid"' });
      await store.#preparer.restart(connection);
      extras.roots?.balances.align((await store.readNewest(1))[0]?.height ?? null);
      return store;
    } catch (caught) {
      for (const each of opened) each.destroy();
      throw faultOf(caught);
    }
  }

  /** Ids of the tickers of all tokens, by `tickKey`, those of blocks that are being written included. */
  get tickers(): KnownIds {
    return this.#preparer.tickers;
  }

  /** Reason for which sums over all rows are left out; null while none is. */
  get sumFault(): string | null {
    return this.#leftOut.fault;
  }

  /** Reads the newest blocks, highest first. */
  async readNewest(limit: number): Promise<readonly BlockRef[]> {
    return await this.#query<{ height: number; hash: string }>(
      'SELECT block_index AS height, block_hash AS hash FROM chain_blocks ORDER BY block_index DESC LIMIT ?',
      [limit]
    );
  }

  /** Reads the first block; null while there is none. */
  async readFirst(): Promise<BlockRef | null> {
    const [first] = await this.#query<{ height: number; hash: string }>(
      'SELECT block_index AS height, block_hash AS hash FROM chain_blocks ORDER BY block_index LIMIT 1'
    );
    return first ?? null;
  }

  /** Reads the newest Bitcoin block whose prices are in use; null for none. */
  async readPriceBlock(): Promise<BlockRef | null> {
    const [newest] = await this.#query<{ height: number; hash: string }>(
      'SELECT price_block AS height, price_hash AS hash FROM price_blocks ORDER BY price_block DESC LIMIT 1'
    );
    return newest ?? null;
  }

  /**
   * Writes blocks that follow the newest one, all or none.
   *
   * @param decoderTip height of the chain's newest block
   * @param prepared result of `prepare` for these blocks; default: they are executed now
   * @returns the hashes of the blocks that were written
   */
  async addBlocks(
    blocks: readonly ChainBlock[],
    decoderTip = blocks.at(-1)!.height,
    prepared?: Promise<PreparedBlocks>
  ): Promise<readonly BlockHashes[]> {
    let lost: number | null = null;
    try {
      let writing: PreparedBlocks | undefined;
      const work = async () => {
        const ready = await (prepared ?? this.#prepareNow(blocks));
        writing = ready;
        await this.#write(ready, decoderTip);
        lost = await this.#queuePushes(ready.executed, decoderTip);
        return ready;
      };
      const { executed } = await this.#transaction(work, async (caught) =>
        writing ? await findRefusedRows(this.#connection, writing, caught) : null
      );
      await this.#extras.roots?.balances.settle(true);
      if (lost !== null) this.#extras.pushes?.onQueued(lost);
      return executed.map(({ hashes }) => hashes);
    } catch (caught) {
      await this.#rooting.catch(() => undefined); // reported already, or caused by what was reported
      await this.#extras.roots?.balances.settle(false);
      throw caught;
    }
  }

  /**
   * Executes blocks that follow those prepared last, for `addBlocks` to write. Those may still be being written; the
   * ones before them must be written.
   */
  async prepare(blocks: readonly ChainBlock[]): Promise<PreparedBlocks> {
    try {
      return await this.#preparer.prepare(blocks, [this.#reader], this.#followedNames);
    } catch (caught) {
      throw faultOf(caught);
    }
  }

  /** Executes blocks within the transaction that writes them. */
  #prepareNow(blocks: readonly ChainBlock[]): Promise<PreparedBlocks> {
    return this.#preparer.prepare(blocks, [this.#reader, this.#connection], this.#followedNames);
  }

  get #followedNames(): ChainNames | undefined {
    const { roots } = this.#extras;
    return roots?.balances.isFollowing ? roots.names : undefined;
  }

  /** Forgets blocks that were prepared and not written. No other call may be under way. */
  async discard(): Promise<void> {
    try {
      await this.#preparer.restart(this.#reader);
    } catch (caught) {
      throw faultOf(caught);
    }
  }

  /**
   * Queues the prices of blocks, then the newest block. @returns how many older pushes were dropped; null if nothing
   * was queued
   */
  async #queuePushes(executed: readonly ExecutedBlock[], decoderTip: number): Promise<number | null> {
    const { pushes } = this.#extras;
    if (!pushes) return null;
    const { coin } = this.#rules;
    const hasPrices = executed.some(({ rows: made }) => made.some(({ table }) => table === 'prices'));
    const generation = hasPrices ? await readGeneration(this.#connection, coin) : 0;
    const prices = executed.flatMap((block) => pricePushes(block, { coin, generation }));
    const { block } = executed.at(-1)!;
    const isNear = decoderTip - block.height <= TIP_WITHIN_BLOCKS;
    const queued = [...prices, ...(isNear ? [tipPush(block, coin, pushes.network)] : [])];
    return queued.length === 0 ? null : await enqueuePushes(this.#connection, queued);
  }

  /** Rolls back all blocks from a height on. */
  async rollBack(height: number): Promise<void> {
    await this.#transaction(async () => {
      const firstAction = await rollBack(this.#connection, height, this.#rules);
      await undoHighestIds(this.#connection, height);
      await this.#queueRetraction(firstAction);
      await this.halts.note('REORG', { block_index: height });
    });
    await this.discard();
    await this.#guarded(() => this.#lookups.restart(this.#connection));
    await this.#extras.roots?.balances.rollBack(height - 1);
  }

  /** Queues that a hub forgets what rolled back actions reported. @param firstAction null if none was rolled back */
  async #queueRetraction(firstAction: number | null): Promise<void> {
    if (!this.#extras.pushes || firstAction === null) return;
    const { coin } = this.#rules;
    const generation = await readGeneration(this.#connection, coin);
    await enqueuePushes(this.#connection, [retractionPush(firstAction, { coin, generation })]);
  }

  /** Reads the hash of the block at a height; null where there is none. */
  async hashAt(height: number): Promise<string | null> {
    const [block] = await this.#query<{ hash: string }>(
      'SELECT block_hash AS hash FROM chain_blocks WHERE block_index = ?',
      [height]
    );
    return block?.hash ?? null;
  }

  /** Reads the newest attempts at blocks that the watchdog ended. */
  async readTimeouts(): Promise<Timeouts> {
    return await this.#guarded(() => readTimeouts(this.#connection));
  }

  /** Tells readers of the database whether its writer goes on. @see lookAtWriter */
  async tellWaiting(isWaiting: boolean): Promise<void> {
    await this.#seat.tellWaiting(isWaiting);
  }

  /** Keeps the connections alive while there is no block to write. @throws {PlatformError} DATABASE_UNAVAILABLE */
  async keepAlive(): Promise<void> {
    try {
      for (const connection of [this.#connection, this.#reader, this.#checker]) await connection.query('DO 1');
    } catch (caught) {
      throw databaseError(caught);
    }
  }

  /** Closes the connections and releases the writer's lock. */
  close(): void {
    this.#checker.destroy();
    this.#reader.destroy();
    this.#connection.destroy();
  }

  async #write(prepared: PreparedBlocks, decoderTip: number): Promise<void> {
    const { executed, isFirst, byBlock, rows: made, changes, tokens, balances, ended, moved } = prepared;
    const rooted = this.#advanceRoots(prepared);
    const texts = byBlock.map((block) => textsOf([...block.rows, ...block.changes]));
    const lastIds = await this.#lookups.prepareBlocks(this.#connection, texts);
    // Few large messages: the server is busy with one while this thread executes the next blocks.
    const batch = new StatementBatch(this.#connection);
    for (const [table, own] of Map.groupBy(made, (row) => row.table)) {
      for (let at = 0; at < own.length; at += ENCODED_ROWS) {
        const { columns, tuples } = encodeRows(own.slice(at, at + ENCODED_ROWS), this.#lookups).get(table)!;
        await insert(batch, table, columns, tuples);
      }
    }
    for (const { table, actionIndex, columns } of changes) {
      const values = encodeColumns(table, columns, this.#lookups);
      await write(batch, `UPDATE ${quoteName(table)} SET ? WHERE action_index = ?`, [values, actionIndex]);
    }
    const chain = executed.map(({ block }) => tupleOf([block.height, block.hash]));
    await insert(batch, 'chain_blocks', ['block_index', 'block_hash'], chain);
    await notePriceBlocks(batch, executed);
    if (isFirst) await noteFirst(this.#connection, executed[0]!.block);
    const highest = byBlock.map(({ height, lastBalance }, place) => {
      return { height, lookups: lastIds[place]!, balances: lastBalance };
    });
    await writeHighestIds(batch, highest, decoderTip);
    await writeTokens(batch, tokens);
    await writeEnded(
      batch,
      ended.filter(({ height }) => isNoted(height, decoderTip))
    );
    await writeBalances(batch, balances);
    await writeMarkets(batch, executed);
    await writeDecisions(batch, executed);
    await batch.query('DO 0'); // all statements sent without waiting for an answer are done after this one
    const isGroup = executed.length > 1; // the server then also answers reads for the next blocks
    const checkers = isGroup ? [this.#connection] : [this.#connection, this.#checker];
    const checked = await checkSanity(checkers, this.#sanity.begin(moved, isGroup));
    await this.#leftOut.add(this.#sanity.finish(checked), this.#connection);
    const root = await rooted;
    if (root === null) return;
    const { names } = this.#extras.roots!;
    await insertRoots(this.#connection, { hashes: this.#rules.hashes, names }, executed.at(-1)!, root);
  }

  /**
   * Begins the hashing, which goes on while the rows are written. @returns the root as hex; null where there is none
   */
  #advanceRoots({ executed, leaves }: PreparedBlocks): Promise<string | null> {
    const { roots } = this.#extras;
    if (!roots?.balances.isFollowing) return Promise.resolve(null);
    const span = { base: executed[0]!.block.height - 1, last: executed.at(-1)!.block.height };
    const root = roots.balances.advance(span, leaves, null);
    root.catch(() => undefined); // reported where it is awaited, unless something else fails before
    this.#rooting = root;
    return root;
  }

  /**
   * Runs work in a transaction. @param explain finds the cause of a failure, on the same connection and after the
   * transaction
   */
  async #transaction<T>(
    work: () => Promise<T>,
    explain: (caught: unknown) => Promise<PlatformError | null> = () => Promise.resolve(null)
  ): Promise<T> {
    const faultBy = async (caught: unknown) => (await explain(caught).catch(() => null)) ?? faultOf(caught);
    return await inTransaction(this.#connection, (sql) => this.#query(sql), work, faultBy);
  }

  async #query<T extends Record<string, unknown>>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    return await this.#guarded(() => rows<T>(this.#connection, sql, values));
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (caught) {
      throw faultOf(caught);
    }
  }
}

/** Notes the Bitcoin blocks whose prices were used, each with the first block that used them. */
async function notePriceBlocks(batch: StatementBatch, executed: readonly ExecutedBlock[]): Promise<void> {
  const used = new Map(
    executed.toReversed().map(({ block: { height, prices } }) => [prices?.at?.height, { height, at: prices?.at }])
  );
  const noted = [...used.values()].flatMap(({ height, at }) => (at ? [[at.height, at.hash, height]] : []));
  if (noted.length === 0) return;
  await write(batch, 'INSERT IGNORE INTO price_blocks (price_block, price_hash, block_index) VALUES ?', [noted]);
}

/** Returns a failure with its code. MariaDB is at fault only where it did not refuse the statement itself. */
function faultOf(caught: unknown): PlatformError {
  if (!('code' in Object(caught) || isDriverError(caught))) return PlatformError.from(caught);
  if (caught instanceof PlatformError) return caught;
  return refusedStatement(caught) ?? slowStatement(caught) ?? databaseError(caught);
}
