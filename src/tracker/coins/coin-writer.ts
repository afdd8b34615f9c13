import type { ExclusiveDatabase } from '../../db/exclusive-database.ts';
import { PlatformError } from '../../errors.ts';
import { MADE, places, type RecordKind, SCRIPT, SPENT } from './records.ts';
import { amountAt, type CoinChanges, type ReducedChanges } from './reduce.ts';

/** Rows per statement: some 400 kB of text. */
const ROWS = 2_000;

/** Changes stored coins. The caller must run its calls in one transaction. */
export class CoinWriter {
  readonly #database: ExclusiveDatabase;

  constructor(database: ExclusiveDatabase) {
    this.#database = database;
  }

  /** Applies the changes of blocks. @throws {PlatformError} DATABASE_UNUSABLE when a spent coin is not stored */
  async apply({ made, spent, scripts }: ReducedChanges): Promise<void> {
    await this.#spend(spent);
    // Two rewards of the early Bitcoin chain have the ids of older ones and replaced them.
    await this.insertCoins(made, 'ON DUPLICATE KEY UPDATE height = VALUES(height)');
    await this.insertScripts(scripts, 'ON DUPLICATE KEY UPDATE received = received + VALUES(received)');
  }

  /** Inserts coins. @param made MADE records @param after a clause at the end of each statement */
  async insertCoins(made: Buffer, after = ''): Promise<void> {
    for (const rows of lists(MADE, made, coinRow))
      await this.#database.query(
        `INSERT INTO coins (outpoint, script_hash, value, height, maturity) VALUES ${rows} ${after}`
      );
  }

  /** Inserts the totals of scripts. @param scripts SCRIPT records @param after a clause at the end of each statement */
  async insertScripts(scripts: Buffer, after = ''): Promise<void> {
    for (const rows of lists(SCRIPT, scripts, scriptRow))
      await this.#database.query(`INSERT INTO scripts (script_hash, first_height, received) VALUES ${rows} ${after}`);
  }

  /**
   * Keeps what a rollback of one block needs. Must run before its spent coins are deleted. @param spent without coins
   * that the block itself created
   */
  async keepUndo(height: number, made: Buffer, { spent }: Pick<CoinChanges, 'spent'>): Promise<void> {
    for (const rows of lists(MADE, made, (records, at) => `(${height},${madeRow(records, at)})`))
      await this.#database.query(`INSERT INTO made (block_index, outpoint, script_hash, value) VALUES ${rows}`);
    // A block without a new coin gets an empty row: a block without any row would look like one whose undo data is missing.
    if (made.length === 0)
      await this.#database.query(
        `INSERT INTO made (block_index, outpoint, script_hash, value) VALUES (${height},${NO_COIN},${NO_SCRIPT},0)`
      );
    for (const list of lists(SPENT, spent, outpointOf))
      await this.#database.query(
        `INSERT INTO spent (block_index, script_hash, outpoint, value, height, maturity)
         SELECT ${height}, script_hash, outpoint, value, height, maturity FROM coins WHERE outpoint IN (${list})`
      );
  }

  async #spend(spent: Buffer): Promise<void> {
    let gone = 0;
    for (const list of lists(SPENT, spent, outpointOf))
      gone += await this.#database.change(`DELETE FROM coins WHERE outpoint IN (${list})`);
    const missing = spent.length / SPENT.sizeBytes - gone;
    if (missing > 0) throw coinsMissing(missing);
  }
}

/** Returns the error for blocks that spend coins which are not stored. */
export function coinsMissing(count: number): PlatformError {
  const reason = `the node's blocks spend ${count} coins that are not stored: drop the database, and the tracker then reads the chain again`;
  return new PlatformError('DATABASE_UNUSABLE', { reason });
}

/** Outpoint that no transaction has. */
const NO_COIN = `X'${'00'.repeat(SPENT.key)}'`;
/** Hash that no script has. */
const NO_SCRIPT = `X'${'00'.repeat(SCRIPT.key)}'`;
const outpointOf = (records: Buffer, at: number): string => `X'${records.toString('hex', at, at + SPENT.key)}'`;
const hashOf = (records: Buffer, at: number): string =>
  `X'${records.toString('hex', at + MADE.hashAt, at + MADE.valueAt)}'`;
const madeRow = (records: Buffer, at: number): string =>
  `${outpointOf(records, at)},${hashOf(records, at)},${records.readBigUInt64LE(at + MADE.valueAt)}`;
const coinRow = (records: Buffer, at: number): string =>
  `(${madeRow(records, at)},${records.readUInt32LE(at + MADE.heightAt)},${records[at + MADE.maturityAt]})`;
const scriptRow = (records: Buffer, at: number): string =>
  `(X'${records.toString('hex', at, at + SCRIPT.key)}',${records.readUInt32LE(at + SCRIPT.heightAt)},${amountAt(records, at)})`;

/** Prints records as comma-separated lists for SQL, ROWS in each. */
function* lists(kind: RecordKind, records: Buffer, print: (records: Buffer, at: number) => string): Generator<string> {
  const stepBytes = ROWS * kind.sizeBytes;
  for (let from = 0; from < records.length; from += stepBytes) {
    const part = records.subarray(from, from + stepBytes);
    yield Array.from(places(kind, part), (at) => print(part, at)).join();
  }
}
