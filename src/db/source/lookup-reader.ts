import type { WireRows } from '../../wire/data/messages.ts';
import { quoteName, rows } from '../core/connection.ts';
import { selectList, toWireRows } from '../core/row-codec.ts';
import type { Statements } from '../core/statement-batch.ts';
import type { TablePlan } from '../tables/classify.ts';

/**
 * Ids below the watermark that are looked at again with each group: a transaction may commit a lower id later than a higher
 * one, because ids are dealt before the commit, and a reorg may take rows of a branch that was left long ago.
 */
const RECENT_IDS = 2_000;
/** Ids below those that are missing, so that a transaction may still commit them: as many are looked for with each group. */
const MISSING_IDS = 10_000;
/** As many of them are sent again where it is not known which were. */
const LATE_IDS = 200;
/** Far below what `group_concat_max_len` of our connections allows. */
const IDS_PER_TEXT = 10_000;
/** The most vanished ids that one group reports. */
const VANISHED_IDS = 200_000;

/** The state of one lookup table. */
export interface LookupMemory {
  /** The watermark: the highest id that was sent. */
  readonly lastId: number;
  /** Which of the ids up to there, as far as they are looked at again, were sent; null: that is not known. */
  readonly recentIds: ReadonlySet<number> | null;
  /** Ids below the watermark that were dealt since the start and had no row, the newest of them, ascending; absent: none. */
  readonly missingIds?: readonly number[];
}

/** What changed in lookup tables. */
export interface LookupPage {
  readonly rows: WireRows;
  /** The tables that changed, as they stand after this page. */
  readonly memory: ReadonlyMap<string, LookupMemory>;
}

/** The state of a lookup table whose present rows count as sent. */
export async function readLookupMemory(statements: Statements, plan: TablePlan): Promise<LookupMemory> {
  const table = quoteName(plan.name);
  const found = await rows<{ id: number }>(statements, `SELECT id FROM ${table} ORDER BY id DESC LIMIT ${RECENT_IDS}`);
  const ids = found.map(({ id }) => Number(id)).reverse();
  return { lastId: ids.at(-1) ?? 0, recentIds: new Set(ids) };
}

/** Whether a lookup table has the rows that were sent, as far as they are looked at again, and no others. */
export async function holdsLookups(
  statements: Statements,
  plan: TablePlan,
  { lastId, recentIds }: LookupMemory = NOTHING
): Promise<boolean> {
  const [row] = await rows(statements, `SELECT MAX(id) AS id FROM ${quoteName(plan.name)}`);
  if (Number(row?.['id'] ?? 0) > lastId) return false;
  if (recentIds === null) return true;
  const from = Math.max(0, lastId - RECENT_IDS);
  const present = await readIds(statements, plan, from, lastId);
  const sent = [...recentIds].filter((id) => id > from);
  return present.length === sent.length && present.every((id) => recentIds.has(id));
}

/** The ids above `from`, up to `to`, ascending: in texts of many, which cost a fraction of a row for each. */
async function readIds(statements: Statements, plan: TablePlan, from: number, to: number): Promise<number[]> {
  const found = await rows<{ ids: string }>(
    statements,
    `SELECT id DIV ${IDS_PER_TEXT} AS part, GROUP_CONCAT(id ORDER BY id) AS ids FROM ${quoteName(plan.name)}
     WHERE id > ? AND id <= ? GROUP BY part ORDER BY part`,
    [from, to]
  );
  return found.flatMap(({ ids }) => ids.split(',').map(Number));
}

/** Reads what changed in lookup tables, in pages that may be taken one at a time; all of one snapshot. */
export class LookupReader {
  /** By table: ids that replicas may hold and the table does not have; whole when every page is taken. */
  readonly vanishedIds = new Map<string, readonly number[]>();
  /** What could not be carried, in sentences. */
  readonly gaps: string[] = [];
  readonly #statements: Statements;
  readonly #waiting: TablePlan[];
  readonly #memory: Map<string, LookupMemory>;
  readonly #heldIds: ReadonlyMap<string, number>;
  /** Tables whose ids up to the watermark are known to be those that were sent. */
  readonly #settled: ReadonlySet<string>;
  /** By table, the highest id there is; empty before the first page. */
  readonly #highest = new Map<string, number>();

  /**
   * @param plans the lookup tables, in the order in which they travel
   * @param heldIds by table, the highest id that the reader of a snapshot may hold
   * @param settled tables of which only ids above the watermark are read
   */
  constructor(
    statements: Statements,
    plans: readonly TablePlan[],
    memory: ReadonlyMap<string, LookupMemory>,
    heldIds: ReadonlyMap<string, number>,
    settled: ReadonlySet<string> = new Set()
  ) {
    this.#statements = statements;
    this.#waiting = [...plans];
    this.#memory = new Map(memory);
    this.#heldIds = new Map(heldIds);
    this.#settled = settled;
  }

  /** The next rows: at most `limit` and a little more, or all there are. */
  async take(limit: number): Promise<LookupPage> {
    const begun = this.#highest.size > 0 ? [] : await Promise.all(this.#waiting.map((plan) => this.#begin(plan)));
    const taken: WireRows = {};
    const changed = new Map<string, LookupMemory>();
    const keep = (plan: TablePlan, next: LookupMemory, found: LookupRow[]) => {
      this.#memory.set(plan.name, next);
      changed.set(plan.name, next);
      if (found.length === 0) return;
      const sent = taken[plan.name] ?? [];
      taken[plan.name] = sent;
      for (const row of toWireRows(found, plan.columns)) sent.push(row);
    };
    for (const { plan, late } of begun) if (late) keep(plan, late.next, late.found);
    for (let room = limit; room > 0 && this.#waiting[0]; ) {
      const plan = this.#waiting[0];
      const known = this.#memory.get(plan.name) ?? NOTHING;
      if (this.#highest.get(plan.name)! <= known.lastId) {
        this.#waiting.shift();
        continue;
      }
      const pageSize = Math.min(room, 1_000_000);
      const found = await this.#read(plan, 'id > ? ORDER BY id LIMIT ?', [known.lastId, pageSize]);
      if (found.length < pageSize) this.#waiting.shift();
      if (found.length === 0) continue;
      const ids = found.map(({ id }) => Number(id));
      const recentIds = new Set([...(known.recentIds ?? []), ...ids].slice(-RECENT_IDS));
      const missingIds = [...(known.missingIds ?? []), ...missingAmong(known.lastId, ids)].slice(-MISSING_IDS);
      keep(plan, { lastId: ids.at(-1)!, recentIds, missingIds }, found);
      room -= found.length;
    }
    return { rows: taken, memory: changed };
  }

  /** Looks whether a table has new ids, and what became of those up to the watermark. */
  async #begin(plan: TablePlan): Promise<{ readonly plan: TablePlan; readonly late: LateIds | null }> {
    const sql = `SELECT MAX(id) AS id FROM ${quoteName(plan.name)}`;
    const isSettled = this.#settled.has(plan.name);
    const [[row], late] = await Promise.all([rows(this.#statements, sql), isSettled ? null : this.#lookBack(plan)]);
    this.#highest.set(plan.name, Number(row?.['id'] ?? 0));
    return { plan, late };
  }

  /** Compares the ids up to the watermark with those that were sent. @returns null when they are the same */
  async #lookBack(plan: TablePlan): Promise<LateIds | null> {
    const { lastId, recentIds, missingIds = [] } = this.#memory.get(plan.name) ?? NOTHING;
    const heldId = Math.max(lastId, this.#heldIds.get(plan.name) ?? 0);
    const from = Math.max(0, lastId - RECENT_IDS);
    const present = await readIds(this.#statements, plan, from, heldId);
    this.#findVanished(plan, { from, lastId, heldId, recentIds }, new Set(present));
    const below = present.filter((id) => id <= lastId);
    const recent = below.filter((id) => (recentIds ? !recentIds.has(id) : id > lastId - LATE_IDS));
    const late = [
      ...(await this.#filled(
        plan,
        missingIds.filter((id) => id <= from)
      )),
      ...recent
    ];
    if (late.length === 0 && recentIds?.size === below.length) return null;
    const isLate = new Set(late);
    const next = {
      lastId,
      recentIds: new Set(below),
      missingIds: missingIds.filter((id) => id <= lastId && !isLate.has(id))
    };
    return { next, found: late.length === 0 ? [] : await this.#read(plan, 'id IN (?) ORDER BY id', [late]) };
  }

  /** Returns those of the ids that have a row now. */
  async #filled(plan: TablePlan, ids: readonly number[]): Promise<number[]> {
    if (ids.length === 0) return [];
    const sql = `SELECT id FROM ${quoteName(plan.name)} WHERE id IN (?) ORDER BY id`;
    return (await rows<LookupRow>(this.#statements, sql, [ids])).map(({ id }) => Number(id));
  }

  #findVanished(
    plan: TablePlan,
    { from, lastId, heldId, recentIds }: LookupMemory & { readonly from: number; readonly heldId: number },
    present: ReadonlySet<number>
  ): void {
    if (heldId - lastId > VANISHED_IDS) {
      this.gaps.push(
        `table ${plan.name}: ids from ${lastId + 1} to ${heldId} are too many to be compared: replicas find the difference by digest`
      );
      return;
    }
    // Ids that may never have been there are reported as gone too: that changes nothing.
    const below = recentIds ? [...recentIds].filter((id) => id > from) : range(from, lastId);
    const gone = [...below, ...range(lastId, heldId)].filter((id) => !present.has(id));
    if (gone.length > 0) this.vanishedIds.set(plan.name, gone);
  }

  #read(plan: TablePlan, where: string, values: readonly unknown[]): Promise<LookupRow[]> {
    const list = selectList(plan.columns);
    return rows(this.#statements, `SELECT ${list} FROM ${quoteName(plan.name)} WHERE ${where}`, [...values]);
  }
}

type LookupRow = { readonly id: number };

/** Rows below the watermark that were not sent, and the state of their table with them. */
interface LateIds {
  readonly next: LookupMemory;
  readonly found: LookupRow[];
}

const NOTHING: LookupMemory = { lastId: 0, recentIds: new Set() };

/** The newest ids above `after` that are not among these, ascending. @param ids ascending, above `after` */
function missingAmong(after: number, ids: readonly number[]): number[] {
  const missing: number[] = [];
  for (let place = ids.length - 1; place >= 0; place -= 1)
    for (let id = ids[place]! - 1; id > (ids[place - 1] ?? after); id -= 1) {
      if (missing.length === MISSING_IDS) return missing.reverse();
      missing.push(id);
    }
  return missing.reverse();
}

/** The whole numbers above `after`, up to `last`. */
function range(after: number, last: number): number[] {
  return Array.from({ length: last - after }, (_, index) => after + 1 + index);
}
