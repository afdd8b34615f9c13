import type { Connection } from '../../../db/connection.ts';

const TABLES: Readonly<Record<string, string>> = {
  // One row for each thing that this hub has signed: a second one for the same place has no room.
  consensus_votes: `
    view BIGINT UNSIGNED NOT NULL,
    seq BIGINT UNSIGNED NOT NULL,
    kind VARCHAR(16) NOT NULL,
    digest VARCHAR(64) NOT NULL,
    stored LONGTEXT NOT NULL,
    PRIMARY KEY (view, seq, kind),
    KEY consensus_votes_seq (seq)`,
  consensus_log: `
    seq BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    digest CHAR(64) NOT NULL,
    log_time BIGINT UNSIGNED NOT NULL,
    committed LONGTEXT NOT NULL`,
  consensus_numbers: `
    submitter CHAR(64) NOT NULL PRIMARY KEY,
    next BIGINT UNSIGNED NOT NULL`,
  consensus_pending: `
    submitter CHAR(64) NOT NULL,
    number BIGINT UNSIGNED NOT NULL,
    operation LONGTEXT NOT NULL,
    PRIMARY KEY (submitter, number)`,
  // Why this hub votes no more; a row is removed by hand, by who knows what happened.
  consensus_halt: `
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    reason TEXT NOT NULL`,
  // Two messages of one hub for one place, which no honest hub signs: the first pair of each place, some of each hub.
  consensus_evidence: `
    against CHAR(64) NOT NULL,
    place VARCHAR(64) NOT NULL,
    first LONGTEXT NOT NULL,
    second LONGTEXT NOT NULL,
    noted_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (against, place)`,
  consensus_checkpoints: `
    seq BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    stable LONGTEXT NOT NULL`
};

/** Makes the tables of a hub's log where they are missing. */
export async function createJournalTables(connection: Connection): Promise<void> {
  for (const [table, definition] of Object.entries(TABLES))
    await connection.query(
      `CREATE TABLE IF NOT EXISTS ${table} (${definition}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`
    );
}
