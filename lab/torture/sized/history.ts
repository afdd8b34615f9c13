import { createHash } from 'node:crypto';
import { type Connection, connect, rows } from '../../../src/db/connection.ts';
import { createRandom, type Random } from '../../../src/devnet/random.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { createTables, FIRST_BLOCKS, FIRST_HEIGHT, type SizedTable, sizedTables, YEAR } from './tables.ts';

/** Rows of a large table that a block touched, by their key. */
export type Touched = ReadonlyMap<string, readonly number[]>;

/** A block, by its height and the id of its ledger hash. */
export interface Tip {
  readonly height: number;
  readonly hashId: number;
}

/** Writes the blocks of a case: in each, rows are added to every table, and old rows of it change, go and are replaced. */
export class SizedHistory {
  readonly tables: readonly SizedTable[];
  readonly #seed: string;
  readonly #connection: Connection;
  readonly #source: DatabaseCoordinates;
  #height = FIRST_HEIGHT + FIRST_BLOCKS - 1;
  /** Makes each block one of its own, also at a height that was there before. */
  #written = 0;
  #action: number;
  #touched = new Map<string, number[]>();
  #columns = 0;
  #tip: Tip;

  private constructor(seed: string, source: DatabaseCoordinates, connection: Connection, sizes: readonly number[]) {
    this.#seed = seed;
    this.#source = source;
    this.#connection = connection;
    this.tables = sizedTables(sizes);
    this.#action = 10 * Math.max(...sizes);
    this.#tip = { height: this.#height, hashId: 2 * FIRST_BLOCKS };
  }

  static async open(seed: string, source: DatabaseCoordinates, sizes: readonly number[]): Promise<SizedHistory> {
    const connection = await connect(source);
    await createTables(connection, seed, sizes);
    return new SizedHistory(seed, source, connection, sizes);
  }

  /** The newest block. */
  get tip(): Tip {
    return this.#tip;
  }

  async close(): Promise<void> {
    await this.#connection.end();
  }

  /** Keys of the rows that were touched since this was asked last. */
  takeTouched(): Touched {
    const touched = this.#touched;
    this.#touched = new Map();
    return touched;
  }

  /** Writes one block in one transaction. @param more further changes of it */
  async writeBlock(more: () => Promise<unknown> = async () => undefined): Promise<void> {
    this.#written += 1;
    this.#height += 1;
    const random = this.random('block', this.#written);
    await this.run('START TRANSACTION');
    await this.#addBlock(random);
    for (const table of this.tables) await this.#changeTable(table, random);
    await this.#changeOddTables(random);
    await more();
    await this.run('COMMIT');
  }

  random(...place: readonly (string | number)[]): Random {
    return createRandom(`sized ${this.#seed} ${place.join(' ')}`);
  }

  async run(sql: string): Promise<void> {
    await this.#connection.query(sql);
  }

  /** Every row of one table, with its next block. */
  async changeAll(table: string): Promise<void> {
    await this.run(`UPDATE ${table} SET amount = amount + 1`);
  }

  /** Empties a table and fills it again: the first commits by itself. */
  async truncate(): Promise<void> {
    await this.run('TRUNCATE drafts');
    await this.writeBlock(() =>
      this.run(`INSERT INTO drafts (text) SELECT CONCAT('draft ${this.#written} ', seq) FROM seq_1_to_3000`)
    );
  }

  async swapNames(): Promise<void> {
    await this.run('RENAME TABLE left_side TO between_sides, right_side TO left_side, between_sides TO right_side');
    await this.writeBlock();
  }

  async exchangePartition(): Promise<void> {
    await this.run(`DELETE FROM aside WHERE id < ${YEAR} OR id >= ${2 * YEAR}`);
    await this.run('ALTER TABLE years EXCHANGE PARTITION p1 WITH TABLE aside');
    await this.writeBlock();
  }

  async addColumn(): Promise<void> {
    this.#columns += 1;
    const table = this.tables[2]!.name;
    await this.run(`ALTER TABLE ${table} ADD COLUMN more_${this.#columns} INT NOT NULL DEFAULT ${this.#columns}`);
    await this.writeBlock();
  }

  /** A change that was prepared before a block and is committed after it: it comes with the next one. */
  async commitByXa(): Promise<void> {
    const other = await connect(this.#source);
    const name = `'xa${this.#written}'`;
    try {
      await other.query(`XA START ${name}`);
      await other.query(`INSERT INTO ${this.tables[2]!.name} (owner_id, amount) VALUES (1, '11')`);
      await other.query(`XA END ${name}`);
      await other.query(`XA PREPARE ${name}`);
      await this.writeBlock();
      await other.query(`XA COMMIT ${name}`);
    } finally {
      other.destroy();
    }
    await this.writeBlock();
  }

  /** Rows whose ids were dealt before those of two blocks, and that are committed after them. @param between is done while they wait */
  async commitLate(between: () => Promise<void>): Promise<void> {
    const other = await connect(this.#source);
    try {
      await other.query('START TRANSACTION');
      await other.query(`INSERT INTO index_memos (memo) VALUES ('late ${this.#written}')`);
      await other.query(`INSERT INTO ${this.tables[2]!.name} (owner_id, amount) VALUES (2, '22')`);
      for (let count = 0; count < 2; count += 1) {
        await this.writeBlock(() =>
          this.run(`INSERT INTO index_memos (memo) SELECT CONCAT('memo ${this.#written} ', seq) FROM seq_1_to_2500`)
        );
        await between();
      }
      await other.query('COMMIT');
    } finally {
      other.destroy();
    }
    await this.writeBlock();
  }

  /** Replaces the newest blocks by others. Rows without a block stay as they are. */
  async reorg(): Promise<void> {
    const random = this.random('reorg', this.#written);
    const depth = random.between(1, 8);
    const fork = this.#height - depth + 1;
    await this.run('START TRANSACTION');
    await this.run(
      `DELETE FROM credits WHERE action_index IN (SELECT action_index FROM actions WHERE block_index >= ${fork})`
    );
    for (const name of [
      ...this.tables.filter(({ key }) => key === 'action_index').map(({ name }) => name),
      'actions',
      'transactions',
      'blocks'
    ])
      await this.run(`DELETE FROM ${name} WHERE block_index >= ${fork}`);
    await this.run('DELETE FROM balances WHERE (address_id, tick_id) NOT IN (SELECT address_id, tick_id FROM credits)');
    await this.#sumUp();
    await this.run('COMMIT');
    this.#height = fork - 1;
    for (let count = random.between(1, depth + 1); count > 0; count -= 1) await this.writeBlock();
  }

  async #addBlock(random: Random): Promise<void> {
    const [ledger, actions, hash] = [
      await this.#hashId('ledger'),
      await this.#hashId('actions'),
      await this.#hashId('transaction')
    ];
    await this.run(
      `INSERT INTO blocks (block_index, block_time, ledger_hash_id, actions_hash_id, contract_hash_id)
       VALUES (${this.#height}, ${1_700_000_000 + this.#height * 150}, ${ledger}, ${actions}, 1)`
    );
    this.#tip = { height: this.#height, hashId: ledger };
    await this.run(
      `INSERT INTO transactions (tx_index, block_index, tx_hash_id, source_id) SELECT COALESCE(MAX(tx_index), 0) + 1, ${this.#height}, ${hash}, 1 FROM transactions`
    );
    this.#action += 1;
    await this.run(
      `INSERT INTO actions VALUES (${this.#action}, ${this.#height}, (SELECT MAX(tx_index) FROM transactions))`
    );
    await this.run(
      `INSERT INTO credits VALUES (${this.#action}, ${random.between(1, 50)}, ${random.between(1, 4)}, '${random.between(1, 1_000_000)}')`
    );
    await this.#sumUp();
  }

  async #sumUp(): Promise<void> {
    await this.run(
      `INSERT INTO balances (address_id, tick_id, amount)
       SELECT address_id, tick_id, SUM(CAST(amount AS DECIMAL(60,18))) AS total FROM credits
       GROUP BY address_id, tick_id ORDER BY address_id, tick_id ON DUPLICATE KEY UPDATE amount = VALUES(amount)`
    );
  }

  async #hashId(what: string): Promise<number> {
    const hash = createHash('sha256').update(`${what} ${this.#seed} ${this.#written}`).digest('hex');
    await this.run(`INSERT INTO index_transactions (id, hash) SELECT MAX(id) + 1, '${hash}' FROM index_transactions`);
    const [found] = await rows<{ id: number }>(this.#connection, 'SELECT MAX(id) AS id FROM index_transactions');
    return Number(found!.id);
  }

  async #changeTable(table: SizedTable, random: Random): Promise<void> {
    const { name, key, size } = table;
    const old = (count: number) => Array.from({ length: count }, () => random.between(1, size));
    const value = random.between(1, 1_000_000_000);
    const touched: number[] = [];
    const at = (keys: readonly number[]) => {
      touched.push(...keys);
      return `${key} IN (${keys.join(', ')})`;
    };
    if (key === 'id') {
      const [last] = await rows<{ id: number }>(this.#connection, `SELECT MAX(id) AS id FROM ${name}`);
      const count = random.between(1, 10);
      await this.run(
        `INSERT INTO ${name} (owner_id, amount, note) SELECT seq, ${value}, 'of ${this.#height}' FROM seq_1_to_${count}`
      );
      for (let next = 1; next <= count; next += 1) touched.push(Number(last!.id) + next);
      await this.run(`UPDATE ${name} SET amount = ${value} WHERE ${at(old(random.between(1, 5)))}`);
      await this.run(`DELETE FROM ${name} WHERE ${at(old(random.between(1, 2)))}`);
      if (random.between(1, 4) === 1) {
        const [replaced] = old(1) as [number];
        touched.push(replaced);
        await this.run(`REPLACE INTO ${name} (id, owner_id, amount, note) VALUES (${replaced}, 7, ${value}, NULL)`);
      }
      if (random.between(1, 8) === 1) {
        const [moved] = old(1) as [number];
        const to = moved + 100 * size + this.#written * 1_000_000_000;
        touched.push(moved, to);
        await this.run(`UPDATE ${name} SET id = ${to} WHERE id = ${moved}`);
      }
    } else {
      for (let count = random.between(1, 10); count > 0; count -= 1) {
        this.#action += 1;
        touched.push(this.#action);
        await this.run(
          `INSERT INTO ${name} (action_index, block_index, remaining, status_id) VALUES (${this.#action}, ${this.#height}, ${value}, 1)`
        );
      }
      await this.run(`UPDATE ${name} SET remaining = ${value}, status_id = 2 WHERE ${at(old(random.between(1, 5)))}`);
      if (random.between(1, 4) === 1) await this.run(`DELETE FROM ${name} WHERE ${at(old(1))}`);
      if (random.between(1, 4) === 1)
        await this.run(
          `UPDATE ${name} SET block_index = block_index - 1 WHERE block_index > ${FIRST_HEIGHT} AND ${at(old(1))}`
        );
    }
    if (!table.isWhole) this.#touched.set(name, [...(this.#touched.get(name) ?? []), ...touched]);
  }

  async #changeOddTables(random: Random): Promise<void> {
    const parent = () => random.between(1, this.tables[2]!.size); // some of them are gone
    await this.run(`INSERT IGNORE INTO children (held_id) VALUES (${parent()}), (${parent()})`);
    await this.run(`UPDATE left_side SET text = 'left ${this.#written}' WHERE id = ${random.between(1, 4_000)}`);
    await this.run(`UPDATE years SET text = 'in ${this.#written}' WHERE id = ${random.between(1, 3 * YEAR)}`);
    await this.run(`UPDATE aside SET text = 'in ${this.#written}' WHERE id = ${random.between(YEAR, YEAR + 1_000)}`);
    await this.run(`DELETE FROM drafts WHERE id = ${random.between(1, 3_000)}`);
    await this.run(`INSERT INTO index_memos (memo) VALUES ('of block ${this.#written}')`);
  }
}
