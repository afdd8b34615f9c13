import type { Connection } from '../../src/db/connection.ts';

/** A row that a key, a reference or a missing parent forbids is not written: the next one may fit. */
const FORBIDDEN = new Set(['ER_DUP_ENTRY', 'ER_ROW_IS_REFERENCED_2', 'ER_NO_REFERENCED_ROW_2', 'ER_BAD_NULL_ERROR']);

/** Runs a statement; one that breaks a rule of the schema does nothing. */
export async function attempt(connection: Connection, sql: string): Promise<void> {
  try {
    await connection.query(sql);
  } catch (caught) {
    if (!FORBIDDEN.has((caught as { code?: string }).code ?? ''))
      throw new Error(`${(caught as Error).message} in ${sql.slice(0, 600)}`, { cause: caught });
  }
}
