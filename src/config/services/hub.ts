import { type MinimumStakes, readMinimumStakes } from '../../coin/capabilities.ts';
import { databaseVariables } from '../database.ts';
import { readJsonFile } from '../json-file.ts';
import { profileVariable } from '../profile.ts';
import { frameVariables, readOrigin, stateVariables } from '../service.ts';
import { readKeys } from '../tokens.ts';
import { flag, integer, list, parsed, port, readBaseUrl, text, type Values } from '../variables.ts';
import { validatorVariables } from './hub-validator.ts';

/** Sources of prices. */
const PRICE_SOURCE_NAMES = ['coingecko', 'kraken', 'coinmarketcap'] as const;
/** A name of `PRICE_SOURCE_NAMES`. */
export type PriceSourceName = (typeof PRICE_SOURCE_NAMES)[number];

/** The variables that name another address of a source. */
const SOURCE_URLS = {
  PRICE_SOURCE_COINGECKO_URL: 'coingecko',
  PRICE_SOURCE_KRAKEN_URL: 'kraken',
  PRICE_SOURCE_COINMARKETCAP_URL: 'coinmarketcap'
} as const;

function readSourceName(entry: string): PriceSourceName {
  const found = PRICE_SOURCE_NAMES.find((name) => name === entry.toLowerCase());
  if (!found) throw new Error(`must be of ${PRICE_SOURCE_NAMES.join(', ')}, not "${entry}"`);
  return found;
}

const sourceUrl = (name: PriceSourceName, example: string) =>
  parsed(readBaseUrl, { doc: `base URL for requests to ${name}; unset: its own`, example });

/** All variables of the hub. @see the section "Shared configuration" of the specification */
export const hubVariables = {
  HUB_HOST: text({ default: '0.0.0.0', doc: 'address to listen on', example: '127.0.0.1' }),
  HUB_PORT: port({ default: 10_000, doc: 'port of the JSON-RPC interface' }),
  ...databaseVariables('HUB', { of: 'of the hub; a missing database is created', name: 'Platform_Hub' }),
  HUB_DB_PORT: port({ required: true, doc: 'its port', example: '3306' }),
  HUB_API_KEY: parsed(readKeys, {
    doc: 'key for writing and for reading /metrics and /debug; of several (OLD,NEW) all are accepted; unset: anyone may write',
    secret: true,
    essential: true
  }),
  HUB_SENSITIVE_READ_AUTH: flag({
    doc: 'who may read the passwords in getallconfigs once HUB_API_KEY is set; true: callers with the key, which getallconfigs then needs; false: everybody; unset: callers with the key, others get masked passwords'
  }),
  HUB_PUSH_AUTH: flag({
    doc: 'whether pushes of indexers and trackers (push...) need HUB_API_KEY; true: all; false: none; unset: those from other machines'
  }),
  GOV_VOTING_PERIOD: integer({
    default: 604_800_000,
    min: 1,
    max: 31_536_000_000,
    doc: 'ms for which a proposal can be voted on, the same at all hubs of a set'
  }),
  PRICE_SOURCES: list(readSourceName, {
    doc: 'price sources of this hub: coingecko, kraken, coinmarketcap; unset: it fetches no prices',
    example: 'coingecko,kraken',
    essential: true
  }),
  PRICE_SOURCE_COINGECKO_URL: sourceUrl('coingecko', 'https://api.coingecko.com/api/v3'),
  PRICE_SOURCE_KRAKEN_URL: sourceUrl('kraken', 'https://api.kraken.com'),
  PRICE_SOURCE_COINMARKETCAP_URL: sourceUrl('coinmarketcap', 'https://pro-api.coinmarketcap.com'),
  COINMARKETCAP_API_KEY: text({ doc: 'API key for coinmarketcap', secret: true }),
  PRICE_FETCH_TIMEOUT: integer({
    default: 10_000,
    min: 100,
    max: 60_000,
    doc: 'ms that one request to a price source may take'
  }),
  ORACLE_ROUND_INTERVAL: integer({
    default: 600_000,
    min: 1_000,
    max: 86_400_000,
    doc: 'ms from one price round to the next'
  }),
  ORACLE_MIN_SOURCES: integer({
    default: 1,
    min: 1,
    max: PRICE_SOURCE_NAMES.length,
    doc: 'least number of sources for a price; with fewer, the round skips the pair'
  }),
  ORACLE_STALENESS_THRESHOLD_S: integer({
    min: 1,
    max: 604_800,
    doc: 'seconds after which prices are stale and health answers 503; unset: two rounds',
    example: '1200'
  }),
  PLATFORM_PROFILE: profileVariable,
  HUB_CAPABILITY_CONFIG: parsed((path) => readMinimumStakes(readJsonFile(path)), {
    default: {} as MinimumStakes,
    doc: 'JSON file with the least stake for each capability; nobody qualifies for one without it',
    example: '/etc/platform-node/capabilities.json',
    show: (stakes) => JSON.stringify(stakes)
  }),
  HUB_RATE_LIMIT_RPM: integer({ default: 100, min: 1, doc: 'requests per minute and address' }),
  WS_BACKPRESSURE_LIMIT: integer({
    default: 50,
    min: 1,
    doc: 'consecutive messages that may find the send buffer of a /hub-db/subscribe subscriber not empty'
  }),
  WS_BACKPRESSURE_MAX_BYTES: integer({
    default: 16 * 2 ** 20,
    min: 65_536,
    doc: 'bytes that may wait in the send buffer of such a subscriber'
  }),
  HUB_UNTRUSTED_RETENTION_DAYS: integer({
    default: 365,
    min: 0,
    max: 3_650,
    doc: 'days that tips, rewards and replaced prices pushed without the key are kept; 0: for ever'
  }),
  HUB_HISTORY_RETENTION_DAYS: integer({
    default: 0,
    min: 0,
    max: 3_650,
    doc: 'days that old price rounds, replaced prices, tips, rewards and reorg reports are kept; 0: for ever'
  }),
  TELEMETRY_ENABLED: flag({ default: true, doc: 'false: usage pings are rejected' }),
  TELEMETRY_RETENTION_DAYS: integer({ default: 90, min: 1, max: 3_650, doc: 'days that usage pings are kept' }),
  TELEMETRY_IP_SALT: text({
    doc: "secret for hashing the address of a ping's sender; unset: the address is not kept",
    secret: true
  }),
  TELEMETRY_GEO_DB: text({
    doc: "MaxMind file (.mmdb) for finding country and region of a ping's sender; unset: neither is kept",
    example: '/var/lib/geo/city.mmdb'
  }),
  TELEMETRY_ADMIN_KEY: parsed(readKeys, {
    doc: 'key for GET /telemetry/operators; of several (OLD,NEW) all are accepted; unset: nobody may read it',
    secret: true
  }),
  ...validatorVariables,
  CORS_ORIGIN: list(readOrigin, {
    doc: 'further origins as in CORS_ORIGINS, under the name that compatible hubs use',
    example: 'https://console.example'
  }),
  ...stateVariables,
  ...frameVariables
} as const;

/** Finds faults that concern several variables. @returns one sentence per fault */
export function findHubFaults({ HUB_API_KEY, ...others }: HubConfig): readonly string[] {
  const needsKey = others.PRICE_SOURCES?.includes('coinmarketcap') && others.COINMARKETCAP_API_KEY === undefined;
  const named = others.PRICE_SOURCES ?? [];
  const sources = named.length;
  const twice = named.find((name, at) => named.indexOf(name) !== at);
  return [
    ...(twice ? [`PRICE_SOURCES names ${twice} twice: a source does not confirm itself`] : []),
    ...(sources > 0 && others.ORACLE_MIN_SOURCES > sources
      ? [
          `ORACLE_MIN_SOURCES=${others.ORACLE_MIN_SOURCES} is more than the sources in PRICE_SOURCES: no round would have a price`
        ]
      : []),
    ...(HUB_API_KEY === undefined ? closedGates(others) : []),
    ...(needsKey ? ['PRICE_SOURCES names coinmarketcap, which needs COINMARKETCAP_API_KEY'] : [])
  ];
}

/** Settings that nothing reads without PRICE_SOURCES. */
const OF_PRICES = [
  'ORACLE_ROUND_INTERVAL',
  'ORACLE_MIN_SOURCES',
  'ORACLE_STALENESS_THRESHOLD_S',
  'PRICE_FETCH_TIMEOUT'
] as const;

/** Finds settings that are set and change nothing, one sentence each. */
export function findHubWarnings(config: HubConfig): readonly string[] {
  const named = config.PRICE_SOURCES ?? [];
  const isSet = (name: keyof HubConfig) => config[name] !== hubVariables[name].fallback;
  /** Returns whether a variable also serves a hub of a set: without sources it has rounds all the same. */
  const isOfSet = (name: string) => name === 'ORACLE_ROUND_INTERVAL' && config.P2P_VALIDATOR_ADDR !== undefined;
  const ofSources = { COINMARKETCAP_API_KEY: 'coinmarketcap', ...SOURCE_URLS } as const;
  return [
    ...OF_PRICES.filter((name) => named.length === 0 && isSet(name) && !isOfSet(name)).map(
      (name) => `${name} is set and not used: PRICE_SOURCES names no source, so this hub finds no prices`
    ),
    ...Object.entries(ofSources)
      .filter(([name, source]) => isSet(name as keyof HubConfig) && !named.includes(source))
      .map(([name, source]) => `${name} is set and not used: add ${source} to PRICE_SOURCES, or unset it`),
    ...(['TELEMETRY_IP_SALT', 'TELEMETRY_GEO_DB'] as const)
      .filter((name) => !config.TELEMETRY_ENABLED && isSet(name))
      .map((name) => `${name} is set and not used: TELEMETRY_ENABLED=false rejects all pings`)
  ];
}

function closedGates(gates: Pick<HubConfig, 'HUB_SENSITIVE_READ_AUTH' | 'HUB_PUSH_AUTH'>): readonly string[] {
  return (['HUB_SENSITIVE_READ_AUTH', 'HUB_PUSH_AUTH'] as const)
    .filter((gate) => gates[gate])
    .map((gate) => `${gate}=true needs HUB_API_KEY: without a key it protects nothing`);
}

/** Values of `hubVariables`. */
export type HubConfig = Values<typeof hubVariables>;

/** Names that begin with HUB_ and belong to other services. They cause no warning. */
export const HUB_PATTERNS = [/^HUB_(?:API_HOST|VALIDATORS|REPOLL_INTERVAL)$/] as const;
