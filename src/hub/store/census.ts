import { type Connection, rows } from '../../db/connection.ts';
import { OTHER } from './known-values.ts';
import { modulesOf, type StoredInstallation } from './pings.ts';

/** Number of installations with a common property. */
export interface Group {
  readonly key: string;
  readonly count: number;
}

/** A smaller group could be somebody; so many addresses must have told of it. */
const SMALLEST_GROUP = 5;
const UNKNOWN = 'unknown';
const ROWS_AT_ONCE = 500;

/** An installation as it is counted. One without an address stands for one. */
interface Counted extends StoredInstallation {
  readonly sender: string;
}

/**
 * Properties that installations are counted by. An installation may have several values of one, and each of them more than once.
 */
const KEYS = {
  byVersion: ({ node_version }: Counted) => [node_version ?? UNKNOWN],
  byOs: ({ os_platform }: Counted) => [os_platform ?? UNKNOWN],
  byCountry: ({ country }: Counted) => [country ?? UNKNOWN],
  byArch: ({ arch }: Counted) => [arch ?? UNKNOWN],
  byDocker: ({ docker_version }: Counted) => [docker_version ?? UNKNOWN],
  modules: (counted: Counted) => modulesOf(counted).map(({ module }) => module),
  chains: (counted: Counted) => onChains(counted, '-', () => []),
  chainModules: (counted: Counted) => onChains(counted, ' ', (module) => [module])
} as const;

function onChains(counted: Counted, between: string, more: (module: string) => readonly string[]): string[] {
  return modulesOf(counted).flatMap(({ coin, network, module }) => {
    if (coin == null) return [];
    const names = [coin, network ?? UNKNOWN];
    return [names.includes(OTHER) ? OTHER : [...names, ...more(module)].join(between)];
  });
}

/** Installations with a key. */
class Tally {
  count = 0;
  /** Some of their addresses: as many as decide whether the group is published. */
  readonly senders = new Set<string>();
  /** Ids of the installations, while the group is not published. */
  ids: number[] = [];

  add(id: number, sender: string, isTold: boolean): void {
    this.count++;
    if (this.senders.size < SMALLEST_GROUP) this.senders.add(sender);
    if (isTold && this.isLarge) this.ids = [];
    else this.ids.push(id);
  }

  get isLarge(): boolean {
    return this.senders.size >= SMALLEST_GROUP;
  }
}

/** Counts installations by one of the lists. */
class Tallies {
  readonly #tallies = new Map<string, Tally>();

  add(keys: readonly string[], { id, sender }: Counted): void {
    for (const key of new Set(keys)) {
      const tally = this.#tallies.get(key) ?? new Tally();
      this.#tallies.set(key, tally);
      tally.add(id, sender, key !== OTHER);
    }
  }

  /** Groups installations by address: groups of five and more, the largest first; then all others together, each installation once. */
  groups(): Group[] {
    const all = [...this.#tallies];
    const large = all.filter(([key, tally]) => key !== OTHER && tally.isLarge);
    const others = all.filter(([key, tally]) => key === OTHER || !tally.isLarge).map(([, tally]) => tally);
    const groups = large.map(([key, { count }]) => ({ key, count }));
    groups.sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
    const senders = new Set(others.flatMap((tally) => [...tally.senders]));
    if (senders.size < SMALLEST_GROUP) return groups;
    return [...groups, { key: OTHER, count: new Set(others.flatMap((tally) => tally.ids)).size }];
  }
}

/** Public counts of the installations that were heard of within some days. */
export type Census = Awaited<ReturnType<typeof takeCensus>>;

/**
 * Counts installations, and tells of no fewer than five addresses: smaller groups are counted together, or not at all. It reads
 * some rows at a time, which the caller's transaction makes one state.
 */
export async function takeCensus(connection: Connection, days: number) {
  const names = Object.keys(KEYS) as (keyof typeof KEYS)[];
  const lists = Object.fromEntries(names.map((name) => [name, new Tallies()])) as Record<keyof typeof KEYS, Tallies>;
  const all = new Tally();
  for (let after = 0, isOver = false; !isOver; ) {
    const found = await rows<Counted>(
      connection,
      `SELECT id, COALESCE(ip_hash, install_id) AS sender, country, node_version, os_platform, arch, docker_version, modules
         FROM telemetry_pings WHERE id > ? AND last_seen >= NOW() - INTERVAL ? DAY ORDER BY id LIMIT ${ROWS_AT_ONCE}`,
      [after, days]
    );
    for (const counted of found) {
      all.add(counted.id, counted.sender, true);
      for (const name of names) lists[name].add(KEYS[name](counted), counted);
    }
    after = found.at(-1)?.id ?? after;
    isOver = found.length < ROWS_AT_ONCE;
  }
  const { chainModules, ...others } = lists;
  return {
    ...(all.isLarge ? { operators: all.count } : {}),
    ...mapped(others),
    chainModules: chainModules.groups().map(({ key, count }) => {
      const [coin = OTHER, network = OTHER, module = OTHER] = key.split(' ');
      return { coin, network, module, count };
    })
  };
}

function mapped<K extends string>(lists: Readonly<Record<K, Tallies>>): Record<K, Group[]> {
  const groups = Object.entries<Tallies>(lists).map(([name, tallies]) => [name, tallies.groups()]);
  return Object.fromEntries(groups) as Record<K, Group[]>;
}
