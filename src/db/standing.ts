import type { BlockHead } from './block-hashes.ts';
import type { Connection } from './connection.ts';
import { type Figure, readFigures, readTableFigure } from './scope-sql.ts';
import { readLastId, WINDOW } from './scoped-window.ts';
import type { SourceLayout } from './source-layout.ts';

/**
 * A database's state in figures, as one snapshot of it saw them: what its reader stands on when the next group comes.
 *
 * It need not be what was broadcast of the same block: tables may change in place between two blocks.
 */
export interface Standing {
  readonly height: number;
  /** The lowest block of which the snapshot holds scoped rows: older ones its reader has from elsewhere. */
  readonly from: number;
  /** Mutable and derived tables. */
  readonly tables: Readonly<Record<string, Figure>>;
  /** Scoped tables: the figures of the newest blocks, none below `from`. */
  readonly scoped: Readonly<Record<string, ReadonlyMap<number, Figure>>>;
  /** Lookup tables: their highest id. */
  readonly lookups: Readonly<Record<string, number>>;
}

/** Reads the state that a snapshot at the tip holds, in the snapshot's own transaction. @param first its lowest block */
export async function readStanding(
  connection: Connection,
  layout: SourceLayout,
  { height }: BlockHead,
  first = 0
): Promise<Standing> {
  const tables: Record<string, Figure> = {};
  const scoped: Record<string, ReadonlyMap<number, Figure>> = {};
  const lookups: Record<string, number> = {};
  const from = Math.max(first, 0, height - WINDOW + 1);
  for (const plan of layout.plans) {
    const { name } = plan;
    if (plan.class === 'mutable' || plan.class === 'derived') tables[name] = await readTableFigure(connection, plan);
    if (plan.class === 'scoped') scoped[name] = await readFigures(connection, plan, layout.tables, from, height);
    if (plan.class === 'lookup') lookups[name] = await readLastId(connection, plan);
  }
  return { height, from, tables, scoped, lookups };
}
