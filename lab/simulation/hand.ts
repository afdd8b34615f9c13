import type { Random } from '../../src/devnet/random.ts';
import type { MemoryServer } from './database/memory-server.ts';

interface Target {
  readonly table: string;
  readonly set: string;
  readonly row: string | null;
}

/** Tables with the column that a hand changes, what it changes it to, and the row that it may add. */
const TARGETS: readonly [Target, ...Target[]] = [
  {
    table: 'transfers',
    set: 'amount = amount + 1000',
    row: '(block_index, address_id, amount) VALUES (:height, 1, 7)'
  },
  { table: 'tokens', set: 'supply = supply + 1', row: "(tick, supply) VALUES (':name', 7)" },
  { table: 'index_addresses', set: "address = ':name'", row: "(address) VALUES (':name')" },
  { table: 'blocks', set: 'block_time = block_time + 1', row: null },
  { table: 'sync_meta', set: 'block_time = block_time + 1', row: null }
];

/** A statement that changes, deletes or adds one row that a comparison looks at, or empties a table; blocks are only given other times. */
export function findChange(server: MemoryServer, random: Random, height: number): string {
  const { table, set, row } = random.pick(TARGETS);
  const rows = server.read<{ place: number }>(`SELECT rowid AS place FROM ${table} ORDER BY rowid`);
  const how = random.pick(['change', 'delete', 'add', 'empty'] as const);
  const fill = (sql: string) =>
    sql.replace(':height', String(random.between(1, height))).replace(':name', `x${random.between(1, 1_000_000)}`);
  if (row !== null && (how === 'add' || rows.length === 0)) return fill(`INSERT INTO ${table} ${row}`);
  const one = `rowid = ${rows.length === 0 ? 0 : random.pick(rows as [{ place: number }, ...typeof rows]).place}`;
  if (how === 'empty' && row !== null) return `DELETE FROM ${table}`;
  if (how === 'delete' && table !== 'blocks') return `DELETE FROM ${table} WHERE ${one}`;
  return fill(`UPDATE ${table} SET ${set} WHERE ${one}`);
}
