import { hash } from 'node:crypto';
import { rows, type Statements } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import { FILL_DECISIONS, FILL_EDITED_ITEMS } from './decisions.ts';
import { FILE_MAPPINGS } from './file-mappings.ts';
import { FILL_OFFER_EDITS } from './offer-edits.ts';

/** Change of the rows of a ledger database that an earlier release wrote. */
interface Migration {
  /** Name `YYYY-MM-DD-what`. Migrations run in the order of the list. */
  readonly name: string;
  /** Statements that change rows only. They and the note that they ran are one transaction. */
  readonly statements: readonly string[];
}

/** Every migration of this release. A released one is never edited; a further change is a further migration. */
export const MIGRATIONS: readonly Migration[] = [
  {
    // Type 1 is a ticker and 2 an address, as in all databases in use.
    name: '2026-11-26-mapping-types',
    statements: ['UPDATE mappings_actions SET type_id = 3 - type_id WHERE type_id IN (1, 2)']
  },
  {
    // Rewards come from the chain alone; those that callers pushed have the qualifier 1.
    name: '2026-11-26-pushed-rewards',
    statements: ['DELETE FROM validator_rewards WHERE round_qualifier = 1', 'DELETE FROM recovery_pending_rewards']
  },
  {
    // The mints of an address and token are in one row instead of in all its actions.
    name: '2026-11-26-mint-totals',
    statements: [
      'DELETE FROM mint_totals',
      `INSERT INTO mint_totals (action_index, address_id, tick_id, total)
       SELECT m.action_index, x.source_id, m.tick_id, SUM(CAST(m.amount AS DECIMAL(60,18))) OVER
         (PARTITION BY x.source_id, m.tick_id ORDER BY m.action_index)
       FROM mints m JOIN actions x ON x.action_index = m.action_index WHERE m.status_id = 1`
    ]
  },
  {
    // A file belongs to the token that its owner links it to; earlier releases named the source of the FILE.
    name: '2026-11-26-files-of-tokens',
    statements: ['DELETE FROM mappings_files', FILE_MAPPINGS]
  },
  {
    // A LIST touches its source; its items are in `list_edits`.
    name: '2026-11-26-mappings-of-lists',
    statements: [
      `DELETE m FROM index_actions n JOIN actions x ON x.action_id = n.id JOIN mappings_actions m ON m.action_index = x.action_index
       WHERE n.action = 'LIST' AND x.action_format IN (0, 1) AND m.type_id = 2 AND m.id <> x.source_id`
    ]
  },
  {
    // The preferences of an address are in one row instead of in all its actions.
    name: '2026-11-27-address-preferences',
    statements: [
      'DELETE FROM address_preferences',
      `INSERT INTO address_preferences (action_index, address_id, fee_preference, require_memo, dispenser_preference)
       SELECT action_index, source_id, fee, memo, MAX(dispenser) OVER (PARTITION BY source_id, choice) FROM
         (SELECT a.action_index, x.source_id, COALESCE(a.fee_preference, 0) AS fee, COALESCE(a.require_memo, 0) AS memo,
            a.dispenser_preference AS dispenser,
            COUNT(a.dispenser_preference) OVER (PARTITION BY x.source_id ORDER BY a.action_index) AS choice
          FROM addresses a JOIN actions x ON x.action_index = a.action_index WHERE a.status_id = 1) own`
    ]
  },
  {
    // Facts are read by keys of the actions that decide them.
    name: '2026-11-27-deciding-actions',
    statements: FILL_DECISIONS
  },
  {
    // A member of a list is found by its edits alone.
    name: '2026-11-28-edited-items',
    statements: FILL_EDITED_ITEMS
  },
  {
    // What edits changed of an offer is in one row for each block of them.
    name: '2026-11-29-offer-edits',
    statements: FILL_OFFER_EDITS
  }
];

/**
 * Runs the migrations that a database has not had, each as a whole or not at all. The caller holds the writer's lock.
 *
 * @param coin  of the chain, `BTC`
 * @throws {PlatformError} MIGRATION_CHANGED before any runs; whatever the driver throws
 */
export async function migrateRows(connection: Statements, coin: string): Promise<void> {
  await connection.query('SET @coin = ?', [coin]);
  const applied = new Map(
    (await rows<{ name: string; checksum: string }>(connection, 'SELECT name, checksum FROM schema_migrations')).map(
      ({ name, checksum }) => [name, checksum]
    )
  );
  const edited = MIGRATIONS.filter((one) => (applied.get(one.name) ?? checksumOf(one)) !== checksumOf(one));
  if (edited.length > 0) {
    const reason = `applied migrations were edited afterwards: ${edited.map(({ name }) => name).join(', ')}`;
    throw new PlatformError('MIGRATION_CHANGED', { reason });
  }
  for (const migration of MIGRATIONS.filter(({ name }) => !applied.has(name))) await run(connection, migration);
}

function checksumOf({ statements }: Migration): string {
  return hash('sha256', statements.join(';\n'));
}

/** Runs one migration. A large table may take longer than the usual limit of a statement. */
async function run(connection: Statements, migration: Migration): Promise<void> {
  await connection.query('START TRANSACTION');
  for (const statement of migration.statements)
    await connection.query(`SET STATEMENT max_statement_time = 0 FOR ${statement}`);
  await connection.query("INSERT INTO schema_migrations (name, checksum, mode) VALUES (?, ?, 'auto')", [
    migration.name,
    checksumOf(migration)
  ]);
  await connection.query('COMMIT');
}
