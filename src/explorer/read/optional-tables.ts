/** Our indexer has it; others may keep no hashes of the chain beside the ledger. */
const TABLE = 'chain_blocks';
const NOTHING = '(SELECT 0 AS block_index, NULL AS block_hash FROM DUAL WHERE FALSE)';
const NAMED = new RegExp(`\\b${TABLE}(?= )`, 'g');
const NO_SUCH_TABLE = 1146;
const LOOK_AGAIN_MS = 60_000;

/** Runs statements that name a table which the database may lack: there it is as if it were empty. */
export class OptionalTables {
  #missingUntil = 0;

  /** @param run gets the statement, twice where the table is found missing */
  async run<T>(sql: string, run: (sql: string) => Promise<T>): Promise<T> {
    if (!sql.includes(TABLE)) return await run(sql);
    const without = sql.replaceAll(NAMED, NOTHING);
    if (performance.now() < this.#missingUntil) return await run(without);
    try {
      return await run(sql);
    } catch (caught) {
      if ((caught as { readonly errno?: number }).errno !== NO_SUCH_TABLE) throw caught;
      this.#missingUntil = performance.now() + LOOK_AGAIN_MS;
      return await run(without);
    }
  }
}
