import { connect, rows, type Statements } from '../../db/connection.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import { plainText } from '../definitions/ascii.ts';

/** Attempt at blocks that the watchdog ended. */
export interface TimedOut {
  /** Height of the first block, and the number of blocks. */
  readonly block: number;
  readonly blocks: number;
  readonly limitMs: number;
  /** Place of the work when it was ended. */
  readonly at: string;
}

/** Newest attempts at one block that the watchdog ended. */
export interface Timeouts {
  /** First block of each attempt; null where there are none. */
  readonly block: number | null;
  /** Number of attempts that had only this block. */
  readonly ofOneBlock: number;
}

const STATEMENT_LIMIT_S = 2;
/** Most characters of a place. The column also holds the rest of the event. */
const LONGEST_PLACE = 140;
/** Attempts that are read. After so many doublings a limit exceeds the life of a process. */
const MOST_READ = 32;

/**
 * Notes an attempt, on a connection of its own: those of the indexer may hang. It is durable when it returns. @throws
 * the driver's error
 */
export async function recordTimeout(database: DatabaseCoordinates, { at, ...attempt }: TimedOut): Promise<void> {
  const connection = await connect(database, { statementLimitS: STATEMENT_LIMIT_S });
  try {
    const data = JSON.stringify({ ...attempt, at: plainText(at, LONGEST_PLACE) });
    await connection.query("INSERT INTO events (time, code, data) VALUES (UTC_TIMESTAMP(), 'WATCHDOG_TIMEOUT', ?)", [
      data
    ]);
  } finally {
    connection.destroy();
  }
}

/** Reads the newest attempts that were noted. @throws the driver's error */
export async function readTimeouts(connection: Statements): Promise<Timeouts> {
  const found = await rows<{ data: string }>(
    connection,
    `SELECT data FROM events WHERE code = 'WATCHDOG_TIMEOUT' ORDER BY id DESC LIMIT ${MOST_READ}`
  );
  const attempts = found.map(({ data }) => JSON.parse(data) as TimedOut);
  const block = attempts[0]?.block ?? null;
  const other = attempts.findIndex((attempt) => attempt.block !== block);
  const own = other === -1 ? attempts : attempts.slice(0, other);
  return { block, ofOneBlock: own.filter(({ blocks }) => blocks === 1).length };
}
