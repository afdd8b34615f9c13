import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { databaseName, readNetwork } from '../coin/find-network.ts';
import { UP_SERVICES, type UpConfig } from '../config/up.ts';
import { keptSecret } from '../process/kept-secret.ts';
import { PARTS, type Part, type Plan } from './plan.ts';

/** Parts by the names of UP_SERVICES, where they differ. */
const PART_OF: Readonly<Record<string, Part>> = { utxo: 'tracker', sync: 'server', replica: 'client' };
/** Services that only a test network has. */
const ON_REGTEST: readonly string[] = ['miner', 'replica'];
const PASSWORD_BYTES = 24;

/** Returns the part that a name of UP_SERVICES means. */
export const partNamed = (name: string): Part => PART_OF[name] ?? (name as Part);

/** Returns the parts that `up` runs. */
export function partsOf({ UP_SERVICES: chosen, NETWORK }: UpConfig): readonly Part[] {
  const isRegtest = readNetwork(NETWORK).network === 'regtest';
  const names = chosen ?? UP_SERVICES.filter((name) => isRegtest || !ON_REGTEST.includes(name));
  const parts = new Set(names.map(partNamed));
  return PARTS.filter((part) => parts.has(part));
}

/**
 * Returns the plan of `up`. Passwords and the key are made at the first start and kept in the directory.
 *
 * @param directory private, of `up` alone
 * @throws {PlatformError} STATE_UNUSABLE
 */
export async function openPlan(config: UpConfig, directory: string): Promise<Plan> {
  const network = readNetwork(config.NETWORK);
  const { host: databaseHost, port: databasePort, caFile } = config.UP_MARIADB_URL;
  const node = config.UP_NODE_URL;
  await mkdir(join(directory, 'passwords'), { recursive: true, mode: 0o700 });
  const secret = (path: string, what: string) =>
    keptSecret(join(directory, path), { bytes: PASSWORD_BYTES, what, remedy: 'delete it to have a new one made' });
  const passwords = Object.fromEntries(
    await Promise.all(PARTS.map(async (part) => [part, await secret(`passwords/${part}`, 'password')] as const))
  );
  const place = `${network.ticker}_${network.network}`.toLowerCase();
  return {
    network,
    host: config.UP_HOST,
    ports: {
      hub: config.HUB_PORT,
      decoder: config.DECODER_API_PORT,
      indexer: config.INDEXER_API_PORT,
      tracker: config.UTXO_TRACKER_API_PORT,
      encoder: config.ENCODER_API_PORT,
      explorer: config.EXPLORER_API_PORT,
      server: config.SYNC_API_PORT,
      miner: config.REGTEST_MINER_API_PORT,
      client: config.UP_REPLICA_PORT
    },
    apiKey: await secret('api-key', 'key'),
    node: { ...node, port: node.port ?? network.rpcPort },
    serverFor: (part) => ({
      host: databaseHost,
      port: databasePort,
      user: `platform_${place}_${part}`,
      pass: passwords[part]!
    }),
    ...(caFile !== undefined && { databaseCa: caFile }),
    hubDatabase: databaseName(network, 'Indexer').replace(/Indexer$/, 'Hub'),
    stateDirectory: (part) => join(directory, part, 'state')
  };
}
