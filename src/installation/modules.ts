import { reachableHost } from '../config/service-url.ts';
import { askService } from './ask.ts';
import { type Plan, sourceName, urlOf } from './plan.ts';

type Params = Readonly<Record<string, string | number>>;

/**
 * Registers node, databases and services of one chain and network with the hub, as an operator would. @throws
 * {PlatformError} HUB_UNREACHABLE
 */
export async function registerModules(plan: Plan): Promise<void> {
  const { chain, network } = plan.network;
  const config = { [chain]: { [network]: modulesOf(plan) } };
  const hub = { name: 'hub', url: `${urlOf(plan, 'hub')}/`, apiKey: plan.apiKey, fault: 'HUB_UNREACHABLE' } as const;
  await askService(hub, 'updateconfig', { config });
}

function modulesOf(plan: Plan): Readonly<Record<string, Params>> {
  const { ports, node, network } = plan;
  const host = reachableHost(plan.host);
  const service = (at: number) => ({ host, port: at, service_port: at });
  const withDatabase = (at: number, name: string) => {
    const { host: db_host, port: db_port, user, pass } = plan.serverFor('server');
    return { host, service_port: at, db_host, db_port, name, user, pass };
  };
  return {
    'platform-node': { host: hostOf(node.host), port: node.port, user: node.user, pass: node.password },
    'platform-decoder': withDatabase(ports.decoder, sourceName(network, 'decoder')),
    'platform-indexer': withDatabase(ports.indexer, sourceName(network, 'indexer')),
    'platform-explorer': service(ports.explorer),
    'platform-encoder': service(ports.encoder),
    'platform-utxo': service(ports.tracker),
    'platform-miner': service(ports.miner),
    'platform-sync': service(ports.server),
    'platform-hub': service(ports.hub)
  };
}

const hostOf = (place: string) => (place.includes('://') ? new URL(place).hostname : place);
