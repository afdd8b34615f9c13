import { type Connection, rows } from '../../db/core/connection.ts';
import { asciiJson, plainText } from '../store/ascii.ts';
import type { Push, PushMethod } from './push.ts';

type Query = Pick<Connection, 'query'>;

/** Prices that wait at most; the oldest go first. At one round in ten minutes it is what two months bring. */
export const MAX_WAITING = 10_000;
const LONGEST_ERROR = 500;
/** A push that the hub did not take waits twice as long each time, from a second to an hour. */
const LONGEST_WAIT_S = 3_600;
/** Such pushes that wait at most; of more the oldest go. */
const MOST_REFUSED = 1_000;

/** A push that waits in the table, the oldest first by its id. */
export interface WaitingPush {
  readonly id: number;
  readonly method: PushMethod;
  /** JSON. */
  readonly params: string;
}

/**
 * Adds pushes behind those that wait, inside the caller's transaction: they are as durable as its blocks. A tip takes the place of
 * the one that waits.
 *
 * @returns how many of the oldest had to go, because there were more than MAX_WAITING
 */
export async function enqueuePushes(connection: Query, pushes: readonly Push[]): Promise<number> {
  if (pushes.length === 0) return 0;
  if (pushes.some(({ method }) => method === 'pushchaintip'))
    await connection.query("DELETE FROM pending_hub_pushes WHERE push_type = 'pushchaintip'");
  await connection.query('INSERT INTO pending_hub_pushes (push_type, action_index, payload) VALUES ?', [
    pushes.map(({ method, actionIndex, params }) => [method, actionIndex, asciiJson(params)])
  ]);
  if (pushes.every(({ actionIndex }) => actionIndex === 0)) return 0;
  const surplus = (await countWaiting(connection)) - MAX_WAITING;
  if (surplus <= 0) return 0;
  await connection.query('DELETE FROM pending_hub_pushes ORDER BY id LIMIT ?', [surplus]);
  return surplus;
}

/** Takes back what actions from an index on would tell, and every tip, inside the transaction of a rollback. */
export async function retractPushes(connection: Query, firstAction: number | null): Promise<void> {
  await connection.query('DELETE FROM pending_hub_pushes WHERE action_index = 0 OR action_index >= ?', [
    firstAction ?? Number.MAX_SAFE_INTEGER
  ]);
}

/** How often the ledger of a coin was rolled back. */
export async function readGeneration(connection: Query, coin: string): Promise<number> {
  const [found] = await rows<{ generation: number }>(
    connection,
    'SELECT generation FROM push_generations WHERE coin = ?',
    [coin]
  );
  return Number(found?.generation ?? 0);
}

export async function countWaiting(connection: Query): Promise<number> {
  const [found] = await rows<{ n: number }>(connection, 'SELECT COUNT(*) AS n FROM pending_hub_pushes');
  return Number(found?.n ?? 0);
}

/** The push that is to be told next: the oldest, but for those that the hub did not take and whose wait is not over; null when there is none. */
export async function readOldest(connection: Query): Promise<WaitingPush | null> {
  const [found] = await rows<Record<string, unknown>>(
    connection,
    `SELECT id, push_type AS method, payload AS params FROM pending_hub_pushes
      WHERE status <> 'refused'
         OR last_attempted_at <= UTC_TIMESTAMP() - INTERVAL LEAST(${LONGEST_WAIT_S}, POW(2, LEAST(attempts, 20))) SECOND
      ORDER BY status = 'refused', id LIMIT 1`
  );
  return found ? (found as unknown as WaitingPush) : null;
}

/**
 * Sets a push aside that a hub answered and did not take: it is told again later, and those behind it do not wait.
 *
 * @returns how many of the oldest had to go, because more than MOST_REFUSED wait
 */
export async function setAside(connection: Query, id: number, reason: string): Promise<number> {
  await noteFailure(connection, id, reason);
  await connection.query("UPDATE pending_hub_pushes SET status = 'refused' WHERE id = ?", [id]);
  const surplus = (await countRefused(connection)) - MOST_REFUSED;
  if (surplus <= 0) return 0;
  await connection.query("DELETE FROM pending_hub_pushes WHERE status = 'refused' ORDER BY id LIMIT ?", [surplus]);
  return surplus;
}

/** How many pushes the hub did not take. */
export async function countRefused(connection: Query): Promise<number> {
  const [found] = await rows<{ n: number }>(
    connection,
    "SELECT COUNT(*) AS n FROM pending_hub_pushes WHERE status = 'refused'"
  );
  return Number(found?.n ?? 0);
}

/**
 * Lets later pushes of a coin, and one that waits, take the place of what a hub has: an indexer that was built anew counts its
 * rollbacks from 0, and the hub remembers those of before.
 */
export async function raiseGeneration(connection: Query, id: number, coin: string, generation: number): Promise<void> {
  await connection.query(
    'INSERT INTO push_generations VALUES (?, ?) ON DUPLICATE KEY UPDATE generation = GREATEST(generation, VALUES(generation))',
    [coin, generation]
  );
  await connection.query(
    "UPDATE pending_hub_pushes SET payload = JSON_SET(payload, '$.push_generation', ?) WHERE id = ?",
    [generation, id]
  );
}

/** Forgets a push that a hub has answered. */
export async function removePush(connection: Query, id: number): Promise<void> {
  await connection.query('DELETE FROM pending_hub_pushes WHERE id = ?', [id]);
}

/** Notes why a push still waits. */
export async function noteFailure(connection: Query, id: number, reason: string): Promise<void> {
  await connection.query(
    `UPDATE pending_hub_pushes SET attempts = attempts + 1, last_attempted_at = UTC_TIMESTAMP(), last_error = ? WHERE id = ?`,
    [plainText(reason, LONGEST_ERROR), id]
  );
}
