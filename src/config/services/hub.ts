import { type MinimumStakes, readMinimumStakes } from '../../coin/capabilities.ts';
import { databaseVariables } from '../database.ts';
import { readJsonFile } from '../json-file.ts';
import { profileVariable } from '../profile.ts';
import { frameVariables, readOrigin } from '../service.ts';
import { readKeys } from '../tokens.ts';
import { flag, integer, list, parsed, port, readBaseUrl, text, unsupported, type Values } from '../variables.ts';

/** Where prices come from. */
export const PRICE_SOURCE_NAMES = ['coingecko', 'kraken', 'coinmarketcap'] as const;
export type PriceSourceName = (typeof PRICE_SOURCE_NAMES)[number];

function readSourceName(entry: string): PriceSourceName {
  const found = PRICE_SOURCE_NAMES.find((name) => name === entry.toLowerCase());
  if (!found) throw new Error(`must be of ${PRICE_SOURCE_NAMES.join(', ')}, not "${entry}"`);
  return found;
}

const sourceUrl = (name: PriceSourceName, example: string) =>
  parsed(readBaseUrl, { doc: `base URL that ${name} is asked at; unset: its own`, example });

function readSeed(value: string): string {
  if (!/^[0-9a-f]{64}$/i.test(value)) throw new Error('must be 64 hexadecimal digits');
  return value;
}

function readPeer(entry: string): string {
  const [, port] = /^[A-Za-z0-9.:[\]-]+:(\d{1,5})$/.exec(entry) ?? [];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new Error(`must list host:port, not "${entry}"`);
  return entry;
}

const later = (what: string) => `${what}; checked, and used by no hub without validator mode`;
/** Settings that only a hub in validator mode uses: a wrong value is found before that is turned on. */
const OF_VALIDATORS = {
  SIGNING_PRIVKEY_HEX: parsed(readSeed, { doc: later('seed of the signing key, 64 hexadecimal digits'), secret: true }),
  P2P_PORT: port({ doc: later('port for other validators') }),
  SEED_NODES: list(readPeer, { doc: later('validators to ask first'), example: 'v1.example:10001,v2.example:10001' }),
  ORACLE_EPOCH_START: integer({ doc: later('first round of prices, in ms since 1970'), example: '1767225600000' }),
  ORACLE_MIN_SUBMISSIONS: integer({ min: 1, doc: later('validators of which a round needs prices'), example: '3' }),
  DISABLED_CAPABILITIES: list((entry) => entry, { doc: later('capabilities that are off'), example: 'price' }),
  P2P_RECONNECT_BASE: integer({ doc: later('first ms between attempts to connect'), example: '2000' }),
  P2P_RECONNECT_MAX: integer({ doc: later('most ms between attempts to connect'), example: '60000' })
} as const;

/** Those of the variables that are set and that this hub does not use. */
export const unusedOf = (config: HubConfig): readonly string[] =>
  Object.keys(OF_VALIDATORS).filter((name) => config[name as keyof typeof OF_VALIDATORS] !== undefined);

/** Every variable of the hub. @see the section "Shared configuration" of the specification */
export const hubVariables = {
  HUB_HOST: text({ default: '0.0.0.0', doc: 'address to listen on', example: '127.0.0.1' }),
  HUB_PORT: port({ default: 10_000, doc: 'port of the JSON-RPC interface' }),
  ...databaseVariables('HUB', { of: 'of the hub; the database is made when it is missing', name: 'Platform_Hub' }),
  HUB_DB_PORT: port({ required: true, doc: 'its port', example: '3306' }),
  HUB_API_KEY: parsed(readKeys, {
    doc: 'key for writing and for reading /metrics and /debug; of several (OLD,NEW) all are accepted; unset: anyone may write',
    secret: true
  }),
  HUB_SENSITIVE_READ_AUTH: flag({
    doc: 'who may read the passwords in getallconfigs where HUB_API_KEY is set: true, getallconfigs needs the key; false, everybody; unset, passwords are masked without the key'
  }),
  HUB_PUSH_AUTH: flag({
    doc: 'whether what indexers and trackers push (push...) needs HUB_API_KEY too: true, of everybody; false, of nobody; unset, of callers on other machines'
  }),
  GOV_VOTING_PERIOD: integer({
    default: 604_800_000,
    min: 1,
    max: 31_536_000_000,
    doc: 'ms for which a proposal can be voted on'
  }),
  PRICE_SOURCES: list(readSourceName, {
    doc: 'where this hub finds the prices of coins: coingecko, kraken, coinmarketcap; unset: it finds none',
    example: 'coingecko,kraken'
  }),
  PRICE_SOURCE_COINGECKO_URL: sourceUrl('coingecko', 'https://api.coingecko.com/api/v3'),
  PRICE_SOURCE_KRAKEN_URL: sourceUrl('kraken', 'https://api.kraken.com'),
  PRICE_SOURCE_COINMARKETCAP_URL: sourceUrl('coinmarketcap', 'https://pro-api.coinmarketcap.com'),
  COINMARKETCAP_API_KEY: text({ doc: 'key that coinmarketcap is asked with', secret: true }),
  PRICE_FETCH_TIMEOUT: integer({
    default: 10_000,
    min: 100,
    max: 60_000,
    doc: 'ms that one question to a source of prices may take'
  }),
  ORACLE_ROUND_INTERVAL: integer({
    default: 600_000,
    min: 1_000,
    max: 86_400_000,
    doc: 'ms from one round of prices to the next'
  }),
  ORACLE_MIN_SOURCES: integer({
    default: 1,
    min: 1,
    max: PRICE_SOURCE_NAMES.length,
    doc: 'sources that a price must rest on; with fewer the pair is skipped in that round'
  }),
  ORACLE_STALENESS_THRESHOLD_S: integer({
    min: 1,
    max: 604_800,
    doc: 'seconds after which prices are stale, and health is 503; unset: two rounds',
    example: '1200'
  }),
  PLATFORM_PROFILE: profileVariable,
  HUB_CAPABILITY_CONFIG: parsed((path) => readMinimumStakes(readJsonFile(path)), {
    default: {} as MinimumStakes,
    doc: 'JSON file with the least stake of each capability; a capability without one qualifies nobody',
    example: '/etc/platform-node/capabilities.json',
    show: (stakes) => JSON.stringify(stakes)
  }),
  HUB_RATE_LIMIT_RPM: integer({ default: 100, min: 1, doc: 'requests per minute and address' }),
  WS_BACKPRESSURE_LIMIT: integer({
    default: 50,
    min: 1,
    doc: 'messages in a row that may find the send buffer of a subscriber of /hub-db/subscribe not empty'
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
    doc: 'days for which tips, rewards and replaced prices are kept that callers without the key pushed; 0: for ever'
  }),
  HUB_HISTORY_RETENTION_DAYS: integer({
    default: 0,
    min: 0,
    max: 3_650,
    doc: 'days for which old rounds of prices, prices that a later one replaced, tips, rewards and reports of reorgs are kept; 0: for ever'
  }),
  TELEMETRY_ENABLED: flag({ default: true, doc: 'false: usage pings are rejected' }),
  TELEMETRY_RETENTION_DAYS: integer({ default: 90, min: 1, max: 3_650, doc: 'days for which usage pings are kept' }),
  TELEMETRY_IP_SALT: text({
    doc: "secret by which the address of a ping's sender is hashed; unset: nothing of it is kept",
    secret: true
  }),
  TELEMETRY_GEO_DB: text({
    doc: "file in MaxMind's format (.mmdb) by which the country and region of a ping's sender are found; unset: neither is kept",
    example: '/var/lib/geo/city.mmdb'
  }),
  TELEMETRY_ADMIN_KEY: text({
    doc: 'key for GET /telemetry/operators; unset: nobody may read it',
    secret: true
  }),
  P2P_VALIDATOR_ADDR: unsupported({
    doc: 'refused: this hub has no validator mode yet',
    reason: 'this hub has no validator mode yet: its writes would go to its own database without consensus; unset it'
  }),
  ...OF_VALIDATORS,
  CORS_ORIGIN: list(readOrigin, {
    doc: 'such an origin beside those of CORS_ORIGINS, under the name that other hubs have for it',
    example: 'https://console.example'
  }),
  ...frameVariables
} as const;

/** What no single value shows: keys that are missing. */
export function findHubFaults({ HUB_API_KEY, ...others }: HubConfig): readonly string[] {
  const needsKey = others.PRICE_SOURCES?.includes('coinmarketcap') && others.COINMARKETCAP_API_KEY === undefined;
  const sources = others.PRICE_SOURCES?.length ?? 0;
  return [
    ...(sources > 0 && others.ORACLE_MIN_SOURCES > sources
      ? [
          `ORACLE_MIN_SOURCES=${others.ORACLE_MIN_SOURCES} is more than PRICE_SOURCES names: no round would have a price`
        ]
      : []),
    ...(HUB_API_KEY === undefined ? closedGates(others) : []),
    ...(needsKey ? ['PRICE_SOURCES names coinmarketcap, which needs COINMARKETCAP_API_KEY'] : [])
  ];
}

function closedGates(gates: Pick<HubConfig, 'HUB_SENSITIVE_READ_AUTH' | 'HUB_PUSH_AUTH'>): readonly string[] {
  return (['HUB_SENSITIVE_READ_AUTH', 'HUB_PUSH_AUTH'] as const)
    .filter((gate) => gates[gate])
    .map((gate) => `${gate}=true needs HUB_API_KEY: without a key nothing is closed`);
}

export type HubConfig = Values<typeof hubVariables>;

/** Names beginning with HUB_ that services beside the hub read; no reason to warn. */
export const HUB_PATTERNS = [/^HUB_(?:API_HOST|VALIDATORS|REPOLL_INTERVAL)$/] as const;
