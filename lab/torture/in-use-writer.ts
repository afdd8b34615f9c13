import { type Connection, connect, quoteName } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { definitionsOf } from '../../test/support/tables-in-use/create-tables.ts';
import { createLedger, FIRST_HEIGHT, type Ledger } from '../../test/support/tables-in-use/ledger.ts';
import { type Case, randomAt, type Step } from './plan.ts';
import type { CaseWriter } from './writer.ts';

/** Rows and blocks that are there when a replica starts; one history of four is long enough for the deepest late changes. */
const SHORT = { blocks: 300, rows: 8_000 } as const;

/** Writes the history of one case into a source of the tables in use, as their owner writes it. */
export class InUseWriter implements CaseWriter {
  readonly #case: Case;
  readonly #connection: Connection;
  readonly #ledger: Ledger;
  readonly tables: readonly string[];
  #altered = 0;
  isLate = false;

  private constructor(of: Case, connection: Connection, ledger: Ledger, tables: readonly string[]) {
    this.#case = of;
    this.#connection = connection;
    this.#ledger = ledger;
    this.tables = tables;
  }

  static async open(of: Case, source: DatabaseCoordinates): Promise<InUseWriter> {
    const connection = await connect(source);
    const random = randomAt(of, 'ledger');
    const { dbType, seed } = of;
    const size = of.blocks >= 100 && random.between(1, 4) === 1 ? 'small' : SHORT;
    const chain = random.pick<'bitcoin' | 'litecoin' | 'dogecoin'>(['bitcoin', 'litecoin', 'dogecoin']);
    const age = random.pick<'new' | 'old'>(['new', 'new', 'old']);
    const ledger = await createLedger(connection, { dbType, seed, size, chain, age });
    return new InUseWriter(of, connection, ledger, [...definitionsOf({ dbType, age }).keys()]);
  }

  get height(): number {
    return this.#ledger.height;
  }

  async close(): Promise<void> {
    await this.#connection.end();
  }

  async write(
    step: Extract<Step, { kind: 'blocks' | 'reorg' | 'alter' }>,
    whileHeld: () => Promise<void> = async () => undefined
  ): Promise<void> {
    const request = { late: 'random', without: this.#case.without } as const;
    if (step.kind === 'alter') return this.#alter(step.what);
    this.isLate = false;
    if (step.kind === 'reorg') {
      const depth = Math.min(step.depth, this.height - FIRST_HEIGHT);
      await this.#ledger.reorg(depth, { ...request, count: step.count, together: !step.apart });
    } else if (step.how === 'held') await this.#ledger.writeBlocks(step.count, request, true, whileHeld);
    // Only a decoder writes several blocks in one transaction.
    else await this.#ledger.writeBlocks(step.count, request, this.#case.dbType === 'decoder');
    if (step.kind === 'blocks' && step.how === 'late') await this.#ledger.writeNodeRows();
  }

  /** Alters the tables as a start does that reconciles a database with newer definitions, or as a release does. */
  async #alter(what: 'column' | 'table' | 'key'): Promise<void> {
    this.isLate = true;
    this.#altered += 1;
    const name = `added_${this.#altered}`;
    const random = randomAt(this.#case, 'alter', this.#altered);
    const table = quoteName(random.pick(this.tables as [string, ...string[]]));
    if (what === 'column') await this.#connection.query(`ALTER TABLE ${table} ADD COLUMN ${name} VARCHAR(40) NULL`);
    else if (what === 'table')
      await this.#connection.query(
        `CREATE TABLE ${name} (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, block_index BIGINT UNSIGNED NULL, note VARCHAR(40), KEY (block_index))`
      );
    else await this.#connection.query(`ALTER TABLE ${table} ENGINE=InnoDB COMMENT='${name}'`);
  }
}
