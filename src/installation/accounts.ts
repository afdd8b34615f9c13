import { databaseName } from '../coin/find-network.ts';
import { CONTROL_RIGHTS, CONTROL_TABLES, RIGHTS } from '../config/rights.ts';
import { type Connection, databaseError, quoteName } from '../db/connection.ts';
import { DB_TYPES } from '../wire/data/database.ts';
import { type Part, type Plan, REPLICA_PREFIX, sourceName } from './plan.ts';

/** Rights on databases, by their names. */
type Rights = readonly (readonly [database: string, rights: readonly string[]])[];

/**
 * Makes the account of each part where it is missing, and gives it its password and rights: no more than
 * docs/operating/grants.md lists. Safe to repeat.
 *
 * @param connection of an account that may create users and give these rights
 * @param clientHost host from which the parts connect, as MariaDB sees it
 * @throws {PlatformError} DATABASE_UNAVAILABLE where a right is missing
 */
export async function makeAccounts(
  connection: Connection,
  plan: Plan,
  parts: readonly Part[],
  clientHost: string
): Promise<void> {
  try {
    for (const part of parts) {
      const rights = rightsOf(plan, part);
      if (rights.length === 0) continue;
      const { user, pass } = plan.serverFor(part);
      const account = `${connection.escape(user)}@${connection.escape(clientHost)}`;
      const identified = `${account} IDENTIFIED BY ${connection.escape(pass)}`;
      await connection.query(`CREATE USER IF NOT EXISTS ${identified}`);
      await connection.query(`ALTER USER ${identified}`);
      for (const [database, words] of rights)
        await connection.query(`GRANT ${words.join(', ')} ON ${patternOf(database)}.* TO ${account}`);
      if (part === 'server') await grantControlTables(connection, plan, account);
    }
  } catch (caught) {
    throw databaseError(caught);
  }
}

async function grantControlTables(connection: Connection, { network }: Plan, account: string): Promise<void> {
  const database = quoteName(sourceName(network, 'indexer'));
  for (const table of CONTROL_TABLES)
    await connection.query(`GRANT ${CONTROL_RIGHTS.join(', ')} ON ${database}.${table} TO ${account}`);
}

function rightsOf({ network, hubDatabase }: Plan, part: Part): Rights {
  const [decoder, indexer] = [sourceName(network, 'decoder'), sourceName(network, 'indexer')];
  const all: Partial<Record<Part, Rights>> = {
    hub: [[hubDatabase, RIGHTS.hub.HUB]],
    decoder: [[decoder, RIGHTS.decoder.DECODER]],
    indexer: [
      [decoder, RIGHTS.indexer.DECODER],
      [indexer, RIGHTS.indexer.INDEXER]
    ],
    explorer: [
      [decoder, RIGHTS.explorer.DECODER],
      [indexer, RIGHTS.explorer.INDEXER]
    ],
    tracker: [[databaseName(network, 'Tracker'), RIGHTS.tracker.UTXO]],
    server: [
      [decoder, RIGHTS.sync.DECODER],
      [indexer, RIGHTS.sync.INDEXER]
    ],
    client: DB_TYPES.map((dbType) => [`${REPLICA_PREFIX}${sourceName(network, dbType)}`, RIGHTS.replica.REPLICA])
  };
  return all[part] ?? [];
}

/** Returns a database's name as a GRANT has it: on all its tables, `_` would stand for any character. */
const patternOf = (database: string) => quoteName(database).replaceAll('_', '\\_');
