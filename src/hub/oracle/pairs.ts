/** Coins and fiats that prices are found of: 36 pairs. */
export const COINS = ['BTC', 'LTC', 'DOGE'] as const;
export type PricedCoin = (typeof COINS)[number];
export const FIATS = ['USD', 'CAD', 'AUD', 'MXN', 'GBP', 'JPY', 'CNY', 'CHF', 'BRL', 'INR', 'EUR', 'KRW'] as const;

/** Every pair that a round has, such as BTC/USD. */
export const PAIRS = COINS.flatMap((coin) => FIATS.map((fiat) => `${coin}/${fiat}`));
