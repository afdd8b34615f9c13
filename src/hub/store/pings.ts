import { type Connection, rows, type SqlRow } from '../../db/connection.ts';
import { PING_EVENTS, type Ping, type PingModule } from '../../wire/telemetry.ts';
import { knownFacts } from './known-values.ts';

/** The part of a sender's address that is kept. */
export interface Sender {
  /** ISO 3166-1, such as DE. */
  readonly country: string | null;
  /** ISO 3166-2, such as DE-BW. */
  readonly region: string | null;
  /** Null where there is no salt. */
  readonly ip_hash: string | null;
}

/** An installation as its newest ping says it; its modules are JSON. */
export interface StoredInstallation extends SqlRow, Sender {
  readonly id: number;
  readonly install_id: string;
  readonly first_seen: string;
  readonly last_seen: string;
  /** Number of its pings. */
  readonly pings: number;
  readonly node_version: string | null;
  readonly os_platform: string | null;
  readonly os_release: string | null;
  readonly arch: string | null;
  readonly docker_version: string | null;
  readonly modules: string;
}

/** The same as an answer has it. */
interface Installation {
  readonly id: number;
  readonly modules: readonly PingModule[];
  /** Its chains and their networks, such as `litecoin-mainnet`. */
  readonly chains: readonly string[];
}

/** Installations that are kept; of more those go that were heard of longest ago. */
export const MOST_INSTALLATIONS = 20_000;
/** The same of one address. */
const MOST_OF_ADDRESS = 100;
const PRUNED_AT_ONCE = 5_000;
const FACTS = ['country', 'region', 'ip_hash', 'node_version', 'os_platform', 'os_release'] as const;
const KEPT = [...FACTS, 'arch', 'docker_version', 'modules', 'event'] as const;
const COLUMNS = `id, install_id, first_seen, last_seen, pings, ${FACTS.join(', ')}, arch, docker_version, modules`;

/** Keeps a ping: in place of what the installation said before, with its text reduced to known values. */
export async function insertPing(connection: Connection, ping: Ping, sender: Sender): Promise<void> {
  const event = PING_EVENTS.find((known) => known === ping.event) ?? 'heartbeat';
  const facts = knownFacts(ping);
  const kept = { ...sender, ...facts, modules: JSON.stringify(facts.modules), event };
  const updates = KEPT.map((column) => `${column} = VALUES(${column})`).join(', ');
  const [{ affectedRows }] = (await connection.query(
    `INSERT INTO telemetry_pings SET ?, first_seen = NOW(), last_seen = NOW()
       ON DUPLICATE KEY UPDATE ${updates}, last_seen = NOW(), pings = pings + 1`,
    [{ install_id: ping.install_id, ...kept }]
  )) as unknown as [{ affectedRows: number }];
  if (affectedRows !== 1) return; // it was known
  if (sender.ip_hash !== null) await dropOldest(connection, MOST_OF_ADDRESS, 'ip_hash = ?', [sender.ip_hash]);
  await dropOldest(connection, MOST_INSTALLATIONS, 'TRUE', []);
}

async function dropOldest(
  connection: Connection,
  most: number,
  where: string,
  values: readonly string[]
): Promise<void> {
  const [counted] = await rows<{ n: number }>(
    connection,
    `SELECT COUNT(*) AS n FROM telemetry_pings WHERE ${where}`,
    values
  );
  const surplus = Number(counted?.n ?? 0) - most;
  if (surplus <= 0) return;
  const oldest = `DELETE FROM telemetry_pings WHERE ${where} ORDER BY last_seen, id LIMIT ?`;
  await connection.query(oldest, [...values, surplus]);
}

/** Installations that were heard of within some days, those that were heard of first last. @param before ids are less; null: the newest */
export async function pageOfInstallations(
  connection: Connection,
  days: number,
  before: number | null,
  limit: number
): Promise<Installation[]> {
  const found = await rows<StoredInstallation>(
    connection,
    `SELECT ${COLUMNS} FROM telemetry_pings
      WHERE last_seen >= NOW() - INTERVAL ? DAY AND (? IS NULL OR id < ?) ORDER BY id DESC LIMIT ?`,
    [days, before, before, limit]
  );
  return found.map((stored) => {
    const modules = modulesOf(stored);
    const chains = modules.flatMap(({ coin, network }) => (coin ? [`${coin}-${network ?? ''}`] : []));
    return { ...stored, modules, chains: [...new Set(chains)] };
  });
}

/** Returns the modules of a stored ping. */
export function modulesOf({ modules }: Pick<StoredInstallation, 'modules'>): readonly PingModule[] {
  return JSON.parse(modules) as PingModule[];
}

/** Deletes a batch of the installations that were not heard of for longer. @returns whether there may be more */
export async function prunePings(connection: Connection, days: number): Promise<boolean> {
  const [{ affectedRows }] = (await connection.query(
    `DELETE FROM telemetry_pings WHERE last_seen < NOW() - INTERVAL ? DAY ORDER BY id LIMIT ${PRUNED_AT_ONCE}`,
    [days]
  )) as unknown as [{ affectedRows: number }];
  return affectedRows === PRUNED_AT_ONCE;
}

const REDUCED_AT_ONCE = 500;

/** Reduces what an older version stored of pings as their senders wrote it. */
export async function reduceStoredPings(connection: Connection): Promise<void> {
  for (let after = 0; ; ) {
    const found = await rows<StoredInstallation>(
      connection,
      `SELECT id, node_version, os_platform, os_release, arch, docker_version, modules FROM telemetry_pings
        WHERE id > ? ORDER BY id LIMIT ${REDUCED_AT_ONCE}`,
      [after]
    );
    for (const { id, ...stored } of found) {
      const facts = knownFacts({ ...stored, modules: [...modulesOf(stored)] });
      const reduced = { ...facts, modules: JSON.stringify(facts.modules) };
      await connection.query('UPDATE telemetry_pings SET ? WHERE id = ?', [reduced, id]);
      after = id;
    }
    if (found.length < REDUCED_AT_ONCE) return;
  }
}
