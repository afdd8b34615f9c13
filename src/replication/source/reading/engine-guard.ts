import type { Connection } from '../../../db/connection.ts';
import { readTip } from '../../tables/block-hashes.ts';
import type { TablePlan } from '../../tables/classify.ts';
import { readLayout, type SourceLayout } from '../../tables/source-layout.ts';
import { NO_ROWS, together } from '../changes/checksum-map.ts';
import { rangingOf, readChecksums } from '../changes/ranging.ts';
import { HIGHEST, LOWEST } from '../changes/spans.ts';
import { readTableFacts } from '../changes/table-facts.ts';
import { SMALL_ROWS } from '../changes/table-watch.ts';
import { windowStart } from '../changes/watch-reader.ts';

/** Returns the replicated tables that a consistent snapshot does not cover: their rows show as soon as they are written. */
export function inconsistentTables(layout: SourceLayout): TablePlan[] {
  return layout.plans.filter(
    (plan) => plan.class !== 'local' && plan.class !== 'control' && plan.engine.toLowerCase() !== 'innodb'
  );
}

/**
 * Reads the tip, its hashes and the checksums of tables that no snapshot covers, of large ones those of their newest
 * rows. If they are equal before and after a read, the read is whole.
 *
 * Call it outside of any snapshot.
 *
 * @returns null where every table is covered
 */
export async function readEngineState(
  connection: Connection,
  dbType: SourceLayout['dbType'],
  localTables: readonly string[]
): Promise<string | null> {
  const layout = await readLayout(connection, dbType, localTables);
  const plans = inconsistentTables(layout);
  if (plans.length === 0 || !layout.heads) return null;
  const facts = await readTableFacts(connection);
  const state: unknown[] = [await readTip(connection, layout.heads)];
  for (const plan of plans) {
    const ranging = rangingOf(plan, layout.tables);
    const isLarge = ranging.isIndexed && (facts.get(plan.name)?.rows ?? 0) > SMALL_ROWS;
    const from = isLarge ? await windowStart(connection, plan, ranging) : LOWEST;
    const found = await readChecksums(connection, plan, ranging, from === LOWEST ? null : [[from, HIGHEST]]);
    const { rows, sum } = [...found.values()].reduce(together, NO_ROWS);
    state.push([plan.name, from, rows, String(sum)]);
  }
  return JSON.stringify(state);
}
