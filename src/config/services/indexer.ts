import type { ChainNetwork } from '../../coin/chains.ts';
import { findNetwork, readNetwork } from '../../coin/find-network.ts';
import { databaseVariables } from '../database.ts';
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

export const indexerChecks = {
  prefixes: ['INDEXER_'],
  networkOf: (textOf: (name: string) => string | undefined): ChainNetwork | undefined =>
    findNetwork(`${textOf('INDEXER_COIN') ?? ''}:${textOf('INDEXER_NETWORK') ?? ''}`),
  networkFromHub: {
    service: 'indexer',
    textsOf: ({ ticker, network }: ChainNetwork) => ({ INDEXER_COIN: ticker, INDEXER_NETWORK: network })
  }
} as const;
