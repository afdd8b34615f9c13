import { createHash } from 'node:crypto';
import { connect, quoteName, rows, type SqlRow } from '../../../src/db/connection.ts';
import { selectList } from '../../../src/db/row-codec.ts';
import type { TablePlan } from '../../../src/replication/tables/classify.ts';
import { readLayout, type SourceLayout } from '../../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates, DbType } from '../../../src/wire/data/database.ts';
import type { BlockMessage, ReorgMessage, WireRow } from '../../../src/wire/data/messages.ts';

type Tables = Map<string, WireRow[]>;

/**
 * A replica in memory that knows the wire contract and nothing of the reader: what it holds after each group must be what
 * the source holds.
 */
export class MemoryReplica {
  readonly #dbType: DbType;
  #tables: Tables;
  #layout: SourceLayout;
  #pending: BlockMessage[] = [];
  /** State before each group that was applied. */
  #before: { readonly messages: BlockMessage[]; readonly tables: Tables }[] = [];
  /** A source may take lookup rows back, which no message says: a replica reconciles them by digest. */
  #hadReorg = false;
  height: number;

  private constructor(dbType: DbType, layout: SourceLayout, tables: Tables, height: number) {
    this.#dbType = dbType;
    this.#layout = layout;
    this.#tables = tables;
    this.height = height;
  }

  static async bootstrap(to: DatabaseCoordinates, dbType: DbType): Promise<MemoryReplica> {
    const { layout, tables } = await readAll(to, dbType);
    const height = Math.max(-1, ...(tables.get('blocks') ?? []).map((row) => Number(row['block_index'])));
    return new MemoryReplica(dbType, layout, tables, height);
  }

  /** Takes a message as it came over the wire. @throws when a height is repeated or left out */
  apply(message: BlockMessage | ReorgMessage): void {
    if (message.type === 'reorg') this.#rollBack(message.block_index);
    else this.#takeBlock(message);
  }

  #takeBlock(message: BlockMessage): void {
    const expected = (this.#pending.at(-1)?.block_index ?? this.height) + 1;
    if (this.height >= 0 && message.block_index !== expected) {
      throw new Error(`block ${message.block_index} came where ${expected} was due`);
    }
    this.#pending.push(message);
    if (message.block_index !== message.group?.last) return;
    const messages = this.#pending;
    this.#pending = [];
    this.#before.push({ messages, tables: new Map([...this.#tables].map(([name, list]) => [name, [...list]])) });
    for (const each of messages) this.#applyBlock(each);
    this.#applyChanges(message);
    this.height = message.block_index;
  }

  /** Undoes whole groups; of one that the fork cuts, the blocks below it come again, as a catch-up would bring them. */
  #rollBack(fork: number): void {
    this.#pending = this.#pending.filter((message) => message.block_index < fork);
    while ((this.#before.at(-1)?.messages.at(-1)?.block_index ?? -1) >= fork) {
      const { messages, tables } = this.#before.pop()!;
      this.#tables = new Map([...tables].map(([name, list]) => [name, [...list]]));
      const kept = messages.filter(({ block_index }) => block_index < fork);
      for (const message of kept) this.#applyBlock(message);
      if (kept.length > 0) this.#before.push({ messages: kept, tables });
    }
    this.height = Math.min(this.height, fork - 1);
    this.#hadReorg = true;
  }

  #plan(table: string) {
    const plan = this.#layout.plans.find(({ name }) => name === table);
    if (!plan) throw new Error(`message names unknown table ${table}`);
    return plan;
  }

  #list(table: string): WireRow[] {
    const list = this.#tables.get(table) ?? [];
    this.#tables.set(table, list);
    return list;
  }

  #keep(table: string, condition: (row: WireRow) => boolean): void {
    this.#tables.set(table, this.#list(table).filter(condition));
  }

  #blockOf(table: string, row: WireRow): number | null {
    const { scope } = this.#plan(table);
    if (!scope) return null;
    if (scope.parent === null) return Number(row['block_index']);
    const parent = this.#list(scope.parent).find((candidate) => candidate[scope.column] === row[scope.column]);
    return parent ? Number(parent['block_index']) : null;
  }

  #applyBlock(message: BlockMessage): void {
    for (const [table, list] of Object.entries(message.data)) {
      if (table === 'sync_meta') continue;
      const plan = this.#plan(table);
      // A decoder's new rows of tables without a block come with the block's own.
      if (plan.class === 'mutable') this.#upsert(table, list);
      if (plan.class === 'lookup') {
        const ids = new Set(list.map((row) => row['id']));
        this.#keep(table, (row) => !ids.has(row['id']));
        this.#list(table).push(...list);
      }
    }
    for (const { name, class: tableClass } of this.#layout.plans) {
      if (tableClass !== 'scoped') continue;
      this.#keep(name, (row) => this.#blockOf(name, row) !== message.block_index);
      this.#list(name).push(...(message.data[name] ?? []));
    }
  }

  #applyChanges(message: BlockMessage): void {
    for (const [table, list] of Object.entries(message.deleted_rows ?? {})) {
      this.#keep(table, (row) => !list.some((gone) => matches(Object.keys(gone), row, gone)));
    }
    const { first, last } = message.group!;
    for (const [table, { column, spans, rows: list }] of Object.entries(message.ranges ?? {})) {
      const plan = this.#plan(table);
      const isWithin = (row: WireRow) =>
        spans.some((span) => {
          const value = column === null ? slotOf(plan, row) : row[column];
          return span === null || value === null
            ? span === value
            : Number(value) >= span[0] && Number(value) <= span[1];
        });
      const isOwn = (row: WireRow) => {
        const block = this.#blockOf(table, row);
        return block !== null && block >= first && block <= last;
      };
      this.#keep(table, (row) => isOwn(row) || !isWithin(row));
      this.#list(table).push(...list);
    }
    for (const [table, list] of Object.entries(message.updated_rows ?? {})) {
      const { identity, surrogate, class: kind } = this.#plan(table);
      // What others are told of older blocks is in the ranges, and so are rows that nothing names.
      if (kind === 'scoped' || (message.ranges?.[table] && !identity && surrogate === null)) continue;
      this.#upsert(table, list);
    }
    for (const [table, list] of Object.entries(message.data)) {
      if (table !== 'sync_meta' && this.#plan(table).class === 'derived') this.#upsert(table, list);
    }
  }

  #upsert(table: string, list: readonly WireRow[]): void {
    const { identity, surrogate } = this.#plan(table);
    const key = identity ?? (surrogate === null ? null : [surrogate]);
    if (key) this.#keep(table, (row) => !list.some((changed) => matches(key, row, changed)));
    this.#list(table).push(...list);
  }

  /** Follows the source's schema, as a replica does when a message names another fingerprint; new columns get their defaults. */
  async readSchema(to: DatabaseCoordinates): Promise<void> {
    const { layout } = await readAll(to, this.#dbType);
    this.#layout = layout;
    for (const { name, columns } of layout.plans) {
      for (const column of columns) {
        const value =
          column.default === null || column.default === 'NULL' ? null : column.default.replace(/^'(.*)'$/, '$1');
        for (const row of this.#list(name)) if (!(column.name in row)) row[column.name] = value;
      }
    }
  }

  /** Tables in which this replica and the database differ now; empty when they are equal. */
  async differences(to: DatabaseCoordinates): Promise<string[]> {
    const { layout, tables } = await readAll(to, this.#dbType);
    this.#layout = layout;
    return layout.plans
      .filter(({ class: kind }) => ['scoped', 'lookup', 'mutable', 'derived'].includes(kind))
      .filter(({ name, storedColumns, surrogate, class: kind }) => {
        const compared = storedColumns.map((column) => column.name).filter((column) => column !== surrogate);
        const text = (row: WireRow) => JSON.stringify(compared.map((column) => row[column] ?? null));
        const source = tables.get(name) ?? [];
        const ids = new Set(source.map((row) => row['id']));
        const isKnown = (row: WireRow) => kind !== 'lookup' || !this.#hadReorg || ids.has(row['id']);
        const here = this.#list(name).filter(isKnown).map(text).sort();
        const there = source.map(text).sort();

        return JSON.stringify(here) !== JSON.stringify(there);
      })
      .map(({ name }) => name);
  }
}

function matches(key: readonly string[], a: WireRow, b: WireRow): boolean {
  return key.every((name) => JSON.stringify(a[name]) === JSON.stringify(b[name]));
}

/** The first 12 bits of the SHA-256 over a row's canonical text, for texts and whole numbers. */
function slotOf({ storedColumns }: TablePlan, row: WireRow): number {
  const parts = storedColumns
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, charset }) => {
      const value = row[name];
      if (value === null) return 'n';
      return charset === null ? `v${String(value)}` : `t${[...String(value)].length}:${String(value)}`;
    });
  return Number.parseInt(createHash('sha256').update(parts.join('|')).digest('hex').slice(0, 3), 16);
}

async function readAll(to: DatabaseCoordinates, dbType: DbType): Promise<{ layout: SourceLayout; tables: Tables }> {
  const connection = await connect(to);
  try {
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    const layout = await readLayout(connection, dbType);
    const tables: Tables = new Map();
    for (const { name, columns } of layout.plans) {
      const found = await rows<SqlRow>(connection, `SELECT ${selectList(columns)} FROM ${quoteName(name)}`);
      tables.set(name, JSON.parse(JSON.stringify(found.map(binaryAsWire))) as WireRow[]);
    }
    return { layout, tables };
  } finally {
    connection.destroy();
  }
}

function binaryAsWire(row: SqlRow): SqlRow {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      Buffer.isBuffer(value) ? { __xbin__: value.toString('base64') } : value
    ])
  );
}
