import type { ChainNetwork } from '../../coin/chains.ts';
import { findNetwork, readNetwork } from '../../coin/find-network.ts';
import { costsGas, needsForeignPrices } from '../../coin/foreign-prices.ts';
import { databaseOf, databaseVariables, findSameDatabase } from '../database.ts';
import { hubClientVariables } from '../hub-client.ts';
import { profileVariable } from '../profile.ts';
import { serviceVariables } from '../service.ts';
import { choice, integer, text, type Values } from '../variables.ts';

/** Every variable of the indexer. @see the section "Shared configuration" of the specification */
export const indexerVariables = {
  INDEXER_COIN: choice(['BTC', 'LTC', 'DOGE'], { required: true, doc: 'chain that it indexes', example: 'LTC' }),
  INDEXER_NETWORK: choice(['mainnet', 'testnet', 'regtest'], {
    required: true,
    doc: 'network of that chain',
    example: 'regtest'
  }),
  ...databaseVariables('DECODER', {
    of: 'of the decoder, which is read',
    name: 'Platform_LTC_Regtest_Decoder',
    service: 'decoder'
  }),
  ...databaseVariables('INDEXER', {
    of: 'of the indexer; the database is made when it is missing',
    name: 'Platform_LTC_Regtest_Indexer',
    service: 'indexer'
  }),
  ...databaseVariables('PRICES', {
    of: 'of the Bitcoin indexer, which is read: where Litecoin or Dogecoin charge gas or have FIAT_DISPENSERS, its prices count',
    name: 'Platform_BTC_Regtest_Indexer',
    optional: true
  }),
  DB_QUERY_TIMEOUT: integer({ default: 30_000, min: 100, max: 600_000, doc: 'ms that one statement may take' }),
  ...serviceVariables('INDEXER', { service: 'indexer', usualPort: 3004 }),
  INDEXER_RATE_LIMIT_RPM: integer({ default: 600, min: 1, doc: 'requests per minute and address' }),
  ...hubClientVariables,
  INDEXER_POLL_INTERVAL: integer({ default: 5_000, min: 10, max: 60_000, doc: 'ms between looks for a new block' }),
  INDEXER_BLOCK_TIMEOUT: integer({
    default: 300_000,
    min: 1_000,
    doc: 'ms that a block may take until it is written; after it the process ends with WATCHDOG TIMEOUT, and the next attempt is another'
  }),
  COMMITMENT_DOMAIN: text({
    default: 'PLATFORM',
    doc: 'domain tag of state roots, the same for indexer, source and replica'
  }),
  PLATFORM_PROFILE: profileVariable
} as const;

export type IndexerConfig = Values<typeof indexerVariables>;

/** The network that INDEXER_COIN and INDEXER_NETWORK name together. */
export function indexedNetwork({
  INDEXER_COIN,
  INDEXER_NETWORK
}: Pick<IndexerConfig, 'INDEXER_COIN' | 'INDEXER_NETWORK'>): ChainNetwork {
  return readNetwork(`${INDEXER_COIN}:${INDEXER_NETWORK}`);
}

/** What a profile that charges gas, or has dispensers that cost a currency, lacks on a chain that has no prices of its own. */
function findPriceFaults(config: IndexerConfig): string[] {
  const { INDEXER_COIN, INDEXER_NETWORK, PLATFORM_PROFILE: profile } = config;
  if (!INDEXER_COIN || !INDEXER_NETWORK || !profile) return [];
  const network = indexedNetwork(config);
  if (!needsForeignPrices(profile, network)) return [];
  if (costsGas(profile) && profile.roles[network.name]?.FEE_DESTINATION === undefined)
    return [
      `PLATFORM_PROFILE: the profile ${profile.name} charges gas, and nobody can pay it on ${network.name}: ${profile.gasTick} is issued on Bitcoin alone, so name the address that is paid in coins, "roles": {"${network.name}": {"FEE_DESTINATION": …}}, or charge no gas`
    ];
  return (['PRICES_DB_HOST', 'PRICES_DB_NAME', 'PRICES_DB_USER', 'PRICES_DB_PASS'] as const)
    .filter((name) => config[name] === undefined)
    .map(
      (name) =>
        `missing required environment variable ${name}: the profile ${profile.name} ${costsGas(profile) ? 'charges gas' : 'has FIAT_DISPENSERS'} on ${network.name}, and prices stand in the index of Bitcoin alone: name its database, or take that out of the profile`
    );
}

/** The index of Bitcoin whose prices count; null where the ledger needs none of another chain. */
export function pricesDatabase(config: IndexerConfig): ReturnType<typeof databaseOf<'PRICES'>> | null {
  return needsForeignPrices(config.PLATFORM_PROFILE, indexedNetwork(config)) ? databaseOf(config, 'PRICES') : null;
}

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
