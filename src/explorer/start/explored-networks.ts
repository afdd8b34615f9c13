import { CHAIN_NETWORKS, type ChainNetwork } from '../../coin/chains.ts';
import { loadConfig, type Sources } from '../../config/load.ts';
import { sentKeyOf, serviceUrlOf } from '../../config/service-url.ts';
import { type ExplorerConfig, explorerVariables } from '../../config/services/explorer.ts';
import { unsetPlaces } from '../../discovery/settings.ts';
import { PlatformError } from '../../errors.ts';
import type { ConfigTree } from '../../hub/client.ts';
import { pickSettings } from '../../hub/settings.ts';
import type { IndexerPlace } from '../indexer-calls.ts';
import type { DatabasePair } from '../read/replicas.ts';
import { replicasOf } from './database-pairs.ts';

/** A network that an explorer serves, with the coordinates of its databases and of their further copies. */
export interface ExploredNetwork {
  readonly network: ChainNetwork;
  readonly replicas: readonly [DatabasePair, ...DatabasePair[]];
  readonly api: IndexerPlace;
}

/** Networks that the hub's configuration names. */
interface ExploredNetworks {
  readonly networks: readonly ExploredNetwork[];
  /** Networks with a database but not all settings. */
  readonly incomplete: readonly ChainNetwork[];
  /** One sentence for each incomplete network. */
  readonly problems: readonly string[];
}

const { NETWORK: _, ...variables } = explorerVariables;
const API = ['INDEXER_URL', 'INDEXER_API_PORT'] as const;
const placesOf = (local: Sources, isAsked: (name: string) => boolean) =>
  Object.fromEntries(Object.entries(unsetPlaces(variables, local)).filter(([name]) => isAsked(name)));
const isOfDatabase = (name: string) => name.includes('_DB_');
const isOfNetwork = (name: string) => isOfDatabase(name) || (API as readonly string[]).includes(name);

/** Returns the place of the indexer, and the key that is sent there. */
export function indexerPlaceOf(config: ExplorerConfig, local: Sources): IndexerPlace {
  return {
    url: serviceUrlOf(config.INDEXER_URL, config.INDEXER_API_PORT),
    apiKey: sentKeyOf('INDEXER', config.INDEXER_API_KEY, local)
  };
}

/** Returns whether databases must come from the hub: not all are set in the environment or in config.json. */
export function needsHub(local: Sources): boolean {
  return Object.keys(placesOf(local, isOfDatabase)).length > 0;
}

/**
 * Returns the networks of which the hub's configuration names databases. Values from the environment or config.json,
 * such as an account, take precedence.
 *
 * @param only the one network to look for; undefined for all
 */
export function exploredNetworks(
  configs: ConfigTree,
  local: Sources,
  only: ChainNetwork | undefined
): ExploredNetworks {
  const networks: ExploredNetwork[] = [];
  const incomplete: ChainNetwork[] = [];
  const problems: string[] = [];
  for (const network of only ? [only] : CHAIN_NETWORKS) {
    const { texts, problems: unusable } = pickSettings(configs, network, placesOf(local, isOfNetwork));
    if (!only && texts['INDEXER_DB_NAME'] === undefined && texts['DECODER_DB_NAME'] === undefined) continue;
    try {
      const { values } = loadConfig(variables, { ...local, hub: { texts } });
      const config = { ...values, NETWORK: network.name } as ExplorerConfig;
      networks.push({ network, replicas: replicasOf(config), api: indexerPlaceOf(config, local) });
    } catch (caught) {
      incomplete.push(network);
      const { detail } = PlatformError.from(caught);
      problems.push(`${network.name}: ${[...String(detail['reason']).split('\n'), ...unusable].join('; ')}`);
    }
  }
  return { networks, incomplete, problems };
}
