import { join } from 'node:path';
import type { Environment } from '../config/variables.ts';
import { SELF } from '../process/program.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';
import type { ServiceOrder } from './processes/process.ts';
import {
  DATABASE_NAMES,
  DEVNET,
  type DevnetSettings,
  HOST,
  logPath,
  REPLICA_PREFIX,
  TRACKER_DATABASE
} from './settings.ts';

type Server = Omit<DatabaseCoordinates, 'name'>;

/** Address and account of the coin node's RPC. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

const JSON_BODY = { 'content-type': 'application/json' };
const PROBE_TIMEOUT_MS = 2_000;

/** Variables that a service inherits from the caller: none that configures it. */
const INHERITED = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'LOG_LEVEL'];

/** Returns the order for the hub. */
export function hubOrder(settings: DevnetSettings, database: Server): ServiceOrder {
  const { ports, apiKey } = settings;
  const ping = { method: 'POST', headers: JSON_BODY, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' };
  return order(settings, 'hub', 'hub', new Request(`http://${HOST}:${ports.hub}/`, ping), {
    HUB_HOST: HOST,
    HUB_PORT: ports.hub,
    ...databaseVariables('HUB', database, 'Platform_Hub'),
    HUB_API_KEY: apiKey,
    HUB_RATE_LIMIT_RPM: 10_000
  });
}

/** Returns the order for the decoder. */
export function decoderOrder(settings: DevnetSettings, database: Server, node: NodeAddress): ServiceOrder {
  return order(settings, 'decoder', 'decoder', new Request(`http://${HOST}:${settings.ports.decoder}/status`), {
    NETWORK: DEVNET.name,
    NODE_URL: node.host,
    NODE_PORT: node.port,
    NODE_USER: node.user,
    NODE_PASSWORD: node.password,
    ...databaseVariables('DECODER', database, DATABASE_NAMES.decoder),
    DECODER_API_HOST: HOST,
    DECODER_API_PORT: settings.ports.decoder,
    DECODER_POLL_INTERVAL: 200
  });
}

/** Returns the order for the indexer. */
export function indexerOrder(settings: DevnetSettings, database: Server): ServiceOrder {
  const { ports, apiKey } = settings;
  return order(settings, 'indexer', 'indexer', new Request(`http://${HOST}:${ports.indexer}/readyz`), {
    INDEXER_COIN: DEVNET.ticker,
    INDEXER_NETWORK: DEVNET.network,
    ...databaseVariables('DECODER', database, DATABASE_NAMES.decoder),
    ...databaseVariables('INDEXER', database, DATABASE_NAMES.indexer),
    INDEXER_API_HOST: HOST,
    INDEXER_API_PORT: ports.indexer,
    INDEXER_API_KEY: apiKey,
    INDEXER_POLL_INTERVAL: 200,
    HUB_API_HOST: HOST,
    HUB_PORT: ports.hub,
    HUB_API_KEY: apiKey
  });
}

/** Returns the order for the encoder. */
export function encoderOrder(settings: DevnetSettings, node: NodeAddress): ServiceOrder {
  const { ports } = settings;
  return order(settings, 'encoder', 'encoder', new Request(`http://${HOST}:${ports.encoder}/status`), {
    NETWORK: DEVNET.name,
    NODE_URL: node.host,
    NODE_PORT: node.port,
    NODE_USER: node.user,
    NODE_PASSWORD: node.password,
    ENCODER_API_HOST: HOST,
    ENCODER_API_PORT: ports.encoder,
    ENCODER_RATE_LIMIT_RPM: 10_000,
    UTXO_TRACKER_URL: `http://${HOST}:${ports.tracker}`
  });
}

/** Returns the order for the tracker, which finds coins for the encoder. */
export function trackerOrder(settings: DevnetSettings, database: Server, node: NodeAddress): ServiceOrder {
  const { ports } = settings;
  return order(settings, 'tracker', 'utxo', new Request(`http://${HOST}:${ports.tracker}/readyz`), {
    NETWORK: DEVNET.name,
    NODE_URL: node.host,
    NODE_PORT: node.port,
    NODE_USER: node.user,
    NODE_PASSWORD: node.password,
    ...databaseVariables('UTXO', database, TRACKER_DATABASE),
    UTXO_TRACKER_API_HOST: HOST,
    UTXO_TRACKER_API_PORT: ports.tracker,
    UTXO_TRACKER_POLL_INTERVAL: 200,
    UTXO_TRACKER_MEMPOOL_INTERVAL: 500,
    UTXO_TRACKER_RATE_LIMIT_RPM: 10_000
  });
}

/** Returns the order for the miner, which mines when the devnet asks and gives coins to callers on this machine. */
export function minerOrder(settings: DevnetSettings, node: NodeAddress): ServiceOrder {
  const { ports } = settings;
  return order(settings, 'miner', 'miner', new Request(`http://${HOST}:${ports.miner}/readyz`), {
    NETWORK: DEVNET.name,
    NODE_URL: node.host,
    NODE_PORT: node.port,
    NODE_USER: node.user,
    NODE_PASSWORD: node.password,
    REGTEST_MINER_API_HOST: HOST,
    REGTEST_MINER_API_PORT: ports.miner,
    MINER_RATE_LIMIT_RPM: 100_000
  });
}

/** Returns the order for the explorer. */
export function explorerOrder(settings: DevnetSettings, database: Server): ServiceOrder {
  const { ports } = settings;
  return order(settings, 'explorer', 'explorer', new Request(`http://${HOST}:${ports.explorer}/readyz`), {
    NETWORK: DEVNET.name,
    ...databaseVariables('DECODER', database, DATABASE_NAMES.decoder),
    ...databaseVariables('INDEXER', database, DATABASE_NAMES.indexer),
    EXPLORER_API_HOST: HOST,
    EXPLORER_API_PORT: ports.explorer,
    INDEXER_API_PORT: ports.indexer,
    INDEXER_API_KEY: settings.apiKey,
    EXPLORER_RATE_LIMIT_RPM: 10_000
  });
}

/** Returns the order for the sync server. */
export function serverOrder(settings: DevnetSettings): ServiceOrder {
  const { ports } = settings;
  return order(settings, 'sync-server', 'sync', healthOf(ports.server, settings), {
    ...syncVariables(settings, 'sync-server'),
    SYNC_MODE: 'server',
    SYNC_API_PORT: ports.server
  });
}

/** Returns the order for the sync client. */
export function clientOrder(settings: DevnetSettings, database: Server): ServiceOrder {
  const { ports } = settings;
  return order(settings, 'sync-client', 'sync', healthOf(ports.client, settings), {
    ...syncVariables(settings, 'sync-client'),
    SYNC_MODE: 'client',
    SYNC_API_PORT: ports.client,
    SYNC_SOURCES: `http://${HOST}:${ports.server}`,
    REPLICA_DB_HOST: database.host,
    REPLICA_DB_PORT: database.port,
    REPLICA_DB_USER: database.user,
    REPLICA_DB_PASS: database.pass,
    REPLICA_DB_PREFIX: REPLICA_PREFIX,
    CLIENT_RECONNECT_DELAY: 500
  });
}

function databaseVariables(
  service: 'HUB' | 'DECODER' | 'INDEXER' | 'UTXO',
  { host, port, user, pass }: Server,
  name: string
): Readonly<Record<string, string | number>> {
  const variable = (part: string) => `${service}_DB_${part}`;
  return {
    [variable('HOST')]: host,
    [variable('PORT')]: port,
    [variable('NAME')]: name,
    [variable('USER')]: user,
    [variable('PASS')]: pass
  };
}

function healthOf(port: number, { apiKey }: DevnetSettings): Request {
  return new Request(`http://${HOST}:${port}/health`, { headers: { authorization: `Bearer ${apiKey}` } });
}

/** Returns the variables of both modes of sync. The rates suit one machine that restarts its client at will. */
function syncVariables(
  { directory, ports, apiKey }: DevnetSettings,
  name: string
): Readonly<Record<string, string | number>> {
  return {
    SYNC_API_HOST: HOST,
    HUB_API_HOST: HOST,
    HUB_PORT: ports.hub,
    HUB_API_KEY: apiKey,
    HUB_REPOLL_INTERVAL: 2_000,
    SYNC_API_KEY: apiKey,
    SYNC_STATE_DIR: join(directory, name, 'state'),
    SNAPSHOT_RATE_FULL: 10_000,
    SNAPSHOT_RATE_INCR: 100_000
  };
}

/** Returns the variables by which every console shows the whole platform. */
function consoleVariables({ ports, apiKey }: DevnetSettings): Readonly<Record<string, string>> {
  const { hub, decoder, indexer, server, client, explorer, tracker, encoder, miner } = ports;
  const all = [decoder, indexer, server, client, explorer, tracker, encoder, miner, hub];
  return { CONSOLE_SERVICES: all.map((port) => `http://${HOST}:${port}`).join(','), CONSOLE_SERVICES_KEY: apiKey };
}

function order(
  settings: DevnetSettings,
  name: string,
  command: string,
  probe: Request,
  variables: Readonly<Record<string, string | number>>
): ServiceOrder {
  const { directory, shell, profile } = settings;
  const env: Record<string, string | undefined> = { PLATFORM_NODE_NO_TELEMETRY: '1', PLATFORM_PROFILE: profile };
  for (const variable of INHERITED) env[variable] = shell[variable];
  const all = { ...variables, ...consoleVariables(settings) };
  for (const [variable, value] of Object.entries(all)) env[variable] = String(value);
  const [program, ...first] = settings.program ?? SELF;
  return {
    name,
    command: program,
    args: [...first, command],
    env: env satisfies Environment,
    directory: join(directory, name),
    logFile: logPath(directory, name),
    isReady: () => isWell(probe)
  };
}

async function isWell(probe: Request): Promise<boolean> {
  const response = await fetch(probe.clone(), { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
  await response.body?.cancel();
  return response.ok;
}
