import { type Connection, rows } from '../../../src/db/connection.ts';
import { createRandom, type Random } from '../../../src/devnet/random.ts';
import { CHAINS, type Setting } from './block-context.ts';
import { changeDecoderLate, DECODER_LATE_KINDS, type DecoderLateKind } from './decoder-late-changes.ts';
import type { Change } from './late-changes.ts';
import { type BlockRequest, FIRST_HEIGHT, GENESIS_TIME, type WrittenBlock } from './ledger.ts';
import { RowBuffer, sqlTime } from './rows.ts';
import { hex } from './values.ts';

const TRANSACTIONS_PER_BLOCK = [0, 12] as const;
/** An expired dispenser is deleted so many blocks later. */
const KEPT_BLOCKS = 126;
const DATA = [
  'SEND|0|GAS|1|x',
  'BROADCAST|0|😀 ends with a space ',
  '',
  'it\'s \\ "é"\n\t',
  'MINT|0|Rare|0.1'
] as const;

interface Counters {
  height: number;
  lastTx: number;
  /** Reorgs so far. */
  branch: number;
  tipHashId: number;
}

/** Writes blocks of a decoder in transactions of the caller's. */
export class DecoderWriter {
  readonly #setting: Setting;
  #counters: Counters;

  private constructor(setting: Setting, counters: Counters) {
    this.#setting = setting;
    this.#counters = counters;
  }

  static async open(setting: Setting): Promise<DecoderWriter> {
    return new DecoderWriter(setting, await readCounters(setting.connection));
  }

  get height(): number {
    return this.#counters.height;
  }

  async writeBlock(request: BlockRequest): Promise<WrittenBlock> {
    const { connection, seed, chain } = this.#setting;
    const counters = this.#counters;
    const height = counters.height + 1;
    const random = createRandom(`${seed}:${counters.branch}:${height}`);
    const time = GENESIS_TIME + height * CHAINS[chain].blockSeconds;
    const name = `${seed} ${counters.branch} ${height}`;
    const hashId = await idOf(connection, 'index_transactions', 'hash', hex(`block ${name}`));
    await connection.query(
      'INSERT INTO blocks (block_index, block_time, block_hash_id, previous_block_hash_id) VALUES (?, ?, ?, ?)',
      [height, time, hashId, counters.tipHashId]
    );
    const buffer = new RowBuffer();
    const spenders: number[] = [];
    for (let at = 0, count = countOf(request.actions, random); at < count; at += 1)
      spenders.push(await this.#addTransaction(buffer, random, height, `${name} ${at}`));
    if (random.between(1, 15) === 1)
      buffer.add('events', { time: sqlTime(time), code: 'PARSE_ERROR', data: `{"tx_index":${counters.lastTx}}` });
    await buffer.flush(connection);
    await addPubkeys(connection, spenders);
    await changeDispensers(connection, random, height, time);
    const changes = await this.#writeLate(request, random, height);
    counters.height = height;
    counters.tipHashId = hashId;
    return { height, changes };
  }

  async #writeLate({ late = [], without = [] }: BlockRequest, random: Random, height: number): Promise<Change[]> {
    const changes: Change[] = [];
    const asked =
      late === 'random' ? randomChanges(random, height).filter(({ kind }) => !without.includes(kind)) : late;
    for (const { kind, depth } of asked) {
      const change = await changeDecoderLate(this.#setting.connection, kind as DecoderLateKind, height, depth);
      if (change) changes.push(change);
      else if (late !== 'random') throw new Error(`no row of ${kind} is ${depth} blocks old at block ${height}`);
    }
    return changes;
  }

  /** @returns the address that spent */
  async #addTransaction(buffer: RowBuffer, random: Random, height: number, name: string): Promise<number> {
    const { connection } = this.#setting;
    const txIndex = ++this.#counters.lastTx;
    const address = (text: string) => idOf(connection, 'index_addresses', 'address', text);
    const source = await address(`bc1q${hex(random.between(0, 1) ? `${random.between(1, 50)}` : name, 38)}`);
    const destination = random.between(1, 3) === 1 ? 1 : await address(`bc1q${hex(`to ${name}`, 38)}`);
    buffer.add('transactions', {
      tx_index: txIndex,
      tx_hash_id: await idOf(connection, 'index_transactions', 'hash', hex(name)),
      block_index: height,
      source_id: source,
      destination_id: destination,
      amount: null,
      fee: 0,
      data: random.pick(DATA),
      raw_data: random.between(0, 1) ? Buffer.from(hex(`raw ${name}`, random.between(0, 64) * 2), 'hex') : null
    });
    for (let vout = 0, count = random.between(0, 2); vout < count; vout += 1) {
      const amount = `${random.between(1, 10 ** 9)}`;
      buffer.add('transaction_outputs', { tx_index: txIndex, vout, destination_id: destination, amount });
    }
    if (random.between(1, 12) === 1)
      buffer.add('dispensers', {
        tx_index: txIndex,
        address_id: source,
        expiration: GENESIS_TIME + random.between(1, 10 ** 8),
        oracle_address_id: null,
        source_address_id: source,
        expired_block_index: null
      });
    return source;
  }

  /** Takes back the newest blocks, newest first, each with its event; lookups and public keys stay. */
  async undo(depth: number): Promise<void> {
    const { connection, chain } = this.#setting;
    for (let done = 0; done < depth; done += 1) {
      const { height } = this.#counters;
      const query = (sql: string, values: unknown[] = []) => connection.query(sql, values);
      for (const table of ['transaction_outputs', 'dispensers'])
        await query(
          `DELETE t FROM ${table} t JOIN transactions USING (tx_index) WHERE transactions.block_index = ${height}`
        );
      await query(
        `UPDATE dispensers d JOIN dispenser_extension_undo u USING (tx_index, address_id)
         SET d.expiration = u.prior_expiration, d.expired_block_index = u.prior_expired_block_index WHERE u.block_index = ${height}`
      );
      await query(`DELETE FROM dispenser_extension_undo WHERE block_index = ${height}`);
      await query(`UPDATE dispensers SET expired_block_index = NULL WHERE expired_block_index = ${height}`);
      const [tip] = await rows<{ hash: string }>(
        connection,
        `SELECT hash FROM blocks JOIN index_transactions ON id = block_hash_id WHERE block_index = ${height}`
      );
      for (const table of ['transactions', 'blocks']) await query(`DELETE FROM ${table} WHERE block_index = ${height}`);
      await query("INSERT INTO events (time, code, data) VALUES (?, 'REORG', ?)", [
        sqlTime(GENESIS_TIME + height * CHAINS[chain].blockSeconds),
        JSON.stringify([{ block_index: height, block_hash: tip?.hash }])
      ]);
      this.#counters = await readCounters(connection);
    }
  }

  /** In no transaction of a block. */
  async pruneDispensers(): Promise<void> {
    await this.#setting.connection.query(
      `DELETE FROM dispensers WHERE expired_block_index <= ${this.#counters.height - KEPT_BLOCKS}`
    );
  }
}

function randomChanges(random: Random, height: number): { kind: DecoderLateKind; depth: number }[] {
  return Array.from({ length: random.between(0, 2) }, () => ({
    kind: random.pick(DECODER_LATE_KINDS),
    depth: Math.min(height - FIRST_HEIGHT, random.pick([1, 10, 100, 1_000, 2_500]))
  }));
}

function countOf(actions: BlockRequest['actions'], random: Random): number {
  return typeof actions === 'number' ? actions : random.between(...TRANSACTIONS_PER_BLOCK);
}

/** By AUTO_INCREMENT: a value that is known already takes a number nevertheless. */
async function idOf(connection: Connection, table: string, column: string, value: string): Promise<number> {
  await connection.query(`INSERT IGNORE INTO ${table} (${column}) VALUES (?)`, [value]);
  const [found] = await rows<{ id: number }>(connection, `SELECT id FROM ${table} WHERE ${column} = ?`, [value]);
  return Number(found!.id);
}

/** Every other address has its public key found when it spends; newest first, so not in the order of their ids. */
async function addPubkeys(connection: Connection, spenders: readonly number[]): Promise<void> {
  for (const id of [...new Set(spenders)].reverse()) {
    if (id % 2 === 0)
      await connection.query('INSERT IGNORE INTO pubkeys (address_id, pubkey) VALUES (?, ?)', [
        id,
        `02${hex(`${id}`)}`
      ]);
  }
}

/** Dispensers of any age expire, or are extended, which a reorg takes back by a note. */
async function changeDispensers(connection: Connection, random: Random, height: number, time: number): Promise<void> {
  if (random.between(1, 3) === 1)
    await connection.query(
      `UPDATE dispensers SET expired_block_index = ${height} WHERE expired_block_index IS NULL ORDER BY expiration, tx_index, address_id LIMIT 1`
    );
  if (random.between(1, 4) > 1) return;
  const [row] = await rows<{ tx_index: number; address_id: number }>(
    connection,
    'SELECT tx_index, address_id FROM dispensers WHERE expired_block_index IS NULL ORDER BY tx_index, address_id LIMIT 1'
  );
  if (!row) return;
  const which = `tx_index = ${row.tx_index} AND address_id = ${row.address_id}`;
  await connection.query(
    `INSERT INTO dispenser_extension_undo (block_index, tx_index, address_id, prior_expiration, prior_expired_block_index)
     SELECT ${height}, tx_index, address_id, expiration, expired_block_index FROM dispensers WHERE ${which}`
  );
  await connection.query(`UPDATE dispensers SET expiration = ${time + 10 ** 7} WHERE ${which}`);
}

async function readCounters(connection: Connection): Promise<Counters> {
  const [found] = await rows<Record<'height' | 'tx' | 'branch', number>>(
    connection,
    `SELECT (SELECT COALESCE(MAX(block_index), ${FIRST_HEIGHT - 1}) FROM blocks) AS height, (SELECT COALESCE(MAX(tx_index), 0) FROM transactions) AS tx,
       (SELECT COUNT(*) FROM events WHERE code = 'REORG') AS branch`
  );
  const height = Number(found!.height);
  const [tip] = await rows<{ id: number }>(
    connection,
    `SELECT block_hash_id AS id FROM blocks WHERE block_index = ${height}`
  );
  const tipHashId = Number(tip?.id ?? (await idOf(connection, 'index_transactions', 'hash', hex('genesis'))));
  return { height, lastTx: Number(found!.tx), branch: Number(found!.branch), tipHashId };
}

/** Row of both lookup tables that stands for none. */
export async function addEmptyText(connection: Connection): Promise<void> {
  await connection.query("INSERT INTO index_addresses (id, address) VALUES (1, '')");
  await connection.query("INSERT INTO index_transactions (id, hash) VALUES (1, '')");
}
