import { within } from '../../../db/within.ts';
import { PlatformError } from '../../../errors.ts';
import type { BlockMessage, TableSpans, WireRow } from '../../../wire/data/messages.ts';
import type { CarriedIds } from '../database/carried-ids.ts';
import type { Span } from '../database/heights.ts';
import {
  type CanonicalRow,
  canonicalRow,
  findTable,
  type ReplicaSchema,
  type ReplicaTable,
  travels
} from '../database/schema.ts';
import type { GroupTransaction } from './group-transaction.ts';
import { canonicalRows, type TableWants, wantsOf } from './table-wants.ts';

const CONTROL = new Set(['sync_meta', 'merkle_epochs']);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Collected = Mutable<TableWants> & {
  fresh: CanonicalRow[];
  upserts: CanonicalRow[];
  gone: TableWants['gone'][number][];
};

/** Yields the tables of some rows, parents first. @throws {PlatformError} SOURCE_INVALID for unknown ones */
function* ordered<T>(
  schema: ReplicaSchema,
  given: Readonly<Record<string, T>> | undefined
): Generator<[ReplicaTable, T]> {
  if (!given) return;
  for (const name of Object.keys(given)) if (!CONTROL.has(name)) findTable(schema, name);
  for (const table of schema.tables) {
    if (Object.hasOwn(given, table.name) && travels(table) && table.plan.class !== 'snapshotOnly')
      yield [table, given[table.name]!];
  }
}

/** Collects the rows of one group's messages, table by table. */
export class GroupIntake {
  readonly #group: GroupTransaction;
  readonly #schema: ReplicaSchema;
  readonly #span: Span;
  readonly #ids: CarriedIds;
  /** Balances are not the messages' to say. */
  readonly #derives: boolean;
  readonly #tables = new Map<string, Collected>();

  constructor(
    group: GroupTransaction,
    schema: ReplicaSchema,
    { span, ids, derives }: { readonly span: Span; readonly ids: CarriedIds; readonly derives: boolean }
  ) {
    this.#group = group;
    this.#schema = schema;
    this.#span = span;
    this.#ids = ids;
    this.#derives = derives;
  }

  /** Sorted as the schema is. */
  get wants(): readonly TableWants[] {
    return this.#schema.tables.flatMap(({ name }) => this.#tables.get(name) ?? []);
  }

  /** @throws {PlatformError} SOURCE_INVALID */
  async add(message: Pick<BlockMessage, 'data' | 'updated_rows' | 'deleted_rows' | 'ranges'>): Promise<void> {
    for (const [table, { rows }] of ordered(this.#schema, message.ranges))
      this.#group.parents.learn(table, canonicalRows(table, rows));
    for (const [table, list] of ordered(this.#schema, message.data)) {
      // A decoder's rows without a block stand here.
      const alone = table.plan.scope === null ? outsideParts(table, message.ranges, list) : list;
      await this.#addRows(table, canonicalRows(table, alone));
    }
    for (const [table, { column, spans, rows }] of ordered(this.#schema, message.ranges)) {
      const list = canonicalRows(table, rows);
      // The replica's own ids lie elsewhere: what went from there is found by comparison.
      if (this.#isOwnId(table, column)) append(this.#of(table).upserts, list);
      else this.#of(table).spans = { column, spans, list };
    }
    for (const [table, list] of ordered(this.#schema, message.deleted_rows)) {
      if (!Object.keys(list[0] ?? {}).every((column) => this.#isOwnId(table, column)))
        append(this.#of(table).gone, namedRows(table, list));
    }
    for (const [table, list] of ordered(this.#schema, message.updated_rows)) {
      if (this.#derives && table.plan.class === 'derived') continue;
      const alone = outsideParts(table, message.ranges, list);
      if (alone.length > 0) append(this.#of(table).upserts, canonicalRows(table, alone));
    }
  }

  async #addRows(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    const { class: tableClass } = table.plan;
    const wants = this.#of(table);
    if (tableClass === 'scoped') await this.#addScoped(wants, list);
    else if (tableClass === 'lookup') {
      append(wants.upserts, list);
      wants.known = 'refuse';
    } else if (tableClass === 'mutable' || !this.#derives) append(wants.upserts, list);
  }

  /** Sorts rows into those of the group's blocks and additional rows. */
  async #addScoped({ table, fresh, upserts }: Collected, list: readonly CanonicalRow[]): Promise<void> {
    const { first, last } = this.#span;
    this.#group.parents.learn(table, list);
    const blocks = await this.#group.parents.blocksOf(table, list);
    for (const [index, row] of list.entries()) {
      const block = blocks[index] ?? null;
      (block !== null && block >= first && block <= last ? fresh : upserts).push(row);
    }
  }

  #isOwnId(table: ReplicaTable, column: string | null): boolean {
    return table.surrogate !== null && table.codecs[table.surrogate]!.name === column && this.#ids.isOwn(table);
  }

  #of(table: ReplicaTable): Collected {
    const known = this.#tables.get(table.name);
    if (known) return known;
    const wants: Collected = { ...wantsOf(table), fresh: [], upserts: [], gone: [] };
    this.#tables.set(table.name, wants);
    return wants;
  }
}

/**
 * Returns the changed rows that lie in no part that is sent whole. Those in a part are there for clients that know no
 * parts; applying both would double them.
 */
function outsideParts(
  table: ReplicaTable,
  ranges: BlockMessage['ranges'],
  list: readonly WireRow[]
): readonly WireRow[] {
  const part = ranges && Object.hasOwn(ranges, table.name) ? ranges[table.name]! : null;
  if (!part) return list;
  if (table.plan.scope !== null || table.identity === null) return [];
  const isInPart = part.column ? inSpans(part.column, part.spans) : () => false;
  return list.filter((row) => !isInPart(row));
}

/** Returns a test whether a row lies in one of the spans of a column; false for a number that is not exact. */
function inSpans(column: string, spans: TableSpans['spans']): (row: WireRow) => boolean {
  const isWithin = within(spans);
  return ({ [column]: value }) =>
    value === null || Number.isSafeInteger(value) ? isWithin(value as number | null) : false;
}

/** Appends items one by one: hundreds of thousands do not fit on the stack as arguments. */
function append<T>(into: T[], list: readonly T[]): void {
  for (const item of list) into.push(item);
}

/** Returns whether a message deletes rows by ids that the replica lacks because its ids are its own. */
export function namesUnknownIds(
  { byName }: ReplicaSchema,
  own: readonly string[],
  message: Pick<BlockMessage, 'deleted_rows' | 'ranges'>
): boolean {
  return own.some((name) => {
    const table = byName.get(name);
    const id = table?.surrogate == null ? undefined : table.codecs[table.surrogate]!.name;
    const gone = Object.keys(message.deleted_rows?.[name]?.[0] ?? {});
    return id !== undefined && (gone.join() === id || message.ranges?.[name]?.column === id);
  });
}

/** Reads rows that are given only by a key: the identity, the whole row, or the surrogate. @throws {PlatformError} SOURCE_INVALID */
function namedRows(table: ReplicaTable, list: readonly WireRow[]): TableWants['gone'] {
  const { identity, rowKey, surrogate } = table;
  const keys = [identity, rowKey, surrogate === null ? null : [surrogate]].filter((key) => key !== null);
  const nameOf = (key: readonly number[]) =>
    key
      .map((at) => table.codecs[at]!.name)
      .sort()
      .join();
  return [...Map.groupBy(list, (row) => Object.keys(row).sort().join())].map(([names, rows]) => {
    const key = keys.find((each) => nameOf(each) === names);
    if (key) return { key, list: rows.map((row) => rowOf(table, key, row)) };
    const reason = `the source names deleted rows of ${table.name} by ${names.slice(0, 100) || 'nothing'}, which is no key of this table`;
    throw new PlatformError('SOURCE_INVALID', { reason, table: table.name });
  });
}

/** Returns a row that has only the values of a key. */
function rowOf(table: ReplicaTable, key: readonly number[], row: WireRow): CanonicalRow {
  const codecs = key.map((at) => table.codecs[at]!);
  const names = new Set(codecs.map(({ name }) => name));
  const columns = table.plan.columns.filter(({ name }) => names.has(name));
  const values = canonicalRow({ ...table, codecs, plan: { ...table.plan, columns } }, row);
  const full: (string | null)[] = table.codecs.map(() => null);
  for (const [index, at] of key.entries()) full[at] = values[index]!;
  return full;
}
