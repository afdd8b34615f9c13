import type { DbType } from '../../wire/data/database.ts';
import type { TypedTable } from '../../wire/data/schema.ts';
import type { Connection } from '../core/connection.ts';
import { type HeadLayout, headLayout } from './block-hashes.ts';
import { classifyTables, type TablePlan } from './classify.ts';
import { dependencyOrder, readTopology } from './topology.ts';

/** Everything that readers know of a database's schema at one moment. */
export interface SourceLayout {
  readonly dbType: DbType;
  readonly tables: readonly TypedTable[];
  readonly fingerprint: string;
  /** All tables, local ones included, in the order in which they travel. */
  readonly plans: readonly TablePlan[];
  /** Null while there is no `blocks` table. */
  readonly heads: HeadLayout | null;
}

/** Reads and classifies the schema. Inside a snapshot it is that snapshot's schema. */
export async function readLayout(
  connection: Connection,
  dbType: DbType,
  localTables: readonly string[] = []
): Promise<SourceLayout> {
  const { tables, fingerprint } = await readTopology(connection);
  const plans = dependencyOrder(classifyTables(tables, dbType, localTables), tables);
  return { dbType, tables, fingerprint, plans, heads: headLayout(tables, dbType) };
}

/** Changes when a table's rows can no longer be compared with what was remembered of them. */
export function planSignature({ class: tableClass, columns, identity, scope }: TablePlan): string {
  return JSON.stringify([tableClass, identity, scope, columns.map(({ name, type, charset }) => [name, type, charset])]);
}
