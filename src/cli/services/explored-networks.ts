import { CHAIN_NETWORKS, type ChainNetwork } from '../../coin/chains.ts';
import { databaseOf } from '../../config/database.ts';
import { loadConfig, type Sources } from '../../config/load.ts';
import { explorerVariables } from '../../config/services/explorer.ts';
import { PlatformError } from '../../errors.ts';
import type { ConfigTree } from '../../hub/client.ts';
import { pickSettings } from '../../hub/settings.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import { unsetPlaces } from '../settings.ts';

/** A network that an explorer serves, and where its databases are. */
export interface ExploredNetwork {
  readonly network: ChainNetwork;
  readonly indexer: DatabaseCoordinates;
  readonly decoder: DatabaseCoordinates;
}

/** What a configuration of the hub names. */
export interface ExploredNetworks {
  readonly networks: readonly ExploredNetwork[];
  /** Those of which it names a database, and not all that is needed. */
  readonly incomplete: readonly ChainNetwork[];
  /** One sentence for each of those. */
  readonly problems: readonly string[];
}

const { NETWORK: _, ...variables } = explorerVariables;
const placesOf = (local: Sources) =>
  Object.fromEntries(Object.entries(unsetPlaces(variables, local)).filter(([name]) => name.includes('_DB_')));

/** Whether the hub has to say where databases are: not all is set in the environment or in config.json. */
export function needsHub(local: Sources): boolean {
  return Object.keys(placesOf(local)).length > 0;
}

/**
 * The networks of which a configuration of the hub names databases; what the environment or config.json set, such as an account, counts
 * before it.
 *
 * @param only the one that is asked for; undefined: all
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
    const { texts, problems: unusable } = pickSettings(configs, network, placesOf(local));
    if (!only && texts['INDEXER_DB_NAME'] === undefined && texts['DECODER_DB_NAME'] === undefined) continue;
    try {
      const { values } = loadConfig(variables, { ...local, hub: { texts } });
      networks.push({ network, indexer: databaseOf(values, 'INDEXER'), decoder: databaseOf(values, 'DECODER') });
    } catch (caught) {
      incomplete.push(network);
      const { detail } = PlatformError.from(caught);
      problems.push(`${network.name}: ${[...String(detail['reason']).split('\n'), ...unusable].join('; ')}`);
    }
  }
  return { networks, incomplete, problems };
}
