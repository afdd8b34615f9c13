import { readNetwork } from '../../coin/find-network.ts';
import { databaseVariables, findSameDatabase } from '../database.ts';
import { hubClientVariables, hubsOf } from '../hub-client.ts';
import { findNodeNetwork } from '../node.ts';
import { readReplicaPlace } from '../replicas.ts';
import { serviceVariables } from '../service.ts';
import { findUnsentKey, placeVariables } from '../service-url.ts';
import { defaultStateDirectory } from '../state-directory.ts';
import { integer, list, parsed, port, text, type Values } from '../variables.ts';

const SECRET_LETTERS = 32;

function readSecret(entry: string): string {
  if (entry.length < SECRET_LETTERS) throw new Error(`must have at least ${SECRET_LETTERS} letters`);
  return entry;
}

/** All variables of the explorer. @see the section "Shared configuration" of the specification */
export const explorerVariables = {
  NETWORK: parsed((spelling) => readNetwork(spelling).name, {
    doc: 'chain and network, in any spelling: litecoin-regtest, LTC:regtest, RLTC; unset: every network whose databases the hub names',
    example: 'litecoin-regtest',
    essential: true
  }),
  ...databaseVariables('INDEXER', {
    of: 'of the indexer; only read',
    name: 'Platform_LTC_Regtest_Indexer',
    service: 'indexer',
    role: 'explorer'
  }),
  ...databaseVariables('DECODER', {
    of: 'of the decoder; only read',
    name: 'Platform_LTC_Regtest_Decoder',
    service: 'decoder',
    role: 'explorer'
  }),
  ...placeVariables('INDEXER', {
    of: 'the indexer of the network, which answers feequote, feeschedule, oraclefeequote and preflight; unset: those are 501',
    service: 'indexer',
    usualPort: 3004
  }),
  DB_QUERY_TIMEOUT: integer({ default: 4_000, min: 100, max: 60_000, doc: 'ms that one read may take' }),
  EXPLORER_REPLICAS: list(readReplicaPlace, {
    default: [],
    doc: 'further copies of both databases, read with the same accounts: host[:port][/indexer database[/decoder database]]; what is left out is as at the first',
    example: 'db2.example.org,db3.example.org:3307',
    show: (places) => places.map(({ entry }) => entry).join(',') || '(none)'
  }),
  ...serviceVariables('EXPLORER', { service: 'explorer', usualPort: 8080, isPublic: true }),
  EXPLORER_RATE_LIMIT_RPM: integer({ default: 500, min: 1, doc: 'requests per minute and address' }),
  EXPLORER_TLS_CERT: text({
    doc: 'PEM file of a certificate and its chain; with it HTTPS is served too',
    example: '/etc/ssl/explorer.pem',
    essential: true
  }),
  EXPLORER_TLS_KEY: text({
    doc: 'PEM file of the key of EXPLORER_TLS_CERT',
    example: '/etc/ssl/explorer.key',
    essential: true
  }),
  EXPLORER_HTTPS_PORT: port({ default: 8081, doc: 'port of HTTPS, if EXPLORER_TLS_CERT is set' }),
  EXPLORER_CURSOR_KEY: parsed(readSecret, {
    doc: "secret that signs cursors; explorers with the same secret accept each other's; unset: generated, and kept in EXPLORER_STATE_DIR",
    secret: true
  }),
  EXPLORER_STATE_DIR: text({
    default: defaultStateDirectory(),
    doc: 'private directory for the cursor secret, if EXPLORER_CURSOR_KEY is not set'
  }),
  EXPLORER_CACHE_MB: integer({
    default: 32,
    min: 0,
    max: 4_096,
    doc: 'MB of answers cached until the next block; 0: no cache'
  }),
  ...hubClientVariables,
  HUB_REPOLL_INTERVAL: integer({ default: 60_000, min: 100, doc: 'ms between requests to the hub for databases' })
} as const;

/** Values of `explorerVariables`. */
export type ExplorerConfig = Values<typeof explorerVariables>;

/** Variables that differ by network. The accounts may be the same. */
const OF_ONE_NETWORK = ['INDEXER_DB_HOST', 'INDEXER_DB_NAME', 'DECODER_DB_HOST', 'DECODER_DB_NAME'] as const;
const FROM_HUB = [...OF_ONE_NETWORK, 'INDEXER_DB_USER', 'INDEXER_DB_PASS', 'DECODER_DB_USER', 'DECODER_DB_PASS'];

/** Rules that concern several variables of the explorer. */
export const explorerChecks = {
  prefixes: ['EXPLORER_'],
  networkOf: findNodeNetwork,
  fromAnyNetwork: () => ['EXPLORER_API_PORT'],
  unneeded: (textOf: (name: string) => string | undefined) => (textOf('NETWORK') === undefined ? FROM_HUB : []),
  findFaults: findExplorerFaults
};

const BOTH_OF_TLS = 'set both of EXPLORER_TLS_CERT and EXPLORER_TLS_KEY, or none';

/** Finds faults that concern several variables. @returns one sentence per fault */
function findExplorerFaults(values: ExplorerConfig): string[] {
  return [...findPortFaults(values), ...findDatabaseFaults(values)];
}

function findPortFaults(values: ExplorerConfig): string[] {
  const { EXPLORER_TLS_CERT: certificate, EXPLORER_TLS_KEY: key, EXPLORER_API_PORT, EXPLORER_HTTPS_PORT } = values;
  if ((certificate === undefined) !== (key === undefined)) return [BOTH_OF_TLS];
  return certificate !== undefined && EXPLORER_API_PORT === EXPLORER_HTTPS_PORT && EXPLORER_API_PORT !== 0
    ? [`EXPLORER_HTTPS_PORT ${EXPLORER_HTTPS_PORT} is also EXPLORER_API_PORT: give each a port of its own`]
    : [];
}

/** Finds settings that work only beside another one, one sentence each. */
export function findExplorerWarnings(config: ExplorerConfig, isSet: (name: string) => boolean): readonly string[] {
  const isInVain = isSet('EXPLORER_HTTPS_PORT') && config.EXPLORER_TLS_CERT === undefined;
  const remedy = 'set EXPLORER_TLS_CERT and EXPLORER_TLS_KEY to serve HTTPS, or unset it';
  return [
    ...(isInVain ? [`EXPLORER_HTTPS_PORT is set and not used: ${remedy}`] : []),
    ...findUnsentKey('INDEXER', isSet)
  ];
}

function findDatabaseFaults(values: ExplorerConfig): string[] {
  if (values.NETWORK !== undefined) return findSameDatabase(values, 'INDEXER', 'DECODER');
  const alone = OF_ONE_NETWORK.filter((name) => values[name] !== undefined);
  if (alone.length > 0)
    return [`${alone.join(', ')}: of one network; set NETWORK too, or unset them to take all databases from the hub`];
  return hubsOf(values).length > 0
    ? []
    : [
        'missing required environment variable NETWORK: chain and network; or set HUB_API_HOST, if the hub names the databases; example: NETWORK=litecoin-regtest'
      ];
}

/** Returns address and files of HTTPS; null when no certificate is set. */
export function httpsPlaceOf(config: ExplorerConfig) {
  const { EXPLORER_TLS_CERT: certificate, EXPLORER_TLS_KEY: key } = config;
  if (certificate === undefined || key === undefined) return null;
  return {
    host: config.EXPLORER_API_HOST ?? '0.0.0.0',
    port: config.EXPLORER_HTTPS_PORT,
    certificate,
    key,
    variables: { port: 'EXPLORER_HTTPS_PORT', certificate: 'EXPLORER_TLS_CERT', key: 'EXPLORER_TLS_KEY' }
  };
}
