import type { PriceSourceName } from '../../config/services/hub.ts';
import { type Price, readPrice } from './price.ts';

/** Coins and fiats that prices are found of: 36 pairs. */
export const COINS = ['BTC', 'LTC', 'DOGE'] as const;
export type PricedCoin = (typeof COINS)[number];
export const FIATS = ['USD', 'CAD', 'AUD', 'MXN', 'GBP', 'JPY', 'CNY', 'CHF', 'BRL', 'INR', 'EUR', 'KRW'] as const;

/** `BTC/USD` -> its price. */
export type Prices = ReadonlyMap<string, Price>;

/** An HTTP interface that says prices. */
export interface PriceSource {
  /** Of its service, where the settings name no other. */
  readonly url: string;
  /** What a round asks for, below the base URL; the next one where an account may not ask for this (HTTP 400). */
  readonly paths: readonly [string, ...string[]];
  readonly headers: (key: string | undefined) => Readonly<Record<string, string>>;
  /** The pairs of an answer, of which nothing is sure. @throws nothing: what it does not understand is no price */
  readonly read: (answer: unknown) => Prices;
}

const COINGECKO_IDS = { BTC: 'bitcoin', LTC: 'litecoin', DOGE: 'dogecoin' } as const;
/** Of its old assets Kraken's names begin with X or Z. */
const KRAKEN_PAIR = /^X?(XBT|LTC|XDG)Z?([A-Z]{3})$/;
const KRAKEN_COINS: Readonly<Record<string, PricedCoin>> = { XBT: 'BTC', LTC: 'LTC', XDG: 'DOGE' };

export const PRICE_SOURCES: Readonly<Record<PriceSourceName, PriceSource>> = {
  coingecko: {
    url: 'https://api.coingecko.com/api/v3',
    paths: [
      `/simple/price?ids=${Object.values(COINGECKO_IDS).join()}&vs_currencies=${FIATS.join().toLowerCase()}&precision=full`
    ],
    headers: () => ({}),
    read: (answer) => pricesOf((coin, fiat) => fieldOf(answer, COINGECKO_IDS[coin], fiat.toLowerCase()))
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
      return pricesOf((coin, fiat) => found.get(`${coin}/${fiat}`));
    }
  },
  coinmarketcap: {
    url: 'https://pro-api.coinmarketcap.com',
    // Accounts without a fee may convert to one currency.
    paths: [quotesPath(FIATS), quotesPath(['USD'])],
    headers: (key) => (key === undefined ? {} : { 'x-cmc_pro_api_key': key }),
    // Several coins can have a symbol: the first is the one of the highest rank.
    read: (answer) => pricesOf((coin, fiat) => fieldOf(answer, 'data', coin, '0', 'quote', fiat, 'price'))
  }
};

function quotesPath(fiats: readonly string[]): string {
  return `/v2/cryptocurrency/quotes/latest?symbol=${COINS.join()}&convert=${fiats.join()}`;
}

function pricesOf(said: (coin: PricedCoin, fiat: string) => unknown): Prices {
  const prices = new Map<string, Price>();
  for (const coin of COINS)
    for (const fiat of FIATS) {
      const price = readPrice(said(coin, fiat));
      if (price !== null) prices.set(`${coin}/${fiat}`, price);
    }
  return prices;
}

/** What stands below these names; undefined where one of them is missing. */
function fieldOf(value: unknown, ...names: readonly string[]): unknown {
  let found = value;
  for (const name of names) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}
