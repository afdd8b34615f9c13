import type { Connection } from '../../src/db/connection.ts';
import { openReplicaState } from '../../src/db/replica-state.ts';

const ENDS = ') ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci';

/** The tables of a simulated replica, a lookup, a mutable and two scoped ones, as MariaDB prints them. */
export const TABLES: readonly string[] = [
  `CREATE TABLE \`index_addresses\` (
  \`id\` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  \`address\` varchar(64) NOT NULL,
  PRIMARY KEY (\`id\`),
  UNIQUE KEY \`address\` (\`address\`)
${ENDS}`,
  `CREATE TABLE \`blocks\` (
  \`id\` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  \`block_index\` bigint(20) unsigned NOT NULL,
  \`block_time\` bigint(20) unsigned DEFAULT NULL,
  \`ledger_hash\` varchar(64) DEFAULT NULL,
  \`actions_hash\` varchar(64) DEFAULT NULL,
  \`contract_hash\` varchar(64) DEFAULT NULL,
  PRIMARY KEY (\`id\`),
  KEY \`block_index\` (\`block_index\`)
${ENDS}`,
  `CREATE TABLE \`transfers\` (
  \`id\` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  \`block_index\` bigint(20) unsigned NOT NULL,
  \`address_id\` bigint(20) unsigned NOT NULL,
  \`amount\` bigint(20) NOT NULL,
  PRIMARY KEY (\`id\`),
  KEY \`block_index\` (\`block_index\`)
${ENDS}`,
  `CREATE TABLE \`tokens\` (
  \`id\` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  \`tick\` varchar(16) NOT NULL,
  \`supply\` bigint(20) NOT NULL,
  PRIMARY KEY (\`id\`),
  UNIQUE KEY \`tick\` (\`tick\`)
${ENDS}`
];

/** Makes an empty replica: the marker first, then the tables, which the simulated bootstrap only fills. */
export async function makeReplica(connection: Connection): Promise<void> {
  await openReplicaState(connection, 'indexer');
  for (const statement of TABLES) await connection.query(statement);
}
