import { SortedChunks } from '../../state/sorted-chunks.ts';
import { DAY_S } from './market-figures.ts';

/** Two tickers by their ids, 0 for the chain's own coin. The first order of a pair decides which side is which. */
export interface Pair {
  readonly tick1: number;
  readonly tick2: number;
  /** Id of the coin of both sides. */
  readonly coin: number;
}

/** State of a row of `markets` while blocks refresh it. */
export interface Market extends Pair {
  readonly id: number;
  /** Epoch seconds of its last refresh; null before the first. */
  readonly updated: number | null;
}

/** Block with the pairs that it touched, in the order of their orders. */
export interface TouchingBlock {
  readonly height: number;
  readonly time: number;
  readonly pairs: readonly Pair[];
}

/** Refresh of a market by a block. */
export interface Refresh {
  readonly height: number;
  readonly id: number;
  /** Epoch seconds of the refresh before; null if the block made the row. */
  readonly before: number | null;
}

/** Rows that one block refreshes because their last refresh is more than a day old. */
export const STALE_PER_BLOCK = 25;

/** Returns the key of a pair, the same for both directions. */
export function marketKey({ tick1, tick2 }: Omit<Pair, 'coin'>): string {
  return tick1 < tick2 ? `${tick1}|${tick2}` : `${tick2}|${tick1}`;
}

/**
 * Returns what blocks refresh: the markets that they touch, then at most 25 whose last refresh is more than a day old,
 * the oldest first.
 *
 * @param known the markets with rows that the blocks touch, and as many of the oldest as the blocks may refresh
 * @param lastId id of the newest row
 * @returns the refreshed markets as the blocks leave them, and each refresh
 */
export function refreshesOf(
  blocks: readonly TouchingBlock[],
  known: readonly Market[],
  lastId: number
): { readonly markets: readonly Market[]; readonly refreshes: readonly Refresh[] } {
  const byAge = new SortedChunks<Market>({
    compare: (a, b) => (a.updated ?? 0) - (b.updated ?? 0) || a.id - b.id,
    priceOf: () => 0n
  });
  const markets = new Map(known.map((market) => [marketKey(market), market]));
  for (const market of markets.values()) byAge.add(market);
  const refreshed = new Map<number, Market>();
  const refreshes: Refresh[] = [];
  let newest = lastId;
  for (const { height, time, pairs } of blocks) {
    const refresh = (market: Market) => {
      const now = { ...market, updated: time };
      refreshes.push({ height, id: market.id, before: market.updated });
      byAge.delete(market);
      byAge.add(now);
      markets.set(marketKey(market), now);
      refreshed.set(market.id, now);
    };
    for (const [key, [first]] of Map.groupBy(pairs, marketKey))
      refresh(markets.get(key) ?? { ...first!, id: ++newest, updated: null });
    const stale: Market[] = [];
    for (const market of byAge.from(() => false)) {
      if (stale.length === STALE_PER_BLOCK || (market.updated ?? 0) >= time - DAY_S) break;
      stale.push(market);
    }
    for (const market of stale) refresh(market);
  }
  return { markets: [...refreshed.values()], refreshes };
}
