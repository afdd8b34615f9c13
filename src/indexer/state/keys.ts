/** Returns the key of a ticker. Tickers are looked up without regard to case. */
export function tickKey(tick: string): string {
  return tick.toLowerCase();
}

/** Characters by which the index of tickers in use distinguishes tickers. */
const LONGEST_KEY = 200;

/**
 * Returns the beginning of a ticker that no other ticker may share. It is null for a shorter ticker, which differs from
 * all others within it.
 */
export function tickBeginning(tick: string): string | null {
  if (tick.length < LONGEST_KEY) return null;
  const characters = [...tick];
  return characters.length < LONGEST_KEY ? null : characters.slice(0, LONGEST_KEY).join('');
}

/** Returns the key of a token and an address. */
export function pairKey(tick: string, address: string): string {
  return `${tickKey(tick)}|${address}`;
}

/** Returns the key of a list, by the action that made it, and an item. */
export function memberKey(root: number, item: string): string {
  return `${root}|${item}`;
}

/** Returns the key of an address or ticker that may sleep. */
export function sleeperKey(type: 'address' | 'tick', name: string): string {
  return type === 'address' ? `address|${name}` : `tick|${tickKey(name)}`;
}

/** Returns the two halves of a `pairKey` or `memberKey`. A ticker holds no `|`. */
export function splitPair(key: string): [tick: string, address: string] {
  const at = key.indexOf('|');
  return [key.slice(0, at), key.slice(at + 1)];
}
