import type { ChainNetwork } from '../coin/chains.ts';
import { databaseName } from '../coin/find-network.ts';
import { reachableUrl } from '../config/service-url.ts';
import type { DatabaseCoordinates, DbType } from '../wire/data/database.ts';

/** Parts of a platform on one machine: its services, of sync both sides. */
export const PARTS = [
  ...(['hub', 'decoder', 'indexer', 'tracker', 'encoder', 'explorer', 'server'] as const),
  ...(['miner', 'client'] as const)
] as const;
export type Part = (typeof PARTS)[number];

/** Word of each part's service on the command line. */
export const COMMANDS: Readonly<Record<Part, string>> = {
  hub: 'hub',
  decoder: 'decoder',
  indexer: 'indexer',
  tracker: 'utxo',
  encoder: 'encoder',
  explorer: 'explorer',
  server: 'sync',
  miner: 'miner',
  client: 'sync'
};

/** Ports of all parts. */
export type Ports = Readonly<Record<Part, number>>;

/** Address and account of the coin node's RPC. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

/** A MariaDB server with the account of one part. */
export type Server = Omit<DatabaseCoordinates, 'name'>;

/** A platform of one network on one machine. */
export interface Plan {
  readonly network: ChainNetwork;
  /** Address on which all parts listen. */
  readonly host: string;
  readonly ports: Ports;
  /** Key of the hub, the sync services and the indexer. */
  readonly apiKey: string;
  readonly node: NodeAddress;
  /** Returns MariaDB with the account of a part. */
  readonly serverFor: (part: Part) => Server;
  /** Absolute path of the authorities of MariaDB's certificate; absent: connections are not encrypted. */
  readonly databaseCa?: string;
  readonly hubDatabase: string;
  /** Returns the directory for a part's state. */
  readonly stateDirectory: (part: Part) => string;
}

/** Prefix of the replicas' database names. */
export const REPLICA_PREFIX = 'replica_';

/** Returns the name of a database that a source has. */
export function sourceName(network: ChainNetwork, dbType: DbType): string {
  return databaseName(network, dbType === 'decoder' ? 'Decoder' : 'Indexer');
}

/** Returns the base URL of a part. */
export function urlOf({ host, ports }: Pick<Plan, 'host' | 'ports'>, part: Part): string {
  return reachableUrl(host, ports[part]);
}
