import type { PriceSourceName } from '../../config/services/hub.ts';
import { COINS, FIATS, type PricedCoin } from './pairs.ts';
import { type Price, readPrice } from './price.ts';
import { readSourceTime } from './source-times.ts';

/** A price, and when it was found, in epoch milliseconds; null where the source does not say. */
export interface SaidPrice {
  readonly price: Price;
  readonly at: number | null;
}

/** Answer of one source in a round. */
export interface SourceAnswer {
  readonly source: PriceSourceName;
  /** By the clock of its HTTP server, in epoch milliseconds; null where it says none. */
  readonly servedAt: number | null;
  /** The same when the answer was made, which a cache on the way may have kept. */
  readonly madeAt: number | null;
  /** By pair. */
  readonly prices: ReadonlyMap<string, SaidPrice>;
}

/** An HTTP interface that says prices. */
export interface PriceSource {
  /** Base URL of its service, unless the settings name another. */
  readonly url: string;
  /** Paths below the base URL that a round asks; the next one if an account may not ask for this one (HTTP 400). */
  readonly paths: readonly [string, ...string[]];
  readonly headers: (key: string | undefined) => Readonly<Record<string, string>>;
  /** Returns the pairs of an answer, which may have any form. @throws nothing: anything that it does not understand is no price */
  readonly read: (answer: unknown) => SourceAnswer['prices'];
}

const COINGECKO_IDS = { BTC: 'bitcoin', LTC: 'litecoin', DOGE: 'dogecoin' } as const;
/** Kraken's name of a pair; its names of old assets begin with X or Z. */
const KRAKEN_PAIR = /^X?(XBT|LTC|XDG)Z?([A-Z]{3})$/;
const KRAKEN_COINS: Readonly<Record<string, PricedCoin>> = { XBT: 'BTC', LTC: 'LTC', XDG: 'DOGE' };

export const PRICE_SOURCES: Readonly<Record<PriceSourceName, PriceSource>> = {
  coingecko: {
    url: 'https://api.coingecko.com/api/v3',
    paths: [
      `/simple/price?ids=${Object.values(COINGECKO_IDS).join()}&vs_currencies=${FIATS.join().toLowerCase()}&precision=full&include_last_updated_at=true`
    ],
    headers: () => ({}),
    read: (answer) =>
      pricesOf((coin, fiat) => {
        const id = COINGECKO_IDS[coin];
        return [fieldOf(answer, id, fiat.toLowerCase()), fieldOf(answer, id, 'last_updated_at')];
      })
  },
  kraken: {
    url: 'https://api.kraken.com',
    // Of all pairs: it refuses to name one of several that it does not know.
    paths: ['/0/public/Ticker'],
    headers: () => ({}),
    read: (answer) => {
      const found = new Map<string, unknown>();
      for (const [name, ticker] of Object.entries(Object(fieldOf(answer, 'result')))) {
        const [, coin = '', fiat] = KRAKEN_PAIR.exec(name) ?? [];
        if (KRAKEN_COINS[coin]) found.set(`${KRAKEN_COINS[coin]}/${fiat}`, fieldOf(ticker, 'c', '0'));
      }
      return pricesOf((coin, fiat) => [found.get(`${coin}/${fiat}`)]);
    }
  },
  coinmarketcap: {
    url: 'https://pro-api.coinmarketcap.com',
    // Accounts without a fee may convert to one currency.
    paths: [quotesPath(FIATS), quotesPath(['USD'])],
    headers: (key) => (key === undefined ? {} : { 'x-cmc_pro_api_key': key }),
    // Several coins can have a symbol: the first is the one of the highest rank.
    read: (answer) =>
      pricesOf((coin, fiat) => {
        const quote = fieldOf(answer, 'data', coin, '0', 'quote', fiat);
        return [fieldOf(quote, 'price'), fieldOf(quote, 'last_updated')];
      })
  }
};

function quotesPath(fiats: readonly string[]): string {
  return `/v2/cryptocurrency/quotes/latest?symbol=${COINS.join()}&convert=${fiats.join()}`;
}

/** @param readQuote the price, and the time where there is one */
function pricesOf(
  readQuote: (coin: PricedCoin, fiat: string) => readonly [price: unknown, at?: unknown]
): SourceAnswer['prices'] {
  const prices = new Map<string, SaidPrice>();
  for (const coin of COINS)
    for (const fiat of FIATS) {
      const [text, at] = readQuote(coin, fiat);
      const price = readPrice(text);
      if (price !== null) prices.set(`${coin}/${fiat}`, { price, at: readSourceTime(at) });
    }
  return prices;
}

/** Returns the value below these names; undefined if one of them is missing. */
function fieldOf(value: unknown, ...names: readonly string[]): unknown {
  let found = value;
  for (const name of names) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}
