import { amountOrNull, bigOrNull, type Columns, integer, textOrNull } from './columns.ts';
import type { List } from './list.ts';
import { waysOf } from './ways.ts';
import { rowsById } from './written.ts';

const ways = waysOf('markets', { key: 'id' });

/** Returns the columns of one side of a pair: a token, or the coin of the chain, whose ticker has the id 0. */
const sideOf = (side: 1 | 2): Columns => ({
  [`tick${side}`]: textOrNull(
    `COALESCE((SELECT i.tick FROM index_tickers i WHERE i.id = t.tick${side}_id),
      (SELECT c.coin FROM index_coins c WHERE c.id = t.coin${side}_id))`
  ),
  ...Object.fromEntries(
    ['price', 'bid', 'ask', '24hr_price', '24hr_high', '24hr_low', '24hr_change', '24hr_volume'].map((figure) => [
      `tick${side}_${figure}`,
      amountOrNull(`t.tick${side}_${figure}`)
    ])
  )
});

/** Fields of a pair, over `markets t`. */
export const MARKET_COLUMNS: Columns = {
  id: integer('t.id'),
  ...sideOf(1),
  ...sideOf(2),
  last_updated: bigOrNull('t.last_updated', 'Unix seconds')
};

/** The lists of pairs that are traded, by their methods. */
export const MARKET_LISTS = {
  markets: rowsById('markets', 'Pairs that are traded, with their prices', MARKET_COLUMNS, {
    types: { token: ways.own('side', 'tick1_id', 'tick2_id') },
    usual: 'token',
    all: ways.all
  })
} as const satisfies Readonly<Record<string, List>>;
