import { type Connection, connect, rows, type SqlRow } from '../../src/db/connection.ts';
import type { DatabaseCoordinates, DbType } from '../../src/wire/database.ts';

/** Tables of one node, or of a sync service's own. */
const NEVER = new Set(
  ['sync_meta', 'merkle_epochs', 'sync_halt', 'mempool_transactions'].concat(
    ['icons', 'price_snapshots', 'pending_hub_pushes'] // an indexer's
  )
);
/** What changes in place: sent whole as upserts. */
const IN_PLACE = ['tokens', 'stakes', 'attests', 'dispensers'];
const FIRST = ['blocks', 'transactions', 'actions'];
const LAST = ['balances', 'sync_meta', 'pubkeys'];

type Row = Record<string, unknown>;
type RowsByTable = Record<string, Row[]>;

export interface Head {
  readonly height: number;
  readonly time: number;
  readonly hashes: Record<string, string | null>;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly isJson: boolean }[];
}

/** The database of a server of another make, read with SQL of its own. */
export class CompatibleDatabase {
  readonly #dbType: DbType;
  readonly #connection: Connection;
  /** One statement sequence at a time on the one connection. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(dbType: DbType, connection: Connection) {
    this.#dbType = dbType;
    this.#connection = connection;
  }

  static async open(dbType: DbType, at: DatabaseCoordinates): Promise<CompatibleDatabase> {
    return new CompatibleDatabase(dbType, await connect(at));
  }

  async end(): Promise<void> {
    await this.#turn.catch(() => undefined);
    this.#connection.destroy();
  }

  /** Whatever is read by the work is read in one snapshot. */
  async read<T>(work: () => Promise<T>): Promise<T> {
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
    const names = this.#dbType === 'indexer' ? ['ledger_hash', 'actions_hash', 'contract_hash'] : ['block_hash'];
    const joins = names.map((name) => `LEFT JOIN index_transactions ${name} ON ${name}.id = b.${name}_id`);
    const found = await rows(
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
    const columns = await rows<{ t: string; c: string; type: string }>(
      this.#connection,
      `SELECT c.TABLE_NAME AS t, c.COLUMN_NAME AS c, IF(k.CONSTRAINT_NAME IS NULL, c.DATA_TYPE, 'json') AS type
       FROM information_schema.COLUMNS c LEFT JOIN information_schema.CHECK_CONSTRAINTS k
         ON k.CONSTRAINT_SCHEMA = c.TABLE_SCHEMA AND k.TABLE_NAME = c.TABLE_NAME AND k.CONSTRAINT_NAME = c.COLUMN_NAME
       WHERE c.TABLE_SCHEMA = DATABASE() ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION`
    );
    const tables = new Map<string, Table['columns'][number][]>();
    for (const { t, c, type } of columns) {
      if (!NEVER.has(t)) tables.set(t, [...(tables.get(t) ?? []), { name: c, type, isJson: type === 'json' }]);
    }
    const rank = (name: string) =>
      name.startsWith('index_') ? -1 : FIRST.includes(name) ? FIRST.indexOf(name) : LAST.includes(name) ? 9 : 5;
    return [...tables]
      .map(([name, list]) => ({ name, columns: list }))
      .sort((a, b) => rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1));
  }

  /** `CREATE TABLE` by table. */
  async definitions(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const { name } of await this.tables()) {
      const [row] = await rows(this.#connection, `SHOW CREATE TABLE \`${name}\``);
      found[name] = String(row!['Create Table']).replace(/ AUTO_INCREMENT=\d+/, '');
    }
    return found;
  }

  async highestIds(tables: readonly Table[]): Promise<Record<string, number>> {
    const ids: Record<string, number> = {};
    for (const table of tables.filter(hasId)) {
      const [row] = await rows(this.#connection, `SELECT COALESCE(MAX(id), 0) AS id FROM \`${table.name}\``);
      ids[table.name] = Number(row!['id']);
    }
    return ids;
  }

  /** The rows of one block, of lookup tables those above the ids that were there before; and what changes in place. */
  async block(height: number, tables: readonly Table[], before: Readonly<Record<string, number>>) {
    const data: RowsByTable = {};
    const updated: RowsByTable = {};
    for (const table of tables) {
      const { name } = table;
      if (name === 'balances' || (name === 'dispensers' && this.#dbType === 'decoder')) continue;
      const scope = scopeOf(table, `= ${height}`);
      const condition = isLookup(name) && hasId(table) ? `id > ${before[name] ?? 0}` : scope;
      const found = condition === null ? [] : await this.#rows(table, condition);
      if (found.length > 0) data[name] = found;
      if (IN_PLACE.includes(name)) updated[name] = await this.#rows(table, '1');
    }
    return { data, updated };
  }

  /** All rows, or those of blocks from a height on beside whole lookup tables. */
  async snapshot(since: number | null) {
    const tip = (await this.heads(1)).at(-1);
    const tables: RowsByTable = {};
    const updated: RowsByTable = {};
    for (const table of await this.tables()) {
      const { name } = table;
      const changes = since !== null && IN_PLACE.includes(name) && this.#dbType === 'indexer';
      if (changes) updated[name] = await this.#rows(table, '1');
      const condition = since === null || isLookup(name) ? '1' : scopeOf(table, `>= ${since}`);
      if (condition === null || (since !== null && this.#dbType === 'decoder' && name === 'dispensers')) continue;
      const found = await this.#rows(table, condition);
      if (found.length > 0) tables[name] = found;
    }
    return { tip, tables, updated };
  }

  async #rows({ name, columns }: Table, condition: string): Promise<Row[]> {
    const list = columns.map((column) =>
      column.type === 'float' ? `CAST(\`${column.name}\` AS DOUBLE) AS \`${column.name}\`` : `\`${column.name}\``
    );
    const found = await rows<SqlRow>(this.#connection, `SELECT ${list.join(', ')} FROM \`${name}\` WHERE ${condition}`);
    for (const row of found) {
      for (const column of columns) {
        const value = row[column.name];
        if (Buffer.isBuffer(value)) row[column.name] = { __xbin__: value.toString('base64') };
        else if (column.isJson && typeof value === 'string') row[column.name] = JSON.parse(value);
      }
    }
    return found;
  }
}

const isLookup = (name: string): boolean => name.startsWith('index_') || name === 'pubkeys' || name === 'events';
const has = ({ columns }: Table, name: string): boolean => columns.some((column) => column.name === name);
const hasId = (table: Table): boolean => has(table, 'id');

/** Which rows of a table belong to blocks; null where none does. Refunds of matured dispensers hang on older actions. */
function scopeOf(table: Table, blocks: string): string | null {
  if (table.name.startsWith('index_') || table.name === 'tokens') return null;
  if (has(table, 'block_index')) return `block_index ${blocks}`;
  if (has(table, 'tx_index')) return `tx_index IN (SELECT tx_index FROM transactions WHERE block_index ${blocks})`;
  if (!has(table, 'action_index')) return null;
  const own = `action_index IN (SELECT action_index FROM actions WHERE block_index ${blocks})`;
  const executions = `SELECT execution_index FROM contract_executions WHERE ${own}`;
  if (table.name === 'contract_emissions') return `execution_index IN (${executions})`;
  if (table.name !== 'credits') return own;
  return `${own} OR action_index IN (SELECT action_index FROM dispensers WHERE expiration_block ${blocks})`;
}
