import { createHash } from 'node:crypto';
import { type Connection, connect, quoteName, rows } from '../../src/db/connection.ts';
import type { Random } from '../../src/devnet/random.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { BASE_SCOPED, BASE_TABLES } from './base.ts';
import { changeTable, type Place } from './operations.ts';
import { type Case, OPERATIONS, randomAt, type Step } from './plan.ts';
import { createStatement, type InventedTable, inventAddition, inventTable } from './schema.ts';
import { attempt } from './statement.ts';

export const FIRST_HEIGHT = 100;
const FIRST_BLOCKS = 8;
const FIRST_TABLES = 12;
const ADDRESSES = 6;

/** Writes the history of one case into a source. */
export interface CaseWriter {
  readonly height: number;
  /** Rows or tables changed since the newest block: the next one tells of it. */
  readonly isLate: boolean;
  readonly tables: readonly string[];
  /**
   * Does one step of the plan. What it wrote is committed when it returns.
   *
   * @param whileHeld called when blocks that are held are written and nobody may see them
   */
  write(step: Extract<Step, { kind: 'blocks' | 'reorg' | 'alter' }>, whileHeld?: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Writes an invented schema and history, as an indexer or decoder does: in transactions of whole blocks. */
export class InventedWriter implements CaseWriter {
  readonly #case: Case;
  readonly #connection: Connection;
  readonly #tables: InventedTable[] = [];
  #height = FIRST_HEIGHT - 1;
  /** Makes each block, also one of a height that was there before, a block of its own. */
  #written = 0;
  #invented = 0;
  #isLate = false;

  private constructor(of: Case, connection: Connection) {
    this.#case = of;
    this.#connection = connection;
  }

  /** Makes the schema and the first blocks. */
  static async open(of: Case, source: DatabaseCoordinates): Promise<InventedWriter> {
    const writer = new InventedWriter(of, await connect(source));
    for (const [name, definition] of Object.entries(BASE_TABLES[of.dbType]))
      await writer.#connection.query(
        `CREATE TABLE ${name} (${definition}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci`
      );
    for (let count = 0; count < FIRST_TABLES; count += 1) await writer.#addTable();
    for (let count = 0; count < ADDRESSES; count += 1)
      await writer.#connection.query('INSERT INTO index_addresses (address) VALUES (?)', [`of old ${count}`]);
    await writer.write({ kind: 'blocks', count: FIRST_BLOCKS, how: 'one' });
    return writer;
  }

  get height(): number {
    return this.#height;
  }

  get isLate(): boolean {
    return this.#isLate;
  }

  get tables(): readonly string[] {
    return this.#tables.map(({ name }) => name);
  }

  async close(): Promise<void> {
    await this.#connection.end();
  }

  async write(
    step: Extract<Step, { kind: 'blocks' | 'reorg' | 'alter' }>,
    whileHeld: () => Promise<void> = async () => undefined
  ): Promise<void> {
    if (step.kind === 'blocks') await this.#addBlocks(step, whileHeld);
    else if (step.kind === 'reorg') await this.#reorg(step);
    else await this.#alter(step.what);
  }

  async #addBlocks({ count, how }: Extract<Step, { kind: 'blocks' }>, whileHeld: () => Promise<void>): Promise<void> {
    await this.#inTransaction(async () => {
      for (let done = 0; done < count; done += 1) await this.#addBlock(how === 'staged' && done === count - 1);
      if (how === 'held') await whileHeld();
    });
    this.#isLate = how === 'late';
    if (how === 'staged') await this.#inTransaction(() => this.#finishBlock());
    if (how === 'late') await this.#inTransaction(() => this.#changeTables('late'));
  }

  /** A staged block lacks its hashes, and half of its rows, until it is finished: no reader may take it before. */
  async #addBlock(staged: boolean): Promise<void> {
    this.#written += 1;
    this.#height += 1;
    const random = randomAt(this.#case, 'block', this.#written);
    const time = 1_700_000_000 + this.#height * 150;
    await this.#connection.query('INSERT INTO blocks (block_index, block_time) VALUES (?, ?)', [this.#height, time]);
    if (!staged) await this.#giveHashes();
    const transactions = random.between(0, 3);
    for (let index = 0; index < transactions; index += 1) await this.#addTransaction(index, random);
    await this.#changeTables('block');
  }

  async #finishBlock(): Promise<void> {
    await this.#changeTables('rest');
    await this.#giveHashes();
  }

  async #giveHashes(): Promise<void> {
    const hash = (name: string) => this.#hashId(`${name} ${this.#case.seed} ${this.#written}`);
    if (this.#case.dbType === 'decoder') {
      const before = `SELECT block_hash_id FROM (SELECT * FROM blocks) b WHERE b.block_index = ${this.#height - 1}`;
      await this.#connection.query(
        `UPDATE blocks SET block_hash_id = ?, previous_block_hash_id = COALESCE((${before}), 0) WHERE block_index = ?`,
        [await hash('block'), this.#height]
      );
      return;
    }
    // A contract hash stays what it was while no contract runs.
    const contract = await this.#hashId(`contract ${this.#case.seed} ${this.#written >> 2}`);
    await this.#connection.query(
      'UPDATE blocks SET ledger_hash_id = ?, actions_hash_id = ?, contract_hash_id = ? WHERE block_index = ?',
      [await hash('ledger'), await hash('actions'), contract, this.#height]
    );
  }

  async #hashId(text: string): Promise<number> {
    const hash = createHash('sha256').update(text).digest('hex');
    const find = () =>
      rows<{ id: number }>(this.#connection, 'SELECT id FROM index_transactions WHERE hash = ?', [hash]);
    if ((await find()).length === 0)
      await this.#connection.query(
        'INSERT INTO index_transactions (id, hash) SELECT COALESCE(MAX(id), 0) + 1, ? FROM index_transactions',
        [hash]
      );
    return Number((await find())[0]!.id);
  }

  async #addTransaction(index: number, random: Random): Promise<void> {
    const hashId = await this.#hashId(`transaction ${this.#case.seed} ${this.#written} ${index}`);
    const address = await this.#addressId(random);
    const query = (sql: string, values: unknown[] = []) => this.#connection.query(sql, values);
    await query(
      'INSERT INTO transactions (tx_index, block_index, tx_hash_id, source_id) SELECT COALESCE(MAX(tx_index), 0) + 1, ?, ?, ? FROM transactions',
      [this.#height, hashId, address]
    );
    for (let count = random.between(0, 2); count > 0; count -= 1) {
      await query(
        'INSERT INTO actions (action_index, block_index, tx_index) SELECT COALESCE(MAX(action_index), 0) + 1, ?, (SELECT MAX(tx_index) FROM transactions) FROM actions',
        [this.#height]
      );
      if (this.#case.dbType === 'indexer') await this.#pay(address, random);
    }
    if (this.#case.dbType === 'decoder' && random.between(0, 2) === 0)
      await attempt(
        this.#connection,
        `INSERT INTO pubkeys (address_id, pubkey, id) SELECT ${address}, HEX(${address}), COALESCE(MAX(id), 0) + 1 FROM pubkeys`
      );
  }

  /** Half of them are new, of these most carry their block. */
  async #addressId(random: Random): Promise<number> {
    if (random.between(0, 1)) return random.between(1, ADDRESSES);
    const address = `${random.pick(['é', '😀', 'A', 'a'])} ${this.#written} ${random.between(0, 5)}`;
    await attempt(
      this.#connection,
      `INSERT INTO index_addresses (id, address, block_index) SELECT COALESCE(MAX(id), 0) + 1, '${address}', ${random.between(1, 8) === 1 ? 'NULL' : this.#height} FROM index_addresses`
    );
    const [found] = await rows<{ id: number }>(this.#connection, 'SELECT id FROM index_addresses WHERE address = ?', [
      address
    ]);
    return Number(found!.id);
  }

  /** A credit or a debit of the newest action, or a refund that hangs on an old one. */
  async #pay(address: number, random: Random): Promise<void> {
    const isRefund = random.between(1, 6) === 1;
    const action = isRefund ? 'action_index <= (SELECT MAX(action_index) FROM actions) * 0.8' : 'TRUE';
    const to = isRefund ? random.between(1, ADDRESSES) : address;
    const tick = random.between(1, 4);
    const amount = random.pick(['1', '0.000000000000000001', '12345678901234567890.5', '1', '3']);
    const table = random.pick(['credits', 'credits', 'debits']);
    await this.#connection.query(
      `INSERT INTO ${table} (action_index, address_id, tick_id, amount)
       SELECT action_index, ${to}, ${tick}, '${amount}' FROM actions WHERE ${action} ORDER BY action_index DESC LIMIT 1`
    );
    await this.#sumUp(`address_id = ${to} AND tick_id = ${tick}`);
  }

  async #sumUp(which: string): Promise<void> {
    const part = (table: string, sign: string) =>
      `SELECT address_id, tick_id, ${sign}CAST(amount AS DECIMAL(60,18)) AS amount FROM ${table} WHERE ${which}`;
    await this.#connection.query(
      `INSERT INTO balances (address_id, tick_id, amount)
       SELECT address_id, tick_id, SUM(amount) AS total FROM (${part('credits', '+')} UNION ALL ${part('debits', '-')}) moved
       GROUP BY address_id, tick_id ORDER BY address_id, tick_id ON DUPLICATE KEY UPDATE amount = VALUES(amount)`
    );
  }

  async #changeTables(phase: string): Promise<void> {
    const place: Place = { connection: this.#connection, height: this.#height };
    for (const table of this.#tables) {
      if (this.#case.without.includes(table.name)) continue;
      for (const operation of OPERATIONS) {
        if (this.#case.without.includes(operation)) continue;
        await changeTable(place, table, operation, randomAt(this.#case, phase, this.#written, table.name, operation));
      }
    }
  }

  async #reorg({ depth, count, apart }: Extract<Step, { kind: 'reorg' }>): Promise<void> {
    this.#isLate = false;
    const fork = Math.max(FIRST_HEIGHT + 1, this.#height - depth + 1);
    const random = randomAt(this.#case, 'reorg', this.#written);
    const takeBack = async () => {
      await this.#takeBack(fork, random);
      this.#height = fork - 1;
    };
    const branch = async () => {
      for (let done = 0; done < count; done += 1) await this.#addBlock(false);
    };
    if (apart) {
      await this.#inTransaction(takeBack);
      for (let done = 0; done < count; done += 1) await this.#inTransaction(() => this.#addBlock(false));
    } else
      await this.#inTransaction(async () => {
        await takeBack();
        await branch();
      });
  }

  /** Takes back what a source takes back: rows of blocks, stamped lookups; mutable tables are left, or changed anyhow. */
  async #takeBack(fork: number, random: Random): Promise<void> {
    const query = (sql: string) => this.#connection.query(sql);
    const scoped = [
      ...[...this.#tables].reverse().flatMap(({ name, anchor }) => (anchor ? [{ name, anchor }] : [])),
      ...BASE_SCOPED[this.#case.dbType].map((name) => ({ name, anchor: 'action_index' }))
    ];
    await query('SET foreign_key_checks = 0'); // some of its rows may be referred to by rows that stay
    for (const { name, anchor } of scoped) {
      const parent = anchor === 'tx_index' ? 'transactions' : 'actions';
      const which =
        anchor === 'block_index'
          ? `block_index >= ${fork}`
          : `${anchor} IN (SELECT ${anchor} FROM ${parent} WHERE block_index >= ${fork})`;
      await query(`DELETE FROM ${quoteName(name)} WHERE ${which}`);
    }
    for (const name of ['actions', 'transactions', 'blocks'])
      await query(`DELETE FROM ${name} WHERE block_index >= ${fork}`);
    await this.#takeBackLookups(fork, random);
    await query('SET foreign_key_checks = 1');
    if (this.#case.dbType === 'indexer') {
      await query(
        'DELETE FROM balances WHERE (address_id, tick_id) NOT IN (SELECT address_id, tick_id FROM credits UNION SELECT address_id, tick_id FROM debits)'
      );
      await this.#sumUp('TRUE');
    }
  }

  async #takeBackLookups(fork: number, random: Random): Promise<void> {
    const query = (sql: string) => this.#connection.query(sql);
    if (random.between(0, 2) > 0) {
      await query(`DELETE FROM index_addresses WHERE block_index >= ${fork}`);
      if (this.#case.dbType === 'decoder')
        await query('DELETE FROM pubkeys WHERE address_id NOT IN (SELECT id FROM index_addresses)');
    }
    for (const { name, isLookup, columns } of this.#tables) {
      if (isLookup && columns.some((column) => column.name === 'block_index') && random.between(0, 3) > 0)
        await query(`DELETE FROM ${name} WHERE block_index >= ${fork}`);
    }
    const used =
      this.#case.dbType === 'decoder' ? ['block_hash_id'] : ['ledger_hash_id', 'actions_hash_id', 'contract_hash_id'];
    const inUse = [
      ...used.map((name) => `SELECT MAX(${name}) AS id FROM blocks`),
      'SELECT MAX(tx_hash_id) FROM transactions'
    ];
    if (random.between(0, 1))
      await query(
        `DELETE FROM index_transactions WHERE id > (SELECT MAX(id) FROM (${inUse.join(' UNION ALL ')}) used)`
      );
  }

  async #alter(what: 'column' | 'table' | 'key'): Promise<void> {
    this.#invented += 1;
    this.#isLate = true;
    const random = randomAt(this.#case, 'alter', this.#written, this.#invented);
    const table = random.pick(this.#tables as [InventedTable, ...InventedTable[]]);
    if (what === 'table') return this.#addTable();
    if (what === 'key') {
      const column = random.pick(table.columns as [InventedTable['columns'][0]]);
      const length = /CHAR|TEXT|BLOB|BINARY/.test(column.definition) && column.literal ? '(4)' : '';
      await this.#connection.query(
        `ALTER TABLE ${quoteName(table.name)} ADD KEY added_${this.#invented} (${quoteName(column.name)}${length})`
      );
      return;
    }
    const column = inventAddition(`added_${this.#invented}`, random);
    const after = random.pick(['', 'FIRST', `AFTER ${quoteName(table.columns[0]!.name)}`]);
    await this.#connection.query(
      `ALTER TABLE ${quoteName(table.name)} ADD COLUMN ${column.name} ${column.definition} ${after}`
    );
    table.columns.push(column);
  }

  async #addTable(): Promise<void> {
    const name = `t${this.#tables.length + 1}`;
    const parents = this.#tables.filter(({ keys }) => keys.includes('PRIMARY KEY (id)')).map((table) => table.name);
    const table = inventTable(name, randomAt(this.#case, 'table', this.#tables.length + 1), parents);
    await this.#connection.query(createStatement(table));
    this.#tables.push(table);
  }

  async #inTransaction(work: () => Promise<void>): Promise<void> {
    await this.#connection.query('START TRANSACTION');
    await work();
    await this.#connection.query('COMMIT');
  }
}
