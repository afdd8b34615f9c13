import { formatAmount } from '../../consensus/amount.ts';
import { type Connection, rows } from '../../db/core/connection.ts';
import { spread } from '../../db/core/spread.ts';
import { PlatformError } from '../../errors.ts';
import { splitPair } from '../state/keys.ts';
import type { TickSums } from '../state/movements.ts';
import type { Changed, View } from '../state/view.ts';
import { readDecimal } from './read-decimal.ts';

/** Sums of one ticker that must agree: supply = credits - debits + escrows = balances + escrows. */
interface Sums {
  readonly supply: bigint;
  /** Credits less debits. */
  readonly ledger: bigint;
  readonly balances: bigint;
  readonly escrows: bigint;
}

/** Number of rows of each ticker that its check added up. */
export type TickRows = ReadonlyMap<number, number>;

type Query = Pick<Connection, 'query'>;
const TABLES = ['credits', 'debits', 'escrows', 'balances'] as const;
const TICKS_PER_STATEMENT = 500;

type TickSum = { id: number; sum: string; count: number };

const SUPPLIES =
  'SELECT t.tick_id AS id, i.tick, t.supply FROM tokens t JOIN index_tickers i ON i.id = t.tick_id WHERE t.tick_id IN (?)';
const sumsOf = (table: (typeof TABLES)[number]) =>
  `SELECT tick_id AS id, SUM(CAST(amount AS DECIMAL(60,18))) AS sum, COUNT(*) AS count FROM ${table}
   WHERE tick_id IN (?) GROUP BY tick_id`;

/**
 * Compares, for each ticker, the changes of its supply and balances by blocks with their movements. Sums that were
 * equal before the blocks are equal after them, so rows that no block touched need not be read.
 *
 * @throws {PlatformError} LEDGER_INSANE naming the ticker and the sums; the caller rolls back
 */
export function checkChanges({ pairs, tokens }: Changed, moved: ReadonlyMap<string, TickSums>, view: View): void {
  const balances = new Map<string, bigint>();
  for (const [pair, before] of pairs) {
    const [tick] = splitPair(pair);
    balances.set(tick, (balances.get(tick) ?? 0n) + view.get('balance', pair) - before);
  }
  for (const tick of new Set([...balances.keys(), ...tokens.keys(), ...moved.keys()])) {
    const { held = 0n, escrowed = 0n } = moved.get(tick) ?? {};
    const supply = (view.get('token', tick)?.supply ?? 0n) - (tokens.get(tick)?.supply ?? 0n);
    const changed = { supply: tokens.has(tick) ? supply : 0n, ledger: held, balances: balances.get(tick) ?? 0n };
    compareSums(tick, { ...changed, escrows: escrowed }, 'the change of the supply');
  }
}

/**
 * Compares the sums over all rows of some tickers.
 *
 * @param connections see the rows to compare, uncommitted ones included
 * @throws {PlatformError} LEDGER_INSANE naming the ticker and the sums; the caller rolls back
 */
export async function checkSanity(connections: readonly Query[], tickIds: readonly number[]): Promise<TickRows> {
  const sizes = new Map<number, number>();
  for (let at = 0; at < tickIds.length; at += TICKS_PER_STATEMENT)
    await checkSome(connections, tickIds.slice(at, at + TICKS_PER_STATEMENT), sizes);
  return sizes;
}

async function checkSome(
  connections: readonly Query[],
  tickIds: readonly number[],
  sizes: Map<number, number>
): Promise<void> {
  const tokens: { id: number; tick: string; supply: string }[] = [];
  const sums = new Map<string, bigint>();
  await spread(connections, ['tokens', ...TABLES] as const, async (connection, table) => {
    if (table === 'tokens') tokens.push(...(await rows<(typeof tokens)[number]>(connection, SUPPLIES, [tickIds])));
    else
      for (const { id, sum, count } of await rows<TickSum>(connection, sumsOf(table), [tickIds])) {
        sums.set(`${table} ${id}`, readDecimal(sum));
        sizes.set(id, (sizes.get(id) ?? 0) + Number(count));
      }
  });
  for (const { id, tick, supply } of tokens) {
    const [credits, debits, escrows, balances] = TABLES.map((table) => sums.get(`${table} ${id}`) ?? 0n) as [
      ...[bigint, bigint, bigint, bigint]
    ];
    compareSums(tick, { supply: readDecimal(supply), ledger: credits - debits, balances, escrows }, 'supply');
  }
}

function compareSums(tick: string, { supply, ledger, balances, escrows }: Sums, what: string): void {
  if (supply === ledger + escrows && ledger === balances) return;
  const [name, sum] = supply === ledger + escrows ? ['balances and escrows', balances] : ['the ledger', ledger];
  const reason = `SANITY CHECK FAILED: ${what} of ${tick} is ${formatAmount(supply)}, ${name} ${formatAmount(sum + escrows)}`;
  throw new PlatformError('LEDGER_INSANE', { reason, tick });
}
