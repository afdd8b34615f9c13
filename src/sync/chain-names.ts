/** Tickers of the chains; wherever an operator names a chain, ticker or full name count, in any case. */
const TICKERS: Readonly<Record<string, string>> = { btc: 'bitcoin', ltc: 'litecoin', doge: 'dogecoin' };

/** True when an operator's word (`DOGE`, `Dogecoin`) means this chain. */
export function meansChain(word: string, chain: string): boolean {
  const lower = word.toLowerCase();
  return lower === chain.toLowerCase() || TICKERS[lower] === chain.toLowerCase();
}
