import { quoteName, type Statements } from '../../../db/connection.ts';
import type { CarriedIds } from '../database/carried-ids.ts';
import { differ, differByName, isNamed, namer, type RowDifference, union } from '../database/row-difference.ts';
import { selectByIdentity, selectByKey, selectWhere } from '../database/row-statements.ts';
import { type CanonicalRow, keyText, type ReplicaTable } from '../database/schema.ts';

const SCAN_PAGE_ROWS = 20_000;

/** Compares rows of the source with those of the replica's tables. */
export class RowComparison {
  readonly #connection: Statements;
  readonly #ids: Pick<CarriedIds, 'positions' | 'isOwn'>;

  constructor(connection: Statements, ids: Pick<CarriedIds, 'positions' | 'isOwn'>) {
    this.#connection = connection;
    this.#ids = ids;
  }

  /** Returns the positions whose values are the same in equal rows of a table. */
  equality(table: ReplicaTable): readonly number[] {
    return this.#ids.positions(table);
  }

  /** Adds one page of a table that is received whole; for `compareWhole`. */
  async comparePage(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<RowDifference> {
    const named = list.filter((row) => isNamed(table, row));
    const unnamed = named.length === list.length ? [] : list.filter((row) => !isNamed(table, row));
    const { surplus, missing } = await this.compare(table, named);
    return { surplus, missing: [...missing, ...unnamed] };
  }

  /**
   * Applies a table that was received whole: deletes rows that the source lacks, replaces differing rows, inserts missing
   * ones.
   *
   * @param received identities of all rows received
   */
  async compareWhole(
    table: ReplicaTable,
    pages: readonly RowDifference[],
    received: ReadonlySet<string>
  ): Promise<RowDifference> {
    const surplus = pages.flatMap((page) => page.surplus);
    const wanted = pages.flatMap((page) => page.missing);
    const unnamed: CanonicalRow[] = [];
    for await (const page of scanTable(this.#connection, table)) {
      for (const row of page) {
        if (!isNamed(table, row)) unnamed.push(row);
        else if (!received.has(keyText(row, table.identity!))) surplus.push(row);
      }
    }
    const rest = differ(
      unnamed,
      wanted.filter((row) => !isNamed(table, row)),
      this.equality(table)
    );
    const named = wanted.filter((row) => isNamed(table, row));
    return { surplus: [...surplus, ...rest.surplus], missing: [...named, ...rest.missing] };
  }

  /** Returns the rows that differ from those with their identities; of rows without an identity, as many as are not here. */
  async compare(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<RowDifference> {
    const { identity } = table;
    const positions = this.equality(table);
    const named = list.filter((row) => isNamed(table, row));
    const unnamed = named.length === list.length ? [] : list.filter((row) => !isNamed(table, row));
    const wanted = identity ? lastOfEach(identity, named) : [];
    const [existing, alike] = await Promise.all([
      selectByIdentity(this.#connection, table, wanted),
      selectByIdentity(this.#connection, table, unnamed)
    ]);
    const { surplus, missing } = differByName(table, existing, wanted, positions);
    return { surplus, missing: [...missing, ...differ(alike, unnamed, positions).missing] };
  }

  /** Selects rows that stand elsewhere, and have the identity or the id of a row that arrives. */
  async selectMoved(
    table: ReplicaTable,
    missing: readonly CanonicalRow[],
    displaced: readonly CanonicalRow[]
  ): Promise<readonly CanonicalRow[]> {
    const { identity, surrogate } = table;
    const isSame = identity?.length === 1 && identity[0] === surrogate;
    const keys = [identity, surrogate === null || isSame || this.#ids.isOwn(table) ? null : [surrogate]];
    const lists = keys.map(async (key) => {
      if (key === null || missing.length === 0) return [];
      const isWhole = (row: CanonicalRow) => key.every((at) => row[at] !== null);
      const nameOf = namer(key);
      const known = new Set(displaced.filter(isWhole).map(nameOf));
      const asked = missing.filter((row) => isWhole(row) && !known.has(nameOf(row)));
      return asked.length === 0 ? [] : selectByKey(this.#connection, table, key, asked);
    });
    return union(table, await Promise.all(lists));
  }
}

/** Returns the last row of each name. */
function lastOfEach(identity: readonly number[], named: readonly CanonicalRow[]): readonly CanonicalRow[] {
  const nameOf = namer(identity);
  const last = new Map<string, CanonicalRow>();
  for (const row of named) last.set(nameOf(row), row);
  return last.size === named.length ? named : [...last.values()];
}

/** Yields all rows of a table, in pages where its key allows it. */
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
