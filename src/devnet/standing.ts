import { type ProbedDatabase, probeSync, type SyncAddress, type SyncProbe } from '../cli/sync-probe.ts';
import { type Connection, quoteName, rows } from '../db/connection.ts';
import type { DbType } from '../wire/database.ts';
import type { MinedNode } from './miner.ts';
import { DATABASE_NAMES } from './settings.ts';

/** Where every part of the devnet stands; null or undefined where a part gives no answer just now. */
export interface Standing {
  readonly node: number | null;
  /** The highest block of each authoritative database. */
  readonly decoder: number | null;
  readonly indexer: number | null;
  readonly server: SyncProbe | undefined;
  readonly client: SyncProbe | undefined;
}

/** Whom to ask. */
export interface Watched {
  readonly node: Pick<MinedNode, 'getHeight'>;
  /** To the devnet's MariaDB. */
  readonly connection: Connection;
  readonly server: SyncAddress;
  readonly client: SyncAddress;
}

/** Asks every part at once. A part that is down or restarting leaves a gap, not an error. */
export async function readStanding({ node, connection, server, client }: Watched): Promise<Standing> {
  const [nodeHeight, decoder, indexer, serverProbe, clientProbe] = await Promise.all([
    node.getHeight().catch(() => null),
    readHeight(connection, 'decoder').catch(() => null),
    readHeight(connection, 'indexer').catch(() => null),
    probeSync(server).catch(() => undefined),
    probeSync(client).catch(() => undefined)
  ]);
  return { node: nodeHeight, decoder, indexer, server: serverProbe, client: clientProbe };
}

async function readHeight(connection: Connection, dbType: DbType): Promise<number | null> {
  const sql = `SELECT MAX(block_index) AS height FROM ${quoteName(DATABASE_NAMES[dbType])}.blocks`;
  const [row] = await rows<{ height: number | null }>(connection, sql);
  return row?.height ?? null;
}

/** Both replicas hold the node's last block, and nothing is under way. */
export function isSettled({ node, client }: Standing): boolean {
  if (node === null || client === undefined || client.databases.length < Object.keys(DATABASE_NAMES).length)
    return false;
  return client.databases.every((replica) => replica.height === node && !isBusy(replica));
}

function isBusy({ state, halt }: ProbedDatabase): boolean {
  return halt !== null || /inspecting|bootstrapping|catchingUp|rollingBack|reconciling|reconnecting/.test(state);
}

/** One line for the one who watches. */
export function standingLine({ node, decoder, indexer, server, client }: Standing): string {
  const figure = (value: number | null | undefined) => String(value ?? '-');
  const heights = (probe: SyncProbe | undefined) =>
    probe?.databases.map(({ name, height }) => `${name.split('/', 1)[0]} ${figure(height)}`).join(', ') || 'no answer';
  const replicas = client?.databases ?? [];
  const states = replicas.map(({ state, halt, lagBlocks }) =>
    halt ? `HALTED ${halt}` : `${state} lag ${figure(lagBlocks)}`
  );
  const sum = (key: 'reorgs' | 'restarts', of: readonly ProbedDatabase[]) =>
    of.reduce((total, one) => total + (one[key] ?? 0), 0);
  return [
    `node ${figure(node)}`,
    `decoder ${figure(decoder)}`,
    `indexer ${figure(indexer)}`,
    `server: ${heights(server)}`,
    `replicas: ${heights(client)}`,
    ...(states.length > 0 ? [states.join(', ')] : []),
    `reorgs ${sum('reorgs', replicas)}`,
    `restarts ${sum('restarts', [...replicas, ...(server?.databases ?? [])])}`
  ].join(' | ');
}
