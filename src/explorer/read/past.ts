import { formatAmount } from '../../consensus/amount.ts';
import { PlatformError } from '../../errors.ts';
import type { ReadPage } from './list-reader.ts';
import { type Change, knownSum, lastActionOf, type MovementSubject, movementsOf } from './movements.ts';
import type { Query } from './reader.ts';
import type { Tip } from './tip.ts';

/** A page of the balances of an address, or of a ticker, as they were after a block. */
interface PastPage extends MovementSubject {
  readonly height: number;
  readonly limit: number;
  /** Balances before the page; 0 with `after`. */
  readonly offset: number;
  /** The ticker or the address whose balance was the last one given. */
  readonly after: number | null;
  readonly isDescending: boolean;
}

/** A balance: of a ticker where an address is asked for, of an address where a ticker is. */
type Held = readonly [id: number, amount: bigint];

/** Balances before a page at most, where there are too many to know all. */
const MAX_OFFSET = 10_000;

/**
 * Returns the balances of an address, or of a ticker, after a past block: credits minus debits until then. If those are too many,
 * it takes the present balances and undoes the movements since. The order is that of ids, so that the pages of one height fit
 * together whatever comes above it.
 *
 * @returns the rows of the page, and how many balances there are where that is known
 * @throws {PlatformError} REQUEST_INVALID where both sides are too long
 */
export async function readPast(query: Query, page: PastPage): Promise<ReadPage & { readonly total?: number }> {
  const at = { height: page.height, last: await lastActionOf(query, page.height) };
  const until = await movementsOf(query, page, 'until', at);
  const found = until ? pageOf(until, page) : await pageWithout(query, page, await movementsSince(query, page, at));
  const { kept, isMore, total } = found;
  const data = await Promise.all(kept.map((held) => ROWS[page.by](query, held)));
  const end = isMore ? { key: String(kept.at(-1)?.[0]), given: 1 } : null;
  return { data, end, ...(total === undefined ? {} : { total }) };
}

/** Sees that the ledger has a block. @throws {PlatformError} BLOCK_INDEX_INVALID */
export async function checkHeight(query: Query, height: number, tip: Tip | null): Promise<void> {
  const [first] = await query<{ height: number | null }>('SELECT MIN(block_index) AS height FROM blocks');
  const from = first?.height ?? null;
  if (tip !== null && from !== null && height >= from && height <= tip.height) return;
  const has = tip === null || from === null ? 'it has no block yet' : `it has ${from} to ${tip.height}`;
  throw new PlatformError('BLOCK_INDEX_INVALID', { reason: `block ${height} is not in the ledger: ${has}` });
}

interface Found {
  readonly kept: readonly Held[];
  readonly isMore: boolean;
  readonly total?: number;
}

function pageOf(all: Change, { limit, offset, after, isDescending }: PastPage): Found {
  const sign = isDescending ? -1 : 1;
  const held = [...all].filter(([, amount]) => amount > 0n).sort(([a], [b]) => sign * (a - b));
  const rest = after === null ? held.slice(offset) : held.filter(([id]) => sign * (id - after) > 0);
  return { kept: rest.slice(0, limit), isMore: rest.length > limit, total: held.length };
}

async function movementsSince(query: Query, page: PastPage, at: Parameters<typeof movementsOf>[3]): Promise<Change> {
  const since = await movementsOf(query, page, 'since', at);
  const what = page.by === 'address_id' ? 'address' : 'token';
  const reason = `the ${what} has too many movements before and after block ${page.height}: ask for a block closer to the first or the newest one`;
  if (!since) throw new PlatformError('REQUEST_INVALID', { reason });
  if (page.offset > MAX_OFFSET) {
    const next = `page ${page.offset / page.limit + 1} begins behind row ${MAX_OFFSET}: follow \`next\` of earlier pages`;
    throw new PlatformError('REQUEST_INVALID', { reason: next });
  }
  return since;
}

/** Reads the balances of now in the order of the page, those that are gone since among them, without what moved since. */
async function pageWithout(query: Query, page: PastPage, since: Change): Promise<Found> {
  const { by, id, limit, offset, isDescending } = page;
  const other = by === 'address_id' ? 'tick_id' : 'address_id';
  const sign = isDescending ? -1 : 1;
  const wanted = offset + limit + 1;
  const held: Held[] = [];
  // A balance that is gone has no row to come by.
  const gone = [...since.keys()].sort((a, b) => sign * (a - b));
  let after = page.after ?? (isDescending ? Number.MAX_SAFE_INTEGER : -1);
  for (let isLast = false; !isLast && held.length < wanted; ) {
    const found = await query<{ id: number; amount: string }>(
      `SELECT ${other} AS id, amount FROM balances WHERE ${by} = ? AND ${other} ${isDescending ? '<' : '>'} ?
       ORDER BY ${other} ${isDescending ? 'DESC' : 'ASC'} LIMIT ?`,
      [id, after, wanted]
    );
    isLast = found.length < wanted;
    const now = new Map(found.map((row) => [Number(row.id), knownSum('balances', row.amount)]));
    const upTo = isLast ? sign * Number.MAX_SAFE_INTEGER : Number(found.at(-1)!.id);
    const isInside = (each: number) => sign * (each - after) > 0 && sign * (upTo - each) >= 0;
    const ids = [...now.keys(), ...gone.filter((each) => isInside(each) && !now.has(each))];
    for (const each of ids.sort((a, b) => sign * (a - b))) {
      const amount = (now.get(each) ?? 0n) - (since.get(each) ?? 0n);
      if (amount > 0n) held.push([each, amount]);
    }
    after = upTo;
  }
  return { kept: held.slice(offset, offset + limit), isMore: held.length > offset + limit };
}

/** Supply and price are known of now alone. */
const ROWS = {
  address_id: async (query: Query, [tickId, amount]: Held): Promise<Record<string, unknown>> => {
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
  },
  tick_id: async (query: Query, [addressId, amount]: Held): Promise<Record<string, unknown>> => {
    const [found] = await query<{ address: string }>('SELECT address FROM index_addresses WHERE id = ?', [addressId]);
    return { address: found?.address ?? null, amount: formatAmount(amount) };
  }
} as const;
