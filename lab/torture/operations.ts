import { type Connection, quoteName } from '../../src/db/connection.ts';
import type { Random } from '../../src/devnet/random.ts';
import type { Operation } from './plan.ts';
import type { InventedColumn, InventedTable } from './schema.ts';
import { attempt } from './statement.ts';

export interface Place {
  readonly connection: Connection;
  /** The newest block. */
  readonly height: number;
}

/** Frequency of an operation on a table, in 100 blocks. */
const CHANCE: Readonly<Record<Operation, number>> = {
  insert: 45,
  flood: 1,
  duplicate: 6,
  update: 20,
  hot: 12,
  rekey: 8,
  swap: 4,
  delete: 10,
  empty: 1,
  backdate: 8,
  past: 6
};
const FLOOD_ROWS = 60;

/** Does one kind of thing to one table, or nothing, as the random figures will. */
export async function changeTable(
  place: Place,
  table: InventedTable,
  operation: Operation,
  random: Random
): Promise<void> {
  if (random.between(1, 100) > CHANCE[operation]) return;
  if (table.isLookup && operation !== 'insert' && operation !== 'flood') return; // lookups grow, and lose rows in reorgs
  const { connection, height } = place;
  const { name, columns, anchor } = table;
  const from = quoteName(name);
  const run = (sql: string) => attempt(connection, sql);
  const some = (salt: number, limit: number) => `ORDER BY ${shuffle(table, salt)} LIMIT ${limit}`;
  switch (operation) {
    case 'insert':
      return insertRows(place, table, random.between(1, 3), random, anchorValue(table, height, false, random));
    case 'flood':
      return insertRows(place, table, FLOOD_ROWS, random, anchorValue(table, height, false, random));
    case 'backdate':
      if (anchor) await insertRows(place, table, 1, random, anchorValue(table, height, true, random));
      return;
    case 'duplicate': {
      const list = columns.filter(({ literal }) => literal).map((column) => quoteName(column.name));
      return run(`INSERT INTO ${from} (${list}) SELECT ${list} FROM ${from} ${some(random.between(1, 99), 1)}`);
    }
    case 'update':
    case 'past': {
      const column = random.pick(plain(table, 'c'));
      if (!column) return;
      if (operation === 'past' && random.between(0, 1))
        return run(`DELETE FROM ${from} ${some(random.between(1, 99), 1)}`);
      const value = fill(column.literal!(random), height);
      return run(
        `UPDATE ${from} SET ${quoteName(column.name)} = ${value} ${some(random.between(1, 99), random.between(1, 3))}`
      );
    }
    case 'hot': {
      const column = plain(table, 'c')[0];
      return (
        column &&
        run(
          `UPDATE ${from} SET ${quoteName(column.name)} = ${fill(column.literal!(random), height)} ORDER BY ${shuffle(table, 0, ['k1', 'k2'])} LIMIT 1`
        )
      );
    }
    case 'rekey': {
      const column = random.pick(plain(table, 'k'));
      return (
        column &&
        run(
          `UPDATE ${from} SET ${quoteName(column.name)} = ${fill(column.literal!(random), height)} ${some(random.between(1, 99), 1)}`
        )
      );
    }
    case 'swap':
      return swapKeys(place, table, random);
    case 'delete':
      return run(`DELETE FROM ${from} ${some(random.between(1, 99), random.between(1, 4))}`);
    case 'empty':
      return run(`DELETE FROM ${from}`);
  }
}

/** Two rows give each other their keys, by way of a third value: what a reader sees is only the end. */
async function swapKeys({ connection }: Place, table: InventedTable, random: Random): Promise<void> {
  const column = plain(table, 'k')[0];
  if (!column) return;
  const [name, from] = [quoteName(column.name), quoteName(table.name)];
  const [low, high, free] = [column.literal!(random), column.literal!(random), column.literal!(random)];
  for (const [before, after] of [
    [low, free],
    [high, low],
    [free, high]
  ] as const)
    await attempt(connection, `UPDATE ${from} SET ${name} = ${after} WHERE ${name} = ${before} LIMIT 1`);
}

async function insertRows(
  { connection, height }: Place,
  table: InventedTable,
  count: number,
  random: Random,
  anchor: string | null
): Promise<void> {
  const columns = table.columns.filter(({ literal }) => literal);
  const names = [...(table.isLookup ? ['id'] : []), ...columns.map(({ name }) => name)];
  const from = quoteName(table.name);
  for (let index = 0; index < count; index += 1) {
    const values = columns.map(({ name, literal }) =>
      name === table.anchor && anchor !== null ? anchor : fill(literal!(random), height)
    );
    // The next id, not the counter's: a source deals those again that a reorg took.
    if (table.isLookup) values.unshift('COALESCE(MAX(id), 0) + 1');
    const tail = table.isLookup ? `SELECT ${values.join(', ')} FROM ${from}` : `VALUES (${values.join(', ')})`;
    await attempt(connection, `INSERT INTO ${from} (${names.map(quoteName).join(', ')}) ${tail}`);
  }
}

/** SQL for the value that ties a row to the newest block, or to an earlier one. */
function anchorValue({ anchor }: InventedTable, height: number, earlier: boolean, random: Random): string | null {
  if (anchor === null) return null;
  const block = earlier ? Math.max(100, height - random.between(1, 40)) : height;
  if (anchor === 'block_index') return String(block);
  const parent = anchor === 'tx_index' ? 'transactions' : 'actions';
  const order = random.pick(['ASC', 'DESC']);
  return `(SELECT ${anchor} FROM ${parent} WHERE block_index ${earlier ? '<=' : '='} ${block} ORDER BY block_index DESC, ${anchor} ${order} LIMIT 1)`;
}

/** Columns whose values may be changed in place: those that hold content, or those of keys. */
function plain({ columns }: InventedTable, prefix: 'c' | 'k'): [InventedColumn, ...InventedColumn[]] {
  const fits = ({ name, literal }: InventedColumn) =>
    literal && (prefix === 'k' ? /^k\d$/.test(name) : /^(c\d|added|note|.*_block$|parent_id)/.test(name));
  return columns.filter(fits) as [InventedColumn, ...InventedColumn[]];
}

/** An order that follows from the rows' content alone, another one for each salt. */
function shuffle({ columns }: InventedTable, salt: number, names?: readonly string[]): string {
  const parts = columns
    .filter(({ name, literal }) => literal && (names?.includes(name) ?? true))
    .map(({ name }) => `HEX(${quoteName(name)})`);
  return `CRC32(CONCAT_WS('|', ${parts.join(', ')}, ${salt}))`;
}

function fill(literal: string, height: number): string {
  return literal === '@height' ? String(height) : literal;
}
