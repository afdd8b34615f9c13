/** Tickers are looked up without regard to case. */
export function tickKey(tick: string): string {
  return tick.toLowerCase();
}
