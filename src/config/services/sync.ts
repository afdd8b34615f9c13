import { readAuthorities } from '../authorities.ts';
import { hubClientVariables, hubsOf } from '../hub-client.ts';
import { readPinnedValidators } from '../pinned-validators.ts';
import { frameVariables } from '../service.ts';
import { defaultStateDirectory } from '../state-directory.ts';
import { readTokenPlaces, readTokens } from '../tokens.ts';
import {
  choice,
  flag,
  integer,
  json,
  list,
  parsed,
  perChain,
  port,
  readBaseUrl,
  text,
  type Values
} from '../variables.ts';

/** Reads an Ed25519 public key, or the seed of a private one. */
function readKey(entry: string): string {
  if (!/^[0-9a-fA-F]{64}$/.test(entry)) throw new Error('must be 64 hex digits');
  return entry.toLowerCase();
}

/** Reads the name under which a source lists a validator. */
function readValidatorId(entry: string): string {
  if ([...entry].length > 256) throw new Error('must be at most 256 characters');
  return entry;
}

/** Reads the address of a NATS server. Credentials have variables of their own: an address is logged. */
function readNatsUrl(entry: string): string {
  const url = URL.canParse(entry) ? new URL(entry) : undefined;
  if (!url || !['nats:', 'tls:'].includes(url.protocol) || url.hostname === '')
    throw new Error('must be addresses such as nats://host:4222 or tls://host:4222');
  if (url.username !== '' || url.password !== '')
    throw new Error('must have no user and no password: set SYNC_NATS_CREDS or SYNC_NATS_TOKEN');
  return entry.replace(/\/+$/, '');
}

/** All variables of the sync service. @see the specification's "Configuration variables" */
export const syncVariables = {
  SYNC_MODE: choice(['server', 'client'], {
    required: true,
    doc: 'server: serve the local databases; client: keep replicas of remote ones',
    hub: { service: 'indexer', params: [], present: 'server' }
  }),
  SYNC_API_PORT: port({
    default: 3006,
    doc: 'port of REST and WebSocket',
    hub: { service: 'sync', params: ['service_port'] }
  }),
  SYNC_API_HOST: text({ default: '0.0.0.0', doc: 'address to listen on', example: '127.0.0.1' }),
  ...hubClientVariables,
  HUB_REPOLL_INTERVAL: integer({ default: 60_000, min: 100, doc: 'ms between requests to the hub for new databases' }),
  SYNC_API_KEY: parsed(readTokens, {
    doc: 'Bearer token that callers must send and that is sent to the sources; of several (OLD,NEW) all are accepted and the first is sent',
    secret: true,
    essential: true
  }),
  SYNC_OPERATOR_KEY: parsed(readTokens, {
    doc: 'Bearer token for clearing halts and for ending and restarting actors; unset: SYNC_API_KEY',
    secret: true,
    essential: true
  }),
  SYNC_SOURCES: list(readBaseUrl, {
    doc: 'client: base URLs of sync servers',
    example: 'http://sync1:3006,http://sync2:3006',
    essential: true
  }),
  SYNC_SOURCE_CA: text({
    doc: "client: PEM file of further authorities for the sources' certificates, in addition to the system's",
    example: '/etc/ssl/private-ca.pem'
  }),
  SYNC_SOURCE_API_KEYS: parsed(readTokenPlaces, {
    doc: 'client: Bearer token for each of SYNC_SOURCES, in their order (a,,c: the second gets none); SYNC_API_KEY is then sent to no source',
    secret: true
  }),
  VERIFY_HASHES: flag({
    default: false,
    doc: 'client: apply a block only when a strict majority of SYNC_SOURCES reports its hashes; verified only when a strict majority has the same rows',
    essential: true
  }),
  HASH_CONFIRM_TIMEOUT: integer({
    default: 10_000,
    min: 100,
    doc: 'client: ms to ask disagreeing sources again before replication halts'
  }),
  VERIFY_CHECKPOINT_QUORUM: flag({
    default: false,
    doc: 'client: compare indexer replicas with checkpoints that PINNED_VALIDATORS signed; a difference halts'
  }),
  CHECKPOINT_VERIFY_INTERVAL: integer({
    default: 50,
    min: 1,
    doc: 'client: applied blocks between two requests for a newer checkpoint'
  }),
  INDEX_MAP_PARITY_CHECK: flag({
    default: false,
    doc: "client: compare the index of addresses with the source's; differences are logged and counted and never halt"
  }),
  PINNED_VALIDATORS: json(readPinnedValidators, {
    doc: 'client: validators that sign checkpoints; a checkpoint needs more than two thirds of their weight, each source counted once',
    example: '[{"pubkey":"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a","weight":1,"source":"one"}]'
  }),
  REPLICA_DB_HOST: text({
    doc: "client: MariaDB of the replicas; server: read from this host instead of the hub's",
    example: '127.0.0.1',
    essential: true
  }),
  REPLICA_DB_PORT: port({ default: 3306, doc: 'its port' }),
  REPLICA_DB_USER: text({ doc: 'its user', example: 'sync', essential: true }),
  REPLICA_DB_PASS: text({ doc: 'its password', secret: true, essential: true }),
  SYNC_DB_CA: parsed(readAuthorities, {
    doc: 'PEM file of CA certificates for the MariaDB servers: encrypts connections, and refuses a certificate of another authority or name',
    example: '/etc/ssl/mariadb-ca.pem'
  }),
  REPLICA_DB_PREFIX: text({ default: '', doc: "client: prefix of each replica's database name", example: 'replica_' }),
  REPLICA_DB_READONLY: flag({ default: false, doc: 'server: write nothing to the databases' }),
  SYNC_EXCLUDE: list((entry) => entry, {
    default: [],
    doc: 'client: databases not to follow, as COIN:network:dbType',
    example: 'DOGE:testnet:indexer'
  }),
  'SYNC_BOOTSTRAP_DEPTH_<CHAIN>_<NETWORK>': perChain(
    integer({
      min: 1,
      doc: 'client: number of blocks below the tip at which an empty replica begins; needs VERIFY_STATE_COMMITMENT=false',
      example: '10000'
    })
  ),
  'SYNC_SUBSCRIBE_<CHAIN>_<NETWORK>': perChain(
    choice(['full', 'infra-only'], {
      doc: 'client: infra-only keeps ten tables of an indexer; needs VERIFY_STATE_COMMITMENT=false',
      example: 'infra-only'
    })
  ),
  SYNC_BINLOG: choice(['auto', 'required', 'off'], {
    default: 'auto',
    doc: "server: reading changes from MariaDB's binary log; auto: if it exists and the account may read it; required: broadcast nothing without it; off: never"
  }),
  SETTLE_BUDGET_MS: integer({
    default: 5_000,
    min: 0,
    max: 600_000,
    doc: 'server: ms after a block in which changes of older rows that its message lacked are searched for at full speed; later, in a quarter of the time'
  }),
  VERIFY_MAX_AGE: integer({
    default: 86_400_000,
    min: 1_000,
    max: 365 * 86_400_000,
    doc: 'client: ms for which a comparison with the source is valid; it is repeated after half of them; without a valid one a replica is not verified'
  }),
  GONE_TABLES_KEEP: integer({
    default: 30,
    min: 0,
    max: 36_500,
    doc: 'client: days that a table which the source dropped is kept as _gone_<table>_<height>'
  }),
  SYNC_LOCAL_TABLES: list((entry) => entry, { default: [], doc: 'further tables that are never replicated' }),
  SYNC_STATE_DIR: text({
    default: defaultStateDirectory(),
    doc: 'private directory for artifacts, downloads and the last broadcast heights',
    essential: true
  }),
  SYNC_COMPATIBLE_CLIENTS: flag({
    default: false,
    doc: 'server: for compatible clients that keep balances themselves: no balances in `data` of live blocks, and since=N includes block N'
  }),
  SYNC_SINCE_INCLUSIVE: flag({
    default: false,
    doc: 'server: since=N includes block N; a part of SYNC_COMPATIBLE_CLIENTS, under its older name'
  }),
  SNAPSHOT_RATE_FULL: integer({ default: 12, min: 1, doc: 'full snapshots per hour and address' }),
  SNAPSHOT_RATE_INCR: integer({ default: 600, min: 1, doc: 'incremental snapshots per hour and address' }),
  SNAPSHOT_CACHE_DIR: text({ doc: 'directory of artifacts; default: below SYNC_STATE_DIR' }),
  SNAPSHOT_CACHE_MAX_BYTES: integer({
    default: 4 * 2 ** 30,
    min: 2 ** 20,
    doc: 'bytes of all artifacts, with those being read'
  }),
  SNAPSHOT_BUILD_BUDGET_MS: integer({
    default: 1_800_000,
    min: 1_000,
    doc: 'ms that a snapshot build may take; while it reads, MariaDB purges no older row versions'
  }),
  ACTOR_MEMORY_MB: integer({
    default: 2_048,
    min: 64,
    max: 65_536,
    doc: "MiB of heap of one database's thread; above it the thread ends and is restarted"
  }),
  MAX_CONCURRENT_SNAPSHOTS: integer({
    default: 2,
    min: 1,
    max: 64,
    doc: 'simultaneous snapshot builds, in addition to a short one'
  }),
  MAX_ROW_BYTES: integer({
    default: 64 * 2 ** 20,
    min: 1024,
    doc: 'client: longest row accepted from a source, in bytes'
  }),
  WS_MAX_PER_IP: integer({ default: 100, min: 1, doc: 'WebSocket connections per address' }),
  WS_MAX_MESSAGE_BYTES: integer({
    default: 256 * 2 ** 20,
    min: 65_536,
    max: 256 * 2 ** 20,
    doc: 'bytes of a message; a larger one disconnects its subscribers, which catch up by snapshot'
  }),
  WS_BACKPRESSURE_MAX_BYTES: integer({
    default: 16 * 2 ** 20,
    min: 65_536,
    doc: 'bytes that may wait in the send buffer of a subscriber'
  }),
  WS_BACKPRESSURE_STALL_MS: integer({
    default: 30_000,
    min: 10,
    doc: 'ms without progress of a non-empty send buffer before its subscriber is disconnected'
  }),
  WS_STATUS_INTERVAL: integer({ default: 60_000, min: 10, doc: 'ms between status messages' }),
  WS_PING_INTERVAL: integer({ default: 30_000, min: 10, doc: 'ms between pings' }),
  VALIDATOR_HEARTBEAT_TTL: integer({
    default: 60_000,
    min: 10,
    doc: 'ms that a validator is listed after its last heartbeat'
  }),
  SYNC_PUBLIC_HOSTS: list((host) => host.toLowerCase(), {
    doc: 'server: hosts by which clients reach it, with a port if it is not the default; an `auth` for another host is ignored. Unset: the Host of the request',
    example: 'sync.example.org,10.0.0.5:8080'
  }),
  VALIDATOR_PUBKEYS: list(readKey, {
    doc: 'server: public keys of the validators that get blocks first; unset: any valid key',
    example: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
  }),
  SYNC_VALIDATOR_SEED: parsed(readKey, {
    doc: 'client: seed of the Ed25519 key that it signs with; unset: the one kept in SYNC_STATE_DIR',
    example: 'the output of: openssl rand -hex 32',
    secret: true
  }),
  SYNC_VALIDATOR_ID: parsed(readValidatorId, {
    doc: 'client: name of its heartbeats by REST; unset: its public key',
    example: 'validator-7'
  }),
  BLOCK_POLL_INTERVAL: integer({
    default: 250,
    min: 5,
    doc: 'server: ms between polls for new blocks, half of it while polls are cheap; after a group of blocks the next poll follows at once'
  }),
  MERKLE_EPOCH_SIZE: integer({
    default: 100,
    min: 1,
    max: 1_000_000,
    doc: 'blocks per epoch of a new transparency log; a log that has epochs keeps their size'
  }),
  MAX_ROLLBACK_DEPTH: integer({ default: 1000, min: 1, doc: 'client: a deeper reorg halts' }),
  SYNC_STATE_ROOTS: flag({
    default: true,
    doc: 'server: compute the state roots of indexers whose tables lack them; this takes some 110 bytes of memory per balance'
  }),
  VERIFY_STATE_COMMITMENT: flag({
    default: true,
    doc: "client: compute the state roots of each block and halt when they differ from the source's"
  }),
  COMMITMENT_DOMAIN: text({ default: 'PLATFORM', doc: 'domain tag of state roots, the same for source and replica' }),
  CLIENT_RECONNECT_DELAY: integer({ default: 5000, min: 10, doc: 'client: ms before reconnecting' }),
  CIRCUIT_FAILURES: integer({ default: 10, min: 1, doc: 'consecutive failures that open a circuit' }),
  CIRCUIT_COOLDOWN_MS: integer({ default: 30_000, min: 10, doc: 'ms a circuit stays open' }),
  CATALOG_CACHE_MS: integer({ default: 30_000, doc: 'ms for which an answer of /catalog is cached' }),
  SYNC_NATS_URL: list(readNatsUrl, {
    doc: 'server: NATS servers of one cluster; each broadcast message goes into a JetStream stream too. Unset: into none',
    example: 'nats://nats1:4222,nats://nats2:4222'
  }),
  SYNC_NATS_CREDS: text({
    doc: 'server: file with the seed of an nkey for NATS, or with credentials (a JWT and its seed)',
    example: '/etc/platform-node/publisher.nk'
  }),
  SYNC_NATS_TOKEN: text({ doc: 'server: token for NATS', secret: true }),
  SYNC_NATS_REPLICAS: integer({
    default: 1,
    min: 1,
    max: 5,
    doc: 'server: copies of each message in the NATS cluster'
  }),
  SYNC_RELAY_KEEP: integer({
    default: 86_400_000,
    min: 1_000,
    max: 365 * 86_400_000,
    doc: 'server: ms for which a stream keeps a message'
  }),
  SYNC_RELAY_MAX_BYTES: integer({
    default: 16 * 2 ** 30,
    min: 2 ** 20,
    doc: 'server: bytes of a stream; the oldest messages go first'
  }),
  SYNC_RELAY_BACKLOG_BYTES: integer({
    default: 2 ** 30,
    min: 2 ** 20,
    doc: 'server: bytes per database that wait in SYNC_STATE_DIR while NATS is away; with more, the stream continues with a break'
  }),
  SYNC_RELAY_SNAPSHOT_BLOCKS: integer({
    default: 1_000,
    min: 0,
    doc: 'server: blocks after which a full snapshot of each coding goes into NATS for edges, at most one in ten minutes; 0: none does'
  }),
  READY_MAX_LAG: integer({ default: 3, doc: 'blocks that a database may be behind while /readyz answers ready' }),
  ...frameVariables
} as const;

/** Values of `syncVariables`. */
export type SyncConfig = Values<typeof syncVariables>;

/** Returns the settings that give a replica only a part of its source, with the reason. */
function partialSettings(config: SyncConfig): { readonly variable: string; readonly what: string }[] {
  const infraOnly = config['SYNC_SUBSCRIBE_<CHAIN>_<NETWORK>'].filter(({ value }) => value === 'infra-only');
  return [
    ...config['SYNC_BOOTSTRAP_DEPTH_<CHAIN>_<NETWORK>'].map(({ variable }) => ({
      variable,
      what: 'a truncated replica lacks the older balances'
    })),
    ...infraOnly.map(({ variable }) => ({ variable, what: 'an infra-only replica has no balances' }))
  ];
}

/**
 * Returns each of SYNC_SOURCES with its token: its own when SYNC_SOURCE_API_KEYS is set, else the first of
 * SYNC_API_KEY. A source that is named twice counts once: it has one vote.
 */
export function sourcesOf({
  SYNC_SOURCES = [],
  SYNC_SOURCE_API_KEYS: own,
  SYNC_API_KEY: shared
}: Pick<SyncConfig, 'SYNC_SOURCES' | 'SYNC_SOURCE_API_KEYS' | 'SYNC_API_KEY'>): {
  readonly url: string;
  readonly apiKey: string | undefined;
}[] {
  return SYNC_SOURCES.map((url, index) => ({ url, apiKey: own ? (own[index] ?? undefined) : shared?.[0] })).filter(
    ({ url }, index) => SYNC_SOURCES.indexOf(url) === index
  );
}

/** Finds settings that do less than they seem to. @returns one sentence per setting */
export function findSyncWarnings(config: SyncConfig): string[] {
  const warnings: string[] = [];
  if (config.SYNC_MODE === 'client' && config.VERIFY_HASHES && new Set(config.SYNC_SOURCES).size < 2) {
    warnings.push('VERIFY_HASHES compares nothing: SYNC_SOURCES names fewer than two sources');
  }
  if (config.SYNC_API_KEY && !config.SYNC_OPERATOR_KEY) {
    const sent =
      config.SYNC_MODE === 'client' && !config.SYNC_SOURCE_API_KEYS ? ', and the client sends it to every source' : '';
    warnings.push(
      `SYNC_OPERATOR_KEY is not set: whoever reads with SYNC_API_KEY may also clear halts and end actors${sent}`
    );
  }
  return warnings;
}

function findKeyFaults({ SYNC_API_KEY = [], SYNC_OPERATOR_KEY = [], ...client }: SyncConfig): string[] {
  const faults: string[] = [];
  const [keys, sources] = [client.SYNC_SOURCE_API_KEYS?.length, client.SYNC_SOURCES?.length];
  if (client.SYNC_MODE === 'client' && keys !== undefined && sources !== undefined && keys !== sources)
    faults.push(
      `SYNC_SOURCE_API_KEYS has ${keys} places for the ${sources} SYNC_SOURCES: one for each, in their order; an empty place sends no key; example: SYNC_SOURCE_API_KEYS=key-of-a,,key-of-c`
    );
  if (SYNC_OPERATOR_KEY.some((key) => SYNC_API_KEY.includes(key)))
    faults.push('SYNC_OPERATOR_KEY=[secret] must differ from SYNC_API_KEY: otherwise every reader could operate');
  if (client.SYNC_NATS_CREDS !== undefined && client.SYNC_NATS_TOKEN !== undefined)
    faults.push('SYNC_NATS_CREDS and SYNC_NATS_TOKEN=[secret] are both set: NATS takes one of them');
  return faults;
}

function findCheckpointFaults(config: SyncConfig): string[] {
  const infraOnly = config['SYNC_SUBSCRIBE_<CHAIN>_<NETWORK>'].filter(({ value }) => value === 'infra-only');
  const faults = infraOnly.map(
    ({ variable }) => `${variable} needs VERIFY_CHECKPOINT_QUORUM=false: an infra-only replica has no blocks to compare`
  );
  if (config.PINNED_VALIDATORS === undefined) {
    const { doc, example } = syncVariables.PINNED_VALIDATORS;
    faults.push(
      `missing required environment variable PINNED_VALIDATORS: ${doc}; example: PINNED_VALIDATORS=${example}`
    );
  }
  return faults;
}

/** Finds faults that concern several variables. @returns one sentence per fault */
export function findSyncFaults(config: SyncConfig): string[] {
  const faults = findKeyFaults(config);
  if (hubsOf(config).length === 0) {
    faults.push(
      'missing required environment variable HUB_API_HOST: the hub names the chains; example: HUB_API_HOST=127.0.0.1'
    );
  }
  if (config.SYNC_MODE === 'client') {
    for (const { variable, what } of partialSettings(config))
      if (config.VERIFY_STATE_COMMITMENT)
        faults.push(
          `${variable} needs VERIFY_STATE_COMMITMENT=false: ${what}, so the roots recomputed from it would differ and halt it`
        );
    if (config.VERIFY_CHECKPOINT_QUORUM) faults.push(...findCheckpointFaults(config));
    for (const name of ['SYNC_SOURCES', 'REPLICA_DB_HOST', 'REPLICA_DB_USER'] as const) {
      const value = config[name];
      if (value === undefined || value.length === 0)
        faults.push(
          `missing required environment variable ${name}: ${syncVariables[name].doc}; example: ${name}=${syncVariables[name].example}`
        );
    }
  }
  if (config.SYNC_MODE === 'server' && config.REPLICA_DB_HOST && !config.REPLICA_DB_USER) {
    faults.push(
      "missing required environment variable REPLICA_DB_USER: REPLICA_DB_HOST replaces the hub's coordinates; example: REPLICA_DB_USER=sync"
    );
  }
  return faults;
}
