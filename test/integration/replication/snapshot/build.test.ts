import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../../../src/db/connection.ts';
import type { PlatformError } from '../../../../src/errors.ts';
import { lookupDigest } from '../../../../src/replication/tables/lookup-digest.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates, DatabaseId } from '../../../../src/wire/data/database.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { appendBlocks, createIndexer } from '../../../support/sync/generated-indexer.ts';
import { build, openPool, orderOf, type SnapshotBody } from './support.ts';

const pool = openPool();
/** Tables of the generated database that never travel. */
const LOCAL = ['icons', 'price_snapshots', 'pending_hub_pushes', 'mempool_transactions'];
const DECODER: DatabaseId = { dbType: 'decoder', chain: 'bitcoin', network: 'regtest' };

async function indexer(blocks = 30, size = 3_000): Promise<DatabaseCoordinates> {
  const coordinates = await createDatabase('snapshot');
  await createIndexer(coordinates, { seed: 'snapshot', blocks, rows: size });
  return coordinates;
}

/** Runs statements one after the other on a connection of their own, and returns the rows of the last. */
async function sql(coordinates: DatabaseCoordinates, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const connection = await connect(coordinates);
  try {
    let last: Record<string, unknown>[] = [];
    for (const statement of statements) last = await rows(connection, statement);
    return last;
  } finally {
    await connection.end();
  }
}

/** A table as it should travel, read in the plainest way. */
async function expected(coordinates: DatabaseCoordinates, from: string): Promise<unknown[]> {
  const found = await sql(coordinates, `SELECT * FROM ${from}`);
  return found.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        Buffer.isBuffer(value) ? { __xbin__: value.toString('base64') } : value
      ])
    )
  );
}

const sorted = (list: readonly unknown[] | undefined) => (list ?? []).map((row) => JSON.stringify(row)).sort();

/** Sum of amounts by address and tick, exact. */
function sums(list: readonly Record<string, unknown>[] | undefined, into: Map<string, bigint>, sign: bigint) {
  for (const row of list ?? []) {
    const [whole = '0', fraction = ''] = String(row['amount']).split('.');
    const amount = BigInt(whole + fraction.padEnd(18, '0').slice(0, 18));
    const key = `${row['address_id']}/${row['tick_id']}`;
    into.set(key, (into.get(key) ?? 0n) + sign * amount);
  }
}

test('a full snapshot holds every row of every table that travels, with every column', async () => {
  const coordinates = await indexer();
  await sql(
    coordinates,
    `CREATE TABLE zz_values (id INT PRIMARY KEY, big BIGINT UNSIGNED, amount DECIMAL(40,18), f FLOAT, d DOUBLE, moment DATETIME(6),
       t TEXT, bytes VARBINARY(20), flags BIT(10), doc JSON, choices SET('a','b','c'), twice INT GENERATED ALWAYS AS (id * 2) STORED)`,
    `INSERT INTO zz_values (id, big, amount, f, d, moment, t, bytes, flags, doc, choices) VALUES
       (2, 18446744073709551615, '1.500000000000000000', 16777217, 0.1, '2026-01-02 03:04:05.123456', 'ä😀"\\n', X'00ff', b'1000000001', '{"a": 1}', 'a,c'),
       (1, 9007199254740991, '-0.000000000000000001', NULL, -1e300, NULL, '', '', NULL, NULL, '')`,
    'CREATE TABLE zz_keyless (a INT, b VARCHAR(10))',
    "INSERT INTO zz_keyless VALUES (1, 'x'), (1, 'x'), (NULL, NULL)",
    'CREATE TABLE zz_empty (a INT PRIMARY KEY)'
  );
  const { body, headers, text, progress } = await build(pool, orderOf(coordinates));
  assert.match(text, /^\{"schema_version":7,"block_height":129,"tables":\{"index_/);
  assert.deepEqual(Object.keys(body), ['schema_version', 'block_height', 'tables']);
  for (const absent of [...LOCAL, 'zz_empty']) assert.equal(absent in body.tables, false, absent);
  const names = await sql(coordinates, "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'");
  let compared = 0;
  for (const name of names.map((row) => String(Object.values(row)[0]))) {
    if (LOCAL.includes(name) || name === 'zz_values') continue;
    assert.deepEqual(sorted(body.tables[name]), sorted(await expected(coordinates, name)), name);
    compared += body.tables[name]?.length ?? 0;
  }
  assert.ok(compared > 1_000, `${compared} rows`);
  assert.deepEqual(body.tables['zz_values'], [
    {
      id: 1,
      big: 9007199254740991,
      amount: '-0.000000000000000001',
      f: null,
      d: -1e300,
      moment: null,
      t: '',
      bytes: { __xbin__: '' },
      flags: null,
      doc: null,
      choices: '',
      twice: 2
    },
    {
      id: 2,
      big: '18446744073709551615',
      amount: '1.500000000000000000',
      f: 16777216,
      d: 0.1,
      moment: '2026-01-02 03:04:05.123456',
      t: 'ä😀"\n',
      bytes: { __xbin__: 'AP8=' },
      flags: { __xbin__: 'AgE=' },
      doc: '{"a": 1}',
      choices: 'a,c',
      twice: 4
    }
  ]);
  const order = Object.keys(body.tables);
  assert.ok(order.indexOf('blocks') < order.indexOf('transactions'));
  assert.ok(order.indexOf('transactions') < order.indexOf('actions'));
  assert.deepEqual(order.slice(-2), ['balances', 'pubkeys']);
  assert.equal(headers['x-block-height'], '129');
  assert.equal(headers['x-snapshot-schema-version'], '7');
  assert.match(headers['x-ledger-hash'] ?? '', /^[0-9a-f]{64}$/);
  assert.equal(progress[0]?.type, 'opened');
  // A long build tells its size again while it reads what its readers stand on.
  const written = progress.findLast(({ type }) => type === 'written');
  assert.deepEqual(written?.type === 'written' && written.settledAt, 129);
});

test('since N: scoped rows of later blocks, lookups whole or as deltas, mutable tables whole, balances as far as touched where they are many', async () => {
  const coordinates = await indexer();
  await sql(
    coordinates,
    'CREATE TABLE zz_empty (a INT PRIMARY KEY)',
    'CREATE TABLE zz_state (a INT PRIMARY KEY, b INT)'
  );
  await sql(coordinates, 'INSERT INTO zz_state VALUES (1, 10), (2, 20)');
  const { body, headers } = await build(pool, orderOf(coordinates, { since: 120 }));
  assert.deepEqual(Object.keys(body), ['schema_version', 'block_height', 'since_block', 'tables', 'updated_rows']);
  assert.equal(body.since_block, 120);
  const actions = 'action_index IN (SELECT action_index FROM actions WHERE block_index > 120)';
  for (const [table, where] of [
    ['blocks', 'block_index > 120'],
    ['transactions', 'block_index > 120'],
    ['actions', 'block_index > 120'],
    ['credits', actions],
    ['sends', actions],
    ['index_addresses', 'TRUE'],
    ['index_transactions', 'TRUE']
  ] as const)
    assert.deepEqual(sorted(body.tables[table]), sorted(await expected(coordinates, `${table} WHERE ${where}`)), table);
  assert.ok((body.tables['credits']?.length ?? 0) > 0);
  assert.equal(body.updated_rows?.['balances']?.length, (await expected(coordinates, 'balances')).length, 'all of few');
  await sql(
    coordinates,
    "INSERT INTO balances (address_id, tick_id, amount) SELECT seq, 1, '0' FROM seq_900000_to_920000"
  );
  const large = await build(pool, orderOf(coordinates, { since: 120, inclusive: false, skipLookups: true }));
  const touched = ['credits', 'debits'].map((name) => `SELECT address_id, tick_id FROM ${name} WHERE ${actions}`);
  const balances = await expected(coordinates, `balances WHERE (address_id, tick_id) IN (${touched.join(' UNION ')})`);
  const sent = new Set(sorted(large.body.updated_rows?.['balances']));
  for (const row of sorted(balances)) assert.ok(sent.has(row), row);
  assert.ok(sent.size < 20_000 && !large.headers['x-whole-tables']?.includes('balances'), 'not all of many');
  assert.deepEqual(body.updated_rows?.['zz_state'], [
    { a: 1, b: 10 },
    { a: 2, b: 20 }
  ]);
  const whole = (headers['x-whole-tables'] ?? '').split(',');
  for (const table of ['zz_empty', 'zz_state', 'index_addresses', 'balances']) assert.ok(whole.includes(table), table);
  for (const table of ['credits', 'blocks']) assert.ok(!whole.includes(table), table);
  assert.equal(headers['x-since-block'], '120');

  const connection = await connect(coordinates);
  const { plans } = await readLayout(connection, 'indexer');
  const [{ middle } = { middle: 0 }] = await rows<{ middle: number }>(
    connection,
    'SELECT MAX(id) - 5 AS middle FROM index_addresses'
  );
  const plan = plans.find(({ name }) => name === 'index_addresses');
  assert.ok(plan);
  const digest = await lookupDigest(connection, plan, middle);
  await connection.end();
  const lookups = { index_addresses: { id: middle, digest }, index_transactions: { id: 5, digest: '0'.repeat(64) } };
  const delta = await build(pool, orderOf(coordinates, { since: 120, lookups }));
  assert.equal(delta.body.tables['index_addresses']?.length, 5);
  assert.equal(delta.headers['x-whole-tables']?.includes('index_addresses'), false);
  assert.equal(delta.headers['x-whole-tables']?.includes('index_transactions'), true);
  assert.deepEqual(sorted(delta.body.tables['index_transactions']), sorted(body.tables['index_transactions']));

  const bare = await build(pool, orderOf(coordinates, { since: 120, skipLookups: true }));
  assert.ok(Object.keys(bare.body.tables).every((name) => !name.startsWith('index_')));
  assert.doesNotMatch(bare.headers['x-whole-tables'] ?? '', /index_(addresses|transactions)/);
});

test('until bounds the range and leaves the mutable tables for the last one; inclusive begins at N', async () => {
  const coordinates = await indexer();
  const { body, headers } = await build(pool, orderOf(coordinates, { since: 110, until: 115, skipLookups: true }));
  assert.deepEqual(
    body.tables['blocks']?.map((row) => row['block_index']),
    [111, 112, 113, 114, 115]
  );
  assert.deepEqual(body.updated_rows, {});
  assert.equal(body.block_height, 115);
  assert.equal(headers['x-whole-tables'], '');
  const [{ hash } = { hash: '' }] = await sql(
    coordinates,
    'SELECT t.hash FROM blocks b JOIN index_transactions t ON t.id = b.ledger_hash_id WHERE b.block_index = 115'
  );
  assert.equal(headers['x-ledger-hash'], hash);
  const inclusive = await build(pool, orderOf(coordinates, { since: 128, inclusive: true }));
  assert.deepEqual(
    inclusive.body.tables['blocks']?.map((row) => row['block_index']),
    [128, 129]
  );
  const beyond = await build(pool, orderOf(coordinates, { since: 115, until: 100_000 }));
  assert.equal(beyond.body.block_height, 129);
});

test('changes that its reader missed come as parts of older blocks, without values of its own blocks', async () => {
  const coordinates = await indexer();
  const [tip] = await sql(
    coordinates,
    `SELECT l.hash AS ledger_hash, a.hash AS actions_hash, c.hash AS contract_hash FROM blocks b
     JOIN index_transactions l ON l.id = b.ledger_hash_id JOIN index_transactions a ON a.id = b.actions_hash_id
     JOIN index_transactions c ON c.id = b.contract_hash_id WHERE b.block_index = 129`
  );
  const [found] = await sql(
    coordinates,
    'SELECT MIN(action_index) AS low, (SELECT MAX(action_index) FROM actions) AS high FROM actions WHERE block_index > 120'
  );
  const [low, high] = [Number(found!['low']), Number(found!['high'])];
  const missed = {
    from: 121,
    amendments: 0,
    isSettled: true,
    spans: { credits: [[low - 30, high + 5]], sends: [[low, high]], transactions: [[110, 121], null] },
    others: null
  } as const;
  const order = orderOf(coordinates, { since: 120, older: 100 });
  const { body, headers, text } = await build(pool, order, 'gzip', (head) => {
    assert.deepEqual(head, { height: 129, hashes: { ...tip } });
    return missed;
  });
  assert.equal(headers['x-first-block'], '121');
  assert.deepEqual(body.older_spans, {
    credits: [
      {
        column: 'action_index',
        spans: [
          [low - 30, low - 1],
          [high + 1, high + 5]
        ]
      }
    ],
    transactions: [{ column: 'block_index', spans: [[110, 120], null] }]
  });
  const older = `credits WHERE action_index BETWEEN ${low - 30} AND ${low - 1}`;
  assert.deepEqual(sorted(body.older_rows?.['credits']), sorted(await expected(coordinates, older)));
  const blocks = await expected(coordinates, 'transactions WHERE block_index BETWEEN 110 AND 120');
  assert.deepEqual(sorted(body.older_rows?.['transactions']), sorted(blocks));
  assert.ok(text.indexOf('"older_rows"') < text.indexOf('"tables"'), 'before the rows of the new blocks');

  await sql(
    coordinates,
    "INSERT IGNORE INTO balances (address_id, tick_id, amount) SELECT seq, 1, '0' FROM seq_900000_to_920000"
  );
  const large = await build(pool, order, 'gzip', () => missed);
  const touched = await expected(
    coordinates,
    `balances WHERE (address_id, tick_id) IN (SELECT address_id, tick_id FROM ${older})`
  );
  const sent = new Set(sorted(large.body.updated_rows?.['balances']));
  for (const row of sorted(touched)) assert.ok(sent.has(row), row);
  assert.ok(touched.length > 0 && sent.size < 20_000);

  const { headers: deep } = await build(pool, order, 'gzip', () => ({ ...missed, from: 99 }));
  assert.equal(deep['x-first-block'], '100', 'no more than it asked for');
  const fork = await build(pool, order, 'gzip', () => ({ ...missed, from: 119 }));
  assert.equal(fork.headers['x-first-block'], '119');
  assert.equal(fork.headers['x-since-block'], '120');
  assert.equal(fork.body.tables['blocks']?.[0]?.['block_index'], 119);
  const { headers: other, body: without } = await build(pool, order);
  assert.equal(other['x-first-block'], '100');
  assert.equal(without.older_spans, undefined);
  assert.equal(without.tables['blocks']?.[0]?.['block_index'], 100);
});

test('nothing after N: empty tables and the usual headers', async () => {
  const coordinates = await indexer(5, 200);
  for (const since of [104, 5_000]) {
    const { body, headers } = await build(pool, orderOf(coordinates, { since }));
    assert.deepEqual(body, { schema_version: 7, block_height: 104, since_block: since, tables: {}, updated_rows: {} });
    assert.equal(headers['x-block-height'], '104');
    assert.ok(headers['x-ledger-hash']);
  }
});

test('DATABASE_UNAVAILABLE: a table is altered between the snapshot and its reading, and the next build succeeds', async () => {
  const coordinates = await indexer(5, 200);
  const order = orderOf(coordinates, { since: 103, older: 100 });
  const altered = build(pool, order, 'gzip', async () => {
    await sql(coordinates, 'ALTER TABLE balances ENGINE = InnoDB');
    return null;
  });
  await assert.rejects(altered, (error: PlatformError) => {
    assert.equal(error.code, 'DATABASE_UNAVAILABLE');
    return /definition has changed/.test(error.message);
  });
  assert.equal((await build(pool, order)).body.block_height, 104);
});

test('infra-only holds nothing but the ten tables', async () => {
  const coordinates = await indexer(5, 200);
  const { body } = await build(pool, orderOf(coordinates, { infraOnly: true }));
  assert.ok(Object.keys(body.tables).includes('index_addresses'));
  assert.ok(Object.keys(body.tables).every((name) => !['blocks', 'balances', 'credits', 'sends'].includes(name)));
});

test('rows of a block that is still being written stay out of a full snapshot', async () => {
  const coordinates = await indexer(5, 200);
  await sql(
    coordinates,
    'INSERT INTO blocks (block_index, block_time) VALUES (105, 1)',
    'INSERT INTO transactions (tx_index, block_index, tx_hash_id, source_id) SELECT MAX(tx_index) + 1, 105, MAX(tx_hash_id) + 1, 1 FROM transactions',
    // Rows without a block are of no block that is being written.
    'CREATE TABLE zz_scoped (id INT PRIMARY KEY, block_index INT NULL, KEY (block_index))',
    'INSERT INTO zz_scoped VALUES (1, NULL), (2, 104), (3, -1), (4, 105)',
    'CREATE TABLE zz_orphans (id INT PRIMARY KEY, tx_index INT NOT NULL, KEY (tx_index))',
    'INSERT INTO zz_orphans VALUES (1, 999999)'
  );
  const { body } = await build(pool, orderOf(coordinates));
  assert.deepEqual(
    body.tables['zz_scoped']?.map((row) => row['id']),
    [1, 2, 3]
  );
  assert.equal(body.tables['zz_orphans']?.length, 1);
  assert.equal(body.block_height, 104);
  assert.equal(Math.max(...(body.tables['blocks'] ?? []).map((row) => Number(row['block_index']))), 104);
  assert.ok((body.tables['transactions'] ?? []).every((row) => Number(row['block_index']) <= 104));
});

test('BLOCKS_EMPTY', async () => {
  const coordinates = await createDatabase('empty');
  await sql(coordinates, 'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT, ledger_hash VARCHAR(64))');
  await assert.rejects(build(pool, orderOf(coordinates)), { code: 'BLOCKS_EMPTY' });
});

test('decoder: dispensers in full snapshots only, no updated_rows where nothing is mutable', async () => {
  const coordinates = await createDatabase('decoder');
  await sql(
    coordinates,
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT, block_hash VARCHAR(64))',
    'CREATE TABLE dispensers (id INT PRIMARY KEY, note VARCHAR(10))',
    'CREATE TABLE mempool_transactions (id INT PRIMARY KEY)',
    "INSERT INTO blocks VALUES (1, 10, 'aa'), (2, 20, 'bb')",
    "INSERT INTO dispensers VALUES (1, 'x')",
    'INSERT INTO mempool_transactions VALUES (1)'
  );
  const full = await build(pool, orderOf(coordinates, {}, DECODER));
  assert.deepEqual(Object.keys(full.body.tables), ['blocks', 'dispensers']);
  assert.equal(full.body.schema_version, 3);
  assert.equal(full.headers['x-block-hash'], 'bb');
  const since = await build(pool, orderOf(coordinates, { since: 1 }, DECODER));
  assert.equal(
    since.text,
    '{"schema_version":3,"block_height":2,"since_block":1,"tables":{"blocks":[{"block_index":2,"block_time":20,"block_hash":"bb"}]}}'
  );
});

test('a snapshot is one state of the database, though blocks are written all the while', async () => {
  const coordinates = await indexer(20, 1_500);
  let writing = true;
  const writer = (async () => {
    while (writing) await appendBlocks(coordinates, 3, 'meanwhile');
  })();
  const bodies: SnapshotBody[] = [];
  try {
    for (let n = 0; n < 8; n++) bodies.push((await build(pool, orderOf(coordinates))).body);
  } finally {
    writing = false;
    await writer;
  }
  assert.ok(new Set(bodies.map(({ block_height }) => block_height)).size > 2, 'blocks did come meanwhile');
  for (const { tables, block_height } of bodies) {
    const heights = (tables['blocks'] ?? []).map((row) => Number(row['block_index']));
    assert.deepEqual([Math.max(...heights), heights.length], [block_height, block_height - 99]);
    const balance = new Map<string, bigint>();
    sums(tables['credits'], balance, 1n);
    sums(tables['debits'], balance, -1n);
    sums(tables['balances'], balance, -1n);
    assert.deepEqual(
      [...balance].filter(([, rest]) => rest !== 0n),
      []
    );
  }
});
