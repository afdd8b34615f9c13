import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../src/db/connection.ts';
import { listMigrations, runMigrations } from '../../../src/decoder/migration-orders.ts';
import { checksumOf, MIGRATIONS, type Migration, migrate, readMigrations } from '../../../src/decoder/migrations.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { query } from '../../support/decoder/loop.ts';
import { createDatabase } from '../../support/mariadb.ts';

const NAMES = MIGRATIONS.map(({ name }) => name);
const NINE_TABLES = [
  'blocks',
  'dispensers',
  'events',
  'index_addresses',
  'index_transactions',
  'mempool_transactions',
  'pubkeys',
  'transaction_outputs',
  'transactions'
];

const OWN_TABLES = [
  'decoder_base',
  'dispenser_extension_drops',
  'dispenser_extension_undo',
  'dispenser_extensions',
  'dispenser_holds',
  'dispenser_payments',
  'dispenser_tills',
  'dispenser_watches',
  'lookup_undo'
];

test('a start makes nine tables and records the migrations; the next one finds them applied', async () => {
  const database = await createDatabase('migrations');
  await (await openDecoderStore(database)).database.close();
  const tables = (await query(database, 'SHOW TABLES')).flatMap((row) => Object.values(row));
  assert.deepEqual(tables, [...NINE_TABLES, ...OWN_TABLES, 'schema_migrations'].sort());
  const ledger = 'SELECT name, checksum, mode FROM schema_migrations ORDER BY applied_at, name';
  const recorded = await query(database, ledger);
  assert.deepEqual(
    recorded,
    MIGRATIONS.map((migration) => ({ name: migration.name, checksum: checksumOf(migration), mode: migration.mode }))
  );
  await (await openDecoderStore(database)).database.close();
  assert.deepEqual(await query(database, ledger), recorded);
});

test('a table that is missing is made again at the next start', async () => {
  const database = await createDatabase('migrations_missing');
  await (await openDecoderStore(database)).database.close();
  const tables = await query(database, 'SHOW TABLES');
  await query(database, 'DROP TABLE pubkeys, index_addresses');
  await (await openDecoderStore(database)).database.close();
  assert.deepEqual(await query(database, 'SHOW TABLES'), tables);
  assert.deepEqual(await query(database, 'SELECT id, address FROM index_addresses'), [{ id: 1, address: '' }]);
});

test('a database from before the ledger keeps its rows and gets one', async () => {
  const database = await createDatabase('migrations_old');
  const connection = await connect(database);
  for (const { statements } of MIGRATIONS) for (const statement of statements) await connection.query(statement);
  await connection.query("INSERT INTO index_addresses (address) VALUES ('kept')");
  await connection.end();
  await (await openDecoderStore(database)).database.close();
  assert.equal((await query(database, 'SELECT * FROM schema_migrations')).length, MIGRATIONS.length);
  assert.deepEqual(await query(database, 'SELECT id, address FROM index_addresses ORDER BY id'), [
    { id: 1, address: '' },
    { id: 2, address: 'kept' }
  ]);
});

test('statements of each start only add', () => {
  assert.deepEqual([...NAMES].sort(), NAMES);
  for (const { name, mode, isOnce, statements } of MIGRATIONS) {
    assert.match(name, /^\d{4}-\d{2}-\d{2}-[a-z-]+$/);
    if (mode === 'manual' || isOnce) continue;
    for (const statement of statements)
      assert.doesNotMatch(statement, /\b(?:DROP|TRUNCATE|DELETE|RENAME|MODIFY|CHANGE)\b/i);
  }
});

test('a database of an earlier release gets the columns and values of compatible decoders, once', async () => {
  const database = await createDatabase('migrations_in_use');
  const connection = await connect(database);
  await migrate(connection, ['auto'], MIGRATIONS.slice(0, 3));
  for (const statement of [
    "INSERT INTO index_addresses (id, address) VALUES (2, 'seller')",
    "INSERT INTO transactions (tx_index, tx_hash_id, block_index, source_id, data) VALUES (0, 2, 5, 2, 'COINPAY|0|1')",
    "INSERT INTO transaction_outputs VALUES (0, 0, 2, '100000'), (0, 1, 2, '2100000000000000'), (0, 2, 2, '0'), (0, 3, 2, '1')",
    'INSERT INTO dispensers VALUES (0, 2, 1800000000, NULL, 2, NULL)',
    "INSERT INTO events (time, code, data) VALUES (1795719600, 'REORG', '[]')"
  ])
    await connection.query(statement);
  await connection.end();
  const assertMigrated = async () => {
    const amounts = await query(database, 'SELECT amount FROM transaction_outputs ORDER BY vout');
    assert.deepEqual(
      amounts.map(({ amount }) => amount),
      ['0.00100000', '21000000.00000000', '0.00000000', '0.00000001']
    );
    assert.deepEqual(await query(database, 'SELECT destination_id, fee FROM transactions'), [
      { destination_id: 1, fee: 0 }
    ]);
    assert.deepEqual(await query(database, 'SELECT source_address_id AS source FROM dispensers'), [{ source: null }]);
    assert.deepEqual(await query(database, "SELECT DATE_FORMAT(time, '%Y-%m-%d %H:%i') AS at FROM events"), [
      { at: '2026-11-26 19:00' }
    ]);
  };
  await (await openDecoderStore(database)).database.close();
  await assertMigrated();
  await query(database, "DELETE FROM schema_migrations WHERE name LIKE '%columns-in-use'"); // as if killed before the record
  await (await openDecoderStore(database)).database.close();
  await assertMigrated();
});

const GROWING: readonly Migration[] = [
  { name: '2030-01-01-first', mode: 'auto', statements: ['CREATE TABLE IF NOT EXISTS first (id INT)'] },
  {
    name: '2030-01-02-by-hand',
    mode: 'manual',
    statements: ['ALTER TABLE first ADD COLUMN IF NOT EXISTS more INT', 'UPDATE source SET done = 1']
  }
];

test('a manual one waits for the operator, and one that failed half-way is run again', async () => {
  const database = await createDatabase('migrations_manual');
  const connection = await connect(database);
  const states = async () => (await readMigrations(connection, GROWING)).map(({ state }) => state);
  assert.deepEqual(await states(), ['pending', 'pending']);
  assert.deepEqual(await migrate(connection, ['auto'], GROWING), ['2030-01-01-first']);
  assert.deepEqual(await states(), ['applied', 'pending']);
  await assert.rejects(migrate(connection, ['auto', 'manual'], GROWING), /source/);
  assert.deepEqual(await states(), ['applied', 'pending']);
  await connection.query('CREATE TABLE source (done INT)');
  assert.deepEqual(await migrate(connection, ['auto', 'manual'], GROWING), ['2030-01-02-by-hand']);
  assert.deepEqual(await migrate(connection, ['auto', 'manual'], GROWING), []);
  assert.deepEqual(await query(database, 'SELECT DISTINCT mode FROM schema_migrations ORDER BY mode'), [
    { mode: 'auto' },
    { mode: 'manual' }
  ]);
  await connection.end();
});

test('decoder --migrate applies, decoder --migrations lists', async () => {
  const database = await createDatabase('migrations_cli');
  const lines = [
    await listMigrations(database),
    await runMigrations(database),
    await runMigrations(database),
    await listMigrations(database)
  ].map(({ text }) => text.replaceAll(/\d{4}-\d{2}-\d{2}T.*Z$/gm, 'TIME'));
  assert.deepEqual(lines, [
    NAMES.map((name) => `pending  auto    ${name}`).join('\n'),
    NAMES.map((name) => `applied ${name}`).join('\n'),
    'no migration is pending',
    NAMES.map((name) => `applied  auto    ${name}  TIME`).join('\n')
  ]);
});

test('MIGRATION_CHANGED: an edited migration stops start and command', async () => {
  const database = await createDatabase('migrations_changed');
  await (await openDecoderStore(database)).database.close();
  await query(database, `UPDATE schema_migrations SET checksum = REPEAT('0', 64) WHERE name = '${NAMES[0]}'`);
  const changed = { code: 'MIGRATION_CHANGED', message: new RegExp(NAMES[0]!) };
  await assert.rejects(openDecoderStore(database), changed);
  await assert.rejects(runMigrations(database), changed);
});

test('MIGRATION_REFUSED: beside a decoder, and beside another migration', async () => {
  const database = await createDatabase('migrations_locked');
  const store = await openDecoderStore(database);
  await assert.rejects(runMigrations(database), { code: 'MIGRATION_REFUSED', message: /a decoder writes/ });
  await store.database.close();
  const other = await connect(database);
  await other.query(`DO GET_LOCK('decoder migrate ${database.name}', 0)`);
  await assert.rejects(runMigrations(database), { code: 'MIGRATION_REFUSED', message: /another migration/ });
  await other.end();
});
