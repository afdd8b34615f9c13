import { quoteName, rows, type Statements } from '../../../db/connection.ts';
import { within } from '../../../db/within.ts';
import type { TablePlan } from '../../tables/classify.ts';
import { type Checksum, isSame, NO_ROWS, together } from './checksum-map.ts';
import type { Look } from './looking.ts';
import { condition, findTables } from './own-rows.ts';
import { inSpansSql, type Ranging, readChecksums, toValue } from './ranging.ts';
import { mergeSpans, type Span, spansOf } from './spans.ts';
import { RANGE_WIDTH } from './table-watch.ts';

/** In wider spans a successor knows that something changed, but not what: their rows name the possible actions. */
const NARROW = 256;
/** Actions whose rows in sibling tables are read with one group: those of a table that is read whole. */
const CORRELATED = 4_096;

/**
 * Looks for changes that come together. A change of a row under an old action often comes with rows of other tables
 * under the same action: a refund is a credit under the action that began the cooldown, and otherwise only that row's
 * own status changes.
 */
export async function lookAtCorrelated(statements: Statements, looks: readonly Look[]): Promise<void> {
  const actions = new Set<number>();
  for (const look of looks) {
    if (look.watch.ranging.column !== 'action_index' || !look.plan.scope) continue;
    const isNarrow = (span: Span) => span !== null && span[1] - span[0] < NARROW;
    for (const value of valuesOf(look.wanted.filter(isNarrow))) actions.add(value);
    const wide = look.wanted.filter((span) => span !== null && !isNarrow(span));
    for (const action of await actionsWithin(statements, look, wide)) actions.add(action);
  }
  for (const action of await actionsOfChangedBlocks(statements, looks)) actions.add(action);
  if (actions.size === 0) return;
  const newest = [...actions].sort((a, b) => b - a).slice(0, CORRELATED);
  const siblings = looks.filter(
    ({ watch, plan }) => plan.scope?.column === 'action_index' && watch.ranging.isIndexed && !watch.isWhole
  );
  const asked = siblings.map((look) => {
    const isOwn = within(look.own);
    const older = newest.filter((action) => action < look.watch.lookFrom && !isOwn(action));
    return { look, plan: look.plan, ranging: look.watch.ranging, spans: spansOf(older) };
  });
  const present = await findTables(statements, asked);
  for (const { look, plan, spans } of asked) {
    if (present.has(plan.name))
      look.wanted = mergeSpans([...look.wanted, ...(await unknownOf(statements, look, spans))]);
  }
}

/** Actions under which a table that is looked at whole has rows in some spans. */
async function actionsWithin(statements: Statements, { plan, watch }: Look, spans: readonly Span[]): Promise<number[]> {
  if (spans.length === 0 || !watch.isWhole) return [];
  const found = await rows(
    statements,
    `SELECT DISTINCT action_index AS a FROM ${quoteName(plan.name)} r WHERE ${inSpansSql(watch.ranging, plan, condition(spans))} LIMIT ${CORRELATED}`
  );
  return found.map((row) => toValue(row['a'])!);
}

/** Actions of changed rows in tables whose rows name their blocks directly. */
async function actionsOfChangedBlocks(statements: Statements, looks: readonly Look[]): Promise<number[]> {
  const found: number[] = [];
  for (const { plan, watch, wanted } of looks) {
    const hasAction = plan.columns.some(({ name, type }) => name === 'action_index' && /int/i.test(type));
    if (plan.scope?.column !== 'block_index' || !hasAction || wanted.length === 0 || !watch.isWhole) continue;
    const list = await rows(
      statements,
      `SELECT DISTINCT action_index AS a FROM ${quoteName(plan.name)} r WHERE ${inSpansSql(watch.ranging, plan, condition(wanted))} AND action_index IS NOT NULL LIMIT ${CORRELATED}`
    );
    for (const row of list) found.push(toValue(row['a'])!);
  }
  return found;
}

/** Returns the values that may have changed: a range whose checksum is known and unchanged has none. */
async function unknownOf(
  statements: Statements,
  { plan, watch, growth }: Look,
  spans: readonly Span[]
): Promise<Span[]> {
  const left: Span[] = [];
  const read = new Map<number, Checksum>();
  for (const value of valuesOf(spans)) {
    const range = Math.floor(value / RANGE_WIDTH);
    const known = value < watch.from ? watch.rangeOf(range) : undefined;
    if (known) {
      const sum = read.get(range) ?? (await readRange(statements, plan, watch.ranging, range));
      read.set(range, sum);
      if (isSame(known, sum)) continue;
      growth.set(value, growthOf(known, sum));
    }
    left.push([value, value]);
  }
  return left;
}

async function readRange(statements: Statements, plan: TablePlan, ranging: Ranging, range: number): Promise<Checksum> {
  const bounds: Span = [range * RANGE_WIDTH, (range + 1) * RANGE_WIDTH - 1];
  const now = await readChecksums(statements, plan, ranging, [bounds]);
  return [...now.values()].reduce(together, NO_ROWS);
}

/** Returns the growth of a checksum. */
export function growthOf(before: Checksum, now: Checksum): Checksum {
  return { rows: now.rows - before.rows, sum: BigInt.asUintN(64, now.sum - before.sum) };
}

function* valuesOf(spans: readonly Span[]): Generator<number> {
  for (const span of spans) for (let value = span?.[0] ?? 0; span && value <= span[1]; value += 1) yield value;
}
