import type { Statements } from '../../../db/connection.ts';
import { attempt } from '../../../db/statement-batch.ts';
import { type CarriedIds, mayOwnIds } from '../database/carried-ids.ts';
import { isNamed } from '../database/row-difference.ts';
import { insertRows, insertStatements, selectByKey } from '../database/row-statements.ts';
import type { CanonicalRow, ReplicaTable } from '../database/schema.ts';

const DUPLICATE_KEY = 1062;

/** Inserts rows that may conflict with a row that no message removed. */
export class YieldingInsert {
  readonly #connection: Statements;
  readonly #ids: CarriedIds;
  readonly #collisions: 'evict' | 'own';
  readonly #evict: (table: ReplicaTable, list: readonly CanonicalRow[]) => Promise<void>;

  constructor(
    connection: Statements,
    ids: CarriedIds,
    collisions: 'evict' | 'own',
    evict: (table: ReplicaTable, list: readonly CanonicalRow[]) => Promise<void>
  ) {
    this.#connection = connection;
    this.#ids = ids;
    this.#collisions = collisions;
    this.#evict = evict;
  }

  /**
   * @param table a table with the source's ids
   * @returns the rows as they were inserted
   * @throws MariaDB's error when a key still conflicts
   */
  async run(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<readonly CanonicalRow[]> {
    const inserted: CanonicalRow[] = [];
    for (const { sql, list: part } of insertStatements(table, list)) {
      for (const row of await this.#insert(table, sql, part)) inserted.push(row);
    }
    return inserted;
  }

  async #insert(table: ReplicaTable, sql: string, part: readonly CanonicalRow[]): Promise<readonly CanonicalRow[]> {
    if (this.#ids.isOwn(table)) return this.#insertDealt(table, part); // an earlier part made it so
    const refusal = await attempt(this.#connection, sql);
    if (refusal === null) return part;
    if (refusal.errno !== DUPLICATE_KEY) throw refusal;
    const { surrogate, identity } = table;
    const named = part.filter((row) => isNamed(table, row));
    await this.#evict(table, await selectByKey(this.#connection, table, identity ?? [], named));
    if (this.#collisions === 'own' && mayOwnIds(table)) {
      this.#ids.own(table);
      return this.#insertDealt(table, part);
    }
    if (surrogate !== null) await this.#evict(table, await selectByKey(this.#connection, table, [surrogate], part));
    await insertRows(this.#connection, table, part);
    return part;
  }

  async #insertDealt(table: ReplicaTable, part: readonly CanonicalRow[]): Promise<readonly CanonicalRow[]> {
    const assigned = await this.#ids.assign(this.#connection, table, part);
    await insertRows(this.#connection, table, assigned);
    return assigned;
  }
}
