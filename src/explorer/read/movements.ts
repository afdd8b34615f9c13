import { parseSum } from '../../consensus/amount.ts';
import { PlatformError } from '../../errors.ts';
import type { Query } from './reader.ts';

/** The movements of an address, or of a ticker, by its id. */
export interface MovementSubject {
  readonly by: 'address_id' | 'tick_id';
  readonly id: number;
  /** Movements that are added up for one answer; default 100,000. */
  readonly mostMovements?: number;
}

/** Credits minus debits, by the ids of tickers, or of addresses. */
export type Change = ReadonlyMap<number, bigint>;

/** A block, and the last action of it and of those before it. */
interface At {
  readonly height: number;
  readonly last: number;
}

const MAX_MOVEMENTS = 100_000;
const AMOUNT = 'DECIMAL(58,18)';
/** Pattern of the texts that the database reads as exact numbers; others would count as 0, or in part. */
const NUMBER = '^[0-9]{1,40}([.][0-9]{1,18})?$';
/** Actions whose credit a later block writes under their own number: what was unstaked comes back when its cooldown ends. */
const LATE = ['unstakes', 'contract_unstakes']
  .map((table) => `SELECT action_index FROM ${table} WHERE cooldown_end_block > ? AND block_index <= ?`)
  .join(' UNION ALL ');

/** Reads the last action of a block and of those before it; -1 for none. */
export async function lastActionOf(query: Query, height: number): Promise<number> {
  const [last] = await query<{ action_index: number }>(
    'SELECT action_index FROM actions WHERE block_index <= ? ORDER BY block_index DESC, action_index DESC LIMIT 1',
    [height]
  );
  return Number(last?.action_index ?? -1);
}

/**
 * Adds up credits less debits until a block, or since it; null where they are too many.
 *
 * @throws {PlatformError} LEDGER_INSANE for a movement whose amount is no number
 */
export async function movementsOf(
  query: Query,
  { by, id, mostMovements = MAX_MOVEMENTS }: MovementSubject,
  when: 'until' | 'since',
  { height, last }: At
): Promise<Change | null> {
  const other = by === 'address_id' ? 'tick_id' : 'address_id';
  const change = new Map<number, bigint>();
  for (const { table, sign, late } of [
    { table: 'credits', sign: 1n, late: true },
    { table: 'debits', sign: -1n, late: false }
  ]) {
    const isUntil = when === 'until';
    const plain = `action_index ${isUntil ? '<=' : '>'} ?`;
    const where = late ? `(${plain} ${isUntil ? 'AND action_index NOT IN' : 'OR action_index IN'} (${LATE}))` : plain;
    const values = [id, last, ...(late ? [height, height, height, height] : [])];
    const sums = await query<{ other: number; moves: number; odd: number; amount: string }>(
      `SELECT other, COUNT(*) AS moves, COUNT(IF(amount REGEXP '${NUMBER}', NULL, 1)) AS odd, CAST(SUM(CAST(amount AS ${AMOUNT})) AS CHAR) AS amount
       FROM (SELECT ${other} AS other, amount FROM ${table} WHERE ${by} = ? AND ${where} LIMIT ${mostMovements + 1}) r
       GROUP BY other`,
      values
    );
    if (sums.reduce((sum, { moves }) => sum + Number(moves), 0) > mostMovements) return null;
    for (const { other: each, odd, amount } of sums) {
      if (Number(odd) > 0) throw unreadable(`${odd} ${table} without a number as their amount`);
      change.set(Number(each), (change.get(Number(each)) ?? 0n) + sign * knownSum(table, amount));
    }
  }
  return change;
}

/** Reads an amount of a table of the ledger. @throws {PlatformError} LEDGER_INSANE where it is no number */
export function knownSum(table: string, value: unknown): bigint {
  const amount = parseSum(value);
  if (amount === null) throw unreadable(`${JSON.stringify(value ?? null).slice(0, 80)} as an amount of ${table}`);
  return amount;
}

const unreadable = (found: string) =>
  new PlatformError('LEDGER_INSANE', { reason: `the index has ${found}, so no balance can be computed from it` });
