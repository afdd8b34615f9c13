import { type Connection, rows } from '../../../db/connection.ts';
import { lastPrices } from './prices.ts';

/** Tokens and issuers to find prices for; times in epoch seconds. */
interface FeePricesAsked {
  readonly gasTick: string;
  /** Ticker of the coin. */
  readonly chain: string;
  /** Addresses that may say what the gas token costs where no round of prices does. */
  readonly issuers: readonly string[];
  readonly now: number;
  /** Rounds of before say nothing. */
  readonly oldest: number;
}

/** Prices in USD as decimals; null where none is known. */
interface FeePrices {
  readonly gasTokenUsd: string | null;
  readonly coinUsd: string | null;
}

/** Returns the prices of the gas token and a coin. */
export async function selectFeePrices(connection: Connection, asked: FeePricesAsked): Promise<FeePrices> {
  const [token, coin] = [`${asked.gasTick}/USD`, `${asked.chain}/USD`];
  const found = await lastPrices(connection, [token, coin], asked.now, asked.oldest);
  const priceOf = (pair: string) => found.find(({ coin_pair }) => coin_pair === pair)?.price ?? null;
  return { gasTokenUsd: priceOf(token) ?? (await selectFeed(connection, asked)), coinUsd: priceOf(coin) };
}

/** Returns the price of the gas token by its issuer. */
async function selectFeed(connection: Connection, { gasTick, issuers, now }: FeePricesAsked): Promise<string | null> {
  if (issuers.length === 0) return null;
  const [feed] = await rows<{ value: string }>(
    connection,
    `SELECT value FROM oracle_prices
      WHERE source_address IN (?) AND source_chain = 'BTC' AND tick = ? AND fiat = 'USD' AND effective_at <= ?
      ORDER BY trusted DESC, effective_at DESC, id DESC LIMIT 1`,
    [issuers, gasTick, now]
  );
  return feed?.value ?? null;
}
