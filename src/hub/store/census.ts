import { CHAINS, NETWORKS } from '../../coin/chains.ts';
import { type Connection, rows, type SqlRow } from '../../db/core/connection.ts';
import type { PingModule } from '../../wire/telemetry.ts';
import type { StoredPing } from './pings.ts';

/** How many installations have something in common. */
export interface Group {
  readonly key: string;
  readonly count: number;
}

/** A smaller group could be somebody; so many addresses must have told of it. */
const SMALLEST_GROUP = 5;
const OTHER = 'other';
const UNKNOWN = 'unknown';

/** What an installation can be counted under: a sender's text that is none of these is told to nobody. */
const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'openbsd', 'sunos', 'win32'];
const PROCESSORS = ['arm', 'arm64', 'ia32', 'loong64', 'mips', 'mipsel', 'ppc64', 'riscv64', 's390x', 'x64'];
const SERVICES = ['sync', 'hub', 'decoder', 'indexer', 'explorer', 'encoder', 'utxo', 'tracker', 'miner'];
/** Versions are numbers: three of up to three digits, of a container engine the first two. */
const VERSION = '^v?[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}$';
const ENGINE = '^[0-9]{1,2}[.][0-9]{1,2}';

const among = (column: string, values: readonly string[]) =>
  `CASE WHEN ${column} IS NULL THEN '${UNKNOWN}' WHEN LOWER(${column}) IN (${values.map((value) => `'${value}'`).join(', ')}) THEN LOWER(${column}) ELSE '${OTHER}' END`;
const matched = (column: string, pattern: string, found: string) =>
  `CASE WHEN ${column} IS NULL THEN '${UNKNOWN}' WHEN ${column} REGEXP '${pattern}' THEN ${found} ELSE '${OTHER}' END`;
const COIN = among('m.coin', CHAINS);
const NETWORK = among('m.network', NETWORKS);
const MODULE = `CASE WHEN REGEXP_REPLACE(LOWER(m.module), '^.*-', '') IN (${SERVICES.map((name) => `'${name}'`).join(', ')}) THEN LOWER(m.module) ELSE '${OTHER}' END`;
const onChain = (found: string) => `CASE WHEN '${OTHER}' IN (${COIN}, ${NETWORK}) THEN '${OTHER}' ELSE ${found} END`;

/** What installations are counted by: an expression over their newest ping `p`, or over each of its modules `m`. */
const COUNTED = {
  byVersion: { key: matched('p.node_version', VERSION, 'p.node_version') },
  byOs: { key: among('p.os_platform', SYSTEMS) },
  byCountry: { key: `COALESCE(p.country, '${UNKNOWN}')` },
  byArch: { key: among('p.arch', PROCESSORS) },
  byDocker: { key: matched('p.docker_version', ENGINE, `REGEXP_SUBSTR(p.docker_version, '${ENGINE}')`) },
  modules: { key: MODULE, from: 'modules' },
  chains: { key: onChain(`CONCAT_WS('-', ${COIN}, ${NETWORK})`), from: 'chains' },
  chainModules: { key: onChain(`CONCAT_WS(' ', ${COIN}, ${NETWORK}, ${MODULE})`), from: 'chains' }
} as const;

/** The newest ping of each installation, and each of its modules. An installation without an address stands for one. */
const NEWEST = `newest AS (
  SELECT t.*, COALESCE(t.ip_hash, t.install_id) AS sender FROM telemetry_pings t JOIN (
    SELECT MAX(id) AS id FROM telemetry_pings WHERE created_at >= NOW() - INTERVAL ? DAY GROUP BY install_id) n ON n.id = t.id)`;
const MODULES = `JOIN JSON_TABLE(p.modules, '$[*]' COLUMNS (
  module VARCHAR(64) PATH '$.module', coin VARCHAR(16) PATH '$.coin', network VARCHAR(24) PATH '$.network')) m`;

/** What is told to everybody of the installations that were heard of within some days. */
export type Census = Awaited<ReturnType<typeof takeCensus>>;

/** Counts installations, and tells of no fewer than five addresses: smaller groups are counted together, or not at all. */
export async function takeCensus(connection: Connection, days: number) {
  const [all] = await rows<{ operators: number; pings: number }>(
    connection,
    `SELECT COUNT(DISTINCT install_id) AS operators, COUNT(*) AS pings FROM telemetry_pings
      WHERE created_at >= NOW() - INTERVAL ? DAY`,
    [days]
  );
  const groups: Record<string, Group[]> = {};
  for (const [name, { key, ...of }] of Object.entries(COUNTED))
    groups[name] = await groupsOf(connection, days, key, 'from' in of ? of.from : undefined);
  const { chainModules, ...others } = groups as Record<keyof typeof COUNTED, Group[]>;
  return {
    ...{ operators: Number(all?.operators), pings: Number(all?.pings), ...others },
    chainModules: chainModules.map(({ key, count }) => {
      const [coin = OTHER, network = OTHER, module = OTHER] = key.split(' ');
      return { coin, network, module, count };
    })
  };
}

/** The modules of a stored ping. */
export function modulesOf({ modules }: Pick<StoredPing, 'modules'>): readonly PingModule[] {
  return JSON.parse(modules) as PingModule[];
}

interface CountedGroup extends SqlRow, Group {
  readonly senders: number;
}

/** An installation counts once for each of its keys, and once among the others. */
async function groupsOf(
  connection: Connection,
  days: number,
  key: string,
  from: 'modules' | 'chains' | undefined
): Promise<Group[]> {
  const source = `FROM newest p ${from ? MODULES : ''} ${from === 'chains' ? 'WHERE m.coin IS NOT NULL' : ''}`;
  const counts = 'COUNT(DISTINCT install_id) AS count, COUNT(DISTINCT sender) AS senders';
  const keyed = `WITH ${NEWEST}, keyed AS (SELECT ${key} AS \`key\`, p.install_id, p.sender ${source})`;
  const isTold = (group: CountedGroup) => group.key !== OTHER && Number(group.senders) >= SMALLEST_GROUP;
  const found = await rows<CountedGroup>(
    connection,
    `${keyed} SELECT \`key\`, ${counts} FROM keyed GROUP BY \`key\` ORDER BY count DESC, \`key\``,
    [days]
  );
  const told = found.filter(isTold).map((group) => ({ key: group.key, count: Number(group.count) }));
  const [rest] = await rows<CountedGroup>(connection, `${keyed} SELECT ${counts} FROM keyed WHERE \`key\` NOT IN (?)`, [
    days,
    told.length > 0 ? told.map((group) => group.key) : ['']
  ]);
  const others = { key: OTHER, count: Number(rest?.count ?? 0) };
  return Number(rest?.senders ?? 0) >= SMALLEST_GROUP ? [...told, others] : told;
}
