import type { Connection } from '../../../src/db/connection.ts';

const AMOUNT = 'VARCHAR(250) CHARACTER SET latin1 NOT NULL';

/** Where a row lives that an action wrote; rows of these tables go when their action goes. */
export const ACTION_TABLES = [
  'credits',
  'debits',
  'escrows',
  'sends',
  'mints',
  'destroys',
  'issues',
  'batches',
  'fees',
  'lists',
  'list_items',
  'mappings_actions',
  'stakes',
  'delegations',
  'reward_claims',
  'attests',
  'dispensers',
  'contracts',
  'contract_executions',
  'deposits',
  'withdrawals'
] as const;

/** Where a row lives that belongs to a block. */
export const BLOCK_TABLES = [
  'validator_rewards',
  'prices',
  'contract_state',
  'transactions',
  'actions',
  'blocks'
] as const;

/** The tables of an indexer: every class of replication, and every oddity that databases in use have, occurs. */
export const LEDGER_TABLES: Readonly<Record<string, string>> = {
  index_actions: 'id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, action VARCHAR(50) NOT NULL UNIQUE',
  index_addresses:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, address VARCHAR(120) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL UNIQUE, block_index BIGINT UNSIGNED NULL, KEY (block_index)',
  index_tickers:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, tick VARCHAR(250) COLLATE utf8mb4_bin NOT NULL UNIQUE, block_index BIGINT UNSIGNED NULL, KEY (block_index)',
  index_transactions:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, hash VARCHAR(250) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL UNIQUE',
  index_statuses: 'id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, status VARCHAR(200) NOT NULL UNIQUE',
  index_memos:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, memo VARCHAR(250) COLLATE utf8mb4_bin NOT NULL, KEY (memo(100))',
  index_pubkeys: 'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, pubkey VARBINARY(65) NOT NULL UNIQUE',
  index_fiats: 'id SMALLINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, fiat CHAR(3) NOT NULL UNIQUE',
  index_coins: 'id SMALLINT UNSIGNED PRIMARY KEY, coin VARCHAR(10) NOT NULL UNIQUE',
  blocks:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, block_index BIGINT UNSIGNED NOT NULL, block_time BIGINT UNSIGNED NOT NULL, ledger_hash_id BIGINT UNSIGNED NULL, actions_hash_id BIGINT UNSIGNED NULL, contract_hash_id BIGINT UNSIGNED NULL, state_hash_id BIGINT UNSIGNED NULL, KEY (block_index)',
  transactions:
    'tx_index BIGINT UNSIGNED PRIMARY KEY, block_index BIGINT UNSIGNED NOT NULL, tx_hash_id BIGINT UNSIGNED NOT NULL UNIQUE, source_id BIGINT UNSIGNED NOT NULL, fee BIGINT NULL, data MEDIUMTEXT NULL, KEY (block_index)',
  actions:
    'action_index BIGINT UNSIGNED PRIMARY KEY, block_index BIGINT UNSIGNED NOT NULL, tx_index BIGINT UNSIGNED NOT NULL, tx_vout INT UNSIGNED NULL, action_id INT UNSIGNED NOT NULL, action_format TINYINT UNSIGNED NULL, source_id BIGINT UNSIGNED NOT NULL, KEY (block_index), KEY (tx_index)',
  tokens: `id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, tick_id BIGINT UNSIGNED NOT NULL UNIQUE, supply ${AMOUNT}, max_supply ${AMOUNT}, max_mint ${AMOUNT}, decimals TINYINT UNSIGNED NOT NULL DEFAULT 0, description VARCHAR(249) NULL, lock_max_supply BIT(1) NOT NULL DEFAULT b'0', lock_max_mint BIT(1) NOT NULL DEFAULT b'0', lock_mint BIT(1) NOT NULL DEFAULT b'0', callback_block BIGINT UNSIGNED NULL, mint_start_block BIGINT UNSIGNED NULL, mint_stop_block BIGINT UNSIGNED NULL, owner_id BIGINT UNSIGNED NOT NULL, action_index BIGINT UNSIGNED NULL, last_action_index BIGINT UNSIGNED NULL`,
  balances: `id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, address_id BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, UNIQUE (address_id, tick_id), KEY (tick_id)`,
  credits: `action_index BIGINT UNSIGNED NOT NULL, address_id BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, KEY (action_index), KEY (tick_id, address_id)`,
  debits: `action_index BIGINT UNSIGNED NOT NULL, address_id BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, KEY (action_index), KEY (tick_id, address_id)`,
  escrows: `action_index BIGINT UNSIGNED NOT NULL, address_id BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, KEY (action_index)`,
  sends: `action_index BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NULL, destination_id BIGINT UNSIGNED NULL, amount VARCHAR(250) NULL, memo_id BIGINT UNSIGNED NULL, status_id INT UNSIGNED NOT NULL, KEY (action_index)`,
  mints: `action_index BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NULL, destination_id BIGINT UNSIGNED NULL, amount VARCHAR(250) NULL, memo_id BIGINT UNSIGNED NULL, status_id INT UNSIGNED NOT NULL, KEY (action_index)`,
  destroys: `action_index BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NULL, amount VARCHAR(250) NULL, memo_id BIGINT UNSIGNED NULL, status_id INT UNSIGNED NOT NULL, KEY (action_index)`,
  issues: `action_index BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NULL, max_supply VARCHAR(250) NULL, max_mint VARCHAR(250) NULL, decimals VARCHAR(3) NULL, description TEXT NULL, mint_supply VARCHAR(250) NULL, status_id INT UNSIGNED NOT NULL, KEY (action_index)`,
  batches: 'action_index BIGINT UNSIGNED PRIMARY KEY, status_id INT UNSIGNED NOT NULL',
  fees: `action_index BIGINT UNSIGNED NOT NULL, address_id BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, method TINYINT NOT NULL DEFAULT 1, KEY (action_index)`,
  events:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, time TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), code VARCHAR(32) NOT NULL, data MEDIUMTEXT NULL, KEY (code)',
  lists: "action_index BIGINT UNSIGNED PRIMARY KEY, type ENUM('tick','address') NOT NULL, edit BIGINT UNSIGNED NULL",
  list_items:
    'action_index BIGINT UNSIGNED NOT NULL, item VARCHAR(250) COLLATE utf8mb4_bin NOT NULL, KEY (action_index)',
  mappings_actions:
    'action_index BIGINT UNSIGNED NOT NULL, type_id TINYINT UNSIGNED NOT NULL, id BIGINT UNSIGNED NOT NULL, PRIMARY KEY (action_index, type_id, id)',
  stakes: `action_index BIGINT UNSIGNED PRIMARY KEY, address_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, signing_pubkey_id BIGINT UNSIGNED NULL, deactivation_block BIGINT UNSIGNED NULL, cooldown_end_block BIGINT UNSIGNED NULL, status_id INT UNSIGNED NOT NULL`,
  delegations: `action_index BIGINT UNSIGNED NOT NULL, delegator_id BIGINT UNSIGNED NOT NULL, validator_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, deactivation_block BIGINT UNSIGNED NULL, KEY (action_index), KEY (validator_id)`,
  validator_rewards: `id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, block_index BIGINT UNSIGNED NOT NULL, address_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, share FLOAT NOT NULL, claimed TINYINT(1) NOT NULL DEFAULT 0, KEY (block_index)`,
  prices:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, block_index BIGINT UNSIGNED NOT NULL, coin_id SMALLINT UNSIGNED NOT NULL, fiat_id SMALLINT UNSIGNED NOT NULL, price DECIMAL(38,18) NOT NULL, confidence DOUBLE NULL, round_hash BINARY(32) NOT NULL, UNIQUE (block_index, coin_id, fiat_id)',
  reward_claims: `action_index BIGINT UNSIGNED NOT NULL, reward_id BIGINT UNSIGNED NULL, address_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, KEY (action_index)`,
  markets: `id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, tick1_id BIGINT UNSIGNED NOT NULL, tick2_id BIGINT UNSIGNED NOT NULL, last_price ${AMOUNT}, volume ${AMOUNT}, updated DATETIME NULL, UNIQUE (tick1_id, tick2_id)`,
  attests:
    'action_index BIGINT UNSIGNED PRIMARY KEY, batch_action_index BIGINT UNSIGNED NULL, payload MEDIUMBLOB NOT NULL, deadline_block BIGINT UNSIGNED NULL',
  dispensers: `action_index BIGINT UNSIGNED PRIMARY KEY, address_id BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NOT NULL, give_amount ${AMOUNT}, escrow_amount ${AMOUNT}, expiration_block BIGINT UNSIGNED NULL, status_id INT UNSIGNED NOT NULL`,
  contracts:
    'action_index BIGINT UNSIGNED PRIMARY KEY, owner_id BIGINT UNSIGNED NOT NULL, code MEDIUMBLOB NOT NULL, metadata JSON NULL',
  contract_executions:
    'execution_index BIGINT UNSIGNED PRIMARY KEY, action_index BIGINT UNSIGNED NOT NULL, contract_index BIGINT UNSIGNED NOT NULL, gas BIGINT UNSIGNED NOT NULL, result TEXT NULL, KEY (action_index)',
  contract_state:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, contract_index BIGINT UNSIGNED NOT NULL, state_key VARCHAR(255) NOT NULL, state_key_bin VARBINARY(1020) AS (CAST(state_key AS BINARY)) STORED, state_value LONGTEXT NULL, block_index BIGINT UNSIGNED NOT NULL, KEY (contract_index, state_key_bin(64), id), KEY (block_index)',
  contract_emissions:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, execution_index BIGINT UNSIGNED NOT NULL, action_index BIGINT UNSIGNED NULL, topic VARCHAR(64) NOT NULL, data BLOB NULL, KEY (execution_index), KEY (action_index)',
  deposits: `action_index BIGINT UNSIGNED NOT NULL, contract_index BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, KEY (action_index)`,
  withdrawals: `action_index BIGINT UNSIGNED NOT NULL, contract_index BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NOT NULL, amount ${AMOUNT}, KEY (action_index)`,
  capabilities: 'name VARCHAR(64) NOT NULL, version VARCHAR(16) NOT NULL, enabled TINYINT(1) NOT NULL DEFAULT 1',
  mempool_transactions: 'tx_hash VARCHAR(250) CHARACTER SET latin1 NOT NULL UNIQUE, data MEDIUMTEXT NULL',
  icons: 'tick_id BIGINT UNSIGNED PRIMARY KEY, image MEDIUMBLOB NULL, fetched DATETIME NULL',
  price_snapshots:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, block_index BIGINT UNSIGNED NOT NULL, price DECIMAL(38,18) NOT NULL',
  pending_hub_pushes:
    'id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, payload TEXT NOT NULL, attempts INT NOT NULL DEFAULT 0'
};

/** Makes every table that is missing. What it makes is committed when it returns. */
export async function createLedgerTables(connection: Pick<Connection, 'query'>): Promise<void> {
  for (const [name, definition] of Object.entries(LEDGER_TABLES))
    await connection.query(
      `CREATE TABLE IF NOT EXISTS \`${name}\` (${definition}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci`
    );
}
