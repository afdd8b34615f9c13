import { createHash } from 'node:crypto';
import type { Connection } from '../../db/connection.ts';
import type { DbType } from '../../wire/data/database.ts';
import type { TypedTable } from '../../wire/data/schema.ts';
import { type HeadLayout, headLayout } from './block-hashes.ts';
import { findUncarried } from './carried.ts';
import { classifyTables, type TablePlan, UNSEEN } from './classify.ts';
import { dependencyOrder, readTopology } from './topology.ts';

/** Everything that readers know of a database's schema at one moment. */
export interface SourceLayout {
  readonly dbType: DbType;
  readonly tables: readonly TypedTable[];
  /** Tables whose rows change with rows of another database, by a foreign key. */
  readonly outsideChildren: ReadonlySet<string>;
  /** Changes when a table that travels does, or its class, or which tables travel. */
  readonly fingerprint: string;
  /** Tables that cannot travel, with the reason. */
  readonly notReplicated: ReadonlyMap<string, string>;
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
  const { tables, outsideChildren } = await readTopology(connection);
  const notReplicated = findUncarried(tables, dbType, localTables);
  const plans = dependencyOrder(classifyTables(tables, dbType, [...localTables, ...notReplicated.keys()]), tables);
  const fingerprint = fingerprintOf(tables, plans, notReplicated);
  return { dbType, tables, outsideChildren, fingerprint, notReplicated, plans, heads: headLayout(tables, dbType) };
}

/**
 * Returns SHA-256 of what decides which tables travel and how: a replica with another one has other tables, or counts
 * others among those that travel.
 */
function fingerprintOf(
  tables: readonly TypedTable[],
  plans: readonly TablePlan[],
  notReplicated: ReadonlyMap<string, string>
): string {
  const classes = new Map(plans.map((plan) => [plan.name, plan.class]));
  const travelling = tables.flatMap((table) => {
    const tableClass = classes.get(table.name)!;
    return UNSEEN.has(tableClass) ? [] : [{ ...table, class: tableClass }];
  });
  return createHash('sha256')
    .update(JSON.stringify([travelling, [...notReplicated]]))
    .digest('hex');
}

/** Returns a text that changes when a table's rows can no longer be compared with what was remembered of them. */
export function planSignature({ class: tableClass, columns, identity, scope }: TablePlan): string {
  return JSON.stringify([tableClass, identity, scope, columns.map(({ name, type, charset }) => [name, type, charset])]);
}
