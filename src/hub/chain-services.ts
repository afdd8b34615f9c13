import { CHAIN_NETWORKS, type ChainNetwork } from '../coin/chains.ts';
import type { ChainService } from '../config/services/hub-validator.ts';
import type { HubPlace } from '../config/variables.ts';
import { pickSettings } from './settings.ts';
import { buildTree } from './store/config-tree.ts';
import type { HubDatabase } from './store/database.ts';

/** A coin node, and the account that asks it. */
interface NodePlace {
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

/** Services that tell what is so on a chain, by its ticker; null: none is named. */
export interface ChainServices {
  /** Returns the base URL of an indexer. */
  indexerOf(chain: string): Promise<string | null>;
  nodeOf(chain: string): Promise<NodePlace | null>;
}

const INDEXER = {
  host: { service: 'indexer', params: ['host'] },
  port: { service: 'indexer', params: ['service_port'] }
} as const;
const NODE = {
  host: { service: 'node', params: ['host'] },
  port: { service: 'node', params: ['port'] },
  user: { service: 'node', params: ['user'] },
  password: { service: 'node', params: ['pass'] }
} as const;

/** Returns the services that the configuration names: those of a chain's mainnet, or of the one network that it names. */
export function configuredServices(database: Pick<HubDatabase, 'read'>): ChainServices {
  const placesOf = async (
    chain: string,
    places: Readonly<Record<string, HubPlace>>
  ): Promise<Readonly<Record<string, string>>> => {
    const { entries } = await database.read('selectConfigState');
    const tree = buildTree(entries);
    const found = CHAIN_NETWORKS.filter(({ ticker }) => ticker === chain)
      .map((network): [ChainNetwork, Readonly<Record<string, string>>] => [
        network,
        pickSettings(tree, network, places, []).texts
      ])
      .filter(([, { host, port }]) => host !== undefined && port !== undefined);
    const main = found.find(([{ network }]) => network === 'mainnet') ?? (found.length === 1 ? found[0] : undefined);
    return main?.[1] ?? {};
  };
  return {
    async indexerOf(chain) {
      const { host, port } = await placesOf(chain, INDEXER);
      return host === undefined || port === undefined ? null : urlOf(host, port);
    },
    async nodeOf(chain) {
      const { host, port, user = '', password = '' } = await placesOf(chain, NODE);
      return host === undefined || port === undefined ? null : { url: urlOf(host, port), user, password };
    }
  };
}

/**
 * Returns the services that an operator named for this hub alone. In a set every member can write the configuration: one that lies could
 * name an indexer of its own there, and all hubs would sign what that says.
 */
export function ownServices(indexers: readonly ChainService[], nodes: readonly ChainService[]): ChainServices {
  return {
    indexerOf: async (chain) => indexers.find((one) => one.chain === chain)?.url ?? null,
    nodeOf: async (chain) => nodes.find((one) => one.chain === chain) ?? null
  };
}

function urlOf(host: string, port: string): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
