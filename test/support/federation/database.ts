import { type Connection, connect } from '../../../src/db/connection.ts';
import { type HubSet, matterRulesOf, roundRulesOf } from '../../../src/hub/federation/gossip/signatures.ts';
import { Journal } from '../../../src/hub/federation/journal/journal.ts';
import { setState } from '../../../src/hub/federation/journal/set-state.ts';
import { createJournalTables } from '../../../src/hub/federation/journal/tables.ts';
import { createMissing } from '../../../src/hub/store/tables.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { createDatabase } from '../mariadb.ts';

/** The database of a hub in validator mode, over one connection. */
export interface JournalDatabase {
  readonly database: DatabaseCoordinates;
  readonly connection: Connection;
  readonly journal: Journal;
}

/** Returns the tables of a set. */
export const machineOf = (set: HubSet) => setState({ rounds: roundRulesOf(set), matters: matterRulesOf(set) });

/** Opens a hub's database. @param database  default: a new one  @param set  default: one without members */
export async function openJournal(
  database?: DatabaseCoordinates,
  set: HubSet = { keys: [], quorum: 'byzantine' }
): Promise<JournalDatabase> {
  const own = database ?? (await createDatabase('federation'));
  if (!database) await createMissing(own);
  const connection = await connect(own);
  await createJournalTables(connection);
  return { database: own, connection, journal: new Journal(connection, machineOf(set)) };
}
