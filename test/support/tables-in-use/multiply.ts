import { type Connection, rows } from '../../../src/db/connection.ts';

/**
 * Repeats rows of a table, under actions of their own where those are unique, until it has about so many.
 *
 * @param count rows, at least as many as there are
 */
export async function multiply(writer: Connection, table: string, count: number): Promise<void> {
  const [found] = await rows(writer, `SELECT COUNT(*) AS n FROM ${table}`);
  const [columns] = await rows(
    writer,
    `SELECT GROUP_CONCAT(CONCAT('t.', column_name)) AS list FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = '${table}' AND column_name <> 'id'`
  );
  const list = String(columns!['list']);
  const times = Math.ceil(count / Math.max(1, Number(found!['n'])));
  const keys = await rows(writer, `SHOW KEYS FROM ${table} WHERE Non_unique = 0 AND Column_name = 'action_index'`);
  const values = keys.length > 0 ? list.replace('t.action_index', '1000000 + t.action_index * 10000 + s.seq') : list;
  await rows(
    writer,
    `INSERT INTO ${table} (${list.replaceAll('t.', '')}) SELECT ${values} FROM ${table} t JOIN seq_1_to_${times} s`
  );
  await rows(writer, `ANALYZE TABLE ${table}`);
}
