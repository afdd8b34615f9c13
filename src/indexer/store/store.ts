import { formatAmount } from '../../consensus/amount.ts';
import { type Connection, databaseError, quoteName, rows } from '../../db/core/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { DatabaseCoordinates } from '../../wire/database.ts';
import type { BlockHashes, ChainBlock, ExecutedBlock } from '../block/block.ts';
import { executeBlocks } from '../block/execute.ts';
import type { Rules } from '../rules/rules.ts';
import type { TableRow } from '../state/effects.ts';
import { splitPair, tickKey, View } from '../state/state.ts';
import { factLoader } from './facts.ts';
import { Lookups } from './lookups.ts';
import { loadLiveOffers, readTimes } from './offer-facts.ts';
import { rollBack } from './rollback.ts';
import { encodeColumns, encodeRows, textsOf } from './row-encoder.ts';
import { checkSanity } from './sanity.ts';
import { SanitySchedule } from './sanity-schedule.ts';
import { createIndexerTables, openIndexerDatabase } from './schema.ts';
import { writeTokens } from './token-rows.ts';
import { VALID_STATUS } from './valid-status.ts';

/** A block's place and name. */
export interface BlockRef {
  readonly height: number;
  readonly hash: string;
}

/** A halt that stands until an operator clears it. */
export interface IndexerHalt {
  readonly code: string;
  readonly reason: string;
}

const LOCK_WAIT_S = 2;
const ROWS_PER_STATEMENT = 1_000;
const PAIRS_PER_STATEMENT = 500;
/** Facts that stay in memory between groups of blocks. */
const MAX_FACTS = 100_000;

/**
 * An indexer database and its one writer.
 *
 * A method that throws leaves the database as it was and the store unusable: close it, and open another.
 */
export class IndexerStore {
  readonly #connection: Connection;
  readonly #rules: Rules;
  readonly #lookups = new Lookups();
  /** Ids of all tickers, by `tickKey`. */
  readonly #tickers = new Map<string, number>();
  #view = new View({ isWhole: false });
  readonly #sanity = new SanitySchedule();
  /** Whether all live offers are in the view. */
  #hasOffers = false;

  private constructor(connection: Connection, rules: Rules) {
    this.#connection = connection;
    this.#rules = rules;
  }

  /**
   * Opens a database for writing; it and its tables are made when they are missing. There is one writer at a time.
   *
   * @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE
   */
  static async open(database: DatabaseCoordinates, rules: Rules, statementLimitS: number): Promise<IndexerStore> {
    let connection: Connection | undefined;
    try {
      connection = await openIndexerDatabase(database);
      const [lock] = await rows(connection, 'SELECT GET_LOCK(?, ?) AS taken', [
        `indexer ${database.name}`,
        LOCK_WAIT_S
      ]);
      if (lock?.['taken'] !== 1)
        throw new PlatformError('DATABASE_UNAVAILABLE', {
          reason: 'another indexer holds the writer lock of this database'
        });
      await createIndexerTables(connection);
      await connection.query(`SET SESSION max_statement_time = ${statementLimitS}`);
      const store = new IndexerStore(connection, rules);
      await store.#lookups.prepare(connection, new Map([['index_statuses', new Set(['valid'])]]));
      if (store.#lookups.idOf('index_statuses', 'valid') !== VALID_STATUS)
        throw new PlatformError('DATABASE_UNUSABLE', { reason: 'index_statuses: the first status is not "valid"' });
      await store.#readTickers();
      return store;
    } catch (caught) {
      connection?.destroy();
      throw databaseError(caught, { database: database.name });
    }
  }

  /** The newest blocks, highest first. */
  async readNewest(limit: number): Promise<readonly BlockRef[]> {
    return await this.#query<{ height: number; hash: string }>(
      'SELECT block_index AS height, block_hash AS hash FROM chain_blocks ORDER BY block_index DESC LIMIT ?',
      [limit]
    );
  }

  /** Carries out blocks that follow the newest one and writes them, all or none. @returns their hashes */
  async addBlocks(blocks: readonly ChainBlock[]): Promise<readonly BlockHashes[]> {
    return await this.#transaction(async () => {
      const load = factLoader(this.#connection, this.#view, { ids: this.#tickers });
      await load((['address', 'ticker', 'action', 'transaction'] as const).map((key) => ({ kind: 'counter', key })));
      const view = this.#view;
      if (!this.#hasOffers) await loadLiveOffers(this.#connection, view);
      this.#hasOffers = true;
      const below = { hashes: await this.#readHashes(), times: await readTimes(this.#connection, blocks[0]!.height) };
      const executed = await executeBlocks({ view, rules: this.#rules, load }, blocks, below);
      await this.#write(executed);
      if (this.#view.size > MAX_FACTS) this.#forget();
      return executed.map(({ hashes }) => hashes);
    });
  }

  /** Takes back all blocks from a height on. */
  async rollBack(height: number): Promise<void> {
    await this.#transaction(async () => {
      await rollBack(this.#connection, height, this.#rules);
      await this.#recordEvent('REORG', { block_index: height });
    });
    this.#forget();
    await this.#readTickers();
  }

  #forget(): void {
    this.#view = new View({ isWhole: false });
    this.#hasOffers = false;
  }

  /** The hash of the block at a height; null where there is none. */
  async hashAt(height: number): Promise<string | null> {
    const [block] = await this.#query<{ hash: string }>(
      'SELECT block_hash AS hash FROM chain_blocks WHERE block_index = ?',
      [height]
    );
    return block?.hash ?? null;
  }

  /** The halt that stands. */
  async readHalt(): Promise<IndexerHalt | null> {
    const last = await this.#lastVerdict();
    return last?.code === 'HALT' ? (JSON.parse(last.data) as IndexerHalt) : null;
  }

  /** Whether an operator has allowed the deep rollback that was refused last. */
  async isRollbackAllowed(): Promise<boolean> {
    const last = await this.#lastVerdict();
    return last?.code === 'HALT_CLEARED' && (JSON.parse(last.data) as IndexerHalt).code === 'ROLLBACK_TOO_DEEP';
  }

  async #lastVerdict(): Promise<{ code: string; data: string } | undefined> {
    const [last] = await this.#query<{ code: string; data: string }>(
      "SELECT code, data FROM events WHERE code IN ('HALT', 'HALT_CLEARED', 'REORG') ORDER BY id DESC LIMIT 1"
    );
    return last;
  }

  async recordHalt({ code, reason }: IndexerHalt): Promise<void> {
    await this.#recordEvent('HALT', { code, reason: reason.slice(0, 150) });
  }

  /** @returns the halt that stood, null when none did */
  async clearHalt(): Promise<IndexerHalt | null> {
    const halt = await this.readHalt();
    if (halt) await this.#recordEvent('HALT_CLEARED', { code: halt.code });
    return halt;
  }

  /** Lets go of the connection and of the writer's lock. */
  close(): void {
    this.#connection.destroy();
  }

  async #write(executed: readonly ExecutedBlock[]): Promise<void> {
    const written = executed.flatMap(rowsOf);
    for (const { table, columns } of written) {
      if (table === 'index_tickers') this.#tickers.set(tickKey(String(columns['tick'])), Number(columns['id']));
    }
    const changes = executed.flatMap(({ rowChanges }) => rowChanges);
    await this.#lookups.prepare(this.#connection, textsOf([...written, ...changes]));
    const encoded = encodeRows(written, this.#lookups);
    // One connection does them in order; the next statement is spelled out while the server is at the one before.
    await Promise.all([...encoded].map(([table, { columns, values }]) => this.#insert(table, columns, values)));
    for (const { table, actionIndex, columns } of changes) {
      const values = encodeColumns(table, columns, this.#lookups);
      await this.#query(`UPDATE ${quoteName(table)} SET ? WHERE action_index = ?`, [values, actionIndex]);
    }
    await this.#insert(
      'chain_blocks',
      ['block_index', 'block_hash'],
      executed.map(({ block }) => [block.height, block.hash])
    );
    await this.#writeChanged();
    const moved = new Set(executed.flatMap(({ movedTicks }) => [...movedTicks]));
    const due = this.#sanity.begin([...moved].map((tick) => this.#tickers.get(tickKey(tick))!));
    this.#sanity.finish(await checkSanity(this.#connection, due));
  }

  /** Balances and tokens as the blocks left them. */
  async #writeChanged(): Promise<void> {
    const { pairs, tokens } = this.#view.takeChanged();
    await writeTokens(
      this.#connection,
      [...tokens].flatMap((key) => this.#view.get('token', key) ?? [])
    );
    const values = [...pairs].map((pair) => {
      const [tick, address] = splitPair(pair);
      const amount = this.#view.get('balance', pair);
      return [this.#view.get('addressId', address)!, this.#tickers.get(tick)!, formatAmount(amount)] as const;
    });
    const [gone, kept] = [
      values.filter(([, , amount]) => amount === '0'),
      values.filter(([, , amount]) => amount !== '0')
    ];
    const columns = ['address_id', 'tick_id', 'amount'];
    await this.#insert('balances', columns, kept, 'ON DUPLICATE KEY UPDATE amount = VALUES(amount)');
    for (let at = 0; at < gone.length; at += PAIRS_PER_STATEMENT) {
      const wanted = gone.slice(at, at + PAIRS_PER_STATEMENT).map(([a, t]) => `SELECT ${a} AS a, ${t} AS t`);
      await this.#query(
        `DELETE b FROM (${wanted.join(' UNION ALL ')}) w STRAIGHT_JOIN balances b ON b.address_id = w.a AND b.tick_id = w.t`
      );
    }
  }

  async #insert(
    table: string,
    columns: readonly string[],
    values: readonly (readonly unknown[])[],
    onDuplicate = ''
  ): Promise<void> {
    const into = `INSERT INTO ${table} (${columns.map(quoteName).join(', ')}) VALUES ? ${onDuplicate}`;
    const slices = Array.from({ length: Math.ceil(values.length / ROWS_PER_STATEMENT) }, (_, place) =>
      values.slice(place * ROWS_PER_STATEMENT, (place + 1) * ROWS_PER_STATEMENT)
    );
    await Promise.all(slices.map((slice) => this.#query(into, [slice])));
  }

  async #readHashes(): Promise<BlockHashes | undefined> {
    const [tip] = await this.#query<BlockHashes & Record<string, unknown>>(
      `SELECT l.hash AS ledger, a.hash AS actions, c.hash AS contract FROM blocks b
       JOIN index_transactions l ON l.id = b.ledger_hash_id JOIN index_transactions a ON a.id = b.actions_hash_id
       JOIN index_transactions c ON c.id = b.contract_hash_id ORDER BY b.block_index DESC LIMIT 1`
    );
    return tip;
  }

  async #readTickers(): Promise<void> {
    this.#tickers.clear();
    for (const { id, tick } of await this.#query<{ id: number; tick: string }>('SELECT id, tick FROM index_tickers'))
      this.#tickers.set(tickKey(tick), id);
  }

  async #recordEvent(code: string, data: object): Promise<void> {
    await this.#query('INSERT INTO events (time, code, data) VALUES (UTC_TIMESTAMP(), ?, ?)', [
      code,
      JSON.stringify(data)
    ]);
  }

  async #transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.#query('START TRANSACTION');
    try {
      const result = await work();
      await this.#query('COMMIT');
      return result;
    } catch (caught) {
      this.#connection.destroy(); // the server rolls back, whatever state the connection is in
      throw 'code' in Object(caught) ? databaseError(caught) : PlatformError.from(caught);
    }
  }

  async #query<T extends Record<string, unknown>>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    try {
      return await rows<T>(this.#connection, sql, values);
    } catch (caught) {
      throw databaseError(caught);
    }
  }
}

/** All rows of a block. New addresses and tickers bear its height. */
function rowsOf({ block: { height, time }, hashes, root, rows: made }: ExecutedBlock): TableRow[] {
  const stamped = made.map((row) =>
    row.table === 'index_addresses' || row.table === 'index_tickers'
      ? { table: row.table, columns: { ...row.columns, block_index: height } }
      : row
  );
  return [
    ...stamped,
    {
      table: 'blocks',
      columns: {
        block_index: height,
        block_time: time,
        ledger_hash_id: hashes.ledger,
        actions_hash_id: hashes.actions,
        contract_hash_id: hashes.contract,
        state_hash_id: null,
        block_merkle_root: root
      }
    }
  ];
}
