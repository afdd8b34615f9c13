import type { DatabaseCoordinates, DbType } from '../wire/data/database.ts';
import { askService } from './ask.ts';
import type { NodeAddress } from './services.ts';
import { DEVNET, type DevnetPorts, HOST } from './settings.ts';

/** Addresses of a devnet's parts. */
interface DevnetPlaces {
  readonly ports: DevnetPorts;
  readonly node: NodeAddress;
  readonly databases: Readonly<Record<DbType, DatabaseCoordinates>>;
}

type Params = Readonly<Record<string, string | number>>;

/**
 * Registers node, databases and services of one chain and network with the hub, as an operator would. @throws
 * {PlatformError} HUB_UNREACHABLE
 */
export async function registerModules(hubUrl: string, apiKey: string, places: DevnetPlaces): Promise<void> {
  const config = { [DEVNET.chain]: { [DEVNET.network]: modulesOf(places) } };
  await askService({ name: 'hub', url: hubUrl, apiKey, fault: 'HUB_UNREACHABLE' }, 'updateconfig', { config });
}

function modulesOf({ ports, node, databases }: DevnetPlaces): Readonly<Record<string, Params>> {
  const { host, port, user, password } = node;
  const service = (at: number) => ({ host: HOST, port: at, service_port: at });
  const withDatabase = (at: number, database: DatabaseCoordinates) => ({
    host: HOST,
    service_port: at,
    db_host: database.host,
    db_port: database.port,
    name: database.name,
    user: database.user,
    pass: database.pass
  });
  return {
    'platform-node': { host, port, user, pass: password },
    'platform-decoder': withDatabase(ports.decoder, databases.decoder),
    'platform-indexer': withDatabase(ports.indexer, databases.indexer),
    'platform-explorer': service(ports.explorer),
    'platform-encoder': service(ports.encoder),
    'platform-utxo': service(ports.tracker),
    'platform-miner': service(ports.miner),
    'platform-sync': service(ports.server),
    'platform-hub': service(ports.hub)
  };
}
