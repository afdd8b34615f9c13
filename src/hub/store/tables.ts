import { type Connection, connect, databaseError, quoteName, rows, type SqlRow } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import { reduceStoredPings } from './pings.ts';

const CREATED_AND_UPDATED = `created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP`;

/** Keys of rounds by their origin; of each pair those with a price, and those that some sources carried within the bounds. */
const ROUND_KEYS = `KEY price_snapshots_origin (origin, round_number),
    KEY price_snapshots_round (coin_pair, status, origin, round_number),
    KEY price_snapshots_carried (coin_pair, status, origin, bounded, sources, round_number)`;
/** Keys of the first prices of each feed by either kind of caller. */
const FEED_KEYS = `KEY oracle_prices_order (source_address, source_chain, coin, tick, fiat, trusted, action_index),
    KEY oracle_prices_trusted (trusted)`;

/** The columns and keys of every table, by its name. */
const TABLES: Readonly<Record<string, string>> = {
  configs: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    coin VARCHAR(16) NOT NULL,
    network VARCHAR(16) NOT NULL,
    module VARCHAR(64) NOT NULL,
    param_name VARCHAR(32) NOT NULL,
    param_value TEXT NOT NULL,
    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    UNIQUE KEY configs_name (coin, network, module, param_name),
    KEY configs_updated_at (updated_at)`,
  consensus_state: `
    key_name VARCHAR(64) NOT NULL PRIMARY KEY,
    value VARCHAR(255) NOT NULL`,
  chain_tips: `
    coin VARCHAR(16) NOT NULL,
    network VARCHAR(16) NOT NULL,
    block_height BIGINT UNSIGNED NOT NULL,
    block_time BIGINT UNSIGNED NOT NULL,
    trusted BOOLEAN NOT NULL DEFAULT 0,
    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    PRIMARY KEY (coin, network)`,
  validators: `
    signing_pubkey CHAR(64) NOT NULL PRIMARY KEY,
    addr VARCHAR(255) NOT NULL,
    chains VARCHAR(255) NULL,
    status ENUM('active', 'suspended', 'removed') NOT NULL,
    ${CREATED_AND_UPDATED}`,
  validator_capabilities: `
    signing_pubkey CHAR(64) NOT NULL,
    capability VARCHAR(32) NOT NULL,
    qualified BOOLEAN NOT NULL,
    self_test_ok BOOLEAN NULL,
    enabled BOOLEAN NOT NULL,
    self_test_at TIMESTAMP NULL,
    self_test_msg VARCHAR(255) NULL,
    qualified_at_block BIGINT UNSIGNED NULL,
    PRIMARY KEY (signing_pubkey, capability)`,
  validator_rewards: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    validator_pubkey CHAR(64) NOT NULL,
    round_number BIGINT UNSIGNED NOT NULL,
    reward_type VARCHAR(32) NOT NULL,
    amount VARCHAR(64) NOT NULL,
    block_index BIGINT UNSIGNED NOT NULL,
    claimed BOOLEAN NOT NULL DEFAULT 0,
    trusted BOOLEAN NOT NULL DEFAULT 0,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE KEY validator_rewards_name (validator_pubkey, round_number, reward_type),
    KEY validator_rewards_trusted (trusted)`,
  price_snapshots: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    round_number BIGINT UNSIGNED NOT NULL,
    coin_pair VARCHAR(16) NOT NULL,
    price DECIMAL(30, 8) NOT NULL,
    reference_block BIGINT UNSIGNED NULL,
    reference_chain VARCHAR(16) NULL,
    block_timestamp BIGINT UNSIGNED NOT NULL,
    validator_count INT UNSIGNED NOT NULL,
    consensus_round BIGINT UNSIGNED NULL,
    consensus_proof TEXT NULL,
    status ENUM('finalized', 'skipped', 'disputed') NOT NULL,
    source_chain VARCHAR(16) NULL,
    source_action_index BIGINT UNSIGNED NULL,
    push_generation BIGINT UNSIGNED NOT NULL DEFAULT 0,
    origin ENUM('hub', 'validators') NOT NULL DEFAULT 'hub',
    sources INT UNSIGNED NULL,
    deviation DECIMAL(12, 4) NULL,
    bounded BOOLEAN NOT NULL DEFAULT 0,
    oldest_at BIGINT UNSIGNED NULL,
    trusted BOOLEAN NOT NULL DEFAULT 0,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE KEY price_snapshots_name (round_number, coin_pair, origin),
    KEY price_snapshots_source (source_chain, source_action_index),
    ${ROUND_KEYS}`,
  oracle_prices: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    source_address VARCHAR(120) NOT NULL,
    source_chain VARCHAR(16) NOT NULL,
    coin VARCHAR(16) NOT NULL,
    tick VARCHAR(250) NOT NULL,
    fiat VARCHAR(16) NOT NULL,
    value VARCHAR(64) NOT NULL,
    fee VARCHAR(64) NULL,
    memo VARCHAR(512) NULL,
    block_time BIGINT UNSIGNED NOT NULL,
    effective_at BIGINT UNSIGNED NOT NULL,
    action_index BIGINT UNSIGNED NOT NULL,
    push_generation BIGINT UNSIGNED NOT NULL DEFAULT 0,
    trusted BOOLEAN NOT NULL DEFAULT 0,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE KEY oracle_prices_action (source_chain, action_index),
    KEY oracle_prices_feed (source_address, coin, tick, fiat, effective_at),
    ${FEED_KEYS}`,
  price_carriers: `
    round_number BIGINT UNSIGNED NOT NULL,
    source_chain VARCHAR(16) NOT NULL,
    source_action_index BIGINT UNSIGNED NOT NULL,
    push_generation BIGINT UNSIGNED NOT NULL,
    trusted BOOLEAN NOT NULL,
    pushed MEDIUMTEXT NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (round_number, source_chain),
    KEY price_carriers_source (source_chain, source_action_index)`,
  price_removals: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    table_name VARCHAR(32) NOT NULL,
    source_chain VARCHAR(16) NULL,
    from_action_index BIGINT UNSIGNED NULL,
    to_action_index BIGINT UNSIGNED NULL,
    round_number BIGINT UNSIGNED NULL,
    retraction_generation BIGINT UNSIGNED NOT NULL,
    trusted BOOLEAN NOT NULL DEFAULT 1,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    KEY price_removals_trusted (trusted, id)`,
  attestations: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    attestation_id VARCHAR(64) NOT NULL,
    source_chain VARCHAR(16) NOT NULL,
    source_action_index BIGINT UNSIGNED NOT NULL,
    dest_chain VARCHAR(16) NOT NULL,
    confirmations INT UNSIGNED NULL,
    status ENUM('pending', 'attested', 'rejected', 'expired', 'unverified') NOT NULL,
    validator_count INT UNSIGNED NOT NULL,
    consensus_proof TEXT NULL,
    ${CREATED_AND_UPDATED},
    UNIQUE KEY attestations_name (attestation_id)`,
  swap_records: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    source_chain VARCHAR(16) NOT NULL,
    source_action_index BIGINT UNSIGNED NOT NULL,
    dest_chain VARCHAR(16) NOT NULL,
    dest_action_index BIGINT UNSIGNED NULL,
    attestation_id VARCHAR(64) NULL,
    status ENUM('initiated', 'attested', 'executed', 'settled', 'failed') NOT NULL,
    ${CREATED_AND_UPDATED},
    UNIQUE KEY swap_records_source (source_chain, source_action_index)`,
  reorg_attestations: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    reorg_id VARCHAR(64) NOT NULL,
    source_chain VARCHAR(16) NOT NULL,
    reorg_height BIGINT UNSIGNED NOT NULL,
    reorg_timestamp BIGINT UNSIGNED NOT NULL,
    old_hash CHAR(64) NOT NULL,
    new_hash CHAR(64) NOT NULL,
    affected_chains VARCHAR(64) NOT NULL,
    validator_count INT UNSIGNED NOT NULL,
    consensus_proof TEXT NULL,
    status ENUM('reported', 'confirmed', 'rejected', 'expired', 'unverified') NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE KEY reorg_attestations_name (reorg_id),
    KEY reorg_attestations_chain (source_chain, created_at)`,
  governance_proposals: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    proposal_id VARCHAR(288) NOT NULL,
    proposer_pubkey VARCHAR(64) NOT NULL,
    parameter VARCHAR(255) NOT NULL,
    current_value VARCHAR(255) NULL,
    proposed_value VARCHAR(255) NOT NULL,
    rationale VARCHAR(2000) NULL,
    status ENUM('voting', 'passed', 'failed', 'expired') NOT NULL,
    voting_start BIGINT UNSIGNED NOT NULL,
    voting_end BIGINT UNSIGNED NOT NULL,
    activation_block BIGINT UNSIGNED NULL,
    validator_snapshot TEXT NOT NULL,
    decided_at BIGINT UNSIGNED NULL,
    UNIQUE KEY governance_proposals_name (proposal_id),
    KEY governance_proposals_parameter (parameter, status)`,
  governance_votes: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    proposal_id VARCHAR(288) NOT NULL,
    voter_pubkey VARCHAR(64) NOT NULL,
    vote ENUM('approve', 'reject') NOT NULL,
    signature CHAR(128) NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE KEY governance_votes_name (proposal_id, voter_pubkey)`,
  telemetry_pings: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    install_id CHAR(36) NOT NULL,
    country CHAR(2) NULL,
    region VARCHAR(16) NULL,
    ip_hash CHAR(64) NULL,
    node_version VARCHAR(32) NULL,
    os_platform VARCHAR(32) NULL,
    os_release VARCHAR(64) NULL,
    arch VARCHAR(16) NULL,
    docker_version VARCHAR(32) NULL,
    modules TEXT NOT NULL,
    event ENUM('install', 'update', 'start', 'heartbeat') NOT NULL,
    first_seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    last_seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    pings INT UNSIGNED NOT NULL DEFAULT 1,
    UNIQUE KEY telemetry_pings_install (install_id),
    KEY telemetry_pings_seen (last_seen),
    KEY telemetry_pings_address (ip_hash, last_seen)`
};

/** A change of a table that an older version made: due where the column or key is missing, or the column lacks a word in its type. */
interface Migration {
  readonly table: string;
  readonly column: string;
  readonly type?: string;
  /** Each may be carried out again, after a start that ended before the last of them. */
  readonly changes: readonly (string | ((connection: Connection) => Promise<void>))[];
}

const added = (keys: string): string => keys.replaceAll('KEY', 'ADD KEY IF NOT EXISTS');
const TRUSTED = 'ADD COLUMN trusted BOOLEAN NOT NULL DEFAULT 0';

/** In their order. Rows of before are of nobody in particular: what a known indexer says takes their place. */
const MIGRATIONS: readonly Migration[] = [
  {
    table: 'price_snapshots',
    column: 'origin',
    changes: [
      `ALTER TABLE price_snapshots ADD COLUMN origin ENUM('hub', 'validators') NOT NULL DEFAULT 'hub' AFTER push_generation,
         ADD COLUMN sources INT UNSIGNED NULL AFTER origin, ADD COLUMN deviation DECIMAL(12, 4) NULL AFTER sources,
         ${TRUSTED} AFTER deviation, DROP KEY price_snapshots_name,
         ADD UNIQUE KEY price_snapshots_name (round_number, coin_pair, origin),
         ADD KEY price_snapshots_time (coin_pair, status, origin, block_timestamp),
         ADD KEY price_snapshots_source (source_chain, source_action_index)`,
      "UPDATE price_snapshots SET origin = 'validators' WHERE source_chain IS NOT NULL"
    ]
  },
  {
    table: 'price_snapshots',
    column: 'bounded',
    changes: [
      `ALTER TABLE price_snapshots ADD COLUMN bounded BOOLEAN NOT NULL DEFAULT 0 AFTER deviation,
         ADD COLUMN oldest_at BIGINT UNSIGNED NULL AFTER bounded`
    ]
  },
  ...['oracle_prices', 'validator_rewards', 'chain_tips'].map((table) => ({
    table,
    column: 'trusted',
    changes: [`ALTER TABLE ${table} ${TRUSTED}`]
  })),
  {
    // Removals of before, and those that a hub of an older version still writes, are kept as those by trusted callers.
    table: 'price_removals',
    column: 'trusted',
    changes: [
      `ALTER TABLE price_removals ADD COLUMN trusted BOOLEAN NOT NULL DEFAULT 1 AFTER retraction_generation,
         ADD KEY price_removals_trusted (trusted, id)`,
      ...['price_snapshots', 'price_carriers', 'oracle_prices'].map(
        (table) =>
          `UPDATE IGNORE ${table} SET source_chain = UPPER(source_chain) WHERE source_chain <> UPPER(source_chain)`
      ),
      'UPDATE oracle_prices SET coin = UPPER(coin) WHERE coin <> UPPER(coin)'
    ]
  },
  {
    table: 'attestations',
    column: 'status',
    type: "'unverified'",
    changes: [
      `ALTER TABLE attestations MODIFY confirmations INT UNSIGNED NULL,
         MODIFY status ENUM('pending', 'attested', 'rejected', 'expired', 'unverified') NOT NULL`
    ]
  },
  {
    table: 'reorg_attestations',
    column: 'status',
    type: "'unverified'",
    changes: [
      `ALTER TABLE reorg_attestations
         MODIFY status ENUM('reported', 'confirmed', 'rejected', 'expired', 'unverified') NOT NULL`
    ]
  },
  {
    // A row for each ping before: an installation keeps its newest one. Another hub may still add rows of the older form.
    table: 'telemetry_pings',
    column: 'last_seen',
    changes: [
      `ALTER TABLE telemetry_pings ADD COLUMN IF NOT EXISTS first_seen TIMESTAMP NULL,
         ADD COLUMN IF NOT EXISTS pings INT UNSIGNED NOT NULL DEFAULT 1`,
      `UPDATE telemetry_pings t JOIN (
         SELECT MAX(id) AS id, MIN(created_at) AS first_seen, COUNT(*) AS pings FROM telemetry_pings GROUP BY install_id) n
           ON n.id = t.id
         SET t.pings = GREATEST(t.pings, n.pings), t.first_seen = LEAST(COALESCE(t.first_seen, n.first_seen), n.first_seen)`,
      `DELETE t FROM telemetry_pings t LEFT JOIN (
         SELECT MAX(id) AS id FROM telemetry_pings GROUP BY install_id) n ON n.id = t.id WHERE n.id IS NULL`,
      reduceStoredPings,
      `ALTER IGNORE TABLE telemetry_pings DROP KEY telemetry_pings_install, DROP KEY telemetry_pings_created,
         CHANGE created_at last_seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
         MODIFY first_seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
         ADD UNIQUE KEY telemetry_pings_install (install_id), ADD KEY telemetry_pings_seen (last_seen),
         ADD KEY telemetry_pings_address (ip_hash, last_seen)`
    ]
  },
  {
    table: 'price_snapshots',
    column: 'price_snapshots_carried',
    changes: [
      `ALTER TABLE price_snapshots DROP KEY IF EXISTS price_snapshots_time, DROP KEY IF EXISTS price_snapshots_pair,
         ${added(ROUND_KEYS)}`
    ]
  },
  {
    table: 'oracle_prices',
    column: 'oracle_prices_trusted',
    changes: [`ALTER TABLE oracle_prices ${added(FEED_KEYS)}`]
  },
  {
    table: 'validator_rewards',
    column: 'validator_rewards_trusted',
    changes: ['ALTER TABLE validator_rewards ADD KEY validator_rewards_trusted (trusted)']
  }
];

/** Number of MariaDB's for an account that has no right to a database. */
const DATABASE_ACCESS_DENIED = 1044;

/** Seconds for which one hub waits while another makes or changes the tables of their database. */
const LOCK_WAIT_S = 600;

/**
 * Makes the database and its tables where they are missing, and changes those of an older version. It looks before it does: an
 * account that may only use what is there needs no CREATE and no ALTER.
 *
 * @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE
 */
export async function createMissing(database: DatabaseCoordinates): Promise<void> {
  const { name, ...server } = database;
  const connection = await connect(server);
  try {
    const schemas = 'SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?';
    if ((await rows(connection, schemas, [name])).length === 0) {
      await createDatabase(connection, name);
    }
    await connection.query(`USE ${quoteName(name)}`);
    await connection.query('SELECT GET_LOCK(?, ?)', [`hub tables ${name}`.slice(0, 64), LOCK_WAIT_S]);
    const columns = await readColumns(connection, name);
    const present = new Set(columns.map(({ table }) => table));
    for (const [table, definition] of Object.entries(TABLES).filter(([table]) => !present.has(table))) {
      await connection.query(
        `CREATE TABLE IF NOT EXISTS ${table} (${definition}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`
      );
    }
    for (const migration of MIGRATIONS) await migrate(connection, migration, columns);
  } catch (caught) {
    throw databaseError(caught, { database: name });
  } finally {
    connection.destroy();
  }
}

/** @throws {PlatformError} DATABASE_REFUSED where the account may not: a hub that has no database does not wait for the right */
async function createDatabase(connection: Connection, name: string): Promise<void> {
  try {
    await connection.query(`CREATE DATABASE IF NOT EXISTS ${quoteName(name)}`);
  } catch (caught) {
    const { errno, sqlMessage } = Object(caught) as { errno?: number; sqlMessage?: string };
    if (errno !== DATABASE_ACCESS_DENIED) throw caught;
    throw new PlatformError('DATABASE_REFUSED', { reason: sqlMessage, errno, database: name }, { cause: caught });
  }
}

/** A column, or a key without a type. */
interface Column extends SqlRow {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}

const readColumns = (connection: Connection, database: string): Promise<Column[]> =>
  rows<Column>(
    connection,
    `SELECT TABLE_NAME AS \`table\`, COLUMN_NAME AS \`column\`, COLUMN_TYPE AS type FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ?
     UNION SELECT TABLE_NAME, INDEX_NAME, '' FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ?`,
    [database, database]
  );

/** @param columns those of before */
async function migrate(
  connection: Connection,
  { table, column, type = '', changes }: Migration,
  columns: readonly Column[]
): Promise<void> {
  const own = columns.filter((each) => each.table === table);
  if (own.length === 0 || own.some((each) => each.column === column && each.type.includes(type))) return;
  for (const change of changes) await (typeof change === 'string' ? connection.query(change) : change(connection));
}
