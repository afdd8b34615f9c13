import { REPLICA_PREFIX } from '../installation/plan.ts';
import { compareDatabases, type Verdict } from '../verify/compare.ts';
import { type DatabaseCoordinates, DB_TYPES, type DbType } from '../wire/data/database.ts';
import type { HubsSummary } from './hub-proof.ts';
import { databaseOn } from './settings.ts';

/** Last line of `devnet --once`. */
export interface Summary {
  /** Whether both replicas equal their sources, row by row. */
  readonly equal: boolean;
  readonly blocks: number;
  readonly reorgs: number;
  readonly actors_killed: number;
  readonly seconds: number;
  readonly databases: readonly DatabaseSummary[];
  /** Absent with a standalone hub. */
  readonly hubs?: HubsSummary;
}

/** Result for one database. */
interface DatabaseSummary {
  readonly dbType: DbType;
  readonly equal: boolean;
  readonly height: number | null;
  readonly tables: number;
  readonly rows: number;
  /** One sentence per table that differs. */
  readonly differences: readonly string[];
}

/** Compares both replicas with their sources, by the checker that shares no code with the replication. */
export async function compareReplicas(server: Omit<DatabaseCoordinates, 'name'>): Promise<readonly DatabaseSummary[]> {
  const summaries: DatabaseSummary[] = [];
  for (const dbType of DB_TYPES) {
    const verdict = await compareDatabases(databaseOn(server, dbType), databaseOn(server, dbType, REPLICA_PREFIX));
    summaries.push(summarise(dbType, verdict));
  }
  return summaries;
}

function summarise(dbType: DbType, { equal, heights, tables }: Verdict): DatabaseSummary {
  return {
    dbType,
    equal,
    height: heights.replica,
    tables: tables.length,
    rows: tables.reduce((sum, { rows }) => sum + (rows.replica ?? 0), 0),
    differences: tables
      // The source's dispensers change further, while the replica's are those of the height at which they were fetched.
      .filter(({ equal, asOf, schema }) => !equal && (!asOf || schema.length > 0))
      .map(({ table, rows, schema, differences }) => {
        const first = schema[0] ?? JSON.stringify(differences[0] ?? null);
        return `${table}: source ${rows.source} rows, replica ${rows.replica} rows; first: ${first}`;
      })
  };
}
