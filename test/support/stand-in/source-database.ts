import type { Connection } from 'mysql2/promise';
import {
  describe,
  has,
  type Kind,
  open,
  type Place,
  quoted,
  type Row,
  type RowsByTable,
  select,
  type Table,
  toWire
} from './database.ts';
import { blockSql, changesLater, inOrder, mannerOf, refundSql } from './tables.ts';

const HASHES = { indexer: ['ledger_hash', 'actions_hash', 'contract_hash'], decoder: ['block_hash'] } as const;

/** A block by what identifies it. */
export interface Head {
  readonly height: number;
  readonly time: number;
  readonly hashes: Readonly<Record<string, string | null>>;
}

export type Ids = Readonly<Record<string, number>>;

/** The authoritative database of a server of another make, read with SQL of its own. */
export class SourceDatabase {
  readonly #kind: Kind;
  readonly #connection: Connection;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(kind: Kind, connection: Connection) {
    this.#kind = kind;
    this.#connection = connection;
  }

  static async open(kind: Kind, at: Place): Promise<SourceDatabase> {
    return new SourceDatabase(kind, await open(at));
  }

  async end(): Promise<void> {
    await this.#turn.catch(() => undefined);
    this.#connection.destroy();
  }

  /** Whatever is read by the work is read in one snapshot; works wait for each other. */
  read<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn
      .catch(() => undefined)
      .then(async () => {
        await this.#connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
        try {
          return await work();
        } finally {
          await this.#connection.query('COMMIT');
        }
      });
    this.#turn = turn;
    return turn;
  }

  /** The newest blocks, ascending. */
  async heads(count: number): Promise<Head[]> {
    const names = HASHES[this.#kind];
    const joins = names.map((name) => `JOIN index_transactions ${name} ON ${name}.id = b.${name}_id`);
    const found = await select(
      this.#connection,
      `SELECT b.block_index AS height, b.block_time AS time, ${names.map((name) => `${name}.hash AS ${name}`).join(', ')}
       FROM blocks b ${joins.join(' ')} ORDER BY b.block_index DESC LIMIT ${count}`
    );
    return found.reverse().map(({ height, time, ...hashes }) => ({
      height: Number(height),
      time: Number(time),
      hashes: hashes as Head['hashes']
    }));
  }

  async tables(): Promise<Table[]> {
    return inOrder((await describe(this.#connection)).filter((table) => mannerOf(this.#kind, table) !== 'never'));
  }

  /** `CREATE TABLE` by table. */
  async definitions(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const { name } of await this.tables()) {
      const [row] = await select(this.#connection, `SHOW CREATE TABLE ${quoted(name)}`);
      found[name] = String(row!['Create Table']).replace(/ AUTO_INCREMENT=\d+/, '');
    }
    return found;
  }

  /** The highest id of every lookup table. */
  async ids(tables: readonly Table[]): Promise<Ids> {
    const ids: Record<string, number> = {};
    for (const table of this.#of(tables, 'lookup')) {
      const [row] = await select(this.#connection, `SELECT COALESCE(MAX(id), 0) AS id FROM ${quoted(table.name)}`);
      ids[table.name] = Number(row!['id']);
    }
    return ids;
  }

  /** Rows of one block, lookup rows above these ids, and the balances of the pairs that the block moves. */
  async block(height: number, tables: readonly Table[], above: Ids): Promise<RowsByTable> {
    const data: RowsByTable = {};
    for (const table of tables) {
      const { name } = table;
      const manner = mannerOf(this.#kind, table);
      if (manner === 'lookup') await this.#take(data, table, `r.id > ${above[name] ?? 0}`);
      else if (manner === 'block') await this.#take(data, table, this.#blocks(table, tables, `= ${height}`)!);
      else if (manner === 'balances') await this.#take(data, table, `(${this.#moved(height)})`);
    }
    return data;
  }

  /** All rows; of tables without an end, those of a block and above, beside whole lookup tables. */
  async snapshot(since: number | null): Promise<{ tables: RowsByTable; updated: RowsByTable }> {
    const [tables, updated]: [RowsByTable, RowsByTable] = [{}, {}];
    const all = await this.tables();
    for (const table of all) {
      const manner = mannerOf(this.#kind, table);
      if (since === null || manner === 'lookup') await this.#take(tables, table, '1');
      else if (manner === 'block') await this.#take(tables, table, this.#blocks(table, all, `>= ${since}`)!);
      if (since === null || !changesLater(this.#kind, table)) continue;
      const newer = blockSql(table, `>= ${since}`);
      await this.#take(updated, table, newer === null ? '1' : `NOT (${newer})`);
    }
    return { tables, updated };
  }

  /** The rows of older blocks, or of none, and those of the block. */
  async around(table: Table, height: number): Promise<[older: Row[], own: Row[]]> {
    const read = async (condition: string) =>
      (await select(this.#connection, `SELECT r.* FROM ${quoted(table.name)} r WHERE ${condition}`)).map((row) =>
        toWire(table, row)
      );
    const own = blockSql(table, `= ${height}`);
    return own === null ? [await read('1'), []] : [await read(blockSql(table, `< ${height}`)!), await read(own)];
  }

  /** Every row of a table. */
  async whole(table: Table): Promise<Row[]> {
    return (await select(this.#connection, `SELECT r.* FROM ${quoted(table.name)} r`)).map((row) => toWire(table, row));
  }

  #of(tables: readonly Table[], manner: string): Table[] {
    return tables.filter((table) => mannerOf(this.#kind, table) === manner && has(table, 'id'));
  }

  #blocks(table: Table, all: readonly Table[], blocks: string): string | null {
    const own = blockSql(table, blocks);
    const refunds = /^(?:credits|escrows)$/.test(table.name) ? refundSql(all, blocks) : null;
    return refunds === null ? own : `(${own} OR ${refunds})`;
  }

  #moved(height: number): string {
    const of = (name: string) =>
      `SELECT address_id, tick_id FROM ${name} JOIN actions USING (action_index) WHERE block_index = ${height}`;
    return `r.address_id, r.tick_id) IN (${of('credits')} UNION ${of('debits')}`;
  }

  async #take(into: RowsByTable, table: Table, condition: string): Promise<void> {
    const found = await select(this.#connection, `SELECT r.* FROM ${quoted(table.name)} r WHERE ${condition}`);
    if (found.length > 0) into[table.name] = [...(into[table.name] ?? []), ...found.map((row) => toWire(table, row))];
  }
}
