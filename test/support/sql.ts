import { connect, rows, type SqlRow } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';

/** Runs statements one after another on a connection of their own. @returns the rows of the last one */
export async function sql(to: DatabaseCoordinates, ...statements: readonly string[]): Promise<SqlRow[]> {
  const connection = await connect(to);
  try {
    let found: SqlRow[] = [];
    for (const statement of statements) found = await rows(connection, statement);
    return found;
  } finally {
    connection.destroy();
  }
}

/** Passes over a KILL whose connection had ended by itself. @throws any other fault */
export function hadEnded(caught: unknown): void {
  if ((caught as { code?: string }).code !== 'ER_NO_SUCH_THREAD') throw caught;
}

/** Adds a block without transactions above the tip of an indexer; its hashes are those of the block below. */
export async function addEmptyBlock(to: DatabaseCoordinates): Promise<number> {
  await sql(
    to,
    `INSERT INTO blocks (block_index, block_time, ledger_hash_id, actions_hash_id, contract_hash_id)
     SELECT block_index + 1, block_time + 1, ledger_hash_id, actions_hash_id, contract_hash_id
     FROM blocks ORDER BY block_index DESC LIMIT 1`
  );
  const [tip] = await sql(to, 'SELECT MAX(block_index) AS height FROM blocks');
  return Number(tip?.['height']);
}
