import type { Connection } from '../../../db/connection.ts';
import { rows } from '../../../db/connection.ts';
import type { TableFacts } from './table-facts.ts';

/** MariaDB's number for a statement that asks for a right which the account lacks: PROCESS. */
const NO_RIGHT = 1227;

/**
 * Reads when the oldest transaction began that is open and may write. Call it before the snapshot begins: a transaction that commits in
 * between is then among the open ones.
 *
 * @returns Unix time in whole seconds; null: none is open; undefined: the account may not see them
 */
export async function readOldestWriter(connection: Connection): Promise<number | null | undefined> {
  try {
    const [row] = await rows(
      connection,
      `SET STATEMENT time_zone = 'SYSTEM' FOR
       SELECT UNIX_TIMESTAMP(MIN(trx_started)) AS t FROM information_schema.INNODB_TRX WHERE trx_is_read_only = 0`
    );
    return row?.['t'] == null ? null : Math.floor(Number(row['t']));
  } catch (caught) {
    if ((caught as { errno?: number; cause?: { errno?: number } }).errno === NO_RIGHT) return undefined;
    throw caught;
  }
}

/**
 * Returns the facts with what open transactions may still do to them. A transaction shows the second in which it began,
 * so that one which commits later may leave a table's time as it is.
 */
export function withOpenWriters(
  facts: ReadonlyMap<string, TableFacts>,
  oldest: number | null | undefined
): ReadonlyMap<string, TableFacts> {
  if (oldest === null) return facts;
  const mayMove = ({ changedAt }: TableFacts) => changedAt !== null && (oldest === undefined || changedAt >= oldest);
  return new Map(Array.from(facts, ([name, known]) => [name, mayMove(known) ? { ...known, isFresh: true } : known]));
}
