import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { chainNetwork } from '../coin/chains.ts';
import { databaseName } from '../coin/find-network.ts';
import type { Environment } from '../config/variables.ts';
import type { DatabaseCoordinates, DatabaseId, DbType } from '../wire/data/database.ts';
import { freePort } from './processes/free-port.ts';

/** The network that a devnet runs on. */
export const DEVNET = chainNetwork('litecoin', 'regtest');
/** Where all of it listens. */
export const HOST = '127.0.0.1';
export const REPLICA_PREFIX = 'replica_';
export const DATABASE_NAMES: Readonly<Record<DbType, string>> = {
  decoder: databaseName(DEVNET, 'Decoder'),
  indexer: databaseName(DEVNET, 'Indexer')
};

export const TRACKER_DATABASE = databaseName(DEVNET, 'Tracker');

/** `indexer/litecoin/regtest` and `decoder/litecoin/regtest`, in parts. */
export function devnetDatabase(dbType: DbType): DatabaseId {
  return { dbType, chain: DEVNET.chain, network: DEVNET.network };
}

export interface DevnetPorts {
  readonly miner: number;
  readonly hub: number;
  readonly decoder: number;
  readonly indexer: number;
  readonly tracker: number;
  readonly encoder: number;
  readonly explorer: number;
  readonly server: number;
  readonly client: number;
}

/** What a devnet is started with. */
export interface DevnetSettings {
  /** Databases, chain, state and logs; kept unless the caller removes it. */
  readonly directory: string;
  readonly seed: string;
  readonly ports: DevnetPorts;
  /** Asked of whoever talks to the hub's writes and to the sync services; new at every start. */
  readonly apiKey: string;
  /** The file of PLATFORM_PROFILE, the same for every service; absent: the default profile. */
  readonly profile?: string | undefined;
  /** PATH and the like; the services' own variables are not taken from it. */
  readonly shell: Environment;
  /** The command that starts a service; this process's own program when absent. */
  readonly program?: readonly [string, ...string[]];
  /** Takes one line for the one who watches. */
  readonly tell: (line: string) => void;
}

/** The caller's ports, and a free one for each that is not given. */
export async function choosePorts(given: Partial<DevnetPorts>): Promise<DevnetPorts> {
  return {
    miner: given.miner ?? (await freePort()),
    hub: given.hub ?? (await freePort()),
    decoder: given.decoder ?? (await freePort()),
    indexer: given.indexer ?? (await freePort()),
    tracker: given.tracker ?? (await freePort()),
    encoder: given.encoder ?? (await freePort()),
    explorer: given.explorer ?? (await freePort()),
    server: given.server ?? (await freePort()),
    client: given.client ?? (await freePort())
  };
}

export function newApiKey(): string {
  return randomBytes(24).toString('base64url');
}

export function logPath(directory: string, service: string): string {
  return join(directory, 'logs', `${service}.log`);
}

/** A database of the devnet's MariaDB. */
export function databaseOn(
  server: Omit<DatabaseCoordinates, 'name'>,
  dbType: DbType,
  prefix = ''
): DatabaseCoordinates {
  return { ...server, name: prefix + DATABASE_NAMES[dbType] };
}
