import { hash } from 'node:crypto';
import { BASE_COLUMNS } from '../db/base.ts';
import { rows, type Statements } from '../db/connection.ts';
import { PlatformError } from '../errors.ts';
import {
  COLUMNS_IN_USE,
  DECODER_BASE,
  DISPENSER_HOLDS,
  DISPENSER_TILLS,
  DROPPED_EXTENSIONS,
  EXTENSION_UNDO,
  EXTENSIONS_BY_ADDRESS,
  FIRST_ROWS,
  LOOKUP_UNDO,
  NO_TILLS_BY_SOURCE,
  TABLES,
  TILLS_BY_PAIR,
  tableStatement,
  WATCH_TABLES,
  WATCHED_PRICES
} from './schema.ts';

/**
 * One change of a decoder database's definitions.
 *
 * DDL commits by itself and a killed migration runs again, so each statement must have no effect when it was already
 * done.
 */
export interface Migration {
  /** `YYYY-MM-DD-what`. Migrations run in the order of the list. */
  readonly name: string;
  /** `auto` ones run at each start and only add; `manual` ones are run by an operator after a backup. */
  readonly mode: 'auto' | 'manual';
  /** Set when it changes existing rows: it runs until it is recorded, not at each start. */
  readonly isOnce?: true;
  readonly statements: readonly string[];
}

/** A migration as a database records it. */
interface MigrationState {
  readonly name: string;
  readonly mode: Migration['mode'];
  /** `changed` when the recorded checksum is not that of its statements. */
  readonly state: 'pending' | 'applied' | 'changed';
  /** Null while it is pending. */
  readonly appliedAt: Date | null;
}

/** All migrations of this release, in order. Never edit a released one: add another. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: '2026-11-23-tables',
    mode: 'auto',
    statements: [...Object.entries(TABLES).map(([name, columns]) => tableStatement(name, columns)), ...FIRST_ROWS]
  },
  {
    name: '2026-11-24-dispenser-extensions',
    mode: 'auto',
    statements: [tableStatement('dispenser_extension_undo', EXTENSION_UNDO)]
  },
  {
    name: '2026-11-24-lookup-undo',
    mode: 'auto',
    statements: [tableStatement('lookup_undo', LOOKUP_UNDO)]
  },
  {
    name: '2026-11-26-columns-in-use',
    mode: 'auto',
    isOnce: true,
    statements: COLUMNS_IN_USE
  },
  {
    name: '2026-11-26-dispenser-watches',
    mode: 'auto',
    statements: Object.entries(WATCH_TABLES).map(([name, columns]) => tableStatement(name, columns))
  },
  {
    name: '2026-11-27-decoder-base',
    mode: 'auto',
    statements: [tableStatement(DECODER_BASE, BASE_COLUMNS)]
  },
  {
    name: '2026-11-27-watched-prices',
    mode: 'auto',
    isOnce: true,
    statements: WATCHED_PRICES
  },
  {
    name: '2026-11-30-dispenser-tills',
    mode: 'auto',
    statements: [
      tableStatement('dispenser_tills', DISPENSER_TILLS),
      tableStatement('dispenser_extension_drops', DROPPED_EXTENSIONS),
      EXTENSIONS_BY_ADDRESS
    ]
  },
  {
    name: '2026-11-30-tills-by-pair',
    mode: 'auto',
    statements: [tableStatement('dispenser_holds', DISPENSER_HOLDS), TILLS_BY_PAIR]
  },
  {
    name: '2026-11-30-tills-not-by-source',
    mode: 'auto',
    isOnce: true,
    statements: [NO_TILLS_BY_SOURCE]
  }
];

/** Returns SHA-256 of a migration's statements, in hex. */
export function checksumOf({ statements }: Pick<Migration, 'statements'>): string {
  return hash('sha256', statements.join(';\n'));
}

/** Returns the state of each migration in a database; all are pending where no ledger exists. */
export async function readMigrations(
  connection: Statements,
  migrations: readonly Migration[] = MIGRATIONS
): Promise<readonly MigrationState[]> {
  const ledger = await rows(connection, "SHOW TABLES LIKE 'schema_migrations'");
  const applied = await rows<{ name: string; checksum: string; seconds: number }>(
    connection,
    ledger.length === 0
      ? 'SELECT 1 FROM DUAL WHERE FALSE'
      : 'SELECT name, checksum, UNIX_TIMESTAMP(applied_at) AS seconds FROM schema_migrations'
  );
  return migrations.map((migration) => {
    const { name, mode } = migration;
    const found = applied.find((row) => row.name === name);
    if (!found) return { name, mode, state: 'pending', appliedAt: null };
    const isSame = found.checksum === checksumOf(migration);
    return { name, mode, state: isSame ? 'applied' : 'changed', appliedAt: new Date(Number(found.seconds) * 1000) };
  });
}

/**
 * Runs pending migrations of these modes in order and records each with its checksum. `auto` ones that only add run
 * each time, which restores a missing table. The caller must hold the writer's lock.
 *
 * @returns the names of those that were pending
 * @throws {PlatformError} MIGRATION_CHANGED before any runs; DATABASE_REFUSED, DATABASE_UNAVAILABLE
 */
export async function migrate(
  connection: Statements,
  modes: readonly Migration['mode'][],
  migrations: readonly Migration[] = MIGRATIONS
): Promise<readonly string[]> {
  const states = await readMigrations(connection, migrations);
  const changed = states.filter(({ state }) => state === 'changed').map(({ name }) => name);
  if (changed.length > 0) {
    const reason = `applied migrations were edited afterwards: ${changed.join(', ')}`;
    throw new PlatformError('MIGRATION_CHANGED', { reason });
  }
  await connection.query(tableStatement('schema_migrations', LEDGER));
  const ran: string[] = [];
  for (const [position, migration] of migrations.entries()) {
    const isPending = states[position]!.state === 'pending';
    const isRepeated = migration.mode === 'auto' && !migration.isOnce;
    if (!modes.includes(migration.mode) || !(isPending || isRepeated)) continue;
    await run(connection, migration);
    if (!isPending) continue;
    await record(connection, migration);
    ran.push(migration.name);
  }
  return ran;
}

const LEDGER = `
    name VARCHAR(190) NOT NULL PRIMARY KEY,
    checksum CHAR(64) NOT NULL,
    mode VARCHAR(8) NOT NULL,
    applied_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP`;

/** Runs the statements without a time limit: a large table may take longer than the usual one. */
async function run(connection: Statements, { statements }: Migration): Promise<void> {
  for (const statement of statements) await connection.query(`SET STATEMENT max_statement_time = 0 FOR ${statement}`);
}

async function record(connection: Statements, migration: Migration): Promise<void> {
  const { name, mode } = migration;
  await connection.query('INSERT INTO schema_migrations (name, checksum, mode) VALUES (?)', [
    [name, checksumOf(migration), mode]
  ]);
}
