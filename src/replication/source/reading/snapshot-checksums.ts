import { type Connection, rows } from '../../../db/connection.ts';
import type { BlockHead } from '../../tables/block-hashes.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import type { Checksum, Value } from '../changes/checksum-map.ts';
import { rangingOf, readChecksums, toValue } from '../changes/ranging.ts';
import { HIGHEST, LOWEST, type Span } from '../changes/spans.ts';
import { readTableFacts } from '../changes/table-facts.ts';
import { isWatched, windowStart } from '../changes/watch-reader.ts';
import { type JsonId, toJsonId } from './lookup-id.ts';
import { readHighestId } from './lookup-reader.ts';

/** Rows of one table that a snapshot's end is compared by, where the table is larger only its newest ones. */
const COMPARED_ROWS = 4_096;

/** A part of one table as a snapshot saw it. */
interface TableChecksums {
  /** Lowest value; null: the whole table, NULL included. */
  readonly from: number | null;
  /** Highest value; null: no bound. */
  readonly to: number | null;
  readonly entries: readonly (readonly [Value, Checksum])[];
}

/**
 * A database's state in one snapshot, from which its reader continues with the next group.
 *
 * It may differ from the broadcast of the same block: tables may change in place between two blocks. Older rows of large
 * tables are not in it; a replica compares them by digests when it has loaded a snapshot.
 */
export interface SnapshotChecksums {
  readonly height: number;
  readonly tables: Readonly<Record<string, TableChecksums>>;
  /** Lookup tables: their highest id. */
  readonly lookups: Readonly<Record<string, JsonId>>;
}

/** Reads the state that a snapshot at the tip holds, in the snapshot's own transaction. @param first its lowest block */
export async function readSnapshotChecksums(
  connection: Connection,
  layout: SourceLayout,
  { height }: BlockHead,
  first = 0
): Promise<SnapshotChecksums> {
  const tables: Record<string, TableChecksums> = {};
  const lookups: Record<string, JsonId> = {};
  const facts = await readTableFacts(connection);
  const lowest = first > 0 ? await lowestValues(connection, layout, first) : null;
  for (const plan of layout.plans) {
    const { name } = plan;
    if (plan.class === 'lookup') lookups[name] = toJsonId(await readHighestId(connection, plan));
    if (!isWatched(plan)) continue;
    const ranging = rangingOf(plan, layout.tables);
    const isLarge = ranging.isIndexed && (facts.get(name)?.rows ?? 0) > COMPARED_ROWS;
    const window = isLarge ? await windowStart(connection, plan, ranging) : LOWEST;
    // Of a since-snapshot, older blocks' rows its reader has from elsewhere.
    const bound = plan.scope && lowest ? (plan.scope.parent === null ? first : lowest[plan.scope.column]) : LOWEST;
    if (bound === undefined) continue;
    const from = Math.max(window, bound ?? LOWEST);
    const span: Span = [from, HIGHEST];
    const now = await readChecksums(connection, plan, ranging, from === LOWEST ? null : [span]);
    tables[name] = { from: from === LOWEST ? null : from, to: null, entries: [...now] };
  }
  return { height, tables, lookups };
}

/** Reads the lowest value of some block or a later one, by the scope column of a parent. */
async function lowestValues(
  connection: Connection,
  { plans }: SourceLayout,
  first: number
): Promise<Record<string, number | undefined>> {
  const found: Record<string, number | undefined> = {};
  for (const { scope } of plans) {
    if (!scope?.parent || scope.column in found) continue;
    const [row] = await rows(
      connection,
      `SELECT MIN(${scope.column}) AS v FROM ${scope.parent} WHERE block_index >= ?`,
      [first]
    );
    found[scope.column] = row?.['v'] == null ? undefined : toValue(row['v'])!;
  }
  return found;
}
