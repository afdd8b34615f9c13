import { rows } from '../../../db/connection.ts';
import { splitPair, tickKey } from '../../state/keys.ts';
import { LOCKS, type Token } from '../../state/token.ts';
import type { CountedSet } from '../../state/view.ts';
import { readDecimal, readDecimalOr0, readWhole, readWholeOrNull } from '../read-decimal.ts';
import { addressIds } from './addresses.ts';
import type { Loading } from './loading.ts';

/** Most members of a set that are counted: more than a block may look at. */
const MOST_COUNTED = 2_000_000;

/** Places of the members of sets, up to the id that names the set. */
const MEMBERS: Readonly<Record<CountedSet, string>> = {
  holders: 'balances WHERE tick_id',
  holdings: 'balances WHERE address_id',
  owned: 'tokens WHERE owner_id'
};

type Count = { id: number; count: number };
type TokenRow = Readonly<Record<string, string | number | null>>;

/** Loads tokens by `tickKey`. */
export async function loadTokens(keys: readonly string[], { connection, view, tickers }: Loading): Promise<void> {
  const ids = keys.flatMap((key) => tickers.ids.get(key) ?? []);
  const found =
    ids.length === 0
      ? []
      : await rows<TokenRow>(
          connection,
          `SELECT t.*, i.tick, o.address AS owner, c.tick AS callback_tick FROM tokens t
           JOIN index_tickers i ON i.id = t.tick_id JOIN index_addresses o ON o.id = t.owner_id
           LEFT JOIN index_tickers c ON c.id = t.callback_tick_id WHERE t.tick_id IN (?)`,
          [ids]
        );
  const tokens = new Map(found.map((row) => [tickKey(String(row['tick'])), readToken(row)]));
  for (const key of keys) view.load('token', key, tokens.get(key));
}

/** Reads a token from its row of `tokens`, with `tick`, `owner` and `callback_tick` as texts. */
export function readToken(row: TokenRow): Token {
  const number = (name: string) => readWholeOrNull(row[name]);
  const amount = (name: string) => readDecimalOr0(row[name]);
  return {
    id: readWhole(row['tick_id']),
    tick: String(row['tick']),
    owner: String(row['owner']),
    supply: readDecimal(row['supply']),
    maxSupply: amount('max_supply'),
    maxMint: amount('max_mint'),
    mintAddressMax: amount('mint_address_max'),
    decimals: readWhole(row['decimals']),
    description: row['description'] == null ? null : String(row['description']),
    locks: Object.fromEntries(LOCKS.map((lock) => [lock, row[lock] === 1])) as Token['locks'],
    callbackBlock: number('callback_block'),
    callbackTick: row['callback_tick'] == null ? null : String(row['callback_tick']),
    callbackAmount: row['callback_amount'] == null ? null : amount('callback_amount'),
    allowList: number('allow_list'),
    blockList: number('block_list'),
    mintStartBlock: number('mint_start_block') ?? 0,
    mintStopBlock: number('mint_stop_block') ?? 0,
    actionIndex: readWhole(row['action_index']),
    lastActionIndex: readWhole(row['last_action_index']),
    escrowActionIndex: number('escrow_action_index')
  };
}

/** Statement that reads the balance of each pair. */
export const BALANCES = `SELECT w.n, b.amount FROM w STRAIGHT_JOIN balances b ON b.address_id = w.a AND b.tick_id = w.t`;
/** Reads the sum of the mints of each pair: the newest row of a pair has it. */
export const MINTED = `SELECT n, amount FROM (SELECT w.n, (SELECT m.total FROM mint_totals m
    WHERE m.address_id = w.a AND m.tick_id = w.t ORDER BY m.action_index DESC LIMIT 1) AS amount FROM w) newest
  WHERE amount IS NOT NULL`;

/**
 * Loads an amount for each pair of address and token. @param sql reads `n` and `amount` by a table `w` of numbered
 * pairs
 */
export async function loadPairs(
  keys: readonly string[],
  loading: Loading,
  kind: 'balance' | 'minted',
  sql: string
): Promise<void> {
  const { connection, view, tickers } = loading;
  const pairs = keys.map(splitPair);
  const ids = await addressIds(loading, [...new Set(pairs.map(([, address]) => address))]);
  const wanted = pairs.flatMap(([tick, address], n) => {
    const [a, t] = [ids.get(address), tickers.ids.get(tick)];
    return a === undefined || t === undefined ? [] : [`(${n}, ${a}, ${t})`];
  });
  const found =
    wanted.length === 0
      ? []
      : await rows<{ n: number; amount: string }>(
          connection,
          `WITH w (n, a, t) AS (VALUES ${wanted.join(', ')}) ${sql}`
        );
  const amounts = new Map(found.map(({ n, amount }) => [Number(n), readDecimal(amount)]));
  for (const [n, key] of keys.entries()) view.load(kind, key, amounts.get(n));
}

/** Loads for each address the set of tickers in the rows of a table. */
export async function loadTickSets(
  keys: readonly string[],
  loading: Loading,
  kind: 'holdings' | 'owned',
  table: string,
  column: string
): Promise<void> {
  const ids = await addressIds(loading, keys);
  const found = await membersBy(
    loading,
    `SELECT ${column} AS id, i.tick AS member FROM ${table} JOIN index_tickers i ON i.id = b.tick_id WHERE ${column} IN (?)`,
    [...ids.values()]
  );
  for (const key of keys) loading.view.loadSet(kind, key, (found.get(ids.get(key)) ?? []).map(tickKey));
}

/** Loads for each token, by `tickKey`, the set of its holders. */
export async function loadHolders(keys: readonly string[], loading: Loading): Promise<void> {
  const { view, tickers } = loading;
  const found = await membersBy(
    loading,
    `SELECT b.tick_id AS id, a.address AS member FROM balances b JOIN index_addresses a ON a.id = b.address_id
     WHERE b.tick_id IN (?)`,
    keys.flatMap((key) => tickers.ids.get(key) ?? [])
  );
  for (const key of keys) view.loadSet('holders', key, found.get(tickers.ids.get(key)) ?? []);
}

/**
 * Loads the sizes of sets. No member's row is read, only its place in the index. @param ids of the tokens or addresses
 * that name the sets; those without one have none
 */
export async function loadCounts(
  keys: readonly string[],
  { connection, view }: Pick<Loading, 'connection' | 'view'>,
  kind: CountedSet,
  ids: Pick<ReadonlyMap<string, number>, 'get'>
): Promise<void> {
  const counted = keys.flatMap((key) => {
    const id = ids.get(key);
    const members = `(SELECT 1 FROM ${MEMBERS[kind]} = ${id} LIMIT ${MOST_COUNTED})`;
    return id === undefined ? [] : [`(SELECT ${id} AS id, COUNT(*) AS count FROM ${members} b)`];
  });
  const found = counted.length === 0 ? [] : await rows<Count>(connection, counted.join(' UNION ALL '));
  const counts = new Map(found.map(({ id, count }) => [Number(id), Number(count)]));
  for (const key of keys) view.loadCount(kind, key, counts.get(ids.get(key) ?? 0) ?? 0);
}

/** Returns members of sets by their ids. @param sql reads `id` and `member` for a list of ids */
async function membersBy(
  { connection }: Loading,
  sql: string,
  ids: readonly number[]
): Promise<ReadonlyMap<number | undefined, string[]>> {
  const found = ids.length === 0 ? [] : await rows<{ id: number; member: string }>(connection, sql, [ids]);
  const members = new Map<number | undefined, string[]>();
  for (const { id, member } of found) {
    const known = members.get(Number(id));
    if (known) known.push(member);
    else members.set(Number(id), [member]);
  }
  return members;
}
