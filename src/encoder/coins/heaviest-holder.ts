import { prefixOf } from '../../service/callers/prefix.ts';

/**
 * Returns who gives way where all holders together have too much: of the network that has the most, the holder that has the
 * most, the first of equals. It is undefined without holders.
 *
 * @param parts what each has, an address or another name of a caller; of one named twice the sum counts
 */
export function heaviestHolder(parts: Iterable<readonly [holder: string, weight: number]>): string | undefined {
  const networks = new Map<string, { total: number; readonly holders: Map<string, number> }>();
  for (const [holder, weight] of parts) {
    const name = prefixOf(holder, 48);
    const network = networks.get(name) ?? { total: 0, holders: new Map() };
    network.total += weight;
    network.holders.set(holder, (network.holders.get(holder) ?? 0) + weight);
    networks.set(name, network);
  }
  const heaviest = largest(networks.values(), ({ total }) => total);
  return heaviest && largest(heaviest.holders, ([, weight]) => weight)?.[0];
}

function largest<T>(items: Iterable<T>, weightOf: (item: T) => number): T | undefined {
  let found: T | undefined;
  for (const item of items) if (found === undefined || weightOf(item) > weightOf(found)) found = item;
  return found;
}
