import { databaseName } from '../coin/find-network.ts';
import { reachableHost } from '../config/service-url.ts';
import { COMMANDS, PARTS, type Part, type Plan, REPLICA_PREFIX, sourceName, urlOf } from './plan.ts';

/** Variables by their names. */
type Settings = Readonly<Record<string, string | number>>;

/** Variables that a part's process inherits from the caller: none that configures its service. */
export const INHERITED: readonly string[] = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'LOG_LEVEL',
  'UV_THREADPOOL_SIZE',
  'NODE_COMPILE_CACHE' // set by scripts/platform-node
];

/** Returns the variables by which a part finds its place, its databases, the coin node and the other parts. */
export function variablesOf(plan: Plan, part: Part): Settings {
  const state = COMMANDS[part] === 'sync' ? {} : { STATE_DIR: plan.stateDirectory(part) };
  return { ...OF[part](plan), ...state, ...consoleVariables(plan) };
}

const OF: Readonly<Record<Part, (plan: Plan) => Settings>> = {
  hub: (plan) => ({
    HUB_HOST: plan.host,
    HUB_PORT: plan.ports.hub,
    ...databaseVariables(plan, 'hub', 'HUB', plan.hubDatabase),
    HUB_API_KEY: plan.apiKey
  }),
  decoder: (plan) => ({
    ...nodeVariables(plan),
    ...databaseVariables(plan, 'decoder', 'DECODER', sourceName(plan.network, 'decoder')),
    ...placeVariables(plan, 'decoder', 'DECODER')
  }),
  indexer: (plan) => ({
    INDEXER_COIN: plan.network.ticker,
    INDEXER_NETWORK: plan.network.network,
    ...databaseVariables(plan, 'indexer', 'DECODER', sourceName(plan.network, 'decoder')),
    ...databaseVariables(plan, 'indexer', 'INDEXER', sourceName(plan.network, 'indexer')),
    ...placeVariables(plan, 'indexer', 'INDEXER'),
    INDEXER_API_KEY: plan.apiKey,
    ...hubVariables(plan)
  }),
  tracker: (plan) => ({
    ...nodeVariables(plan),
    ...databaseVariables(plan, 'tracker', 'UTXO', databaseName(plan.network, 'Tracker')),
    ...placeVariables(plan, 'tracker', 'UTXO_TRACKER')
  }),
  encoder: (plan) => ({
    ...nodeVariables(plan),
    ...placeVariables(plan, 'encoder', 'ENCODER'),
    UTXO_TRACKER_URL: urlOf(plan, 'tracker'),
    UTXO_TRACKER_API_KEY: plan.apiKey
  }),
  explorer: (plan) => ({
    NETWORK: plan.network.name,
    ...databaseVariables(plan, 'explorer', 'DECODER', sourceName(plan.network, 'decoder')),
    ...databaseVariables(plan, 'explorer', 'INDEXER', sourceName(plan.network, 'indexer')),
    ...placeVariables(plan, 'explorer', 'EXPLORER'),
    INDEXER_URL: urlOf(plan, 'indexer'),
    INDEXER_API_KEY: plan.apiKey
  }),
  miner: (plan) => ({ ...nodeVariables(plan), ...placeVariables(plan, 'miner', 'REGTEST_MINER') }),
  server: (plan) => ({ ...syncVariables(plan, 'server'), SYNC_MODE: 'server' }),
  client: (plan) => {
    const { host, port, user, pass } = plan.serverFor('client');
    return {
      ...syncVariables(plan, 'client'),
      SYNC_MODE: 'client',
      SYNC_SOURCES: urlOf(plan, 'server'),
      REPLICA_DB_HOST: host,
      REPLICA_DB_PORT: port,
      REPLICA_DB_USER: user,
      REPLICA_DB_PASS: pass,
      REPLICA_DB_PREFIX: REPLICA_PREFIX
    };
  }
};

function nodeVariables({ network, node }: Plan): Settings {
  return {
    NETWORK: network.name,
    NODE_URL: node.host,
    NODE_PORT: node.port,
    NODE_USER: node.user,
    NODE_PASSWORD: node.password,
    ...(network.chain === 'dogecoin' && { AUX_POW: 'true' })
  };
}

function databaseVariables(plan: Plan, part: Part, prefix: string, name: string): Settings {
  const { host, port, user, pass } = plan.serverFor(part);
  const ca = plan.databaseCa === undefined ? {} : { CA: plan.databaseCa };
  const all = { HOST: host, PORT: port, NAME: name, USER: user, PASS: pass, ...ca };
  return Object.fromEntries(Object.entries(all).map(([word, value]) => [`${prefix}_DB_${word}`, value]));
}

function placeVariables({ host, ports }: Plan, part: Part, prefix: string): Settings {
  return { [`${prefix}_API_HOST`]: host, [`${prefix}_API_PORT`]: ports[part] };
}

function hubVariables({ host, ports, apiKey }: Plan): Settings {
  return { HUB_API_HOST: reachableHost(host), HUB_PORT: ports.hub, HUB_API_KEY: apiKey };
}

function syncVariables(plan: Plan, part: 'server' | 'client'): Settings {
  return {
    SYNC_API_HOST: plan.host,
    SYNC_API_PORT: plan.ports[part],
    SYNC_API_KEY: plan.apiKey,
    SYNC_STATE_DIR: plan.stateDirectory(part),
    ...(plan.databaseCa !== undefined && { SYNC_DB_CA: plan.databaseCa }),
    ...hubVariables(plan),
    HUB_REPOLL_INTERVAL: 2_000
  };
}

/** Returns the variables by which every console shows the whole platform. */
function consoleVariables(plan: Plan): Settings {
  const urls = PARTS.map((part) => urlOf(plan, part));
  return { CONSOLE_SERVICES: urls.join(','), CONSOLE_SERVICES_KEY: plan.apiKey };
}
