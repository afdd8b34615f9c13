import type { SnapshotBatch } from '../snapshot/snapshot-reader.ts';
import { canonicalRows, type GroupTransaction, type PageDifference, type Span } from './group-transaction.ts';
import { type CanonicalRow, findTable, keyText, type ReplicaSchema, type ReplicaTable } from './replica-schema.ts';

/** A since-snapshot, as its headers and its request describe it. */
export interface SinceContent {
  readonly batches: AsyncIterable<SnapshotBatch>;
  /** Tables of which it holds every row. */
  readonly whole: ReadonlySet<string>;
  /** It holds the rows of blocks from here on; those below the group replace what the replica has of these blocks. */
  readonly from: number;
  /** It has no derived rows, or not all: they are what credits and debits of the touched keys add up to. */
  readonly derives?: boolean;
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
  readonly pages: PageDifference[];
}

/** A scoped table whose rows come just now. */
interface Arriving {
  readonly table: ReplicaTable;
  /** Rows of blocks that the replica has already. */
  readonly overlap: CanonicalRow[];
  /** Rows of new blocks that wait until those which they may take the place of are gone. */
  fresh: CanonicalRow[];
}

/** More new rows of a table do not wait: where one takes the key of a row that moved, that contradicts the replica then. */
const MAX_WAITING_ROWS = 200_000;

/** Takes the rows of one since-snapshot into a group. What its rows touch of derived tables is known when it has run. */
export class SinceApplication {
  readonly #group: GroupTransaction;
  readonly #schema: ReplicaSchema;
  readonly #target: Span;
  readonly #content: SinceContent;
  readonly #whole = new Map<string, Whole>();
  readonly #derived: readonly Derived[];
  /** What the replica has of the blocks that come again, by scoped table that did not come yet. */
  readonly #before = new Map<string, readonly CanonicalRow[]>();
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
    const { from } = this.#content;
    const { first } = this.#target;
    for (const table of from < first ? this.#schema.tables : []) {
      if (!table.plan.scope) continue;
      this.#before.set(table.name, await this.#group.readBlocks(table, [{ first: from, last: first - 1 }]));
    }
    for await (const batch of this.#content.batches) await this.#take(batch);
    await this.#arrived();
    for (const table of this.#schema.tables.toReversed()) await this.#replace(table, []);
    for (const table of this.#schema.tables) {
      const whole = this.#whole.get(table.name);
      if (whole) await this.#group.replaceWhole(table, whole.received, whole.pages);
    }
    for (const { table, touched, received } of this.#content.derives ? [] : this.#derived) {
      const vanished = [...touched].filter(([key]) => !received.has(key)).map(([, row]) => row);
      await this.#group.removeByIdentity(table, vanished);
    }
  }

  /** The derived tables, and the keys in them that the snapshot's rows name. */
  *touched(): Generator<readonly [ReplicaTable, readonly CanonicalRow[]]> {
    for (const { table, touched } of this.#derived) yield [table, [...touched.values()]];
  }

  async #take({ section, table: name, rows }: SnapshotBatch): Promise<void> {
    const table = findTable(this.#schema, name);
    if (!table) return;
    const list = canonicalRows(table, rows);
    const { class: tableClass } = table.plan;
    const whole = this.#whole.get(name);
    if (this.#arriving && this.#arriving.table !== table) await this.#arrived();
    if (whole) {
      if (table.identity) for (const row of list) whole.received.add(keyText(row, table.identity));
      whole.pages.push(await this.#group.comparePage(table, list));
    } else if (tableClass === 'derived' && this.#content.derives) {
      return;
    } else if (tableClass === 'scoped' && section === 'tables') await this.#takeScoped(table, list);
    else {
      const derived = this.#derived.find((each) => each.table === table);
      for (const row of derived ? list : []) derived!.received.add(keyText(row, table.identity!));
      await this.#group.merge(table, list, tableClass === 'lookup' ? 'refuse' : 'replace');
    }
  }

  /** Rows of new blocks, of blocks that are here, and what came beside them. */
  async #takeScoped(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    const { first, last } = this.#target;
    const { from } = this.#content;
    this.#touch(table, list);
    this.#group.learnParents(table, list);
    const blocks = await this.#group.blocksOf(table, list);
    this.#arriving ??= { table, overlap: [], fresh: [] };
    const { overlap, fresh } = this.#arriving;
    const beside: CanonicalRow[] = [];
    for (const [index, row] of list.entries()) {
      const block = blocks[index] ?? null;
      if (block === null || block < from || block > last) beside.push(row);
      else (block < first ? overlap : fresh).push(row);
    }
    if (fresh.length > MAX_WAITING_ROWS) await this.#insertFresh(this.#arriving);
    await this.#group.merge(table, beside, 'replace');
  }

  /** All rows of a scoped table are here: what the replica has of the blocks that came again goes before new rows come. */
  async #arrived(): Promise<void> {
    const arriving = this.#arriving;
    if (!arriving) return;
    this.#arriving = undefined;
    await this.#replace(arriving.table, arriving.overlap);
    await this.#insertFresh(arriving);
  }

  async #replace(table: ReplicaTable, overlap: readonly CanonicalRow[]): Promise<void> {
    const before = this.#before.get(table.name);
    if (!before) return;
    this.#before.delete(table.name);
    await this.#group.replaceRows(table, before, overlap);
  }

  async #insertFresh(arriving: Arriving): Promise<void> {
    const { table, fresh } = arriving;
    arriving.fresh = [];
    await this.#group.insertScoped(table, fresh);
  }

  /** A derived row is sent when rows with its key are; when it is not, it is gone. */
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
