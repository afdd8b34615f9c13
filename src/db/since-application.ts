import type { SnapshotBatch } from '../snapshot/snapshot-reader.ts';
import type { SinceContent } from './block-writer.ts';
import { canonicalRows, type GroupTransaction, type PageDifference, type Span } from './group-transaction.ts';
import { type CanonicalRow, findTable, keyText, type ReplicaSchema, type ReplicaTable } from './replica-schema.ts';

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

/** Takes the rows of one since-snapshot into a group. What its rows touch of derived tables is known when it has run. */
export class SinceApplication {
  readonly #group: GroupTransaction;
  readonly #schema: ReplicaSchema;
  readonly #target: Span;
  readonly #content: SinceContent;
  readonly #whole = new Map<string, Whole>();
  readonly #derived: readonly Derived[];
  /** Rows of blocks that the replica has already, by table. */
  readonly #overlap = new Map<string, CanonicalRow[]>();

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
    for await (const batch of this.#content.batches) await this.#take(batch);
    const { from } = this.#content;
    const { first } = this.#target;
    if (from < first) await this.#group.replaceSpan({ first: from, last: first - 1 }, this.#overlap);
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

  /** New rows go in, rows of blocks that are here are kept for the comparison, the rest came beside them. */
  async #takeScoped(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    const { first, last } = this.#target;
    const { from } = this.#content;
    this.#touch(table, list);
    this.#group.learnParents(table, list);
    const blocks = await this.#group.blocksOf(table, list);
    const within = (low: number, high: number) =>
      list.filter((_, index) => blocks[index] != null && blocks[index] >= low && blocks[index] <= high);
    await this.#group.insertScoped(table, within(first, last));
    const known = this.#overlap.get(table.name) ?? [];
    this.#overlap.set(table.name, known);
    for (const row of within(from, first - 1)) known.push(row);
    const beside = list.filter((_, index) => blocks[index] == null || blocks[index] < from || blocks[index] > last);
    await this.#group.merge(table, beside, 'replace');
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
