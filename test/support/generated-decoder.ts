import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import { createDecoderTables } from '../../src/decoder/schema.ts';
import { newAddress } from '../../src/devnet/ledger/invent.ts';
import { RowBuffer, type Value } from '../../src/devnet/ledger/rows.ts';
import { createRandom, type Random } from '../../src/devnet/random.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';

/** Rows that one transaction leaves, on average, over all tables. */
const ROWS_PER_TRANSACTION = 4.2;
const TRANSACTIONS_PER_LIVE_BLOCK = 6;
const FIRST_HEIGHT = 100;
const GENESIS_TIME = 1_700_000_000;
const DATA = [
  'SEND|0|GAS|1|x',
  'BROADCAST|0|😀 ends with a space ',
  '',
  'MINT|0|Rare|0.000000000000000001',
  'it\'s \\ "é"\n\t'
] as const;

export interface GeneratedSize {
  readonly seed: string;
  readonly blocks: number;
  /** Rows over all tables, roughly. */
  readonly rows: number;
}

/** Fills a database with a decoder's tables, blocks 100 to 99 + `blocks`, in one database transaction. */
export async function createDecoder(
  to: DatabaseCoordinates,
  { seed, blocks, rows: total }: GeneratedSize
): Promise<void> {
  const size = Math.max(1, Math.round(total / blocks / ROWS_PER_TRANSACTION));
  await inDatabase(to, async (connection) => {
    await createDecoderTables(connection); // DDL commits
    await connection.query('START TRANSACTION');
    await addBlocks(connection, await loadState(connection), blocks, seed, size);
  });
}

/** Adds blocks, each in a database transaction of its own, with a pause after each. @returns the new height */
export async function appendBlocks(to: DatabaseCoordinates, count: number, seed: string, pauseMs = 0): Promise<number> {
  return await inDatabase(to, (connection) => addOneByOne(connection, count, seed, pauseMs));
}

/** Adds blocks in one database transaction, so that a poll sees them all at once. @returns the new height */
export async function appendBacklog(to: DatabaseCoordinates, count: number, seed: string): Promise<number> {
  return await inDatabase(to, async (connection) =>
    addBlocks(connection, await loadState(connection), count, seed, TRANSACTIONS_PER_LIVE_BLOCK)
  );
}

/**
 * Takes back the newest `depth` blocks, newest first and each with its REORG event, and adds `count` others.
 *
 * Lookups and pubkeys stay. @returns the new height
 */
export async function reorg(to: DatabaseCoordinates, depth: number, count: number, seed: string): Promise<number> {
  return await inDatabase(to, async (connection) => {
    for (let done = 0; done < depth; done++) {
      await removeTip(connection);
      await connection.query('COMMIT AND CHAIN');
    }
    const fork = (await heightOf(connection)) + 1;
    await addOneByOne(connection, count, `${seed}:branch at ${fork}`);
  });
}

async function addOneByOne(connection: Connection, count: number, seed: string, pauseMs = 0): Promise<void> {
  const state = await loadState(connection);
  for (let done = 0; done < count; done++) {
    await addBlocks(connection, state, 1, seed, TRANSACTIONS_PER_LIVE_BLOCK);
    await connection.query('COMMIT AND CHAIN');
    if (pauseMs > 0) await sleep(pauseMs);
  }
}

async function inDatabase(to: DatabaseCoordinates, work: (connection: Connection) => Promise<void>): Promise<number> {
  const connection = await connect(to);
  try {
    await connection.query('START TRANSACTION');
    await work(connection);
    await connection.query('COMMIT');
    return await heightOf(connection);
  } finally {
    await connection.end();
  }
}

async function heightOf(connection: Connection): Promise<number> {
  const [row] = await rows<{ height: number }>(
    connection,
    `SELECT COALESCE(MAX(block_index), ${FIRST_HEIGHT - 1}) AS height FROM blocks`
  );
  return Number(row!.height);
}

async function removeTip(connection: Connection): Promise<void> {
  const [tip] = await rows<{ height: number; hash: string; time: number }>(
    connection,
    'SELECT block_index AS height, hash, block_time AS time FROM blocks JOIN index_transactions ON id = block_hash_id ORDER BY block_index DESC LIMIT 1'
  );
  if (!tip) throw new Error('no block is left to take back');
  const { height, hash, time } = tip;
  for (const table of ['transaction_outputs', 'dispensers'])
    await connection.query(
      `DELETE FROM ${table} WHERE tx_index IN (SELECT tx_index FROM transactions WHERE block_index = ${height})`
    );
  await connection.query(`UPDATE dispensers SET expired_block_index = NULL WHERE expired_block_index = ${height}`);
  for (const table of ['transactions', 'blocks'])
    await connection.query(`DELETE FROM ${table} WHERE block_index = ${height}`);
  const data = JSON.stringify([{ block_index: height, block_hash: hash }]);
  await connection.query("INSERT INTO events (time, code, data) VALUES (?, 'REORG', ?)", [time, data]);
}

/** Ids that the next rows take: one more than the highest ever used, as AUTO_INCREMENT deals them. */
class Ids {
  readonly #ids = new Map<string, number>();
  readonly #buffer: RowBuffer;
  readonly #table: string;
  readonly #column: string;
  #last: number;

  constructor(buffer: RowBuffer, table: string, column: string, last: number) {
    this.#buffer = buffer;
    this.#table = table;
    this.#column = column;
    this.#last = last;
  }

  remember(value: string, id: number): void {
    this.#ids.set(value, id);
  }

  of(value: string): number {
    const known = this.#ids.get(value);
    if (known !== undefined) return known;
    this.#ids.set(value, ++this.#last);
    this.#buffer.add(this.#table, { id: this.#last, [this.#column]: value });
    return this.#last;
  }
}

async function loadIds(connection: Connection, buffer: RowBuffer, table: string, column: string): Promise<Ids> {
  const found = await rows<{ id: number; value: string }>(
    connection,
    `SELECT id, ${column} AS value FROM ${table} ORDER BY id`
  );
  const ids = new Ids(buffer, table, column, found.at(-1)?.id ?? 0);
  for (const { id, value } of found) ids.remember(value, id);
  return ids;
}

/** What the next block needs to know of those before it. */
interface State {
  readonly buffer: RowBuffer;
  readonly addresses: Ids;
  readonly hashes: Ids;
  readonly withPubkey: Set<number>;
  height: number;
  lastTx: number;
  tipHash: string;
}

async function loadState(connection: Connection): Promise<State> {
  const buffer = new RowBuffer();
  const known = await rows<{ id: number }>(connection, 'SELECT address_id AS id FROM pubkeys');
  const [last] = await rows<{ tx: number; hash: string | null }>(
    connection,
    `SELECT (SELECT COALESCE(MAX(tx_index), -1) FROM transactions) AS tx,
            (SELECT hash FROM blocks JOIN index_transactions ON id = block_hash_id ORDER BY block_index DESC LIMIT 1) AS hash`
  );
  return {
    buffer,
    addresses: await loadIds(connection, buffer, 'index_addresses', 'address'),
    hashes: await loadIds(connection, buffer, 'index_transactions', 'hash'),
    withPubkey: new Set(known.map(({ id }) => id)),
    height: await heightOf(connection),
    lastTx: Number(last!.tx),
    tipHash: last!.hash ?? sha256('genesis')
  };
}

async function addBlocks(
  connection: Connection,
  state: State,
  count: number,
  seed: string,
  size: number
): Promise<void> {
  const { buffer, addresses, hashes, withPubkey } = state;
  const pubkeys: number[] = [];
  for (let done = 0; done < count; done++) {
    const height = ++state.height;
    const random = createRandom(`decoder ${seed}:${height}`);
    const hash = sha256(`${seed}:${state.tipHash}:${height}`);
    buffer.add('blocks', {
      block_index: height,
      block_time: GENESIS_TIME + height * 150,
      block_hash_id: hashes.of(hash),
      previous_block_hash_id: hashes.of(state.tipHash)
    });
    state.tipHash = hash;
    const transactions =
      random.between(1, 10) === 1 ? 0 : random.between(Math.ceil(size / 2), size + Math.ceil(size / 2));
    for (let index = 0; index < transactions; index++) {
      const source = addresses.of(newAddress(random));
      addTransaction(buffer, random, ++state.lastTx, height, hashes.of(sha256(`${hash}:${index}`)), source);
      if (!withPubkey.has(source)) pubkeys.push(source);
      withPubkey.add(source);
    }
  }
  // Newest first: pubkeys are not found in the order of the addresses.
  for (const address_id of pubkeys.reverse())
    buffer.add('pubkeys', { address_id, pubkey: `02${sha256(String(address_id))}` });
  await buffer.flush(connection);
  await connection.query(
    `UPDATE dispensers SET expired_block_index = ${state.height} WHERE expired_block_index IS NULL ORDER BY tx_index LIMIT 1`
  );
}

function addTransaction(
  buffer: RowBuffer,
  random: Random,
  txIndex: number,
  height: number,
  hashId: number,
  source: number
): void {
  const large = random.between(1, 4) === 1;
  const bytes = createHash('shake256', { outputLength: random.between(0, 200) })
    .update(`${txIndex}`)
    .digest();
  const row: Record<string, Value> = {
    tx_index: txIndex,
    tx_hash_id: hashId,
    block_index: height,
    source_id: source,
    destination_id: null,
    amount: large ? (1n << 63n) + BigInt(txIndex) : null,
    fee: random.between(100, 100_000),
    data: random.pick(DATA),
    raw_data: random.between(1, 2) === 1 ? bytes : null
  };
  buffer.add('transactions', row);
  for (let vout = random.between(0, 2); vout > 0; vout--) {
    const amount = String(random.between(1, 10 ** 9));
    buffer.add('transaction_outputs', { tx_index: txIndex, vout, destination_id: source, amount });
  }
  if (random.between(1, 30) === 1)
    buffer.add('dispensers', {
      tx_index: txIndex,
      address_id: source,
      expiration: GENESIS_TIME,
      oracle_address_id: null,
      source_address_id: source,
      expired_block_index: null
    });
  if (random.between(1, 40) === 1)
    buffer.add('events', { time: GENESIS_TIME + height, code: 'PARSE_ERROR', data: `{"tx_index":${txIndex}}` });
  if (random.between(1, 60) === 1)
    buffer.add('mempool_transactions', { tx_hash: sha256(`m${txIndex}`), source: 's', data: '' });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
