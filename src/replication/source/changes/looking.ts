import { quoteName, rows, type Statements } from '../../../db/connection.ts';
import { within } from '../../../db/within.ts';
import type { TablePlan } from '../../tables/classify.ts';
import { type Checksum, isSame, NO_ROWS, type Value } from './checksum-map.ts';
import type { LookNotes } from './found-changes.ts';
import { condition } from './own-rows.ts';
import {
  finderWordSql,
  readChecksums,
  readRangeChecksums,
  readTotal,
  toChecksum,
  toValue,
  valueSql
} from './ranging.ts';
import { HIGHEST, LOWEST, mergeSpans, type Span, spansOf, withoutSpans } from './spans.ts';
import { hasMoved, isSettled, isUnmoved, mayBeImported, type TableFacts } from './table-facts.ts';
import { RANGE_WIDTH, type TableWatch, WINDOW_ROWS } from './table-watch.ts';
import { stampOf } from './touch-rules.ts';
import { readLastId } from './watch-reader.ts';

/** Rows that one group looks at beyond the newest ones of each table. */
const LOOKED_ROWS = 60_000;
/** Tables without a known time of change are read whole up to this many rows. */
const UNTIMED_ROWS = 1_024;

/** One table under a look. */
export interface Look {
  readonly plan: TablePlan;
  readonly watch: TableWatch;
  readonly facts: TableFacts | undefined;
  /** UPDATE_TIME of `blocks` as it was with the group before. */
  readonly before: string | null;
  /** Values of the group's own blocks: their rows travel with the blocks. */
  readonly own: readonly Span[];
  /** Spans of own values in which rows stood already: replicas clear them. */
  readonly stale: readonly Span[];
  /** Values that are sent whatever rows they have now: replicas may hold others. */
  required: readonly Span[];
  /** The values to send. */
  wanted: Span[];
  /** By value below the window, how its range has grown. */
  readonly growth: Map<number, Checksum>;
  readonly notes: LookNotes;
}

/** Depth of a look: all rows, those that are known one by one, the newest ones, or those with a later stamp. */
type Depth = 'whole' | 'known' | 'window' | 'stamped';

/** Begins a look that has seen nothing yet. @param named values that the binary log names */
export function beginLook(
  of: Pick<Look, 'plan' | 'watch' | 'facts' | 'before' | 'own' | 'stale'>,
  named: readonly Span[] = []
): Look {
  const { watch, own } = of;
  const required = named.length === 0 ? watch.pending : mergeSpans([...watch.pending, ...named]);
  const { lastId, stamp, explained } = watch;
  const nothing = { isLooked: false, isWhole: false, isSettled: false, times: undefined };
  const notes: LookNotes = { lastId, stamp, explained, ...nothing };
  return { ...of, required, wanted: withoutSpans(required, own), growth: new Map(), notes };
}

/**
 * Looks at each table as far as a group must, and notes which of its values changed.
 *
 * @param statements a batch: many tables are asked in one message
 * @param withRows tables with rows in the group's own blocks
 * @param hinted tables whose rows are named by rows of other tables
 */
export async function lookAround(
  statements: Statements,
  looks: readonly Look[],
  withRows: ReadonlySet<string>,
  hinted: ReadonlySet<TablePlan>
): Promise<void> {
  let together: [Look, Depth][] = [];
  let room = LOOKED_ROWS;
  for (const chosen of depths(looks, withRows, hinted)) {
    const [{ watch }, depth] = chosen;
    room -= depth === 'whole' ? watch.fine.rows : WINDOW_ROWS;
    if (room < 0) {
      await lookAtAll(statements, together);
      together = [];
      room = LOOKED_ROWS;
    }
    together.push(chosen);
  }
  await lookAtAll(statements, together);
}

/** Looks at all rows of a table of which the binary log does not say which rows changed, against the broadcast checksums. */
export async function lookAtWhole(statements: Statements, look: Look): Promise<void> {
  const { plan, watch } = look;
  const depth = watch.from === LOWEST ? 'whole' : 'known';
  look.notes.isWhole = true;
  await lookAtContent(statements, look, depth);
  if (depth === 'whole') return;
  const below: [number, number] = [watch.rangesFrom, watch.from - 1];
  const now = await readRangeChecksums(statements, plan, watch.ranging, below, RANGE_WIDTH);
  const changed = [...new Set([...now.keys(), ...watch.rangesWithin(...below)])].filter((range) => {
    const known = watch.rangeOf(range);
    return known !== undefined && !isSame(known, now.get(range) ?? NO_ROWS);
  });
  require(look, changed.map((range): Span => [range * RANGE_WIDTH, (range + 1) * RANGE_WIDTH - 1]));
}

/** Requires the rows that were learned when they may have changed already. */
export function requireLearned(look: Look): void {
  require(look, look.watch.learned);
}

/** Requires the rows whose broadcast checksums are not known. */
export function requireUnknown(look: Look): void {
  require(look, look.watch.unknownSpans);
}

function require(look: Look, spans: readonly Span[]): void {
  if (spans.length === 0) return;
  look.required = mergeSpans([...look.required, ...spans]);
  look.wanted = mergeSpans([...look.wanted, ...withoutSpans(spans, look.own)]);
}

/** Notes the highest AUTO_INCREMENT id of each table whose rows the binary log names. */
export async function noteLastIds(statements: Statements, looks: readonly Look[]): Promise<void> {
  await Promise.all(
    looks.map(async ({ plan, notes }) => {
      notes.lastId = Math.max(notes.lastId, await readLastId(statements, plan));
    })
  );
}

/** Returns the tables to read, and how far: the changed ones and, within a group's limit, those without a known time of change. */
function depths(
  looks: readonly Look[],
  withRows: ReadonlySet<string>,
  hinted: ReadonlySet<TablePlan>
): [Look, Depth][] {
  const chosen: [Look, Depth][] = [];
  let room = LOOKED_ROWS;
  for (const look of looks) {
    const { plan, watch, facts } = look;
    const { times } = watch;
    const isKnown = facts !== undefined && times !== undefined;
    const isMoved = !isKnown || !isUnmoved(times, facts) || mayBeImported(times, facts);
    if (!isMoved && watch.isSettled) {
      if (facts.updateTime !== null || !watch.isWhole || watch.fine.rows > UNTIMED_ROWS) continue;
      room -= watch.fine.rows;
      if (room < 0) continue;
    }
    // The table changed, no block brought it rows, and no other table names its rows: an older row changed.
    // Where a cache may have lost its time, the look after the block comes to that.
    const isShown = watch.times !== undefined && (!facts?.isTimed || hasMoved(watch.times, facts));
    const isOlder = isShown && watch.isKnownWhole && !withRows.has(plan.name) && !hinted.has(plan);
    if (watch.isWhole) chosen.push([look, 'whole']);
    else if (stampOf(plan) !== null && watch.stamp !== null) chosen.push([look, 'stamped']);
    else chosen.push([look, isOlder || (stampOf(plan) !== null && watch.isKnownWhole) ? 'whole' : 'window']);
  }
  return chosen;
}

async function lookAtAll(statements: Statements, looks: readonly [Look, Depth][]): Promise<void> {
  await Promise.all(looks.map(([look, depth]) => lookAt(statements, look, depth)));
}

async function lookAt(statements: Statements, look: Look, depth: Depth): Promise<void> {
  const { facts, watch, notes } = look;
  notes.isLooked = true;
  notes.isWhole = depth === 'whole';
  notes.times = facts;
  notes.isSettled = facts !== undefined && isSettled(facts, look.before);
  const isNumbered = facts?.nextId == null || facts.nextId !== watch.lastId + 1;
  await Promise.all([
    lookAtContent(statements, look, depth),
    lookAtStamps(statements, look, depth),
    isNumbered ? lookAtIds(statements, look) : undefined
  ]);
}

/** Compares the values that a look covers with the broadcast ones. */
async function lookAtContent(statements: Statements, look: Look, depth: Depth): Promise<void> {
  const { plan, watch, own } = look;
  const nulls: Span[] = watch.ranging.isNullable ? [null] : [];
  const from = depth === 'whole' ? LOWEST : depth === 'known' ? watch.from : watch.lookFrom;
  const covered: Span[] = [[from, HIGHEST], ...nulls];
  const asked = withoutSpans(covered, own);
  // Small gaps between the own values are read with them and left out here.
  const spans = condition(asked).length === asked.length ? asked : covered;
  const isAll = depth === 'whole' && own.length === 0;
  // Mostly nothing changed, and one row says so; where something must have, the values are read at once.
  if (depth !== 'whole' || watch.isWhole) {
    const total = await readTotal(statements, plan, watch.ranging, isAll ? null : spans);
    if (isSame(total, watch.total(spans))) return;
  }
  const now = await readChecksums(statements, plan, watch.ranging, isAll ? null : spans);
  const isOwn = within(own);
  const changed = [...watch.changed(spans, now)].filter((value) => !isOwn(value));
  look.wanted = mergeSpans([...look.wanted, ...spansOf(changed)]);
}

/** Looks at rows with a stamp as late as the latest that was seen, or later. */
async function lookAtStamps(statements: Statements, look: Look, depth: Depth): Promise<void> {
  const stamp = stampOf(look.plan);
  if (stamp === null) return;
  const latest = rows(statements, `SELECT MAX(r.${quoteName(stamp)}) AS s FROM ${quoteName(look.plan.name)} r`);
  const later = depth === 'stamped' ? readStamped(statements, look, stamp) : [];
  const [[row], changed] = await Promise.all([latest, later]);
  look.notes.stamp = row?.['s'] == null ? null : Number(row['s']);
  look.wanted = mergeSpans([...look.wanted, ...spansOf(changed)]);
}

/** Reads the values of rows that a stamp calls late and that differ from the broadcast ones. */
async function readStamped(statements: Statements, { plan, watch }: Look, stamp: string): Promise<Value[]> {
  const list = `${valueSql(watch.ranging, plan)} AS v, ${finderWordSql(plan)} AS s`;
  const sql = `SELECT ${list} FROM ${quoteName(plan.name)} r WHERE r.${quoteName(stamp)} >= ?`;
  return (await rows(statements, sql, [watch.stamp])).flatMap((each) => {
    const value = toValue(each['v']);
    return isSame(watch.fine.get(value), toChecksum(1, each['s'])) ? [] : [value];
  });
}

/** Looks at rows with a new AUTO_INCREMENT id: they are new, whatever block they name. */
async function lookAtIds(statements: Statements, look: Look): Promise<void> {
  const { plan, watch, own } = look;
  const counter = plan.columns.find(({ autoIncrement }) => autoIncrement)?.name;
  if (counter === undefined) return;
  const id = `r.${quoteName(counter)}`;
  const from = `FROM ${quoteName(plan.name)} r`;
  const isSeen = watch.isWhole || counter === watch.ranging.column;
  const [late, [row]] = await Promise.all([
    isSeen
      ? []
      : rows(statements, `SELECT DISTINCT ${valueSql(watch.ranging, plan)} AS v ${from} WHERE ${id} > ?`, [
          Math.min(watch.lastId, HIGHEST - 1) // ids from there on count as one
        ]),
    rows(statements, `SELECT MAX(${id}) AS id ${from}`)
  ]);
  const isOwn = within(own);
  const values = late.map((each) => toValue(each['v'])).filter((value) => !isOwn(value));
  const older = values.filter((value) => value !== null && value < watch.lookFrom);
  look.wanted = mergeSpans([...look.wanted, ...spansOf(older)]);
  look.notes.lastId = toValue(row?.['id'] ?? 0)!;
}
