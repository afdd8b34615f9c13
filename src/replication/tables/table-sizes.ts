import { type Connection, rows } from '../../db/connection.ts';

/** The size of a database's tables on disk, by MariaDB's own figures. */
export interface TableSizes {
  readonly tables: number;
  readonly dataBytes: number;
  readonly indexBytes: number;
  /** Estimate. */
  readonly rows: number;
}

/** Reads the sizes of some databases of one server, by name, in one query; a database without tables is left out. */
export async function readTableSizes(
  connection: Connection,
  names: readonly string[]
): Promise<ReadonlyMap<string, TableSizes>> {
  const found = await rows<{ name: string; tables: number; dataBytes: string; indexBytes: string; estimate: string }>(
    connection,
    `SELECT TABLE_SCHEMA AS name, COUNT(*) AS tables, COALESCE(SUM(DATA_LENGTH), 0) AS dataBytes,
       COALESCE(SUM(INDEX_LENGTH), 0) AS indexBytes, COALESCE(SUM(TABLE_ROWS), 0) AS estimate
     FROM information_schema.TABLES WHERE TABLE_SCHEMA IN (?) AND TABLE_TYPE = 'BASE TABLE' GROUP BY TABLE_SCHEMA`,
    [names]
  );
  return new Map(
    found.map(({ name, tables, dataBytes, indexBytes, estimate }) => [
      name,
      { tables: Number(tables), dataBytes: Number(dataBytes), indexBytes: Number(indexBytes), rows: Number(estimate) }
    ])
  );
}
