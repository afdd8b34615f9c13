import type { Connection } from '../../../db/connection.ts';
import type { DbType } from '../../../wire/data/database.ts';
import { readLayout, type SourceLayout } from '../../tables/source-layout.ts';
import type { TableFacts } from '../changes/table-facts.ts';

/**
 * The schema as it was read last, as long as no table's definition changed.
 *
 * MariaDB moves a table's CREATE_TIME with every ALTER, an instant one too; its seconds must be over before it can be relied on.
 */
export class LayoutCache {
  #kept: { readonly key: string; readonly layout: SourceLayout } | undefined;

  /** @param facts of the same snapshot */
  async read(
    connection: Connection,
    dbType: DbType,
    localTables: readonly string[],
    facts: ReadonlyMap<string, TableFacts>
  ): Promise<SourceLayout> {
    const all = [...facts.values()];
    const key = all.map(({ name, createTime }) => `${name} ${createTime}`).join();
    if (this.#kept?.key === key) return this.#kept.layout;
    const layout = await readLayout(connection, dbType, localTables);
    const isOld = all.every(({ createTime, isNew }) => createTime !== null && !isNew);
    this.#kept = isOld ? { key, layout } : undefined;
    return layout;
  }

  /** A right that was taken from the account moves no table's time: the next reading finds what may be read. */
  forget(): void {
    this.#kept = undefined;
  }
}
