import { quoteName, rows, type Statements } from '../../../db/connection.ts';
import { toLiteral } from '../../../db/sql-literal.ts';
import type { Span } from '../database/heights.ts';
import type { CanonicalRow, ReplicaSchema, ReplicaTable } from '../database/schema.ts';

/** Blocks of parents that are remembered within a group. */
const MOST_PARENTS = 2_000_000;

/** The blocks of rows, in tables with a block column and in those whose parent has it. */
export class ParentBlocks {
  readonly #connection: Statements;
  readonly #schema: ReplicaSchema;
  readonly #span: Span;
  /** By parent table, scope column and value. */
  readonly #blocks = new Map<string, number | null>();
  /** Scope values that the group's own blocks bring, by parent table. */
  readonly #arriving = new Map<string, Set<string>>();

  constructor(connection: Statements, schema: ReplicaSchema, span: Span) {
    this.#connection = connection;
    this.#schema = schema;
    this.#span = span;
  }

  /** Takes note of the blocks that rows of a parent table say, before the rows are written. */
  learn(table: ReplicaTable, list: readonly CanonicalRow[]): void {
    const column = this.#schema.tables.find(({ plan }) => plan.scope?.parent === table.name)?.plan.scope?.column;
    if (column === undefined) return;
    const at = table.codecs.findIndex(({ name }) => name === column);
    const arriving = this.#arriving.get(table.name) ?? new Set<string>();
    this.#arriving.set(table.name, arriving);
    const blocks = blocksSaid(table, list, 'block_index');
    for (const [index, row] of list.entries()) {
      const [value, block] = [row[at] ?? null, blocks[index] ?? null];
      if (value === null) continue;
      this.#blocks.set(`${table.name}.${value}`, block);
      if (block !== null && block >= this.#span.first && block <= this.#span.last) arriving.add(value);
    }
  }

  /** Returns values of a table's scope column whose parents are in the group. */
  arriving({ plan }: ReplicaTable): ReadonlySet<string> {
    return this.#arriving.get(plan.scope?.parent ?? '') ?? NONE;
  }

  /** Finds the block of each row of a scoped table; null where it has none, or its parent is not there. */
  async blocksOf(table: ReplicaTable, list: readonly CanonicalRow[]): Promise<(number | null)[]> {
    const { column, parent } = table.plan.scope!;
    if (parent === null) return blocksSaid(table, list, column);
    const at = table.codecs.findIndex(({ name }) => name === column);
    const cacheKey = (value: string) => `${parent}.${value}`;
    if (this.#blocks.size > MOST_PARENTS) this.#blocks.clear();
    const wanted = new Set<string>();
    for (const row of list) {
      const value = row[at] ?? null;
      if (value !== null && !this.#blocks.has(cacheKey(value))) wanted.add(value);
    }
    if (wanted.size > 0) {
      const values = [...wanted].map((value) => toLiteral(table.codecs[at]!, value)).join(',');
      const found = await rows(
        this.#connection,
        `SELECT ${quoteName(column)} AS scope, block_index FROM ${quoteName(parent)} WHERE ${quoteName(column)} IN (${values})`
      );
      for (const row of found) {
        const block = row['block_index'];
        this.#blocks.set(cacheKey(String(row['scope'])), block === null ? null : Number(block));
      }
    }
    return list.map((row) => (row[at] === null ? null : (this.#blocks.get(cacheKey(row[at]!)) ?? null)));
  }
}

const NONE: ReadonlySet<string> = new Set();

function blocksSaid({ codecs }: ReplicaTable, list: readonly CanonicalRow[], column: string): (number | null)[] {
  const at = codecs.findIndex(({ name }) => name === column);
  return list.map((row) => (row[at] === null ? null : Number(row[at])));
}
