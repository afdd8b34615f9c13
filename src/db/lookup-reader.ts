import type { WireRows } from '../wire/messages.ts';
import type { TablePlan } from './classify.ts';
import { type Connection, quoteName, rows } from './connection.ts';
import { selectList, toWireRows } from './row-codec.ts';

/**
 * Ids below the watermark that are read again with each group: a transaction may commit a lower id later than a higher
 * one, because ids are dealt before the commit.
 */
const LATE_IDS = 200;
/** Ids that are looked for at once, and the most that one group says are gone. */
const VANISHED_IDS = 200_000;

/** What is known of one lookup table: its watermark, and which ids just below it are known to have been sent. */
export interface LookupMemory {
  readonly lastId: number;
  readonly recentIds: ReadonlySet<number>;
}

/** Rows of lookup tables that were not sent yet. */
export interface LookupPage {
  readonly rows: WireRows;
  /** The tables that gained rows, as they stand after this page. */
  readonly memory: ReadonlyMap<string, LookupMemory>;
}

/** The state of a lookup table of which everything up to now counts as sent. */
export async function readLookupMemory(connection: Connection, plan: TablePlan): Promise<LookupMemory> {
  const table = quoteName(plan.name);
  const found = await rows<{ id: number }>(connection, `SELECT id FROM ${table} ORDER BY id DESC LIMIT ${LATE_IDS}`);
  const ids = found.map(({ id }) => Number(id));
  return { lastId: ids[0] ?? 0, recentIds: new Set(ids) };
}

/** Ids in `(after, upTo]` that the table does not have; null: there are too many to say. */
export async function readVanishedIds(
  connection: Connection,
  plan: TablePlan,
  after: number,
  upTo: number
): Promise<readonly number[] | null> {
  if (upTo - after > VANISHED_IDS) return null;
  const query = `SELECT id FROM ${quoteName(plan.name)} WHERE id > ? AND id <= ?`;
  const found = new Set((await rows<{ id: number }>(connection, query, [after, upTo])).map(({ id }) => Number(id)));
  return Array.from({ length: upTo - after }, (_, index) => after + 1 + index).filter((id) => !found.has(id));
}

/** Reads new lookup rows by id, in pages that may be taken one at a time; all of one snapshot. */
export class LookupReader {
  readonly #connection: Connection;
  readonly #waiting: TablePlan[];
  readonly #memory: Map<string, LookupMemory>;

  /** @param plans the lookup tables, in the order in which they travel */
  constructor(connection: Connection, plans: readonly TablePlan[], memory: ReadonlyMap<string, LookupMemory>) {
    this.#connection = connection;
    this.#waiting = [...plans];
    this.#memory = new Map(memory);
  }

  /** The next rows: at most `limit` and a little more, or all there are. */
  async take(limit: number): Promise<LookupPage> {
    const taken: WireRows = {};
    const gained = new Map<string, LookupMemory>();
    for (let room = limit; room > 0 && this.#waiting[0]; ) {
      const plan = this.#waiting[0];
      const known = this.#memory.get(plan.name) ?? { lastId: 0, recentIds: new Set<number>() };
      const from = Math.max(0, known.lastId - LATE_IDS);
      const pageSize = Math.min(room, 1_000_000) + LATE_IDS;
      const found = await rows<{ id: number }>(
        this.#connection,
        `SELECT ${selectList(plan.columns)} FROM ${quoteName(plan.name)} WHERE id > ? ORDER BY id LIMIT ?`,
        [from, pageSize]
      );
      if (found.length < pageSize) this.#waiting.shift();
      const fresh = found.filter(({ id }) => Number(id) > known.lastId || !known.recentIds.has(Number(id)));
      if (fresh.length === 0) continue;
      const ids = found.map(({ id }) => Number(id));
      const next = { lastId: Math.max(known.lastId, ids.at(-1)!), recentIds: new Set(ids.slice(-LATE_IDS)) };
      this.#memory.set(plan.name, next);
      gained.set(plan.name, next);
      const sent = taken[plan.name] ?? [];
      taken[plan.name] = sent;
      for (const row of toWireRows(fresh, plan.columns)) sent.push(row);
      room -= fresh.length;
    }
    return { rows: taken, memory: gained };
  }
}
