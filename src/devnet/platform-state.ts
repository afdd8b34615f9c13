import { type Connection, quoteName, rows } from '../db/connection.ts';
import type { ProbeAddress } from '../service/life/probe.ts';
import { type ProbedDatabase, probeSync, type SyncProbe } from '../sync/probe.ts';
import type { DbType } from '../wire/data/database.ts';
import type { MinedNode } from './processes/miner.ts';
import { DATABASE_NAMES } from './settings.ts';

/** State of every part of the devnet; null or undefined for a part that does not answer. */
interface PlatformState {
  readonly node: number | null;
  /** Highest block of each authoritative database. */
  readonly decoder: number | null;
  readonly indexer: number | null;
  /** Number of blocks that the decoder has replaced. */
  readonly replaced: number | null;
  readonly server: SyncProbe | undefined;
  readonly client: SyncProbe | undefined;
}

/** Parts to ask for their state. */
export interface Watched {
  readonly node: Pick<MinedNode, 'getHeight'>;
  /** Connection to the devnet's MariaDB. */
  readonly connection: Connection;
  readonly server: ProbeAddress;
  readonly client: ProbeAddress;
}

/** Asks every part at once. A part that is down or restarting leaves a gap and causes no error. */
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

/** Reads one number; null while the table does not exist. */
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

/** Returns whether both replicas hold the node's last block, are idle, and need no comparison with their source. */
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

/** Returns the state as one line. */
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
