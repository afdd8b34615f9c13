import { type Connection, connect, rows } from '../../db/core/connection.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import { plainText } from './ascii.ts';

/** An attempt at blocks that the watchdog ended. */
export interface TimedOut {
  /** The first of them, and how many there were. */
  readonly block: number;
  readonly blocks: number;
  readonly limitMs: number;
  /** Where it was. */
  readonly at: string;
}

/** The newest attempts at one block that the watchdog ended. */
export interface Timeouts {
  /** The first block of each; null where there are none. */
  readonly block: number | null;
  /** How many had no other block. */
  readonly ofOneBlock: number;
}

const STATEMENT_LIMIT_S = 2;
/** Of the column, with the rest of the event. */
const LONGEST_PLACE = 140;
/** By then an attempt may take longer than a process lives. */
const MOST_READ = 32;

/** Notes an attempt, on a connection of its own: those of the indexer may hang. It is durable when it returns. @throws whatever the driver throws */
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

/** Reads what was noted last. @throws whatever the driver throws */
export async function readTimeouts(connection: Pick<Connection, 'query'>): Promise<Timeouts> {
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
