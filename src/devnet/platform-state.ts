import { type Connection, quoteName, rows } from '../db/core/connection.ts';
import type { ProbeAddress } from '../service/probe.ts';
import { type ProbedDatabase, probeSync, type SyncProbe } from '../sync/probe.ts';
import type { DbType } from '../wire/data/database.ts';
import type { MinedNode } from './processes/miner.ts';
import { DATABASE_NAMES } from './settings.ts';

/** Where every part of the devnet stands; null or undefined where a part gives no answer just now. */
export interface PlatformState {
  readonly node: number | null;
  /** The highest block of each authoritative database. */
  readonly decoder: number | null;
  readonly indexer: number | null;
  /** Blocks that the decoder has replaced so far. */
  readonly replaced: number | null;
  readonly server: SyncProbe | undefined;
  readonly client: SyncProbe | undefined;
}

/** Whom to ask. */
export interface Watched {
  readonly node: Pick<MinedNode, 'getHeight'>;
  /** To the devnet's MariaDB. */
  readonly connection: Connection;
  readonly server: ProbeAddress;
  readonly client: ProbeAddress;
}

/** Asks every part at once. A part that is down or restarting leaves a gap, not an error. */
export async function readPlatformState({ node, connection, server, client }: Watched): Promise<PlatformState> {
  const [nodeHeight, decoder, indexer, replaced, serverProbe, clientProbe] = await Promise.all([
    node.getHeight().catch(() => null),
    readFigure(connection, 'decoder', 'MAX(block_index) AS figure FROM', 'blocks'),
    readFigure(connection, 'indexer', 'MAX(block_index) AS figure FROM', 'blocks'),
    readFigure(connection, 'decoder', "COUNT(NULLIF(code <> 'REORG', 1)) AS figure FROM", 'events'),
    probeSync(server).catch(() => undefined),
    probeSync(client).catch(() => undefined)
  ]);
  return { node: nodeHeight, decoder, indexer, replaced, server: serverProbe, client: clientProbe };
}

/** Null also while the table is not there yet. */
async function readFigure(
  connection: Connection,
  dbType: DbType,
  select: string,
  table: string
): Promise<number | null> {
  const sql = `SELECT ${select} ${quoteName(DATABASE_NAMES[dbType])}.${table}`;
  const [row] = await rows<{ figure: unknown }>(connection, sql).catch(() => []);
  return row?.figure == null ? null : Number(row.figure);
}

/** Both replicas hold the node's last block, and neither is doing anything nor has to be compared with its source. */
export function isSettled({ node, client }: PlatformState): boolean {
  if (node === null || client === undefined || client.databases.length < Object.keys(DATABASE_NAMES).length)
    return false;
  return client.databases.every((replica) => replica.height === node && !isBusy(replica));
}

function isBusy({ state, halt, waiting, verification }: ProbedDatabase): boolean {
  return (
    halt !== null ||
    waiting !== null ||
    verification === 'pending' ||
    /inspecting|bootstrapping|catchingUp|verifying|rollingBack|reconciling|reconnecting/.test(state)
  );
}

/** One line for the one who watches. */
export function stateLine({ node, decoder, indexer, replaced, server, client }: PlatformState): string {
  const figure = (value: number | null | undefined) => String(value ?? '-');
  const heights = (probe: SyncProbe | undefined) =>
    probe?.databases.map(({ name, height }) => `${name.split('/', 1)[0]} ${figure(height)}`).join(', ') || 'no answer';
  const replicas = client?.databases ?? [];
  const states = replicas.map(({ state, halt, waiting, lagBlocks }) => {
    const why = halt ?? waiting;
    return why === null ? `${state} lag ${figure(lagBlocks)}` : `${state}: ${why}`;
  });
  const restarts = [...replicas, ...(server?.databases ?? [])].reduce(
    (sum, database) => sum + (database.restarts ?? 0),
    0
  );
  return [
    `node ${figure(node)}`,
    `decoder ${figure(decoder)}`,
    `indexer ${figure(indexer)}`,
    `server: ${heights(server)}`,
    `replicas: ${heights(client)}`,
    ...(states.length > 0 ? [states.join(', ')] : []),
    `replaced ${figure(replaced)}`,
    `restarts ${restarts}`
  ].join(' | ');
}
