/** Tickers are looked up without regard to case. */
export function tickKey(tick: string): string {
  return tick.toLowerCase();
}

/** A token and an address. */
export function pairKey(tick: string, address: string): string {
  return `${tickKey(tick)}|${address}`;
}

/** The address or ticker that sleeps. */
export function sleeperKey(type: 'address' | 'tick', name: string): string {
  return type === 'address' ? `address|${name}` : `tick|${tickKey(name)}`;
}

/** The two halves of a `pairKey`. A ticker holds no `|`. */
export function splitPair(key: string): [tick: string, address: string] {
  const at = key.indexOf('|');
  return [key.slice(0, at), key.slice(at + 1)];
}
