import type { ChainNetwork } from '../../coin/chains.ts';
import { findNetwork, readNetwork } from '../../coin/find-network.ts';
import { costsGas, needsForeignPrices } from '../../coin/foreign-prices.ts';
import { databaseOf, databaseVariables, findSameDatabase } from '../database.ts';
import { hubClientVariables } from '../hub-client.ts';
import { profileVariable } from '../profile.ts';
import { serviceVariables } from '../service.ts';
import { choice, integer, text, type Values } from '../variables.ts';

/** All variables of the indexer. @see the section "Shared configuration" of the specification */
export const indexerVariables = {
  INDEXER_COIN: choice(['BTC', 'LTC', 'DOGE'], { required: true, doc: 'chain to index', example: 'LTC' }),
  INDEXER_NETWORK: choice(['mainnet', 'testnet', 'regtest'], {
    required: true,
    doc: 'network of that chain',
    example: 'regtest'
  }),
  ...databaseVariables('DECODER', {
    of: 'of the decoder; only read',
    name: 'Platform_LTC_Regtest_Decoder',
    service: 'decoder',
    role: 'indexer'
  }),
  ...databaseVariables('INDEXER', {
    of: 'of the indexer; a missing database is created',
    name: 'Platform_LTC_Regtest_Indexer',
    service: 'indexer',
    role: 'indexer'
  }),
  ...databaseVariables('PRICES', {
    of: 'of the Bitcoin indexer; only read; needed for its prices where Litecoin or Dogecoin charge gas or have FIAT_DISPENSERS',
    name: 'Platform_BTC_Regtest_Indexer',
    optional: true
  }),
  DB_QUERY_TIMEOUT: integer({ default: 30_000, min: 100, max: 600_000, doc: 'ms that one statement may take' }),
  ...serviceVariables('INDEXER', { service: 'indexer', usualPort: 3004 }),
  INDEXER_RATE_LIMIT_RPM: integer({ default: 600, min: 1, doc: 'requests per minute and address' }),
  ...hubClientVariables,
  INDEXER_POLL_INTERVAL: integer({ default: 5_000, min: 10, max: 60_000, doc: 'ms between polls for a new block' }),
  INDEXER_BLOCK_TIMEOUT: integer({
    default: 300_000,
    min: 1_000,
    doc: 'ms that a block may take to be written; beyond it the process ends with WATCHDOG TIMEOUT and starts again'
  }),
  COMMITMENT_DOMAIN: text({
    default: 'PLATFORM',
    doc: 'domain tag of state roots, the same for indexer, source and replica'
  }),
  PLATFORM_PROFILE: profileVariable
} as const;

/** Values of `indexerVariables`. */
export type IndexerConfig = Values<typeof indexerVariables>;

/** Returns the network that INDEXER_COIN and INDEXER_NETWORK name together. */
export function indexedNetwork({
  INDEXER_COIN,
  INDEXER_NETWORK
}: Pick<IndexerConfig, 'INDEXER_COIN' | 'INDEXER_NETWORK'>): ChainNetwork {
  return readNetwork(`${INDEXER_COIN}:${INDEXER_NETWORK}`);
}

/**
 * Finds what is missing to pay gas, or to price dispensers in a currency, on a chain without prices of its own.
 * @returns one sentence per fault
 */
function findPriceFaults(config: IndexerConfig): string[] {
  const { INDEXER_COIN, INDEXER_NETWORK, PLATFORM_PROFILE: profile } = config;
  if (!INDEXER_COIN || !INDEXER_NETWORK || !profile) return [];
  const network = indexedNetwork(config);
  if (!needsForeignPrices(profile, network)) return [];
  if (costsGas(profile) && profile.roles[network.name]?.FEE_DESTINATION === undefined)
    return [
      `PLATFORM_PROFILE: the profile ${profile.name} charges gas, but nobody can pay it on ${network.name}: ${profile.gasTick} exists on Bitcoin only. Name an address that is paid in coins, "roles": {"${network.name}": {"FEE_DESTINATION": …}}, or charge no gas`
    ];
  return (['PRICES_DB_HOST', 'PRICES_DB_NAME', 'PRICES_DB_USER', 'PRICES_DB_PASS'] as const)
    .filter((name) => config[name] === undefined)
    .map(
      (name) =>
        `missing required environment variable ${name}: the profile ${profile.name} ${costsGas(profile) ? 'charges gas' : 'has FIAT_DISPENSERS'} on ${network.name}, and only the index of Bitcoin has prices: name its database, or remove that from the profile`
    );
}

/** Returns the Bitcoin index with the prices; null when the ledger needs none of another chain. */
export function pricesDatabase(config: IndexerConfig): ReturnType<typeof databaseOf<'PRICES'>> | null {
  return needsForeignPrices(config.PLATFORM_PROFILE, indexedNetwork(config)) ? databaseOf(config, 'PRICES') : null;
}

/** Rules that concern several variables of the indexer. */
export const indexerChecks = {
  findFaults: (values: IndexerConfig) => [
    ...findSameDatabase(values, 'INDEXER', 'DECODER'),
    ...findPriceFaults(values)
  ],
  prefixes: ['INDEXER_'],
  networkOf: (textOf: (name: string) => string | undefined): ChainNetwork | undefined =>
    findNetwork(`${textOf('INDEXER_COIN') ?? ''}:${textOf('INDEXER_NETWORK') ?? ''}`),
  networkFromHub: {
    service: 'indexer',
    textsOf: ({ ticker, network }: ChainNetwork) => ({ INDEXER_COIN: ticker, INDEXER_NETWORK: network })
  }
} as const;
