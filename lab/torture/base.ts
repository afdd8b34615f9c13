import type { DbType } from '../../src/wire/data/database.ts';

const ID = 'id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY';
const SUM = `address_id BIGINT UNSIGNED NOT NULL, tick_id BIGINT UNSIGNED NOT NULL, amount VARCHAR(250) CHARACTER SET latin1 NOT NULL`;

const COMMON = {
  index_transactions: `${ID}, hash VARCHAR(250) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL UNIQUE`,
  index_addresses: `${ID}, address VARCHAR(120) COLLATE utf8mb4_bin NOT NULL UNIQUE, block_index BIGINT UNSIGNED NULL`,
  transactions:
    'tx_index BIGINT UNSIGNED PRIMARY KEY, block_index BIGINT UNSIGNED NOT NULL, tx_hash_id BIGINT UNSIGNED NOT NULL UNIQUE, source_id BIGINT UNSIGNED NOT NULL, KEY (block_index)',
  actions:
    'action_index BIGINT UNSIGNED PRIMARY KEY, block_index BIGINT UNSIGNED NOT NULL, tx_index BIGINT UNSIGNED NOT NULL, KEY (block_index)'
};

/** The tables that any database of a kind has: what the invented ones hang on. */
export const BASE_TABLES: Readonly<Record<DbType, Readonly<Record<string, string>>>> = {
  indexer: {
    ...COMMON,
    blocks: `${ID}, block_index BIGINT UNSIGNED NOT NULL, block_time BIGINT UNSIGNED NOT NULL, ledger_hash_id BIGINT UNSIGNED NULL, actions_hash_id BIGINT UNSIGNED NULL, contract_hash_id BIGINT UNSIGNED NULL, KEY (block_index)`,
    credits: `action_index BIGINT UNSIGNED NOT NULL, ${SUM}, KEY (action_index), KEY (address_id, tick_id)`,
    debits: `action_index BIGINT UNSIGNED NOT NULL, ${SUM}, KEY (action_index), KEY (address_id, tick_id)`,
    balances: `${ID}, ${SUM}, UNIQUE (address_id, tick_id)`
  },
  decoder: {
    ...COMMON,
    blocks:
      'block_index INT UNSIGNED NOT NULL PRIMARY KEY, block_time INT UNSIGNED NOT NULL, block_hash_id BIGINT UNSIGNED NULL, previous_block_hash_id BIGINT UNSIGNED NULL',
    pubkeys:
      'address_id BIGINT UNSIGNED NOT NULL PRIMARY KEY, pubkey VARCHAR(130) NOT NULL, id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, UNIQUE KEY (id)',
    dispensers:
      'tx_index BIGINT UNSIGNED NOT NULL, address_id BIGINT UNSIGNED NOT NULL, expiration BIGINT UNSIGNED NULL, PRIMARY KEY (tx_index, address_id)'
  }
};

/** Scoped tables of the base, children first: a reorg takes their rows. */
export const BASE_SCOPED: Readonly<Record<DbType, readonly string[]>> = {
  indexer: ['credits', 'debits'],
  decoder: []
};
