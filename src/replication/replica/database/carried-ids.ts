import { quoteName, rows, type Statements } from '../../../db/connection.ts';
import type { CanonicalRow, ReplicaTable } from './schema.ts';

/** The origin of a replica's surrogate ids. */
export interface IdOrigin {
  /** The source of the ids; null: not known yet. */
  readonly source: string | null;
  /** Tables with ids of the replica's own: equal rows may have other ids there. */
  readonly own: readonly string[];
}

/** Returns whether a table has another key than the surrogate, so that its ids may be the replica's own. */
export function mayOwnIds({ surrogate, identity }: ReplicaTable): boolean {
  return surrogate !== null && identity !== null && !identity.includes(surrogate);
}

/** Records, within one transaction, the origin of each table's ids, and assigns ids that no source names. */
export class CarriedIds {
  readonly #own: Set<string>;
  readonly #highest = new Map<string, bigint>();
  #changed = false;

  constructor(own: Iterable<string>) {
    this.#own = new Set(own);
  }

  /** The tables with ids of the replica's own, when that changed; else null. */
  get changed(): readonly string[] | null {
    return this.#changed ? [...this.#own].sort() : null;
  }

  isOwn({ name }: ReplicaTable): boolean {
    return this.#own.has(name);
  }

  /** Notes that the ids of this table are the replica's own from now on. */
  own({ name }: ReplicaTable): void {
    this.#changed ||= !this.#own.has(name);
    this.#own.add(name);
  }

  /** Returns the positions whose values are the same in equal rows of a table. */
  positions(table: ReplicaTable): readonly number[] {
    return this.isOwn(table) ? table.compared : table.all;
  }

  /**
   * Gives ids to new rows of a table, in the source's order and above all that are there: the source's where that is so, else
   * the next one.
   */
  async assign(
    connection: Statements,
    table: ReplicaTable,
    list: readonly CanonicalRow[]
  ): Promise<readonly CanonicalRow[]> {
    const surrogate = table.surrogate!;
    let highest = this.#highest.get(table.name) ?? (await readHighest(connection, table));
    const assigned = inSourceOrder(table, list).map((row) => {
      const given = row[surrogate] === null ? 0n : BigInt(row[surrogate]!);
      highest = given > highest ? given : highest + 1n;
      return row.with(surrogate, String(highest));
    });
    this.#highest.set(table.name, highest);
    return assigned;
  }
}

/** Sorts rows by the source's ids; rows without an id come last, in the order given. */
function inSourceOrder({ surrogate }: ReplicaTable, list: readonly CanonicalRow[]): readonly CanonicalRow[] {
  const order = (row: CanonicalRow) => (row[surrogate!] === null ? null : BigInt(row[surrogate!]!));
  const isBefore = (a: bigint | null, b: bigint | null) => a !== null && (b === null || a < b);
  return list.toSorted((a, b) => Number(isBefore(order(b), order(a))) - Number(isBefore(order(a), order(b))));
}

async function readHighest(connection: Statements, { name, codecs, surrogate }: ReplicaTable): Promise<bigint> {
  const column = quoteName(codecs[surrogate!]!.name);
  const [row] = await rows(connection, `SELECT CAST(MAX(${column}) AS CHAR) AS id FROM ${quoteName(name)}`);
  return BigInt((row?.['id'] as string | null) ?? 0);
}
