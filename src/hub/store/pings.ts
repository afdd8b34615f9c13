import { type Connection, rows, type SqlRow } from '../../db/core/connection.ts';
import { PING_EVENTS, type Ping } from '../../wire/telemetry.ts';

/** A stored ping, without what only the database needs. */
export interface StoredPing extends SqlRow {
  readonly install_id: string;
  readonly country: string | null;
  readonly region: string | null;
  readonly ip_hash: string | null;
  readonly node_version: string | null;
  readonly os_platform: string | null;
  readonly os_release: string | null;
  readonly arch: string | null;
  readonly docker_version: string | null;
  /** JSON of the ping's modules. */
  readonly modules: string;
}

/** The newest ping of an installation, and when it was heard of. */
export interface Operator extends StoredPing {
  readonly first_seen: string;
  readonly last_seen: string;
  readonly pings: number;
}

const PRUNED_AT_ONCE = 5_000;
const COLUMNS =
  't.install_id, t.country, t.region, t.ip_hash, t.node_version, t.os_platform, t.os_release, t.arch, t.docker_version, t.modules';

/** What is kept of a sender's address. */
export interface Sender {
  /** ISO 3166-1, such as DE. */
  readonly country: string | null;
  /** ISO 3166-2, such as DE-BW. */
  readonly region: string | null;
  /** Null where there is no salt. */
  readonly ip_hash: string | null;
}

/** Keeps a ping. */
export async function insertPing(connection: Connection, ping: Ping, sender: Sender): Promise<void> {
  const event = PING_EVENTS.find((known) => known === ping.event) ?? 'heartbeat';
  await connection.query('INSERT INTO telemetry_pings SET ?', {
    install_id: ping.install_id,
    ...sender,
    node_version: ping.node_version ?? null,
    os_platform: ping.os_platform ?? null,
    os_release: ping.os_release ?? null,
    arch: ping.arch ?? null,
    docker_version: ping.docker_version ?? null,
    modules: JSON.stringify(ping.modules ?? []),
    event
  });
}

/** Installations that are told at once. */
export const MOST_OPERATORS = 1_000;

/** The newest ping of each installation within some days, the one heard of last first; the newest of them. */
export const selectOperators = (connection: Connection, days: number): Promise<Operator[]> =>
  rows<Operator>(
    connection,
    `SELECT ${COLUMNS}, n.first_seen, n.last_seen, n.pings
       FROM telemetry_pings t JOIN (
         SELECT MAX(id) AS id, MIN(created_at) AS first_seen, MAX(created_at) AS last_seen, COUNT(*) AS pings
           FROM telemetry_pings WHERE created_at >= NOW() - INTERVAL ? DAY GROUP BY install_id) n ON n.id = t.id
      ORDER BY t.id DESC LIMIT ${MOST_OPERATORS}`,
    [days]
  );

/** Deletes a batch of the pings that are older. @returns whether there may be more */
export async function prunePings(connection: Connection, days: number): Promise<boolean> {
  const [{ affectedRows }] = (await connection.query(
    `DELETE FROM telemetry_pings WHERE created_at < NOW() - INTERVAL ? DAY ORDER BY id LIMIT ${PRUNED_AT_ONCE}`,
    [days]
  )) as unknown as [{ affectedRows: number }];
  return affectedRows === PRUNED_AT_ONCE;
}
