import type { Connection } from '../../db/core/connection.ts';
import type { PingModule } from '../../wire/telemetry.ts';
import { type StoredPing, selectOperators } from './pings.ts';

/** How many installations have something in common. */
export interface Group {
  readonly key: string;
  readonly count: number;
}

/** A smaller group could be somebody. */
const SMALLEST_GROUP = 5;
const OTHER = 'other';
const UNKNOWN = 'unknown';

/** What is told to everybody of the installations that were heard of within some days. */
export type Census = Awaited<ReturnType<typeof takeCensus>>;

/** Counts installations, and tells of no fewer than five: smaller groups are counted together, or not at all. */
export async function takeCensus(connection: Connection, days: number) {
  const operators = await selectOperators(connection, days);
  const by = (read: (ping: StoredPing) => string | null) => groupsOf(operators.map((ping) => [read(ping) ?? UNKNOWN]));
  const modules = operators.map(modulesOf);
  const chainModules = groupsOf(
    modules.map((list) =>
      list.flatMap((each) => (each.coin ? [JSON.stringify([each.coin, each.network ?? UNKNOWN, each.module])] : []))
    )
  );
  return {
    operators: operators.length,
    pings: operators.reduce((sum, { pings }) => sum + pings, 0),
    byVersion: by(({ node_version }) => node_version),
    byOs: by(({ os_platform }) => os_platform),
    byCountry: by(({ country }) => country),
    byArch: by(({ arch }) => arch),
    byDocker: by(({ docker_version }) => docker_version),
    modules: groupsOf(modules.map((list) => list.map(({ module }) => module))),
    chains: groupsOf(
      modules.map((list) => list.flatMap(({ coin, network }) => (coin ? [`${coin}-${network ?? UNKNOWN}`] : [])))
    ),
    chainModules: chainModules.map(({ key, count }) => {
      const [coin, network, module] = key === OTHER ? [OTHER, OTHER, OTHER] : (JSON.parse(key) as string[]);
      return { coin: coin!, network: network!, module: module!, count };
    })
  };
}

/** The modules of a stored ping. */
export function modulesOf({ modules }: Pick<StoredPing, 'modules'>): readonly PingModule[] {
  return JSON.parse(modules) as PingModule[];
}

/** @param keys of each installation; one counts once for each of its keys, and once among the others */
function groupsOf(keys: readonly (readonly string[])[]): Group[] {
  const counts = new Map<string, number>();
  for (const own of keys) for (const key of new Set(own)) counts.set(key, (counts.get(key) ?? 0) + 1);
  const isTold = (key: string) => key !== OTHER && (counts.get(key) ?? 0) >= SMALLEST_GROUP;
  const groups = [...counts].map(([key, count]) => ({ key, count })).sort((a, b) => b.count - a.count);
  const rest = { key: OTHER, count: keys.filter((own) => own.some((key) => !isTold(key))).length };
  return [...groups.filter(({ key }) => isTold(key)), ...(rest.count >= SMALLEST_GROUP ? [rest] : [])];
}
