import { actionsHash, contractHash, ledgerHash } from '../../../src/consensus/ledger-hashes.ts';
import { type Connection, connect, databaseError, quoteName, rows } from '../../../src/db/connection.ts';
import { createRandom, type Random } from '../../../src/devnet/random.ts';
import { PlatformError } from '../../../src/errors.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { parseActions, perform } from './actions.ts';
import { BlockLedger } from './block-ledger.ts';
import { addIncidents, changeInPlace, sqlTime, VALIDATORS } from './incidents.ts';
import { inventAction } from './invent.ts';
import { rollbackLedger } from './rollback.ts';
import { checkSanity } from './sanity.ts';
import { createLedgerTables } from './schema.ts';
import { type LedgerState, loadState } from './state.ts';

export interface LedgerTransaction {
  readonly hash: string;
  /** Address that pays and acts. */
  readonly source: string;
  readonly fee: number | null;
  /** Its action string; null lets the seed decide what it does. */
  readonly data: string | null;
}

export interface LedgerBlock {
  readonly height: number;
  /** Epoch seconds. */
  readonly time: number;
  readonly hash: string;
  readonly transactions: readonly LedgerTransaction[];
}

const LOCK_WAIT_S = 10;

/** Columns of rows that a later block writes again. */
const REWRITTEN = {
  balances: ['amount'],
  tokens: ['supply', 'last_action_index'],
  icons: ['image', 'fetched'],
  mempool_transactions: ['data']
};

/**
 * Plays the indexer: turns blocks of transactions into the rows of an indexer database, with a valid hash chain.
 *
 * Deterministic: seed and blocks decide every row but the values of surrogate ids. All state is in the database; what is
 * in memory is read from it again after any error. One writer at a time: it holds an advisory lock.
 */
export class LedgerWriter {
  readonly #connection: Connection;
  readonly #seed: string;
  #state: LedgerState | undefined;

  private constructor(connection: Connection, seed: string) {
    this.#connection = connection;
    this.#seed = seed;
  }

  /** Opens a ledger; database and tables are made when they are missing. @throws {PlatformError} DATABASE_UNAVAILABLE, DATABASE_REFUSED */
  static async open({ name, ...server }: DatabaseCoordinates, seed: string): Promise<LedgerWriter> {
    const connection = await connect(server);
    try {
      await connection.query(
        `CREATE DATABASE IF NOT EXISTS ${quoteName(name)} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci`
      );
      await connection.query(`USE ${quoteName(name)}`);
      await connection.query('SET SESSION max_statement_time = 60');
      await takeLock(connection, name);
      await createLedgerTables(connection);
      return new LedgerWriter(connection, seed);
    } catch (caught) {
      connection.destroy();
      throw ledgerError(caught);
    }
  }

  /** Height of the newest block; undefined in an empty ledger. */
  async height(): Promise<number | undefined> {
    this.#state ??= await loadState(this.#connection);
    return this.#state.tip?.height;
  }

  /** Hash of the block last written at a height. Events outlive rollbacks, so only heights up to the tip mean something. */
  async blockHash(height: number): Promise<string | undefined> {
    const [event] = await rows<{ data: string }>(
      this.#connection,
      "SELECT data FROM events WHERE code = 'BLOCK' AND data LIKE ? ORDER BY id DESC LIMIT 1",
      [`{"block_index":${height},%`]
    );
    return event && (JSON.parse(event.data) as { block_hash: string }).block_hash;
  }

  /**
   * Writes blocks in one database transaction: durable together or not at all.
   *
   * @throws {PlatformError} INTERNAL when the heights leave a gap or the ledger's sums disagree
   */
  async writeBlocks(blocks: readonly LedgerBlock[]): Promise<void> {
    await this.#inTransaction(async () => {
      this.#state ??= await loadState(this.#connection);
      const state = this.#state;
      const ticks = new Set<number>();
      for (const block of blocks) for (const tick of await this.#writeBlock(state, block)) ticks.add(tick);
      await checkSanity(this.#connection, [...ticks]);
    });
  }

  /** Takes back every block from a height on, in one database transaction. @see rollbackLedger */
  async rollback(height: number): Promise<void> {
    await this.#inTransaction(() => rollbackLedger(this.#connection, height));
    this.#state = undefined;
  }

  async close(): Promise<void> {
    await this.#connection.end();
  }

  /** For a connection that failed: what it left open is rolled back by the server. */
  destroy(): void {
    this.#connection.destroy();
  }

  async #inTransaction(work: () => Promise<void>): Promise<void> {
    try {
      await this.#connection.query('START TRANSACTION');
      await work();
      await this.#connection.query('COMMIT');
    } catch (caught) {
      this.#state = undefined;
      await this.#connection.query('ROLLBACK').catch(() => this.#connection.destroy());
      throw ledgerError(caught);
    }
  }

  /** @returns the tickers whose sums moved */
  async #writeBlock(state: LedgerState, block: LedgerBlock): Promise<Iterable<number>> {
    if (state.tip && state.tip.height + 1 !== block.height)
      throw new PlatformError('INTERNAL', { reason: `block ${block.height} does not follow ${state.tip.height}` });
    const random = createRandom(`${this.#seed}:${block.height}:${block.hash}`);
    const ledger = new BlockLedger(state, block.height);
    if (!state.tip) addFirstRows(ledger);
    for (const transaction of block.transactions) addTransaction(ledger, transaction, random);
    await ledger.rows.flush(this.#connection, REWRITTEN);
    await addIncidents(this.#connection, ledger, random, block.time);
    ledger.addDerivedRows();
    addBlockRow(ledger, block);
    await ledger.rows.flush(this.#connection, REWRITTEN);
    await changeInPlace(this.#connection, ledger, random, block.time);
    await ledger.rows.flush(this.#connection);
    return ledger.touchedTicks;
  }
}

/** Waits for what a killed predecessor left running: it may still commit. */
async function takeLock(connection: Connection, name: string): Promise<void> {
  const [lock] = await rows(connection, 'SELECT GET_LOCK(?, ?) AS taken', [`ledger ${name}`, LOCK_WAIT_S]);
  if (lock?.['taken'] !== 1)
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'another ledger writer holds this database' });
}

/** Rows that stand in an indexer before its first block: they carry no stamp. */
function addFirstRows(ledger: BlockLedger): void {
  const { index_addresses: addresses } = ledger.state.lookups;
  for (const address of ['', ...VALIDATORS])
    if (addresses.idOf(address) === undefined)
      ledger.rows.add('index_addresses', { id: addresses.add(address), address, block_index: null });
  for (const coin of ['LTC', 'BTC']) ledger.id('index_coins', coin);
  for (const status of ['valid', 'open', 'closed']) ledger.id('index_statuses', status);
}

function addTransaction(ledger: BlockLedger, { hash, source, fee, data }: LedgerTransaction, random: Random): void {
  const txIndex = ++ledger.state.lastTx;
  const sourceId = ledger.id('index_addresses', source);
  const text = data ?? inventAction(random, ledger, sourceId);
  ledger.rows.add('transactions', {
    tx_index: txIndex,
    block_index: ledger.height,
    tx_hash_id: ledger.id('index_transactions', hash),
    source_id: sourceId,
    fee,
    data: text
  });
  for (const command of parseActions(text))
    perform(ledger, { actionIndex: ++ledger.state.lastAction, txIndex, sourceId }, command);
}

/** The block's row with its three hashes, and the event that remembers which block of the chain it was. */
function addBlockRow(ledger: BlockLedger, { height, time, hash }: LedgerBlock): void {
  const { tip } = ledger.state;
  const hashes = {
    ledger: ledgerHash(ledger, { blockIndex: height, previousHash: tip?.ledger }),
    actions: actionsHash(ledger.actions, { blockIndex: height, previousHash: tip?.actions }),
    contract: contractHash(ledger.contract, { blockIndex: height, previousHash: tip?.contract })
  };
  ledger.rows.add('blocks', {
    block_index: height,
    block_time: time,
    ledger_hash_id: ledger.id('index_transactions', hashes.ledger),
    actions_hash_id: ledger.id('index_transactions', hashes.actions),
    contract_hash_id: ledger.id('index_transactions', hashes.contract),
    state_hash_id: null
  });
  const data = JSON.stringify({ block_index: height, block_hash: hash });
  ledger.rows.add('events', { time: sqlTime(time), code: 'BLOCK', data });
  ledger.state.tip = { height, ...hashes };
}

/** What the driver or the system threw is worth a retry; anything else is a bug, INTERNAL. */
export function ledgerError(caught: unknown): PlatformError {
  const named = typeof caught === 'object' && caught !== null && 'code' in caught;
  return named ? databaseError(caught) : PlatformError.from(caught);
}
