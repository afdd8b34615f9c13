import { PlatformError } from '../errors.ts';
import type { WireRow } from '../wire/messages.ts';
import { quoteName, rows } from './connection.ts';
import { heightsOf } from './heights.ts';
import { type CanonicalRow, canonicalRow, keyText, type ReplicaSchema, type ReplicaTable } from './replica-schema.ts';
import { deleteRows, insertRows, selectByIdentity, selectWhere } from './row-statements.ts';
import { toLiteral } from './sql-literal.ts';
import type { Statements } from './statement-batch.ts';
import type { TouchedBalances } from './touched-balances.ts';
import type { UndoJournal } from './undo-journal.ts';

/** Blocks of parents that are remembered within a group. */
const PARENT_CACHE = 2_000_000;
const SCAN_PAGE_ROWS = 20_000;
/** Values of one condition. */
const ALIKE_VALUES = 5_000;

/** The blocks of one group. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

/**
 * The changes of one group within its transaction, each with its undo image.
 *
 * Rows that stand in blocks of the group itself need no image: a rollback deletes them by scope.
 */
export class GroupTransaction {
  readonly #connection: Statements;
  readonly #schema: ReplicaSchema;
  readonly #journal: Pick<UndoJournal, 'keep'>;
  readonly #span: Span;
  readonly #touched: TouchedBalances | undefined;
  readonly #blockOfParent = new Map<string, number>();
  readonly #changedBlocks = new Set<number>();
  #isAhead = false;

  /** @param touched takes note of the balances that change */
  constructor(
    connection: Statements,
    schema: ReplicaSchema,
    journal: Pick<UndoJournal, 'keep'>,
    span: Span,
    touched?: TouchedBalances
  ) {
    this.#connection = connection;
    this.#schema = schema;
    this.#journal = journal;
    this.#span = span;
    this.#touched = touched;
  }

  /** Whether rows may stand in blocks above the group's. */
  get isAhead(): boolean {
    return this.#isAhead;
  }

  /** Ascending heights below the group whose row in `blocks` changed. */
  get changedBlocks(): readonly number[] {
    return [...this.#changedBlocks].sort((a, b) => a - b);
  }

  /** Removes rows that stand in the group's blocks already: leftovers of a source that sent them early. */
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
    if (occupied.size === 0) return;
    this.#isAhead = true;
    const affected = this.#schema.tables.filter(
      ({ name, plan }) => occupied.has(name) || (plan.scope?.parent != null && occupied.has(plan.scope.parent))
    );
    for (const table of affected.reverse()) {
      const existing = await selectSpan(this.#connection, table, this.#span);
      await this.#remove(table, existing, true);
    }
  }

  /** New rows of the group's own blocks, whose scopes are empty; the replica deals their surrogate ids, in the source's order. */
  async insertScoped(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    await insertRows(this.#connection, table, inSourceOrder(table, list), false);
  }

  /**
   * Upserts rows by their identity; rows without one are added as often as the replica lacks them.
   *
   * @param height the rows' block when they are scoped
   * @throws {PlatformError} ROW_CONTRADICTION
   */
  async merge(
    table: ReplicaTable,
    list: readonly CanonicalRow[],
    known: Merge['known'],
    height: number | null = null
  ): Promise<void> {
    const difference = await this.#compare(table, list);
    if (table.plan.scope && (height === null || height > this.#span.last)) this.#isAhead = true;
    await this.#settle({ table, known }, difference, height === null || !this.#owns(height));
  }

  /** As `merge`, for rows that have no block of tables of which none comes twice: what the replica has of them is read at once. */
  async mergeAll(merges: readonly Merge[]): Promise<void> {
    const differences = await Promise.all(merges.map(({ table, list }) => this.#compare(table, list)));
    for (const [index, merge] of merges.entries()) await this.#settle(merge, differences[index]!, true);
  }

  async #settle(
    { table, known }: Pick<Merge, 'table' | 'known'>,
    { surplus, missing }: PageDifference,
    keep: boolean
  ): Promise<void> {
    if (known === 'refuse' && surplus.length > 0) {
      const identity = table.identity!.map((position) => surplus[0]![position]);
      const reason = `table ${table.name} holds another row as ${identity.join(', ')} than the source`;
      throw new PlatformError('ROW_CONTRADICTION', { reason, table: table.name });
    }
    await this.#remove(table, surplus, keep);
    await this.#add(table, missing, keep);
  }

  /** Removes the rows that have these identities, where they are. */
  async removeByIdentity(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<void> {
    await this.#remove(table, await selectByIdentity(this.#connection, table, list), true);
  }

  /** What one page of a table that is received whole changes here; for `replaceWhole`. */
  async comparePage(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<PageDifference> {
    if (table.identity === null) return { surplus: [], missing: list };
    return this.#compare(table, list);
  }

  /**
   * Ends a table that was received whole: what the source has not goes, what differs is replaced, what is missing comes.
   *
   * @param received identities of all rows received; of no use for a table without one
   */
  async replaceWhole(
    table: ReplicaTable,
    received: ReadonlySet<string>,
    pages: readonly PageDifference[]
  ): Promise<void> {
    const missing = pages.flatMap((page) => page.missing);
    if (table.identity === null) {
      return this.#replaceMultiset(table, await selectWhere(this.#connection, table, '1'), missing, true);
    }
    const surplus = pages.flatMap((page) => page.surplus);
    for await (const page of scanTable(this.#connection, table)) {
      surplus.push(...page.filter((row) => !received.has(keyText(row, table.identity!))));
    }
    await this.#remove(table, surplus, true);
    await this.#add(table, missing, true);
  }

  /** The rows of some blocks. Which they are the parents say: read those of all tables before any are changed. */
  async readBlocks(table: ReplicaTable, heights: readonly Span[]): Promise<CanonicalRow[]> {
    const found: CanonicalRow[] = [];
    for (const span of heights) found.push(...(await selectSpan(this.#connection, table, span)));
    return found;
  }

  /** The rows that have the same value in this column as one of those. */
  async readAlike(table: ReplicaTable, column: string, list: readonly CanonicalRow[]): Promise<CanonicalRow[]> {
    const position = table.codecs.findIndex(({ name }) => name === column);
    const values = [...new Set(list.map((row) => row[position]!))];
    const found: CanonicalRow[] = [];
    for (let at = 0; at < values.length; at += ALIKE_VALUES) {
      const some = values.slice(at, at + ALIKE_VALUES).map((value) => toLiteral(table.codecs[position]!, value));
      found.push(...(await selectWhere(this.#connection, table, `t.${quoteName(column)} IN (${some.join(',')})`)));
    }
    return found;
  }

  /** Makes rows of older blocks the given ones; a row that moved between them goes before it comes. */
  async replaceRows(
    table: ReplicaTable,
    existing: readonly CanonicalRow[],
    list: readonly CanonicalRow[]
  ): Promise<void> {
    await this.#replaceMultiset(table, existing, list, true);
  }

  /** Takes note of the blocks that rows of a parent table say, before the rows are written. */
  learnParents(table: ReplicaTable, list: readonly CanonicalRow[]): void {
    const block = table.codecs.findIndex(({ name }) => name === 'block_index');
    for (const column of new Set(
      this.#schema.tables.map(({ plan }) => (plan.scope?.parent === table.name ? plan.scope.column : null))
    )) {
      if (column === null) continue;
      const position = table.codecs.findIndex(({ name }) => name === column);
      for (const row of list) this.#blockOfParent.set(`${table.name}.${row[position]}`, Number(row[block]));
    }
  }

  /** The block of each row of a scoped table; null where its parent is unknown. */
  async blocksOf(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<(number | null)[]> {
    const { column, parent } = table.plan.scope!;
    const position = table.codecs.findIndex(({ name }) => name === column);
    if (parent === null) return list.map((row) => Number(row[position]));
    const cacheKey = (value: string) => `${parent}.${value}`;
    const wanted = new Set(
      list.map((row) => row[position]!).filter((value) => !this.#blockOfParent.has(cacheKey(value)))
    );
    if (this.#blockOfParent.size > PARENT_CACHE) this.#blockOfParent.clear();
    if (wanted.size > 0) {
      const codec = table.codecs[position]!;
      const values = [...wanted].map((value) => toLiteral(codec, value)).join(',');
      const found = await rows(
        this.#connection,
        `SELECT ${quoteName(column)} AS scope, block_index FROM ${quoteName(parent)} WHERE ${quoteName(column)} IN (${values})`
      );
      for (const row of found) this.#blockOfParent.set(cacheKey(String(row['scope'])), Number(row['block_index']));
    }
    return list.map((row) => this.#blockOfParent.get(cacheKey(row[position]!)) ?? null);
  }

  #owns(height: number): boolean {
    return height >= this.#span.first && height <= this.#span.last;
  }

  /** With an identity, `missing` rows take over the surrogate of the row that they replace. */
  async #compare(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<PageDifference> {
    const existing = await selectByIdentity(this.#connection, table, list);
    if (table.identity === null) {
      const here = new Map<string, number>();
      for (const row of existing)
        here.set(keyText(row, table.compared), (here.get(keyText(row, table.compared)) ?? 0) + 1);
      const missing = list.filter((row) => {
        const text = keyText(row, table.compared);
        const count = here.get(text) ?? 0;
        here.set(text, count - 1);
        return count <= 0;
      });
      return { surplus: [], missing: missing.map((row) => withSurrogate(table, row, null)) };
    }
    const byIdentity = new Map(existing.map((row) => [keyText(row, table.identity!), row]));
    const surplus: CanonicalRow[] = [];
    const missing: CanonicalRow[] = [];
    for (const row of new Map(list.map((each) => [keyText(each, table.identity!), each])).values()) {
      const own = byIdentity.get(keyText(row, table.identity));
      if (own && keyText(own, table.compared) === keyText(row, table.compared)) continue;
      if (own) surplus.push(own);
      missing.push(own ? withSurrogate(table, row, own) : withSurrogate(table, row, null));
    }
    return { surplus, missing };
  }

  /** Equal rows stay as they are, with their surrogates. */
  async #replaceMultiset(
    table: ReplicaTable,
    existing: readonly CanonicalRow[],
    list: readonly CanonicalRow[],
    keep: boolean
  ): Promise<void> {
    const wanted = new Map<string, number>();
    for (const row of list) {
      const text = keyText(row, table.compared);
      wanted.set(text, (wanted.get(text) ?? 0) + 1);
    }
    const take = (counts: Map<string, number>, row: CanonicalRow): boolean => {
      const text = keyText(row, table.compared);
      const count = counts.get(text) ?? 0;
      counts.set(text, count - 1);
      return count > 0;
    };
    const left = new Map(wanted);
    const surplus = existing.filter((row) => !take(left, row));
    // What is left of the counts after the rows that stay is what has to come.
    const missing = inSourceOrder(table, list).filter((row) => take(left, row));
    await this.#remove(table, surplus, keep);
    await this.#add(
      table,
      missing.map((row) => withSurrogate(table, row, null)),
      keep
    );
  }

  async #remove(table: ReplicaTable, list: readonly CanonicalRow[], keep: boolean): Promise<void> {
    if (list.length === 0) return;
    this.#touched?.note('removed', table, list);
    if (keep) await this.#journal.keep('removed', table, list);
    this.#noteBlocks(table, list);
    await deleteRows(this.#connection, table, list);
  }

  async #add(table: ReplicaTable, list: readonly CanonicalRow[], keep: boolean): Promise<void> {
    if (list.length === 0) return;
    this.#touched?.note('added', table, list);
    if (keep) await this.#journal.keep('added', table, list);
    this.#noteBlocks(table, list);
    const { surrogate } = table;
    const settled = surrogate === null ? list : list.filter((row) => row[surrogate] !== null);
    const fresh = surrogate === null ? [] : list.filter((row) => row[surrogate] === null);
    await insertRows(this.#connection, table, settled, true);
    await insertRows(this.#connection, table, fresh, false);
  }

  #noteBlocks(table: ReplicaTable, list: readonly CanonicalRow[]): void {
    if (table.name !== 'blocks') return;
    const columns = table.codecs.map(({ name }) => name);
    for (const height of heightsOf(columns, list)) if (height < this.#span.first) this.#changedBlocks.add(height);
  }
}

/** Rows to upsert by their identity. */
export interface Merge {
  readonly table: ReplicaTable;
  readonly list: readonly CanonicalRow[];
  /** What to do with a row that has another value here. */
  readonly known: 'replace' | 'refuse';
}

/** What a page of received rows changes here. */
export interface PageDifference {
  /** Rows of this database to take away. */
  readonly surplus: readonly CanonicalRow[];
  /** Rows to add; their surrogate is null when the replica is to deal it. */
  readonly missing: readonly CanonicalRow[];
}

/** Wire rows in canonical form. */
export function canonicalRows(table: ReplicaTable, list: readonly WireRow[]): CanonicalRow[] {
  return list.map((row) => canonicalRow(table, row));
}

/** The rows of a scoped table in some blocks. */
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

function withSurrogate(table: ReplicaTable, row: CanonicalRow, own: CanonicalRow | null): CanonicalRow {
  const { surrogate } = table;
  return surrogate === null ? row : row.with(surrogate, own === null ? null : own[surrogate]!);
}

function inSourceOrder(table: ReplicaTable, list: readonly CanonicalRow[]): readonly CanonicalRow[] {
  const { surrogate } = table;
  if (surrogate === null) return list;
  return list.toSorted((a, b) => Number(a[surrogate]) - Number(b[surrogate]));
}

/** All rows of a table, in pages where its key allows it. */
async function* scanTable(connection: Statements, table: ReplicaTable): AsyncGenerator<CanonicalRow[]> {
  const [position, ...others] = table.rowKey ?? [];
  const codec = position === undefined ? undefined : table.codecs[position];
  if (position === undefined || codec?.kind !== 'integer' || others.length > 0) {
    yield await selectWhere(connection, table, '1');
    return;
  }
  const name = `t.${quoteName(codec.name)}`;
  for (let condition = '1'; ; ) {
    const page = await selectWhere(connection, table, `${condition} ORDER BY ${name} LIMIT ${SCAN_PAGE_ROWS}`);
    yield page;
    if (page.length < SCAN_PAGE_ROWS) return;
    condition = `${name} > ${page.at(-1)![position]}`;
  }
}
