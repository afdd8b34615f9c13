import type { Connection } from '../../../src/db/connection.ts';
import { openReplicaState } from '../../../src/replication/replica/database/state.ts';

const HEIGHT = '`block_index` bigint(20) unsigned NOT NULL';
const BY_HEIGHT = 'KEY `block_index` (`block_index`)';

/** As MariaDB prints it. */
const table = (name: string, columns: readonly string[], key: string) =>
  `CREATE TABLE \`${name}\` (
  ${['`id` bigint(20) unsigned NOT NULL AUTO_INCREMENT', ...columns, 'PRIMARY KEY (`id`)', key].join(',\n  ')}
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci`;

/** The tables of a simulated replica, a lookup, a mutable and two scoped ones. */
export const TABLES: readonly string[] = [
  table('index_addresses', ['`address` varchar(64) NOT NULL'], 'UNIQUE KEY `address` (`address`)'),
  table(
    'blocks',
    [
      HEIGHT,
      '`block_time` bigint(20) unsigned DEFAULT NULL',
      '`ledger_hash` varchar(64) DEFAULT NULL',
      '`actions_hash` varchar(64) DEFAULT NULL',
      '`contract_hash` varchar(64) DEFAULT NULL'
    ],
    BY_HEIGHT
  ),
  table('transfers', [HEIGHT, '`address_id` bigint(20) unsigned NOT NULL', '`amount` bigint(20) NOT NULL'], BY_HEIGHT),
  table('tokens', ['`tick` varchar(16) NOT NULL', '`supply` bigint(20) NOT NULL'], 'UNIQUE KEY `tick` (`tick`)')
];

/** Makes an empty replica: the marker first, then the tables, which the simulated bootstrap only fills. */
export async function makeReplica(connection: Connection): Promise<void> {
  await openReplicaState(connection, 'indexer');
  for (const statement of TABLES) await connection.query(statement);
}
