/** Tickers are looked up without regard to case. */
export function tickKey(tick: string): string {
  return tick.toLowerCase();
}

/** Characters by which the index of tickers in use tells them apart. */
const LONGEST_KEY = 200;

/** The part of a ticker that no other one may begin with; null of a shorter one, which differs from all others within it. */
export function tickBeginning(tick: string): string | null {
  if (tick.length < LONGEST_KEY) return null;
  const characters = [...tick];
  return characters.length < LONGEST_KEY ? null : characters.slice(0, LONGEST_KEY).join('');
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
