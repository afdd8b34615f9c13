import { readTip } from './block-hashes.ts';
import type { TablePlan } from './classify.ts';
import { type Connection, quoteName } from './connection.ts';
import { readFigures, readTableFigure } from './scope-sql.ts';
import { WINDOW } from './scoped-window.ts';
import { readLayout, type SourceLayout } from './source-layout.ts';

/** Lookup ids below the highest that are compared. */
const LOOKUP_IDS = 10_000;

/** Replicated tables that a consistent snapshot does not cover: their rows show as soon as they are written. */
export function inconsistentTables(layout: SourceLayout): TablePlan[] {
  return layout.plans.filter(
    (plan) => plan.class !== 'local' && plan.class !== 'control' && plan.engine.toLowerCase() !== 'innodb'
  );
}

/**
 * Tip, its hashes and the figures of tables that no snapshot covers; equal before and after a read, the read is whole.
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
  const tip = await readTip(connection, layout.heads);
  const state: unknown[] = [tip];
  for (const plan of plans) {
    if (plan.class === 'scoped') {
      const from = Math.max(0, (tip?.height ?? 0) - WINDOW);
      const figures = await readFigures(connection, plan, layout.tables, from, Number.MAX_SAFE_INTEGER);
      state.push(plan.name, [...figures]);
    } else if (plan.class === 'lookup') {
      const newest = `r.id > (SELECT COALESCE(MAX(id), 0) FROM ${quoteName(plan.name)}) - ${LOOKUP_IDS}`;
      state.push(plan.name, await readTableFigure(connection, plan, newest));
    } else state.push(plan.name, await readTableFigure(connection, plan));
  }
  return JSON.stringify(state);
}
