import { PlatformError } from '../../../errors.ts';
import { shapeOf } from '../../../wire/data/shape.ts';
import { type OlderSpans, OlderSpansSchema } from '../../../wire/data/snapshot.ts';
import type { Span } from '../database/heights.ts';
import { differ, type RowDifference, union } from '../database/row-difference.ts';
import {
  type CanonicalRow,
  canonicalRow,
  findTable,
  keyText,
  type ReplicaSchema,
  type ReplicaTable
} from '../database/schema.ts';
import type { SnapshotBatch } from '../database/snapshot-batch.ts';
import type { GroupTransaction } from './group-transaction.ts';
import { canonicalRows, namesOf, wantsOf } from './table-wants.ts';

/** A since-snapshot, as its headers and its request describe it. */
export interface SinceContent {
  readonly batches: AsyncIterable<SnapshotBatch>;
  /** Tables that it holds whole. */
  readonly whole: ReadonlySet<string>;
  /** Its lowest block with rows; its blocks below the group replace the replica's rows of these blocks. */
  readonly from: number;
  /** Whether derived rows are computed, from the credits and debits of the touched keys: the snapshot has none, or not all. */
  readonly derives?: boolean;
  /** Tables without blocks may come in parts. */
  readonly inParts?: boolean;
}

/** A derived table, and which of its keys the snapshot's rows touch. */
interface Derived {
  readonly table: ReplicaTable;
  readonly touched: Map<string, CanonicalRow>;
  readonly received: Set<string>;
}

/** A table that comes whole. */
interface Whole {
  readonly received: Set<string>;
  readonly pages: RowDifference[];
}

/** Parts of a table with changed rows in older blocks. */
interface Older extends OlderSpans {
  readonly table: ReplicaTable;
  readonly list: CanonicalRow[];
}

/** The table whose rows are arriving now. */
interface Arriving {
  readonly table: ReplicaTable;
  /** Rows of blocks that the replica has already. */
  readonly overlap: CanonicalRow[];
  /** Other changes. */
  changes: RowDifference[];
  /** Rows of new blocks that wait until those which they may take the place of are gone. */
  fresh: CanonicalRow[];
}

const isOlderSpans = shapeOf(OlderSpansSchema);

/** More new rows of a table do not wait: where one takes the key of a row that moved, that contradicts the replica then. */
const MAX_WAITING_ROWS = 200_000;

/** Adds the rows of one since-snapshot to a group. Its touched derived rows are known after it has run. */
export class SinceApplication {
  readonly #group: GroupTransaction;
  readonly #schema: ReplicaSchema;
  readonly #target: Span;
  readonly #content: SinceContent;
  readonly #whole = new Map<string, Whole>();
  readonly #derived: readonly Derived[];
  /** The replica's rows of the blocks that are sent again, by scoped table that has not arrived yet. */
  readonly #before = new Map<string, readonly CanonicalRow[]>();
  readonly #begun = new Set<string>();
  #arriving: Arriving | undefined;

  constructor(group: GroupTransaction, schema: ReplicaSchema, target: Span, content: SinceContent) {
    this.#group = group;
    this.#schema = schema;
    this.#target = target;
    this.#content = content;
    for (const { name, plan } of schema.tables) {
      if (content.whole.has(name) && plan.class !== 'scoped') this.#whole.set(name, { received: new Set(), pages: [] });
    }
    this.#derived = schema.tables
      .filter(({ plan, identity, name }) => plan.class === 'derived' && identity && !content.whole.has(name))
      .map((table) => ({ table, touched: new Map(), received: new Set() }));
  }

  async run(): Promise<void> {
    const older = new Map<string, Older>();
    let isBegun = false;
    for await (const batch of this.#content.batches) {
      if (batch.section === 'older_spans' || batch.section === 'older_rows') {
        if (isBegun) throw invalid('parts of older blocks come after the rows of the new ones');
        this.#collect(older, batch);
        continue;
      }
      if (!isBegun) await this.#takeOlder(older);
      isBegun = true;
      await this.#take(batch);
    }
    if (!isBegun) await this.#takeOlder(older);
    await this.#arrived();
    for (const table of this.#schema.tables.toReversed()) {
      await this.#begin(table);
      await this.#replace({ table, overlap: [], changes: [], fresh: [] });
    }
    for (const table of this.#schema.tables) {
      const whole = this.#whole.get(table.name);
      if (!whole) continue;
      const { surplus, missing } = await this.#group.comparison.compareWhole(table, whole.pages, whole.received);
      await this.#write(table, [{ surplus, missing }], []);
    }
    for (const { table, touched, received } of this.#content.derives ? [] : this.#derived) {
      const vanished = [...touched].filter(([key]) => !received.has(key)).map(([, row]) => row);
      if (vanished.length > 0)
        await this.#group.take([{ ...wantsOf(table), gone: [{ key: table.identity!, list: vanished }] }]);
    }
  }

  /** Yields the derived tables, each with its keys that the snapshot's rows name. */
  *touched(): Generator<readonly [ReplicaTable, readonly CanonicalRow[]]> {
    for (const { table, touched } of this.#derived) yield [table, [...touched.values()]];
  }

  #collect(older: Map<string, Older>, { section, table: name, rows }: SnapshotBatch): void {
    const table = findTable(this.#schema, name);
    if (!table) return;
    const isInParts = table.plan.class === 'mutable' && this.#content.inParts;
    if (table.plan.class !== 'scoped' && !isInParts) throw invalid(`table ${name} has no older blocks`);
    const known = older.get(name);
    if (section === 'older_spans') {
      const [spans] = rows;
      if (rows.length !== 1 || !isOlderSpans.Check(spans)) throw invalid(`the parts of ${name} are ill-formed`);
      older.set(name, { table, ...spans, list: [] });
    } else if (known) for (const row of rows) known.list.push(canonicalRow(table, row));
    else throw invalid(`rows of ${name} come without the parts that they are of`);
  }

  /**
   * Takes the changed rows of older blocks, before rows of new blocks arrive. It then reads what the replica has of
   * blocks that come again, which these parts lack.
   */
  async #takeOlder(older: ReadonlyMap<string, Older>): Promise<void> {
    const sorted = this.#schema.tables.flatMap(({ name }) => older.get(name) ?? []);
    for (const { table, list } of sorted) {
      if (table.plan.class !== 'scoped') continue;
      this.#group.parents.learn(table, list);
      this.#touch(table, list);
    }
    await this.#group.take(sorted.map(({ table, ...spans }) => ({ ...wantsOf(table), spans })));
    const { from } = this.#content;
    for (const table of from < this.#target.first ? this.#schema.tables : []) {
      if (table.plan.scope) this.#before.set(table.name, await this.#group.readOverlap(table, from));
    }
  }

  async #take({ section, table: name, rows }: SnapshotBatch): Promise<void> {
    const table = findTable(this.#schema, name);
    if (!table) return;
    const list = canonicalRows(table, rows);
    const { class: tableClass } = table.plan;
    const whole = this.#whole.get(name);
    if (this.#arriving && this.#arriving.table !== table) await this.#arrived();
    if (whole) {
      for (const text of namesOf(table, list)) whole.received.add(text);
      whole.pages.push(await this.#group.comparison.comparePage(table, list));
      return;
    }
    if (tableClass === 'derived' && this.#content.derives) return;
    this.#arriving ??= await this.#begin(table);
    if (tableClass === 'scoped' && section === 'tables') await this.#takeScoped(this.#arriving, list);
    else {
      const derived = this.#derived.find((each) => each.table === table);
      for (const row of derived ? list : []) derived!.received.add(keyText(row, table.identity!));
      await this.#takeBeside(this.#arriving, list);
    }
  }

  /** Begins a table. Its parents are complete, for they come first. */
  async #begin(table: ReplicaTable): Promise<Arriving> {
    const arriving = { table, overlap: [], changes: [], fresh: [] };
    if (!table.plan.scope || this.#begun.has(table.name)) return arriving;
    this.#begun.add(table.name);
    const removed = (await this.#group.clearWaiting([table])).flat();
    const before = this.#before.get(table.name);
    if (before && removed.length > 0) this.#before.set(table.name, differ(before, removed, table.all).surplus);
    return arriving;
  }

  async #takeBeside(arriving: Arriving, list: readonly CanonicalRow[]): Promise<void> {
    const { table, changes } = arriving;
    changes.push(await this.#group.compareRows(table, list, table.plan.class === 'lookup' ? 'refuse' : 'replace'));
    if (changes.reduce((sum, { missing }) => sum + missing.length, 0) <= MAX_WAITING_ROWS) return;
    arriving.changes = [];
    await this.#write(table, changes, []);
  }

  /** Takes rows of new blocks, of blocks that the replica has, and additional rows. */
  async #takeScoped(arriving: Arriving, list: readonly CanonicalRow[]): Promise<void> {
    const { table, overlap, fresh } = arriving;
    const { first, last } = this.#target;
    const { from } = this.#content;
    this.#touch(table, list);
    this.#group.parents.learn(table, list);
    const blocks = await this.#group.parents.blocksOf(table, list);
    const beside: CanonicalRow[] = [];
    for (const [index, row] of list.entries()) {
      const block = blocks[index] ?? null;
      if (block === null || block < from || block > last) beside.push(row);
      else (block < first ? overlap : fresh).push(row);
    }
    await this.#takeBeside(arriving, beside);
    if (fresh.length <= MAX_WAITING_ROWS) return;
    arriving.fresh = [];
    await this.#write(table, [], fresh);
  }

  /** Ends a table whose rows have all arrived. Rows to delete go before new ones come. */
  async #arrived(): Promise<void> {
    const arriving = this.#arriving;
    if (!arriving) return;
    this.#arriving = undefined;
    await this.#replace(arriving);
  }

  async #replace({ table, overlap, changes, fresh }: Arriving): Promise<void> {
    const before = this.#before.get(table.name);
    this.#before.delete(table.name);
    const replaced = before ? [differ(before, overlap, this.#group.comparison.equality(table))] : [];
    await this.#write(table, [...replaced, ...changes], fresh);
  }

  async #write(table: ReplicaTable, changes: readonly RowDifference[], fresh: readonly CanonicalRow[]): Promise<void> {
    const surplus = union(
      table,
      changes.map((change) => change.surplus)
    );
    const missing = changes.flatMap((change) => change.missing);
    if (surplus.length + missing.length + fresh.length === 0) return;
    await this.#group.write([this.#group.settle({ table, surplus, missing, fresh })]);
  }

  /**
   * Notes the keys of derived rows that rows name. The source sends a derived row when rows with its key are sent; one
   * that it does not send is gone.
   */
  #touch(feeder: ReplicaTable, list: readonly CanonicalRow[]): void {
    for (const { table, touched } of this.#derived) {
      const positions = table.identity!.map((at) =>
        feeder.codecs.findIndex(({ name }) => name === table.codecs[at]!.name)
      );
      if (positions.includes(-1)) continue;
      for (const row of list) {
        if (positions.some((at) => row[at] === null)) continue;
        const key: (string | null)[] = table.codecs.map(() => null);
        for (const [index, at] of table.identity!.entries()) key[at] = row[positions[index]!]!;
        touched.set(keyText(key, table.identity!), key);
      }
    }
  }
}

function invalid(reason: string): PlatformError {
  return new PlatformError('SOURCE_INVALID', { reason: `the since-snapshot is refused: ${reason}` });
}
