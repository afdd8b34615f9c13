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
  // Bytes of the batches up to a checkpoint, from the row before on.
  consensus_log_sizes: `
    seq BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    bytes BIGINT UNSIGNED NOT NULL`,
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
    stable LONGTEXT NOT NULL`,
  // The state at the last checkpoints, for hubs that come later: parts are named by their hashes, so equal ones are there once.
  consensus_manifests: `
    seq BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    manifest LONGTEXT NOT NULL`,
  consensus_chunks: `
    hash CHAR(64) NOT NULL PRIMARY KEY,
    body LONGTEXT NOT NULL`,
  // Rounds of prices that the set decided, each with who took part, and the facts after it.
  consensus_rounds: `
    round BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    decided LONGTEXT NOT NULL,
    \`after\` LONGTEXT NOT NULL`,
  // Signatures of the prices of a round for those who are not of the set; each hub keeps those that it has seen.
  consensus_statements: `
    round BIGINT UNSIGNED NOT NULL,
    pubkey CHAR(64) NOT NULL,
    sig CHAR(128) NOT NULL,
    PRIMARY KEY (round, pubkey)`,
  // Prices, lists and statements that this hub has signed: one of each kind for a round, whatever it would sign after a restart.
  consensus_own: `
    round BIGINT UNSIGNED NOT NULL,
    kind VARCHAR(16) NOT NULL,
    stored LONGTEXT NOT NULL,
    PRIMARY KEY (round, kind)`,
  // Hubs that missed rounds, told prices far from the others', or signed two submissions.
  slash_evidence: `
    round BIGINT UNSIGNED NOT NULL,
    pubkey CHAR(64) NOT NULL,
    reason VARCHAR(16) NOT NULL,
    detail LONGTEXT NOT NULL,
    PRIMARY KEY (round, pubkey, reason)`,
  // Attestations, swaps, reorgs and proposals of the set; the tables of these names, which methods read, are made from it.
  consensus_matters: `
    kind VARCHAR(16) NOT NULL,
    id VARCHAR(288) NOT NULL,
    number BIGINT UNSIGNED NOT NULL,
    submitter CHAR(64) NOT NULL,
    topic VARCHAR(255) NOT NULL,
    status VARCHAR(16) NOT NULL,
    begun_at BIGINT UNSIGNED NOT NULL,
    ends_at BIGINT UNSIGNED NULL,
    record LONGTEXT NOT NULL,
    PRIMARY KEY (kind, id),
    KEY consensus_matters_number (kind, number),
    KEY consensus_matters_topic (kind, topic),
    KEY consensus_matters_submitter (kind, submitter, number),
    KEY consensus_matters_end (ends_at)`,
  // Changes of the list of validators that a hub wants, until more hubs than may lie want the same; without an address it is to be taken out.
  consensus_approvals: `
    pubkey CHAR(64) NOT NULL,
    hub CHAR(64) NOT NULL,
    addr VARCHAR(255) NULL,
    PRIMARY KEY (pubkey, hub),
    KEY consensus_approvals_hub (hub)`,
  // Rows of these that were there before, as those of the configuration below.
  matters_before_set: `
    kept_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name VARCHAR(32) NOT NULL,
    number BIGINT UNSIGNED NOT NULL,
    record LONGTEXT NOT NULL`,
  // Next part of the configuration that a hub brings to its set, while parts are missing.
  consensus_bringing: `
    hub CHAR(64) NOT NULL PRIMARY KEY,
    part INT UNSIGNED NOT NULL`,
  // Entries that this hub had before those of its set replaced them; nothing reads or removes them.
  configs_before_set: `
    kept_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    coin VARCHAR(16) NOT NULL,
    network VARCHAR(16) NOT NULL,
    module VARCHAR(64) NOT NULL,
    param_name VARCHAR(32) NOT NULL,
    param_value TEXT NOT NULL,
    updated_at TIMESTAMP NOT NULL DEFAULT '2000-01-01'`
};

/** Tables that a hub begins anew when it takes the state of its set. Parts of states stay: they are found by their hashes. */
const OF_THE_LOG = ['log', 'log_sizes', 'numbers', 'pending', 'checkpoints', 'manifests', 'halt'];
/** Tables of what it has signed, which binds it in the same set alone. */
const OF_THE_SET = ['votes', 'own', 'statements'];

/** Makes the tables of a hub's log where they are missing. */
export async function createJournalTables(connection: Connection): Promise<void> {
  for (const [table, definition] of Object.entries(TABLES))
    await connection.query(
      `CREATE TABLE IF NOT EXISTS ${table} (${definition}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`
    );
}

/**
 * Moves the rows of a log into tables whose names end with the present time.
 *
 * @param isSameSet  whether its votes go on to bind this hub
 * @param now  epoch milliseconds
 * @returns the end of the names
 */
export async function keepAside(connection: Connection, isSameSet: boolean, now: number): Promise<string> {
  const end = new Date(now).toISOString().slice(0, 19).replaceAll(/[-T:]/g, '');
  const tables = (isSameSet ? OF_THE_LOG : [...OF_THE_LOG, ...OF_THE_SET]).map((name) => `consensus_${name}`);
  for (const table of tables) await connection.query(`CREATE TABLE IF NOT EXISTS ${table}_${end} LIKE ${table}`);
  await connection.query('START TRANSACTION');
  for (const table of tables) {
    await connection.query(`INSERT INTO ${table}_${end} SELECT * FROM ${table}`);
    await connection.query(`DELETE FROM ${table}`);
  }
  await connection.query('COMMIT');
  return end;
}
