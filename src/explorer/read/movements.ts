import { parseAmount } from '../../consensus/amount.ts';
import type { Query } from './reader.ts';

/** The movements of an address, or of a ticker, by its id. */
export interface Whose {
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
/** Actions whose credit a later block writes under their own number: what was unstaked comes back when its cooldown ends. */
const LATE = ['unstakes', 'contract_unstakes']
  .map((table) => `SELECT action_index FROM ${table} WHERE cooldown_end_block > ? AND block_index <= ?`)
  .join(' UNION ALL ');

/** The last action of a block and of those before it; -1 for none. */
export async function lastActionOf(query: Query, height: number): Promise<number> {
  const [last] = await query<{ action_index: number }>(
    'SELECT action_index FROM actions WHERE block_index <= ? ORDER BY block_index DESC, action_index DESC LIMIT 1',
    [height]
  );
  return Number(last?.action_index ?? -1);
}

/** Credits less debits until a block, or since it; null where they are too many. */
export async function movementsOf(
  query: Query,
  { by, id, mostMovements = MAX_MOVEMENTS }: Whose,
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
    const sums = await query<{ other: number; moves: number; amount: string }>(
      `SELECT other, COUNT(*) AS moves, CAST(SUM(CAST(amount AS ${AMOUNT})) AS CHAR) AS amount
       FROM (SELECT ${other} AS other, amount FROM ${table} WHERE ${by} = ? AND ${where} LIMIT ${mostMovements + 1}) r
       GROUP BY other`,
      values
    );
    if (sums.reduce((sum, { moves }) => sum + Number(moves), 0) > mostMovements) return null;
    for (const { other: each, amount } of sums)
      change.set(Number(each), (change.get(Number(each)) ?? 0n) + sign * parseAmount(amount)!);
  }
  return change;
}
