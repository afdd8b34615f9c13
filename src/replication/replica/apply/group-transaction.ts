import { quoteName, rows, type Statements } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import { type CarriedIds, mayOwnIds } from '../database/carried-ids.ts';
import { heightsOf, type Span } from '../database/heights.ts';
import { differ, differByName, isNamed, NO_DIFFERENCE, type RowDifference, union } from '../database/row-difference.ts';
import { HIGHEST, LOWEST, selectSpans } from '../database/row-spans.ts';
import { deleteRows, insertRows, selectByKey, selectWhere } from '../database/row-statements.ts';
import { type CanonicalRow, keyText, type ReplicaSchema, type ReplicaTable } from '../database/schema.ts';
import { ParentBlocks } from './parent-blocks.ts';
import { RowComparison } from './row-comparison.ts';
import type { TableChange, TableWants } from './table-wants.ts';
import type { TouchedBalances } from './touched-balances.ts';
import type { UndoJournal } from './undo-journal.ts';
import { YieldingInsert } from './yielding-insert.ts';

/** The context of a transaction besides its statements. */
export interface GroupOptions {
  readonly journal: Pick<UndoJournal, 'keep'>;
  readonly ids: CarriedIds;
  /** Takes note of the balances that change. */
  readonly touched?: TouchedBalances;
  /**
   * Treatment of a row that conflicts with one that no message removed: `evict` deletes that row, `own` gives the table ids of its
   * own. Absent: the transaction ends.
   */
  readonly collisions?: 'evict' | 'own';
  /** The group's blocks are there already: rows of theirs that change need no image, because a rollback deletes them by scope. */
  readonly isAmendment?: boolean;
}

/**
 * The changes of one group within its transaction, each with its undo image. Everything that goes is read first; then it goes,
 * from all tables; then new rows come, with the source's ids.
 *
 * Rows that stand in blocks of the group itself need no image: a rollback deletes them by scope.
 */
export class GroupTransaction {
  readonly #connection: Statements;
  readonly #schema: ReplicaSchema;
  readonly #span: Span;
  readonly #options: GroupOptions;
  readonly #parents: ParentBlocks;
  readonly #insert: YieldingInsert | null;
  /** Compares rows with what is in the tables; it writes nothing. */
  readonly comparison: RowComparison;
  readonly #changedBlocks = new Set<number>();
  readonly #parentNames: ReadonlySet<string>;
  #mayHoldEarly = false;

  constructor(connection: Statements, schema: ReplicaSchema, span: Span, options: GroupOptions) {
    this.#connection = connection;
    this.#schema = schema;
    this.#span = span;
    this.#options = options;
    this.comparison = new RowComparison(connection, options.ids);
    this.#parents = new ParentBlocks(connection, schema, span);
    this.#parentNames = new Set(schema.tables.flatMap(({ plan }) => plan.scope?.parent ?? []));
    this.#insert = options.collisions
      ? new YieldingInsert(connection, options.ids, options.collisions, (table, list) => this.#remove(table, list))
      : null;
  }

  /** Whether rows may exist in blocks above the group's, or wait for the row that names their block. */
  get mayHoldEarly(): boolean {
    return this.#mayHoldEarly;
  }

  /** Ascending heights with a changed row in `blocks`, below the group or, of an amendment, any. */
  get changedBlocks(): readonly number[] {
    return [...this.#changedBlocks].sort((a, b) => a - b);
  }

  get parents(): ParentBlocks {
    return this.#parents;
  }

  /** Removes rows that stand in the group's blocks already: a source that sent them early sends them again with their block. */
  async clearSpan(): Promise<void> {
    const { first } = this.#span;
    const direct = this.#schema.tables.filter(({ plan }) => plan.scope !== null && plan.scope.parent === null);
    if (direct.length === 0) return;
    const found = await rows<{ name: string }>(
      this.#connection,
      direct
        .map(
          ({ name }) =>
            `SELECT '${name}' AS name FROM DUAL WHERE EXISTS (SELECT 1 FROM ${quoteName(name)} WHERE block_index >= ${first})`
        )
        .join(' UNION ALL ')
    );
    const occupied = new Set(found.map(({ name }) => name));
    if (occupied.size > 0) this.#mayHoldEarly = true;
    const affected = this.#schema.tables.filter(
      ({ name, plan }) => occupied.has(name) || (plan.scope?.parent != null && occupied.has(plan.scope.parent))
    );
    for (const table of affected.reverse()) {
      await this.#remove(table, await selectSpan(this.#connection, table, this.#span));
    }
  }

  /**
   * Removes rows that waited for a parent which the group brings: they are among the rows of its blocks.
   *
   * @returns the removed rows, table by table
   */
  async clearWaiting(tables: readonly ReplicaTable[] = this.#schema.tables): Promise<readonly CanonicalRow[][]> {
    const waiting = tables.flatMap((table) => {
      const values = this.#parents.arriving(table);
      return values.size === 0 ? [] : [{ table, values }];
    });
    const found = await Promise.all(
      waiting.map(async ({ table, values }) => {
        const { column } = table.plan.scope!;
        const at = table.codecs.findIndex(({ name }) => name === column);
        const list = await selectSpans(this.#connection, table, { column, spans: [extent(values)] });
        return list.filter((row) => values.has(row[at]!));
      })
    );
    for (const [index, { table }] of waiting.entries()) await this.#remove(table, found[index]!);
    return found;
  }

  /** Applies the group's rows to tables, each at most once; `sorted` is the schema's order: parents first. */
  async take(sorted: readonly TableWants[]): Promise<void> {
    await this.write(await Promise.all(sorted.map((wants) => this.read(wants))));
  }

  /** Returns the changes of a table, and writes nothing. @throws {PlatformError} ROW_CONTRADICTION */
  async read(wants: TableWants): Promise<TableChange> {
    const { table, spans, upserts, gone } = wants;
    const [inSpans, named, vanished] = await Promise.all([
      spans ? selectSpans(this.#connection, table, spans) : [],
      this.compareRows(table, upserts, 'replace'),
      Promise.all(gone.map(({ key, list }) => selectByKey(this.#connection, table, key, list))),
      this.#noteEarly(table, spans?.list ?? [])
    ]);
    // A lookup's id may be assigned again: the message removes the row that had it.
    if (wants.known === 'refuse') refuse(table, differ(named.surplus, vanished.flat(), table.all).surplus);
    const within = differByName(table, inSpans, spans?.list ?? [], this.comparison.equality(table));
    const displaced = [within.surplus, named.surplus, ...vanished];
    displaced.push(await this.comparison.selectMoved(table, within.missing, union(table, displaced)));
    const missing = onlyOnce(table, [within.missing, named.missing]);
    return this.settle({ table, surplus: union(table, displaced), missing, fresh: wants.fresh });
  }

  /**
   * Returns the changes by rows to upsert: they replace rows with their identity. Rows without an identity are added until there
   * are as many as in the list.
   *
   * @throws {PlatformError} ROW_CONTRADICTION
   */
  async compareRows(
    table: ReplicaTable,
    list: readonly CanonicalRow[],
    known: TableWants['known']
  ): Promise<RowDifference> {
    if (list.length === 0) return NO_DIFFERENCE;
    const [difference] = await Promise.all([this.comparison.compare(table, list), this.#noteEarly(table, list)]);
    if (known === 'refuse') refuse(table, difference.surplus);
    return difference;
  }

  /** Decides which of the new rows take over an id of the replica's own, and which get a new one. */
  settle({ table, surplus, missing, fresh }: Omit<TableChange, 'unsettled'>): TableChange {
    const { surrogate, identity } = table;
    const { ids } = this.#options;
    if (surrogate === null) return { table, surplus, missing, unsettled: [], fresh };
    if (!ids.isOwn(table)) {
      const isDealt = (row: CanonicalRow) => row[surrogate] !== null;
      if (missing.every(isDealt)) return { table, surplus, missing, unsettled: [], fresh };
      const unsettled = missing.filter((row) => !isDealt(row));
      return { table, surplus, missing: missing.filter(isDealt), unsettled, fresh };
    }
    const freed = new Map(identity ? surplus.map((row) => [keyText(row, identity), row[surrogate]!]) : []);
    const settled: CanonicalRow[] = [];
    const unsettled: CanonicalRow[] = [];
    for (const row of missing) {
      const own = identity && isNamed(table, row) ? freed.get(keyText(row, identity)) : undefined;
      if (own === undefined) unsettled.push(row);
      else settled.push(row.with(surrogate, own));
    }
    return { table, surplus, missing: settled, unsettled, fresh };
  }

  /** Carries out changes of different tables, `sorted` as the schema is. */
  async write(sorted: readonly TableChange[]): Promise<void> {
    for (const { table, surplus } of sorted.toReversed()) await this.#remove(table, surplus);
    for (const { table, missing, unsettled, fresh } of sorted) {
      await this.#add(table, missing);
      if (unsettled.length > 0) await this.#add(table, await this.#assignIds(table, unsettled));
      await this.#addFresh(table, fresh);
    }
  }

  async #addFresh(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    if (list.length === 0) return;
    if (this.#options.ids.isOwn(table)) await insertRows(this.#connection, table, await this.#assignIds(table, list));
    else if (this.#insert) await this.#insert.run(table, list);
    else await insertRows(this.#connection, table, list);
  }

  #assignIds(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<readonly CanonicalRow[]> {
    // What gets an id here may have another one at the source.
    if (mayOwnIds(table)) this.#options.ids.own(table);
    return this.#options.ids.assign(this.#connection, table, list);
  }

  /**
   * Reads the rows of the blocks from a height to the group. Parents decide which rows these are: read those of all
   * tables before any are changed.
   */
  readOverlap(table: ReplicaTable, from: number): Promise<CanonicalRow[]> {
    return selectSpan(this.#connection, table, { first: from, last: this.#span.first - 1 });
  }

  /** Takes note of rows that stand in no block of the group or below it. */
  async #noteEarly(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    if (!table.plan.scope || list.length === 0 || this.#mayHoldEarly) return;
    const blocks = await this.#parents.blocksOf(table, list);
    if (blocks.some((block) => block === null || block > this.#span.last)) this.#mayHoldEarly = true;
  }

  async #remove(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    if (list.length === 0) return;
    // Rows that hung on a parent which goes wait for it to come again.
    if (this.#parentNames.has(table.name)) this.#mayHoldEarly = true;
    this.#options.touched?.note('removed', table, list);
    await this.#keep('removed', table, list);
    this.#noteBlocks(table, list);
    await deleteRows(this.#connection, table, list);
  }

  async #add(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    if (list.length === 0) return;
    this.#options.touched?.note('added', table, list);
    this.#noteBlocks(table, list);
    const yielding = this.#options.ids.isOwn(table) ? null : this.#insert;
    const added = yielding ? await yielding.run(table, list) : list;
    await this.#keep('added', table, added);
    if (!yielding) await insertRows(this.#connection, table, list);
  }

  async #keep(kind: 'removed' | 'added', table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    const isOwn = this.#options.isAmendment && table.plan.scope ? await this.#ownRows(table, list) : null;
    await this.#options.journal.keep(kind, table, isOwn ? list.filter((_, at) => !isOwn[at]) : list);
  }

  /** Returns for each row whether it stands in one of the group's blocks. */
  async #ownRows(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<boolean[]> {
    const { first, last } = this.#span;
    const blocks = await this.#parents.blocksOf(table, list);
    return blocks.map((block) => block !== null && block >= first && block <= last);
  }

  #noteBlocks(table: ReplicaTable, list: readonly CanonicalRow[]): void {
    if (table.name !== 'blocks') return;
    const columns = table.codecs.map(({ name }) => name);
    for (const height of heightsOf(columns, list)) {
      if (height < this.#span.first || this.#options.isAmendment) this.#changedBlocks.add(height);
    }
  }
}

/** Selects the rows of a scoped table in some blocks. */
export function selectSpan(
  connection: Statements,
  table: ReplicaTable,
  { first, last }: Span
): Promise<CanonicalRow[]> {
  const { column, parent } = table.plan.scope!;
  if (parent === null) return selectWhere(connection, table, `t.block_index BETWEEN ${first} AND ${last}`);
  const join = `JOIN (SELECT DISTINCT ${quoteName(column)} FROM ${quoteName(parent)} WHERE block_index BETWEEN ${first} AND ${last}) p ON p.${quoteName(column)} = t.${quoteName(column)}`;
  return selectWhere(connection, table, '1', join);
}

/** Returns the last row of each identity, and all rows without one. */
function onlyOnce(table: ReplicaTable, lists: readonly (readonly CanonicalRow[])[]): readonly CanonicalRow[] {
  const filled = lists.filter((list) => list.length > 0);
  const { identity } = table;
  if (filled.length < 2 || identity === null) return filled.flat();
  const unnamed = filled.flat().filter((row) => !isNamed(table, row));
  const named = filled.flat().filter((row) => isNamed(table, row));
  return [...new Map(named.map((row) => [keyText(row, identity), row])).values(), ...unnamed];
}

/** Returns a span with all of these integers. */
function extent(values: ReadonlySet<string>): [number, number] {
  let [from, to] = [HIGHEST, LOWEST];
  for (const value of values) {
    from = Math.min(from, Math.max(LOWEST, Number(value)));
    to = Math.max(to, Math.min(HIGHEST, Number(value)));
  }
  return [from, to];
}

/** @throws {PlatformError} ROW_CONTRADICTION when there is such a row */
function refuse(table: ReplicaTable, [row]: readonly CanonicalRow[]): void {
  if (!row) return;
  const identity = table.identity!.map((position) => row[position]);
  const reason = `row ${identity.join(', ')} of table ${table.name} differs from the source's`;
  throw new PlatformError('ROW_CONTRADICTION', { reason, table: table.name });
}
