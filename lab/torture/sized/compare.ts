import { type Connection, connect, rows } from '../../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import type { Tip, Touched } from './history.ts';
import type { SizedTable } from './tables.ts';

/** A large table is looked through in so many blocks, a stretch of it with each. */
const STRETCHES = 16;

/** Part of one table that is compared. */
interface Look {
  readonly table: string;
  readonly where: string;
}

/** Compares source and replica at one block, at the moment when the replica says that it is complete there. */
export class BlockComparison {
  readonly #source: Connection;
  readonly #replica: Connection;
  readonly #local: ReadonlySet<string>;

  private constructor(source: Connection, replica: Connection, local: readonly string[]) {
    this.#source = source;
    this.#replica = replica;
    this.#local = new Set(local);
  }

  /** @param local tables that do not travel */
  static async open(
    source: DatabaseCoordinates,
    replica: DatabaseCoordinates,
    local: readonly string[]
  ): Promise<BlockComparison> {
    return new BlockComparison(await connect(source), await connect(replica), local);
  }

  close(): void {
    this.#source.destroy();
    this.#replica.destroy();
  }

  /** Whether the replica says that it is complete at this block. */
  async isCompleteAt({ height, hashId }: Tip): Promise<boolean> {
    const found = await rows(
      this.#replica,
      'SELECT 1 FROM sync_state s JOIN blocks b ON b.block_index = s.height WHERE s.complete = 1 AND s.height = ? AND b.ledger_hash_id = ?',
      [height, hashId]
    ).catch(() => []); // its tables are being made
    return found.length > 0;
  }

  /**
   * Compares every table row by row: number of rows, and a sum over the text of each.
   *
   * @param touched keys in large tables that must be compared now; without them large tables are compared whole
   * @returns the tables that differ, with both figures
   */
  async differences(tables: readonly SizedTable[], tip: Tip, touched?: Touched): Promise<string[]> {
    const large = new Map(tables.filter(({ isWhole }) => !isWhole).map((table) => [table.name, table]));
    const found: string[] = [];
    await this.#replica.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    try {
      if (!(await this.isCompleteAt(tip))) return [`the replica is no longer complete at block ${tip.height}`];
      for (const name of await this.#names()) {
        const table = large.get(name);
        const looks =
          table && touched ? stretchesOf(table, tip.height, touched.get(name) ?? []) : [{ table: name, where: 'TRUE' }];
        for (const look of looks) {
          const columns = await this.#columns(name);
          const [sourceRows, replicaRows] = await Promise.all([
            digest(this.#source, look, columns),
            digest(this.#replica, look, columns).catch((fault: Error) => fault.message)
          ]);
          if (sourceRows !== replicaRows)
            found.push(`${name} WHERE ${look.where.slice(0, 200)}: source ${sourceRows}, replica ${replicaRows}`);
        }
      }
    } finally {
      await this.#replica.query('ROLLBACK');
    }
    return found;
  }

  async #names(): Promise<string[]> {
    const found = await rows<{ name: string }>(
      this.#source,
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY 1"
    );
    return found.map(({ name }) => name).filter((name) => !this.#local.has(name));
  }

  async #columns(table: string): Promise<string> {
    const found = await rows<{ name: string }>(
      this.#source,
      'SELECT column_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position',
      [table]
    );
    return found.map(({ name }) => `IFNULL(\`${name}\`, '<NULL>')`).join(', ');
  }
}

function stretchesOf({ name, key, size }: SizedTable, height: number, touched: readonly number[]): Look[] {
  const width = Math.ceil(size / STRETCHES);
  const from = 1 + (height % STRETCHES) * width;
  return [
    ...(touched.length > 0 ? [{ table: name, where: `${key} IN (${touched.join(', ')})` }] : []),
    { table: name, where: `${key} BETWEEN ${from} AND ${from + width - 1}` },
    { table: name, where: `${key} > ${size}` }
  ];
}

async function digest(connection: Connection, { table, where }: Look, columns: string): Promise<string> {
  const [found] = await rows(
    connection,
    `SELECT COUNT(*) AS n, COALESCE(SUM(CRC32(CONCAT_WS('|', ${columns}))), 0) AS sum FROM \`${table}\` WHERE ${where}`
  );
  return `${found!['n']} rows, ${found!['sum']}`;
}
