import { formatAmount, parseAmount } from '../../consensus/amount.ts';
import { PlatformError } from '../../errors.ts';
import type { ReadPage } from './list-reader.ts';
import type { Query } from './reader.ts';
import type { Tip } from './tip.ts';

/** A page of the balances that an address had after a block. */
interface PastPage {
  /** The address. */
  readonly id: number;
  readonly height: number;
  readonly limit: number;
  /** Balances before the page; 0 with `after`. */
  readonly offset: number;
  /** The ticker whose balance was the last one given. */
  readonly after: number | null;
  readonly isDescending: boolean;
}

/** What an address has, by the ids of tickers. */
type Holding = Map<number, bigint>;

/** Movements that are added up for one answer. */
const MAX_MOVEMENTS = 100_000;
const AMOUNT = 'DECIMAL(58,18)';

/**
 * What an address had after a past block: its credits less its debits until then, or, where they are too many, what it has now
 * without those since.
 *
 * @returns the rows of the page, and how many balances there are
 * @throws {PlatformError} REQUEST_INVALID where both sides are too long
 */
export async function readPast(query: Query, page: PastPage): Promise<ReadPage & { total: number }> {
  const { id, height, limit, offset, after, isDescending } = page;
  const last = await lastActionOf(query, height);
  const until = await movementsOf(query, id, `action_index <= ?`, last);
  const held = until ?? (await heldWithout(query, id, last));
  if (!held) {
    const reason = `the address has more than ${MAX_MOVEMENTS} movements before and after block ${height}: ask for a block closer to the first or the newest one`;
    throw new PlatformError('REQUEST_INVALID', { reason });
  }
  const sign = isDescending ? -1 : 1;
  const ticks = [...held].flatMap(([tick, amount]) => (amount > 0n ? [tick] : [])).sort((a, b) => sign * (a - b));
  const rest = after === null ? ticks.slice(offset) : ticks.filter((tick) => sign * (tick - after) > 0);
  const kept = rest.slice(0, limit);
  const end = rest.length > kept.length ? { key: String(kept.at(-1)), given: 1 } : null;
  const data = await Promise.all(kept.map((tick) => rowOf(query, tick, held.get(tick)!)));
  return { data, end, total: ticks.length };
}

/** Sees that the ledger has a block. @throws {PlatformError} BLOCK_INDEX_INVALID */
export async function checkHeight(query: Query, height: number, tip: Tip | null): Promise<void> {
  const [first] = await query<{ height: number | null }>('SELECT MIN(block_index) AS height FROM blocks');
  const from = first?.height ?? null;
  if (tip !== null && from !== null && height >= from && height <= tip.height) return;
  const has = tip === null || from === null ? 'it has no block yet' : `it has ${from} to ${tip.height}`;
  throw new PlatformError('BLOCK_INDEX_INVALID', { reason: `block ${height} is not in the ledger: ${has}` });
}

async function lastActionOf(query: Query, height: number): Promise<number> {
  const [last] = await query<{ action_index: number }>(
    'SELECT action_index FROM actions WHERE block_index <= ? ORDER BY block_index DESC, action_index DESC LIMIT 1',
    [height]
  );
  return Number(last?.action_index ?? -1);
}

/** Credits less debits; null where there are too many. */
async function movementsOf(query: Query, id: number, where: string, last: number): Promise<Holding | null> {
  const held: Holding = new Map();
  for (const [table, sign] of [
    ['credits', 1n],
    ['debits', -1n]
  ] as const) {
    const sums = await query<{ tick_id: number; moves: number; amount: string }>(
      `SELECT tick_id, COUNT(*) AS moves, CAST(SUM(CAST(amount AS ${AMOUNT})) AS CHAR) AS amount
       FROM (SELECT tick_id, amount FROM ${table} WHERE address_id = ? AND ${where} LIMIT ${MAX_MOVEMENTS + 1}) r GROUP BY tick_id`,
      [id, last]
    );
    if (sums.reduce((sum, { moves }) => sum + Number(moves), 0) > MAX_MOVEMENTS) return null;
    for (const { tick_id, amount } of sums) held.set(tick_id, (held.get(tick_id) ?? 0n) + sign * parseAmount(amount)!);
  }
  return held;
}

async function heldWithout(query: Query, id: number, last: number): Promise<Holding | null> {
  const since = await movementsOf(query, id, 'action_index > ?', last);
  if (!since) return null;
  const now = await query<{ tick_id: number; amount: string }>(
    'SELECT tick_id, amount FROM balances WHERE address_id = ?',
    [id]
  );
  const held: Holding = new Map(now.map(({ tick_id, amount }) => [tick_id, parseAmount(amount)!]));
  for (const [tick, amount] of since) held.set(tick, (held.get(tick) ?? 0n) - amount);
  return held;
}

/** Supply and price are known of now alone. */
async function rowOf(query: Query, tickId: number, amount: bigint): Promise<Record<string, unknown>> {
  const [found] = await query<{ tick: string; decimals: number | null }>(
    'SELECT i.tick, t.decimals FROM index_tickers i LEFT JOIN tokens t ON t.tick_id = i.id WHERE i.id = ?',
    [tickId]
  );
  const decimals = found?.decimals ?? null;
  return {
    tick: found?.tick ?? null,
    amount: formatAmount(amount),
    supply: null,
    decimals: decimals === null ? null : Number(decimals),
    coin_price: null
  };
}
