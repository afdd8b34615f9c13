import { connect } from '../../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { sql } from '../../../test/support/sql.ts';
import { createLedger } from '../../../test/support/tables-in-use/ledger.ts';
import type { DatasetSize } from './parts.ts';

/** Rows in every block, over all tables. */
export const ROWS_PER_BLOCK = 100;
/** Share of each table in 1000 rows. Blocks, their transactions with the hashes, actions, and what those move. */
const SHARES = { transactions: 160, actions: 200, credits: 200, debits: 160, addresses: 50, balances: 60 } as const;

const hash = (text: string) => `SHA2(CONCAT('${text}', seq), 256)`;
const AMOUNT = 'DECIMAL(38,18) NOT NULL';

/** Fills a database with an indexer. @returns what adds a block to it */
export async function createSource(to: DatabaseCoordinates, size: DatasetSize): Promise<() => Promise<void>> {
  if (typeof size !== 'number') {
    const connection = await connect(to);
    const ledger = await createLedger(connection, { dbType: 'indexer', seed: 'bench', size, chain: 'litecoin' });
    return async () => void (await ledger.writeBlock());
  }
  await createDataset(to, size);
  const next =
    'INSERT INTO blocks SELECT MAX(block_index) + 1, 1, SHA2(RAND(), 256), SHA2(RAND(), 256), SHA2(RAND(), 256) FROM blocks';
  return async () => void (await sql(to, next));
}

/**
 * Fills a database with the tables of a small indexer, about 95 bytes a row as `mariadb-dump` prints it.
 *
 * @param rows over all tables, roughly; every block has its share of them
 */
export async function createDataset(to: DatabaseCoordinates, rows: number): Promise<{ readonly blocks: number }> {
  const blocks = Math.floor(rows / ROWS_PER_BLOCK);
  const count = (share: number) => Math.floor((rows * share) / 1000);
  const { transactions, actions, credits, debits, addresses, balances } = SHARES;
  const blockOf = (share: number) => `1 + (seq - 1) * 1000 DIV ${ROWS_PER_BLOCK * share}`;
  const actionOf = (share: number) => `1 + (seq - 1) * ${actions} DIV ${share}`;
  const tables: readonly (readonly [name: string, columns: string, select: string, rows: number])[] = [
    [
      'index_addresses',
      'id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, block_index INT UNSIGNED NULL, address VARCHAR(120) NOT NULL',
      `seq, ${blockOf(addresses)}, CONCAT('bc1q', LEFT(${hash('a')}, 38))`,
      count(addresses)
    ],
    [
      'index_transactions',
      'id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, hash CHAR(64) NOT NULL',
      `seq, ${hash('t')}`,
      count(transactions)
    ],
    [
      'blocks',
      'block_index INT UNSIGNED PRIMARY KEY, block_time INT UNSIGNED NOT NULL, ledger_hash CHAR(64), actions_hash CHAR(64), contract_hash CHAR(64)',
      `seq, 1700000000 + 150 * seq, ${hash('l')}, ${hash('c')}, ${hash('k')}`,
      blocks
    ],
    [
      'transactions',
      'tx_index INT UNSIGNED PRIMARY KEY, tx_hash_id INT UNSIGNED NOT NULL, block_index INT UNSIGNED NOT NULL, block_time INT UNSIGNED NOT NULL, source_id INT UNSIGNED NULL, fee BIGINT UNSIGNED NULL, data TEXT NULL, KEY (block_index)',
      `seq, seq, ${blockOf(transactions)}, 1700000000 + seq, seq MOD 50000, IF(seq MOD 5 = 0, NULL, seq * 7919 MOD 99991), CONCAT('7c', LEFT(${hash('d')}, 20 + seq MOD 40))`,
      count(transactions)
    ],
    [
      'actions',
      'action_index INT UNSIGNED PRIMARY KEY, tx_index INT UNSIGNED NOT NULL, block_index INT UNSIGNED NOT NULL, action VARCHAR(32) NOT NULL, status VARCHAR(200) NOT NULL, memo TEXT NULL, KEY (block_index)',
      `seq, 1 + (seq - 1) * ${transactions} DIV ${actions}, ${blockOf(actions)}, ELT(1 + seq MOD 4, 'SEND', 'MINT', 'ISSUE', 'SWEEP'), IF(seq MOD 9, 'valid', 'invalid: insufficient funds'), IF(seq MOD 3, NULL, CONCAT('memo "', seq, '" für ', ${hash('m')}))`,
      count(actions)
    ],
    ...(
      [
        ['credits', credits],
        ['debits', debits]
      ] as const
    ).map(
      ([name, share]) =>
        [
          name,
          `action_index INT UNSIGNED NOT NULL, address_id INT UNSIGNED NOT NULL, tick_id INT UNSIGNED NOT NULL, amount ${AMOUNT}, event VARCHAR(64) NOT NULL, KEY (action_index), KEY (address_id, tick_id)`,
          `${actionOf(share)}, 1 + seq * 31 MOD 50000, seq MOD 700, seq * 1.000000000700000001, CONCAT('event-', LEFT(${hash('e')}, 32))`,
          count(share)
        ] as const
    ),
    [
      'balances',
      `id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, address_id INT UNSIGNED NOT NULL, tick_id INT UNSIGNED NOT NULL, amount ${AMOUNT}, UNIQUE KEY (address_id, tick_id)`,
      `seq, 1 + seq DIV 100, seq MOD 100, seq * 1.100000000000000001`,
      count(balances)
    ]
  ];
  for (const [name, columns, select, size] of tables) {
    await sql(to, `CREATE TABLE ${name} (${columns}) ENGINE=InnoDB CHARSET=utf8mb4`);
    await sql(to, `INSERT INTO ${name} SELECT ${select} FROM seq_1_to_${size}`);
  }
  return { blocks };
}
