import { type Connection, connect } from '../../src/db/connection.ts';
import { CONFIG_STATE } from '../../src/hub/federation/journal/config-state.ts';
import { Journal } from '../../src/hub/federation/journal/journal.ts';
import { createJournalTables } from '../../src/hub/federation/journal/tables.ts';
import { createMissing } from '../../src/hub/store/tables.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase } from '../support/mariadb.ts';

/** The database of a hub in validator mode, over one connection. */
export interface JournalDatabase {
  readonly database: DatabaseCoordinates;
  readonly connection: Connection;
  readonly journal: Journal;
}

/** Opens a hub's database. @param database  default: a new one */
export async function openJournal(database?: DatabaseCoordinates): Promise<JournalDatabase> {
  const own = database ?? (await createDatabase('federation'));
  if (!database) await createMissing(own);
  const connection = await connect(own);
  await createJournalTables(connection);
  return { database: own, connection, journal: new Journal(connection, CONFIG_STATE) };
}
