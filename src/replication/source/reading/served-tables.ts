import { isDriverError, quoteName, type Statements } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import { UNSEEN } from '../../tables/classify.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';

/** By table that travels, its columns. */
export type TableColumns = Readonly<Record<string, readonly string[]>>;

/** An online change of a schema renames a table for a moment: only one that stays away is dropped. */
const MOMENT_MS = 5_000;
const NO_SUCH_TABLE = 1146;
const NO_SUCH_COLUMN = 1054;
const DENIED: ReadonlySet<number> = new Set([1142, 1143]);

/**
 * The tables that a source has served. MariaDB shows an account only what it may read: one that lost a right sees fewer tables, as if
 * they were dropped. What vanished is asked for by name, and nothing is served before the answer is that there is no such table.
 */
export class ServedTables {
  #columns: TableColumns;
  /** Fingerprint of the layout that was checked last. */
  #fingerprint: string | null = null;
  /** By table that is not there, since when, by `performance.now()`. */
  readonly #away = new Map<string, number>();

  /** @param columns as a predecessor served them */
  constructor(columns: TableColumns = {}) {
    this.#columns = columns;
  }

  /** The columns, for a successor. */
  get columns(): TableColumns {
    return this.#columns;
  }

  /** Another database is served. */
  forget(): void {
    this.#columns = {};
  }

  /** @throws {PlatformError} TABLE_HIDDEN when a table or a column that was served cannot be read any more, or is away for a moment */
  async check(connection: Statements, { plans, fingerprint }: SourceLayout): Promise<void> {
    if (fingerprint === this.#fingerprint) return;
    const now = new Map(plans.map((plan) => [plan.name, plan]));
    for (const [table, columns] of Object.entries(this.#columns)) {
      // MariaDB knows a column by its name in any case.
      const there = new Set(now.get(table)?.columns.map(({ name }) => name.toLowerCase()));
      if (there.size === 0) await this.#checkTable(connection, table);
      else {
        this.#away.delete(table);
        for (const column of columns)
          if (!there.has(column.toLowerCase())) await checkColumn(connection, table, column);
      }
    }
    const served = plans.filter((plan) => !UNSEEN.has(plan.class));
    this.#columns = Object.fromEntries(served.map((plan) => [plan.name, plan.columns.map(({ name }) => name)]));
    this.#fingerprint = fingerprint;
    this.#away.clear();
  }

  async #checkTable(connection: Statements, table: string): Promise<void> {
    const { errno, message } = await ask(connection, `SELECT 1 FROM ${quoteName(table)} LIMIT 0`);
    // A view of that name can be read, and has no rows of its own.
    if (errno !== NO_SUCH_TABLE && errno !== null) throw hidden(`table ${table}`, errno, message);
    const since = this.#away.get(table) ?? performance.now();
    this.#away.set(table, since);
    if (performance.now() - since >= MOMENT_MS) return;
    const reason = `table ${table} is not there: after ${MOMENT_MS / 1000} s without it, it counts as dropped`;
    throw new PlatformError('TABLE_HIDDEN', { reason, table });
  }
}

/** Returns whether MariaDB refused a statement because the account lacks a right on a table or a column. */
export function isDenied(caught: unknown): boolean {
  return DENIED.has(Number(Object(caught).errno));
}

async function checkColumn(connection: Statements, table: string, column: string): Promise<void> {
  const { errno, message } = await ask(connection, `SELECT ${quoteName(column)} FROM ${quoteName(table)} LIMIT 0`);
  if (errno !== NO_SUCH_COLUMN) throw hidden(`column ${column} of table ${table}`, errno, message);
}

/** @returns MariaDB's refusal; none when the statement succeeded */
async function ask(
  connection: Statements,
  sql: string
): Promise<{ readonly errno: number | null; readonly message: string }> {
  try {
    await connection.query(sql);
    return { errno: null, message: '' };
  } catch (caught) {
    const { errno, fatal, message } = caught as { errno?: number; fatal?: boolean; message: string };
    if (!isDriverError(caught) || fatal === true || errno === undefined) throw caught;
    return { errno, message };
  }
}

function hidden(what: string, errno: number | null, message: string): PlatformError {
  const reason =
    errno === null
      ? `${what} came back while the schema was read: it is read again`
      : DENIED.has(errno)
        ? `${what} was served, and the account may not read it any more: GRANT SELECT on it again`
        : `${what} was served, and cannot be read any more: ${message}`;
  return new PlatformError('TABLE_HIDDEN', { reason, errno });
}
