import { formatAmount } from '../../consensus/amount.ts';
import { rows, type Statements } from '../../db/connection.ts';
import { spread } from '../../db/spread.ts';
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

/** Number of rows of each ticker that its check added up; infinite where they were too many for its time. */
export type TickRows = ReadonlyMap<number, number>;

const TABLES = ['credits', 'debits', 'escrows', 'balances'] as const;
const TICKS_PER_STATEMENT = 500;
/** Longest time in which one statement adds up, in seconds: the rows of a ticker only grow. */
const LONGEST_SUM_S = 5;
/** Number of such times after which the tickers that are left wait for another check. */
const MOST_LATE = 4;
/** Number of MariaDB's error for a statement that took too long. */
const STATEMENT_TIMEOUT = 1969;

type TickSum = { id: number; sum: string; count: number };

const SUPPLIES =
  'SELECT t.tick_id AS id, i.tick, t.supply FROM tokens t JOIN index_tickers i ON i.id = t.tick_id WHERE t.tick_id IN (?)';
const sumsOf = (table: (typeof TABLES)[number], longestS: number) =>
  `SET STATEMENT max_statement_time = ${longestS} FOR SELECT tick_id AS id, SUM(CAST(amount AS DECIMAL(60,18))) AS sum, COUNT(*) AS count FROM ${table}
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
 * Compares the sums over all rows of some tickers. Those with too many rows to add up in time are left out: what blocks
 * change is compared anyway, by `checkChanges`.
 *
 * @param connections see the rows to compare, uncommitted ones included
 * @param longestS longest time of one statement, in seconds
 * @throws {PlatformError} LEDGER_INSANE naming the ticker and the sums; the caller rolls back
 */
export async function checkSanity(
  connections: readonly Statements[],
  tickIds: readonly number[],
  longestS = LONGEST_SUM_S
): Promise<TickRows> {
  const sizes = new Map<number, number>();
  const until = performance.now() + 1_000 * longestS * MOST_LATE;
  const check = async (ids: readonly number[]): Promise<void> => {
    if (performance.now() > until || (await checkSome(connections, ids, { sizes, longestS }))) return;
    if (ids.length === 1) sizes.set(ids[0]!, Number.POSITIVE_INFINITY);
    else for (const id of ids) await check([id]);
  };
  for (let at = 0; at < tickIds.length; at += TICKS_PER_STATEMENT)
    await check(tickIds.slice(at, at + TICKS_PER_STATEMENT));
  return sizes;
}

/** Compares the sums of tickers together. @returns whether they were added up in time */
async function checkSome(
  connections: readonly Statements[],
  tickIds: readonly number[],
  { sizes, longestS }: { readonly sizes: Map<number, number>; readonly longestS: number }
): Promise<boolean> {
  const tokens: { id: number; tick: string; supply: string }[] = [];
  const sums = new Map<string, TickSum>();
  let isLate = false;
  await spread(connections, ['tokens', ...TABLES] as const, async (connection, table) => {
    if (table === 'tokens') tokens.push(...(await rows<(typeof tokens)[number]>(connection, SUPPLIES, [tickIds])));
    else if (!isLate) {
      const found = await sumsIn(connection, table, { tickIds, longestS });
      for (const sum of found ?? []) sums.set(`${table} ${sum.id}`, sum);
      isLate ||= found === null;
    }
  });
  if (isLate) return false;
  for (const { id, tick, supply } of tokens) {
    const found = TABLES.map((table) => sums.get(`${table} ${id}`));
    const [credits, debits, escrows, balances] = found.map((each) => (each ? readDecimal(each.sum) : 0n)) as [
      ...[bigint, bigint, bigint, bigint]
    ];
    compareSums(tick, { supply: readDecimal(supply), ledger: credits - debits, balances, escrows }, 'supply');
    sizes.set(
      id,
      found.reduce((size, each) => size + Number(each?.count ?? 0), 0)
    );
  }
  return true;
}

/** Adds up a table by ticker; null when that takes too long. */
async function sumsIn(
  connection: Statements,
  table: (typeof TABLES)[number],
  { tickIds, longestS }: { readonly tickIds: readonly number[]; readonly longestS: number }
): Promise<readonly TickSum[] | null> {
  try {
    return await rows<TickSum>(connection, sumsOf(table, longestS), [tickIds]);
  } catch (caught) {
    if ((caught as { errno?: number }).errno !== STATEMENT_TIMEOUT) throw caught;
    return null;
  }
}

function compareSums(tick: string, { supply, ledger, balances, escrows }: Sums, what: string): void {
  if (supply === ledger + escrows && ledger === balances) return;
  const [name, sum] = supply === ledger + escrows ? ['balances and escrows', balances] : ['the ledger', ledger];
  const reason = `SANITY CHECK FAILED: ${what} of ${tick} is ${formatAmount(supply)}, ${name} ${formatAmount(sum + escrows)}`;
  throw new PlatformError('LEDGER_INSANE', { reason, tick });
}
