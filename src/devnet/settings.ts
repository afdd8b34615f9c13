import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { chainNetwork } from '../coin/chains.ts';
import type { Environment } from '../config/variables.ts';
import { type Ports, sourceName } from '../installation/plan.ts';
import type { DatabaseCoordinates, DatabaseId, DbType } from '../wire/data/database.ts';
import { freePort, refuseTaken } from './processes/free-port.ts';

/** Network of a devnet. */
export const DEVNET = chainNetwork('litecoin', 'regtest');
/** Address on which all parts listen. */
export const HOST = '127.0.0.1';
/** Names of the authoritative databases. */
export const DATABASE_NAMES: Readonly<Record<DbType, string>> = {
  decoder: sourceName(DEVNET, 'decoder'),
  indexer: sourceName(DEVNET, 'indexer')
};

/** Returns the id of a database, such as `indexer/litecoin/regtest`. */
export function devnetDatabase(dbType: DbType): DatabaseId {
  return { dbType, chain: DEVNET.chain, network: DEVNET.network };
}

/** One hub of a devnet's set. */
export interface DevnetHub {
  /** `hub`, `hub-2`, `hub-3` */
  readonly name: string;
  readonly port: number;
  readonly database: string;
  /** Public key, 64 hex digits. */
  readonly key: string;
  /** Variables of validator mode. */
  readonly variables: Readonly<Record<string, string | number>>;
}

/** NATS of a devnet, and the edges that are fed from it. */
export interface EdgePlan {
  readonly natsPort: number;
  /** Ports of the edges. */
  readonly ports: readonly number[];
  /** Files with the seeds of the user that publishes, and of the one that reads. */
  readonly publisher: string;
  readonly reader: string;
}

/** Settings of a devnet. */
export interface DevnetSettings {
  /** Directory of databases, chain, state and logs. It stays unless the caller removes it. */
  readonly directory: string;
  readonly seed: string;
  readonly ports: Ports;
  /** Hubs of one set, the first on the port of the hub; empty: a standalone hub. */
  readonly hubs: readonly DevnetHub[];
  /** Key for the hub's writes and the sync services; new at each start. */
  readonly apiKey: string;
  /** Path of PLATFORM_PROFILE for every service; absent for the default profile. */
  readonly profile?: string | undefined;
  /** Absent: the client follows the server itself. */
  readonly edges?: EdgePlan | undefined;
  /** The caller's environment. Services get PATH and the like of it, but none of their own variables. */
  readonly shell: Environment;
  /** Command that starts a service; default: this program. */
  readonly program?: readonly [string, ...string[]];
  /** Prints one line for the user. */
  readonly tell: (line: string) => void;
}

/** Returns the caller's ports, and a free one for each that is missing. @throws {PlatformError} PORT_IN_USE */
export async function choosePorts(given: Partial<Ports>): Promise<Ports> {
  await refuseTaken({ ...given });
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

/** Returns the coordinates of a database in the devnet's MariaDB. */
export function databaseOn(
  server: Omit<DatabaseCoordinates, 'name'>,
  dbType: DbType,
  prefix = ''
): DatabaseCoordinates {
  return { ...server, name: prefix + DATABASE_NAMES[dbType] };
}
