import { quoteName, rows, type Statements } from '../../../db/connection.ts';
import type { WireRows } from '../../../wire/data/messages.ts';
import type { TablePlan } from '../../tables/classify.ts';
import { type Checksum, NO_ROWS, together, type Value } from '../changes/checksum-map.ts';
import { type ReadRow, readRows } from '../changes/own-rows.ts';
import { BY_ID } from '../changes/ranging.ts';
import { type JsonId, larger, toId, toJsonId } from './lookup-id.ts';

/**
 * The newest rows, whose ids are looked at again with each group: a transaction may commit a lower id later than a higher one,
 * because ids are dealt before the commit, rows may be deleted, and a reorg may take rows of a branch that was left long ago.
 */
const RECENT_ROWS = 20_000;
/** Ids below the watermark that are looked at if it is not known which of them were sent. */
const UNKNOWN_IDS = 2_000;
/** Below every id. */
const BEFORE_ALL = -(2n ** 63n) - 1n;
/** Ids below those that are missing, so that a transaction may still commit them: as many are looked for with each group. */
const MISSING_IDS = 10_000;
/** Ids that are sent again where it is not known which were sent. */
const LATE_IDS = 200;
/** Far below what `group_concat_max_len` of our connections allows. */
const IDS_PER_TEXT = 10_000;
/** The most vanished ids that one group reports. */
const VANISHED_IDS = 200_000;

/** The state of one lookup table. */
export interface LookupMemory {
  /** The watermark: the highest id that was sent. */
  readonly lastId: bigint;
  /** The highest id that was sent before a reorg lowered the watermark: its rows may have stayed. */
  readonly toldId?: bigint;
  /** The ids that were sent, ascending, as far as they are looked at again; null: not known. */
  readonly recentIds: ReadonlySet<bigint> | null;
  /** Id above which these are all that there are; absent: they are all of the table. */
  readonly recentFrom?: bigint;
  /** Ids below the watermark that were dealt since the start and had no row, the newest of them, ascending; absent: none. */
  readonly missingIds?: readonly bigint[];
}

/** Changes in lookup tables. */
export interface LookupPage {
  readonly rows: WireRows;
  /** The tables that changed, as they stand after this page. */
  readonly memory: ReadonlyMap<string, LookupMemory>;
  /** By table: checksums of the rows by id. */
  readonly sums: ReadonlyMap<string, Map<Value, Checksum>>;
}

/** Reads the state of a lookup table whose present rows count as sent. */
export async function readLookupMemory(statements: Statements, plan: TablePlan): Promise<LookupMemory> {
  const table = quoteName(plan.name);
  const found = await rows<LookupRow>(statements, `SELECT id FROM ${table} ORDER BY id DESC LIMIT ${RECENT_ROWS}`);
  const ids = found.map(({ id }) => toId(id)).reverse();
  return { lastId: ids.at(-1) ?? 0n, ...recentOf(ids, BEFORE_ALL) };
}

/** Reads the highest id of a lookup table; 0 where it has none. */
export async function readHighestId(statements: Statements, plan: TablePlan): Promise<bigint> {
  const [row] = await rows<{ id: JsonId | null }>(statements, `SELECT MAX(id) AS id FROM ${quoteName(plan.name)}`);
  return toId(row?.id);
}

/** Returns whether a lookup table has the rows that were sent, as far as they are looked at again, and no others. */
export async function holdsLookups(
  statements: Statements,
  plan: TablePlan,
  known: LookupMemory = NOTHING
): Promise<boolean> {
  const { lastId, toldId = lastId, recentIds } = known;
  if ((await readHighestId(statements, plan)) > toldId) return false;
  if (recentIds === null) return true;
  const from = lookedFrom(known);
  const present = await readIds(statements, plan, from, lastId);
  const sent = [...recentIds].filter((id) => id > from);
  return present.length === sent.length && present.every((id) => recentIds.has(id));
}

/** Reads the ids above `from`, up to `to`, ascending: as texts of many ids, which cost a fraction of a row for each. */
async function readIds(statements: Statements, plan: TablePlan, from: bigint, to: bigint): Promise<bigint[]> {
  const found = await rows<{ ids: string }>(
    statements,
    `SELECT id DIV ${IDS_PER_TEXT} AS part, GROUP_CONCAT(id ORDER BY id) AS ids FROM ${quoteName(plan.name)}
     WHERE id > ? AND id <= ? GROUP BY part ORDER BY part`,
    [from, to].map(toJsonId)
  );
  return found.flatMap(({ ids }) => ids.split(',').map(BigInt));
}

/** Reads what changed in lookup tables, in pages that may be taken one at a time; all of one snapshot. */
export class LookupReader {
  /** By table: ids that replicas may hold and the table does not have; whole when every page is taken. */
  readonly vanishedIds = new Map<string, readonly bigint[]>();
  /** By table: ids up to the watermark whose rows were sent. */
  readonly lateIds = new Map<string, readonly bigint[]>();
  /** Sentences about the changes that could not be carried. */
  readonly gaps: string[] = [];
  readonly #statements: Statements;
  readonly #waiting: TablePlan[];
  readonly #memory: Map<string, LookupMemory>;
  readonly #heldIds: ReadonlyMap<string, bigint>;
  /** Tables whose ids up to the watermark are known to be those that were sent. */
  readonly #settled: ReadonlySet<string>;
  /** By table, the highest id there is; empty before the first page. */
  readonly #highest = new Map<string, bigint>();

  /**
   * @param plans the lookup tables, in the order in which they travel
   * @param heldIds by table, the highest id that the reader of a snapshot may hold
   * @param settled tables of which only ids above the watermark are read
   */
  constructor(
    statements: Statements,
    plans: readonly TablePlan[],
    memory: ReadonlyMap<string, LookupMemory>,
    heldIds: ReadonlyMap<string, bigint>,
    settled: ReadonlySet<string> = new Set()
  ) {
    this.#statements = statements;
    this.#waiting = [...plans];
    this.#memory = new Map(memory);
    this.#heldIds = new Map(heldIds);
    this.#settled = settled;
  }

  /** Takes the next rows: at most `limit` and a little more, or all there are. */
  async take(limit: number): Promise<LookupPage> {
    const begun = this.#highest.size > 0 ? [] : await Promise.all(this.#waiting.map((plan) => this.#begin(plan)));
    const taken: WireRows = {};
    const changed = new Map<string, LookupMemory>();
    const sums = new Map<string, Map<Value, Checksum>>();
    const keep = (plan: TablePlan, next: LookupMemory, found: readonly ReadRow[]) => {
      this.#memory.set(plan.name, next);
      changed.set(plan.name, next);
      if (found.length === 0) return;
      const sent = taken[plan.name] ?? [];
      taken[plan.name] = sent;
      const ofTable = sums.get(plan.name) ?? new Map<Value, Checksum>();
      sums.set(plan.name, ofTable);
      for (const { row, value, checksum } of found) {
        sent.push(row);
        ofTable.set(value, together(ofTable.get(value) ?? NO_ROWS, checksum));
      }
    };
    for (const { plan, late } of begun) {
      if (!late) continue;
      keep(plan, late.next, late.found);
      if (late.found.length > 0) this.lateIds.set(plan.name, late.found.map(idOf));
    }
    for (let room = limit; room > 0 && this.#waiting[0]; ) {
      const plan = this.#waiting[0];
      const known = this.#memory.get(plan.name) ?? NOTHING;
      if (this.#highest.get(plan.name)! <= known.lastId) {
        this.#waiting.shift();
        continue;
      }
      const pageSize = Math.min(room, 1_000_000);
      const found = await this.#read(plan, 'r.id > ?', [toJsonId(known.lastId)], pageSize);
      if (found.length < pageSize) this.#waiting.shift();
      if (found.length === 0) continue;
      const ids = found.map(idOf);
      const recent = recentOf([...(known.recentIds ?? []), ...ids], lookedFrom(known));
      const missingIds = [...(known.missingIds ?? []), ...missingAmong(known.lastId, ids)].slice(-MISSING_IDS);
      keep(plan, { lastId: ids.at(-1)!, ...recent, missingIds }, found);
      room -= found.length;
    }
    return { rows: taken, memory: changed, sums };
  }

  /** Looks whether a table has new ids, and what became of those up to the watermark. */
  async #begin(plan: TablePlan): Promise<{ readonly plan: TablePlan; readonly late: LateIds | null }> {
    const isSettled = this.#settled.has(plan.name);
    const [highest, late] = await Promise.all([
      readHighestId(this.#statements, plan),
      isSettled ? null : this.#lookBack(plan)
    ]);
    this.#highest.set(plan.name, highest);
    return { plan, late };
  }

  /** Compares the ids up to the watermark with those that were sent. @returns null when they are the same */
  async #lookBack(plan: TablePlan): Promise<LateIds | null> {
    const known = this.#memory.get(plan.name) ?? NOTHING;
    const { lastId, recentIds, missingIds = [] } = known;
    const heldId = larger(lastId, this.#heldIds.get(plan.name) ?? lastId);
    const from = lookedFrom(known);
    const present = await readIds(this.#statements, plan, from, heldId);
    this.#findVanished(plan, { from, lastId, heldId, recentIds }, new Set(present));
    const below = present.filter((id) => id <= lastId);
    const recent = below.filter((id) => (recentIds ? !recentIds.has(id) : id > lastId - BigInt(LATE_IDS)));
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
      ...recentOf(below, from),
      missingIds: missingIds.filter((id) => id <= lastId && !isLate.has(id))
    };
    return {
      next,
      found: late.length === 0 ? [] : await this.#read(plan, 'r.id IN (?)', [late.map(toJsonId)])
    };
  }

  /** Returns those of the ids that have a row now. */
  async #filled(plan: TablePlan, ids: readonly bigint[]): Promise<bigint[]> {
    if (ids.length === 0) return [];
    const sql = `SELECT id FROM ${quoteName(plan.name)} WHERE id IN (?) ORDER BY id`;
    return (await rows<LookupRow>(this.#statements, sql, [ids.map(toJsonId)])).map(({ id }) => toId(id));
  }

  #findVanished(
    plan: TablePlan,
    { from, lastId, heldId, recentIds }: LookupMemory & { readonly from: bigint; readonly heldId: bigint },
    present: ReadonlySet<bigint>
  ): void {
    if (heldId - lastId > VANISHED_IDS) {
      this.gaps.push(
        `table ${plan.name}: ids from ${lastId + 1n} to ${heldId} are too many to be compared: replicas find the difference by digest`
      );
      return;
    }
    // Ids that may never have been there are reported as gone too: that changes nothing.
    const below = recentIds ? [...recentIds].filter((id) => id > from) : range(larger(from, 0n), lastId);
    const gone = [...below, ...range(lastId, heldId)].filter((id) => !present.has(id));
    if (gone.length > 0) this.vanishedIds.set(plan.name, gone);
  }

  #read(plan: TablePlan, where: string, values: readonly unknown[], limit?: number): Promise<ReadRow[]> {
    return readRows(this.#statements, plan, BY_ID, where, { values, ...(limit === undefined ? {} : { limit }) });
  }
}

type LookupRow = { readonly id: JsonId };

const idOf = ({ row }: ReadRow): bigint => toId(row['id'] as JsonId);

/** Rows below the watermark that were not sent, and the state of their table with them. */
interface LateIds {
  readonly next: LookupMemory;
  readonly found: readonly ReadRow[];
}

const NOTHING: LookupMemory = { lastId: 0n, recentIds: new Set() };

/** Returns the id above which ids are looked at again. */
function lookedFrom({ lastId, recentIds, recentFrom = BEFORE_ALL }: LookupMemory): bigint {
  if (recentIds !== null) return recentFrom;
  return lastId > UNKNOWN_IDS ? lastId - BigInt(UNKNOWN_IDS) : BEFORE_ALL;
}

/** Returns the newest of the ids. @param ids ascending, all above `from` that were sent */
function recentOf(ids: readonly bigint[], from: bigint): Pick<LookupMemory, 'recentIds' | 'recentFrom'> {
  const newest = ids.slice(-RECENT_ROWS);
  return { recentIds: new Set(newest), recentFrom: newest.length < RECENT_ROWS ? from : newest[0]! - 1n };
}

/** Returns the newest ids above `after` that are not among these, ascending. @param ids ascending, above `after` */
function missingAmong(after: bigint, ids: readonly bigint[]): bigint[] {
  const missing: bigint[] = [];
  for (let place = ids.length - 1; place >= 0; place -= 1)
    for (let id = ids[place]! - 1n; id > (ids[place - 1] ?? after); id -= 1n) {
      if (missing.length === MISSING_IDS) return missing.reverse();
      missing.push(id);
    }
  return missing.reverse();
}

/** Returns the whole numbers above `after`, up to `last`. */
function range(after: bigint, last: bigint): bigint[] {
  return Array.from({ length: Number(last - after) }, (_, index) => after + 1n + BigInt(index));
}
