import { rows, type Statements } from '../../db/connection.ts';
import { pages } from '../../db/pages.ts';
import { asciiJson, plainText } from '../definitions/ascii.ts';
import type { Push, PushMethod } from './push.ts';
import { type QueuedPush, surplusOf } from './surplus.ts';

/** Most prices that wait. At one round in ten minutes they cover two months. @see surplusOf for those that are dropped */
export const MAX_WAITING = 10_000;
const LONGEST_ERROR = 500;
/** Longest wait of a push that the hub did not take, in seconds. The wait starts at a second and doubles each time. */
const LONGEST_WAIT_S = 3_600;
/** Most pushes that wait because the hub did not take them. @see surplusOf for those that are dropped */
const MOST_REFUSED = 1_000;

/** Push that waits in the table. Older ones have lower ids. */
export interface WaitingPush {
  readonly id: number;
  readonly method: PushMethod;
  /** Parameters as JSON. */
  readonly params: string;
}

/**
 * Adds pushes behind those that wait, inside the caller's transaction, so that they are as durable as its blocks. A tip
 * replaces the one that waits.
 *
 * @returns how many were dropped, because one source had too many prices, or more than MAX_WAITING waited
 */
export async function enqueuePushes(connection: Statements, pushes: readonly Push[]): Promise<number> {
  if (pushes.length === 0) return 0;
  if (pushes.some(({ method }) => method === 'pushchaintip'))
    await connection.query("DELETE FROM pending_hub_pushes WHERE push_type = 'pushchaintip'");
  const waiting = pushes.map(({ method, actionIndex, params }) => [method, actionIndex, asciiJson(params)]);
  for (const part of pages(waiting))
    await connection.query('INSERT INTO pending_hub_pushes (push_type, action_index, payload) VALUES ?', [part]);
  const isFurther = pushes.some(({ method }) => method === 'pushoracleprice');
  if (!isFurther && (await countWaiting(connection)) <= MAX_WAITING) return 0;
  return await dropSurplus(connection, MAX_WAITING);
}

/** Drops pushes beyond a number. @param where condition of those that count @returns how many were dropped */
async function dropSurplus(connection: Statements, most: number, where = '1 = 1'): Promise<number> {
  const waiting = await rows<Record<keyof QueuedPush, string | number | null>>(
    connection,
    `SELECT id, push_type AS method, JSON_VALUE(payload, '$.source_address') AS source FROM pending_hub_pushes
      WHERE ${where} ORDER BY id`
  );
  const surplus = surplusOf(waiting as unknown as QueuedPush[], most);
  for (const part of pages(surplus)) await connection.query('DELETE FROM pending_hub_pushes WHERE id IN (?)', [part]);
  return surplus.length;
}

/** Deletes the pushes of actions from an index on, and every tip, inside the transaction of a rollback. */
export async function retractPushes(connection: Statements, firstAction: number | null): Promise<void> {
  await connection.query('DELETE FROM pending_hub_pushes WHERE action_index = 0 OR action_index >= ?', [
    firstAction ?? Number.MAX_SAFE_INTEGER
  ]);
}

/** Reads how often the ledger of a coin was rolled back. */
export async function readGeneration(connection: Statements, coin: string): Promise<number> {
  const [found] = await rows<{ generation: number }>(
    connection,
    'SELECT generation FROM push_generations WHERE coin = ?',
    [coin]
  );
  return Number(found?.generation ?? 0);
}

/** Reads how many pushes wait, those set aside included. */
export async function countWaiting(connection: Statements): Promise<number> {
  const [found] = await rows<{ n: number }>(connection, 'SELECT COUNT(*) AS n FROM pending_hub_pushes');
  return Number(found?.n ?? 0);
}

/**
 * Reads the push to send next: the oldest one that is not set aside, or whose wait is over. It is null when there is
 * none.
 */
export async function readOldest(connection: Statements): Promise<WaitingPush | null> {
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
 * Sets a push aside that a hub answered and did not take. It is sent again later, and those behind it do not wait.
 *
 * @returns how many were dropped, because more than MOST_REFUSED wait
 */
export async function setAside(connection: Statements, id: number, reason: string): Promise<number> {
  await noteFailure(connection, id, reason);
  await connection.query("UPDATE pending_hub_pushes SET status = 'refused' WHERE id = ?", [id]);
  if ((await countRefused(connection)) <= MOST_REFUSED) return 0;
  return await dropSurplus(connection, MOST_REFUSED, "status = 'refused'");
}

/** Reads how many pushes the hub did not take. */
export async function countRefused(connection: Statements): Promise<number> {
  const [found] = await rows<{ n: number }>(
    connection,
    "SELECT COUNT(*) AS n FROM pending_hub_pushes WHERE status = 'refused'"
  );
  return Number(found?.n ?? 0);
}

/**
 * Raises the generation of later pushes of a coin, and of one that waits, above the one that a hub has. An indexer that
 * was built anew counts its rollbacks from 0, while the hub remembers the earlier ones.
 */
export async function raiseGeneration(
  connection: Statements,
  id: number,
  coin: string,
  generation: number
): Promise<void> {
  await connection.query(
    'INSERT INTO push_generations VALUES (?, ?) ON DUPLICATE KEY UPDATE generation = GREATEST(generation, VALUES(generation))',
    [coin, generation]
  );
  await connection.query(
    "UPDATE pending_hub_pushes SET payload = JSON_SET(payload, '$.push_generation', ?) WHERE id = ?",
    [generation, id]
  );
}

/** Deletes a push that a hub has answered. */
export async function removePush(connection: Statements, id: number): Promise<void> {
  await connection.query('DELETE FROM pending_hub_pushes WHERE id = ?', [id]);
}

/** Notes the reason for which a push still waits. */
export async function noteFailure(connection: Statements, id: number, reason: string): Promise<void> {
  await connection.query(
    `UPDATE pending_hub_pushes SET attempts = attempts + 1, last_attempted_at = UTC_TIMESTAMP(), last_error = ? WHERE id = ?`,
    [plainText(reason, LONGEST_ERROR), id]
  );
}
