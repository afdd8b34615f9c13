import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect } from '../../src/db/connection.ts';
import { type CompareOptions, compareDatabases, type TableVerdict, type Verdict } from '../../src/verify/compare.ts';
import { renderVerdict } from '../../src/verify/report.ts';
import { createDatabase } from '../support/mariadb.ts';
import { recordPipes } from '../support/records.ts';

/** Runs the first statements on both sides, then what differs on each. */
async function compare(
  both: string[],
  onSource: string[],
  onReplica: string[],
  options?: CompareOptions
): Promise<Verdict> {
  const [source, replica] = [await createDatabase('source'), await createDatabase('replica')];
  for (const [database, own] of [
    [source, onSource],
    [replica, onReplica]
  ] as const) {
    const connection = await connect(database);
    for (const statement of [...both, ...own]) await connection.query(statement);
    await connection.end();
  }
  return compareDatabases(source, replica, options);
}

function only(verdict: Verdict, table = 't'): TableVerdict {
  const found = verdict.tables.find((row) => row.table === table);
  assert.ok(found, `${table} is compared`);
  return found;
}

/** One column, one key, one row of another value on each side. */
const PLANTED: readonly [title: string, type: string, source: string, replica: string][] = [
  ['one bit in a blob', 'BLOB', "X'00ff10'", "X'00ff11'"],
  ['one bit at the end of 3 MB', 'LONGBLOB', "CONCAT(REPEAT('a', 3000000), 'a')", "CONCAT(REPEAT('a', 3000000), 'c')"],
  ['NULL and the empty string', 'VARCHAR(20)', 'NULL', "''"],
  ["NULL and 'NULL'", 'VARCHAR(20)', 'NULL', "'NULL'"],
  ["NULL and '~'", 'VARCHAR(20)', 'NULL', "'~'"],
  ['a trailing space', 'VARCHAR(20)', "'a'", "'a '"],
  ['upper case under a collation that ignores it', 'VARCHAR(20) COLLATE utf8mb4_general_ci', "'a'", "'A'"],
  ['an accent under a collation that ignores it', 'VARCHAR(20) COLLATE utf8mb4_general_ci', "'e'", "'é'"],
  ['a character of four bytes', 'VARCHAR(20) COLLATE utf8mb4_general_ci', "'😀'", "'😁'"],
  ['a trailing zero byte', 'VARBINARY(20)', "X'41'", "X'4100'"],
  ['the sign of zero in FLOAT', 'FLOAT', '0e0', '-1e-300'],
  ['the seventh digit of FLOAT', 'FLOAT', '16777215', '16777214'],
  ['the last bit of DOUBLE', 'DOUBLE', '0.1e0', '0.10000000000000002e0'],
  ['2^64-1', 'BIGINT UNSIGNED', '18446744073709551615', '18446744073709551614'],
  [
    '2^64-1 in BIT(64)',
    'BIT(64)',
    "b'1111111111111111111111111111111111111111111111111111111111111111'",
    "b'1111111111111111111111111111111111111111111111111111111111111110'"
  ],
  [
    'the last digit of a DECIMAL',
    'DECIMAL(60,18)',
    '123456789012345678901234567890.000000000000000001',
    '123456789012345678901234567890.000000000000000002'
  ],
  ['a microsecond', 'DATETIME(6)', "'2026-01-02 03:04:05.000001'", "'2026-01-02 03:04:05.000002'"],
  ['an ENUM value', "ENUM('a','b')", "'a'", "'b'"]
];

/** The sign of zero lives only in FLOAT, where an underflow keeps it; MariaDB takes it from literals and from DOUBLE. */
for (const [title, type, source, replica] of PLANTED)
  test(`finds ${title}`, async () => {
    const verdict = await compare(
      [`CREATE TABLE t (k INT PRIMARY KEY, v ${type}) DEFAULT CHARSET utf8mb4`, 'INSERT INTO t (k) VALUES (1), (3)'],
      [`INSERT INTO t VALUES (2, ${source})`],
      [`INSERT INTO t VALUES (2, ${replica})`]
    );
    assert.equal(verdict.equal, false);
    const { differences } = only(verdict);
    assert.deepEqual(
      differences.map(({ kind, key }) => ({ kind, key })),
      [{ kind: 'changed', key: { k: '2' } }]
    );
    assert.deepEqual(Object.keys(differences[0]!.columns!), ['v']);
    const { v } = differences[0]!.columns!;
    assert.notDeepEqual(v!.source, v!.replica);
  });

test('the same values of every type are equal', async () => {
  const columns = PLANTED.map(([, type], index) => `c${index} ${type}`).join(', ');
  const values = [2, 3].map((side) => `(${PLANTED.map((row) => row[side]).join(', ')})`).join(', ');
  const verdict = await compare([`CREATE TABLE t (${columns})`, `INSERT INTO t VALUES ${values}`], [], []);
  assert.equal(verdict.equal, true);
  assert.deepEqual(only(verdict).rows, { source: 2, replica: 2 });
});

test('values that run over a column boundary differ', async () => {
  const verdict = await compare(
    ['CREATE TABLE t (a VARCHAR(9), b VARCHAR(9))'],
    ["INSERT INTO t VALUES ('ab', 'c'), ('|', '')"],
    ["INSERT INTO t VALUES ('a', 'bc'), ('', '|')"]
  );
  assert.equal(verdict.equal, false);
  assert.equal(only(verdict).differences.length, 4);
});

test('a table without a key is compared as a multiset', async () => {
  const verdict = await compare(
    ['CREATE TABLE t (a INT, b INT)', 'INSERT INTO t VALUES (1, 1), (1, 1), (2, NULL)'],
    ['INSERT INTO t VALUES (1, 1), (7, 7)'],
    ['INSERT INTO t VALUES (2, NULL), (2, NULL)']
  );
  const found = Object.fromEntries(
    only(verdict).differences.map(({ kind, key, count }) => [`${kind} ${key['a']}`, count])
  );
  assert.deepEqual(found, { 'onlyInSource 1': 1, 'onlyInSource 7': 1, 'onlyInReplica 2': 2 });
});

test('duplicates that would cancel out in an exclusive or are found', async () => {
  const verdict = await compare(
    ['CREATE TABLE t (a INT)'],
    ['INSERT INTO t VALUES (1), (1), (2), (2)'],
    ['INSERT INTO t VALUES (3), (3), (4), (4)']
  );
  assert.equal(verdict.equal, false);
});

test('rows on one side only are named by key, up to the limit', async () => {
  const verdict = await compare(
    ['CREATE TABLE t (k INT PRIMARY KEY, v INT)'],
    ['INSERT INTO t SELECT seq, seq FROM seq_1_to_50'],
    ['INSERT INTO t SELECT seq, seq FROM seq_50_to_51'],
    { limit: 60 }
  );
  const kinds = Map.groupBy(only(verdict).differences, ({ kind }) => kind);
  assert.equal(kinds.get('onlyInSource')?.length, 49);
  assert.deepEqual(kinds.get('onlyInReplica'), [{ kind: 'onlyInReplica', key: { k: '51' }, count: 1 }]);
  assert.equal(only(verdict).more, false);
});

test('the list of differing rows is bounded and says so', async () => {
  const verdict = await compare(
    ['CREATE TABLE t (k INT PRIMARY KEY, v INT)'],
    ['INSERT INTO t SELECT seq, seq FROM seq_1_to_50000'],
    [],
    { limit: 3 }
  );
  assert.equal(only(verdict).differences.length, 3);
  assert.equal(only(verdict).more, true);
});

const LOOKUP = 'CREATE TABLE index_memos (id INT AUTO_INCREMENT PRIMARY KEY, memo VARCHAR(20))';

test('surrogate ids do not count, ids of lookups do', async () => {
  const surrogate = await compare(
    ['CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)'],
    ['INSERT INTO t VALUES (1, 10), (2, 20)'],
    ['INSERT INTO t VALUES (5, 20), (9, 10)']
  );
  assert.equal(surrogate.equal, true);
  const lookup = await compare(
    [LOOKUP],
    ["INSERT INTO index_memos VALUES (1, 'a')"],
    ["INSERT INTO index_memos VALUES (2, 'a')"]
  );
  assert.equal(lookup.equal, false);
});

test('the order of surrogate ids within a scope decides when strict', async () => {
  const setup = ['CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NOT NULL, v INT)'];
  const rows = ['INSERT INTO t (block_index, v) VALUES (1, 10), (1, 20), (2, 30), (2, 30)'];
  const moved = ['INSERT INTO t (block_index, v) VALUES (2, 30), (1, 10), (2, 30), (1, 20)'];
  const swapped = ['INSERT INTO t (block_index, v) VALUES (1, 20), (1, 10), (2, 30), (2, 30)'];
  assert.equal((await compare(setup, rows, moved, { strict: true })).equal, true);
  assert.equal((await compare(setup, rows, swapped, { strict: true })).equal, false);
  const verdict = await compare(setup, rows, swapped);
  assert.deepEqual([verdict.equal, only(verdict).sameOrder], [true, false]);
  assert.match(renderVerdict(verdict), /another order of ids/);
});

test('an AUTO_INCREMENT id that a foreign key refers to counts, and so does one that names a scope', async () => {
  const referred = await compare(
    [
      'CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)',
      'CREATE TABLE child (t_id INT, FOREIGN KEY (t_id) REFERENCES t (id))'
    ],
    ['INSERT INTO t VALUES (1, 10)'],
    ['INSERT INTO t VALUES (2, 10)']
  );
  assert.equal(referred.equal, false);
  const scope = await compare(
    ['CREATE TABLE t (action_index INT AUTO_INCREMENT PRIMARY KEY, v INT)'],
    ['INSERT INTO t VALUES (1, 10)'],
    ['INSERT INTO t VALUES (2, 10)']
  );
  assert.equal(scope.equal, false);
});

const DECODER = [
  'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_hash_id INT)',
  'INSERT INTO blocks VALUES (5, 1)'
];

test('decoder: ids of pubkeys count, dispensers have a height of their own unless strict', async () => {
  const pubkeys = await compare(
    [...DECODER, 'CREATE TABLE pubkeys (address_id INT PRIMARY KEY, id INT AUTO_INCREMENT UNIQUE)'],
    ['INSERT INTO pubkeys VALUES (7, 1)'],
    ['INSERT INTO pubkeys VALUES (7, 2)']
  );
  assert.equal(pubkeys.equal, false);
  const setup = [...DECODER, 'CREATE TABLE dispensers (tx_index INT PRIMARY KEY)'];
  const dispensers = await compare(setup, ['INSERT INTO dispensers VALUES (1)'], []);
  assert.equal(dispensers.equal, true);
  assert.deepEqual([only(dispensers, 'dispensers').equal, only(dispensers, 'dispensers').asOf], [false, true]);
  assert.equal((await compare(setup, ['INSERT INTO dispensers VALUES (1)'], [], { strict: true })).equal, false);
  assert.equal((await compare(setup, [], ['ALTER TABLE dispensers ADD further INT'])).equal, false);
});

test('databases at different heights are not equal, also when every compared table is', async () => {
  const verdict = await compare(
    ['CREATE TABLE blocks (block_index INT PRIMARY KEY)', 'INSERT INTO blocks VALUES (1)'],
    ['INSERT INTO blocks VALUES (2)'],
    [],
    { local: ['blocks'] }
  );
  assert.deepEqual([verdict.equal, verdict.heights], [false, { source: 2, replica: 1 }]);
  assert.match(renderVerdict(verdict), /DIFFERENT: other heights/);
});

test("local and sync-owned tables do not count, sync_meta's rows do", async () => {
  const node = ['CREATE TABLE icons (a INT)', 'CREATE TABLE sync_state (a INT)', 'CREATE TABLE mine (a INT)'];
  assert.equal((await compare([], node, [], { local: ['mine'] })).equal, true);
  assert.equal((await compare([], [], node, { local: ['mine'] })).equal, true);
  const meta =
    'CREATE TABLE sync_meta (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT, ledger_hash CHAR(2), logged_at DATETIME)';
  const epochs = 'CREATE TABLE merkle_epochs (id INT AUTO_INCREMENT PRIMARY KEY, root CHAR(2), created_at DATETIME)';
  const own = await compare(
    [meta, epochs],
    [
      "INSERT INTO sync_meta VALUES (1, 1, 'aa', '2026-01-01')",
      "INSERT INTO merkle_epochs VALUES (1, 'rr', '2026-01-01')"
    ],
    [
      "INSERT INTO sync_meta VALUES (2, 1, 'aa', '2026-01-02')",
      "INSERT INTO merkle_epochs VALUES (2, 'rr', '2026-01-02')"
    ]
  );
  assert.equal(own.equal, true);
  const other = await compare(
    [meta],
    ["INSERT INTO sync_meta VALUES (1, 1, 'aa', NULL)"],
    ["INSERT INTO sync_meta VALUES (1, 1, 'ab', NULL)"]
  );
  assert.equal(other.equal, false);
  assert.equal((await compare([], [], [meta])).equal, true, 'a source that records nothing');
  assert.equal((await compare([], [meta], [])).equal, false);
});

test('generated columns do not count', async () => {
  const verdict = await compare(
    [],
    ['CREATE TABLE t (k INT PRIMARY KEY, v INT AS (k + 1) STORED)', 'INSERT INTO t (k) VALUES (1)'],
    ['CREATE TABLE t (k INT PRIMARY KEY, v INT AS (k + 2) STORED)', 'INSERT INTO t (k) VALUES (1)']
  );
  assert.equal(verdict.equal, true);
});

const SCHEMAS: readonly [title: string, source: string, replica: string | null, sentence: RegExp][] = [
  ['a missing table', 'CREATE TABLE t (a INT)', null, /missing in the replica/],
  ['a missing column', 'CREATE TABLE t (a INT, b INT)', 'CREATE TABLE t (a INT)', /column b is missing/],
  ['a further column', 'CREATE TABLE t (a INT)', 'CREATE TABLE t (a INT, b INT)', /column b is only in/],
  ['another type', 'CREATE TABLE t (a INT)', 'CREATE TABLE t (a BIGINT)', /column a: source int.*replica bigint/],
  ['a lost sign', 'CREATE TABLE t (a INT UNSIGNED)', 'CREATE TABLE t (a INT)', /int unsigned/],
  ['nullability', 'CREATE TABLE t (a INT NOT NULL)', 'CREATE TABLE t (a INT)', /NOT NULL/],
  [
    'another collation',
    'CREATE TABLE t (a TEXT COLLATE utf8mb4_bin)',
    'CREATE TABLE t (a TEXT COLLATE utf8mb4_general_ci)',
    /utf8mb4_bin/
  ],
  ['another charset', 'CREATE TABLE t (a TEXT CHARSET latin1)', 'CREATE TABLE t (a TEXT CHARSET utf8mb4)', /latin1/],
  ['a lost key', 'CREATE TABLE t (a INT, KEY (a))', 'CREATE TABLE t (a INT)', /key KEY BTREE \(a\) is missing/],
  [
    'a key that is unique on one side',
    'CREATE TABLE t (a INT, UNIQUE (a))',
    'CREATE TABLE t (a INT, KEY (a))',
    /UNIQUE BTREE \(a\) is missing/
  ]
];

for (const [title, source, replica, sentence] of SCHEMAS)
  test(`reports ${title} in the definition`, async () => {
    const verdict = await compare([], [source], replica === null ? [] : [replica]);
    assert.equal(verdict.equal, false);
    assert.match(only(verdict).schema.join('; '), sentence);
    assert.match(renderVerdict(verdict), /schema: /);
  });

test('the name of a key and the order of columns do not matter', async () => {
  const verdict = await compare(
    [],
    ['CREATE TABLE t (a INT, b INT, KEY x (a))', 'INSERT INTO t (a, b) VALUES (1, 2)'],
    ['CREATE TABLE t (b INT, a INT, KEY y (a))', 'INSERT INTO t (a, b) VALUES (1, 2)']
  );
  assert.equal(verdict.equal, true);
});

const url = ({
  host,
  port,
  user,
  pass,
  name
}: {
  host: string;
  port: number;
  user: string;
  pass: string;
  name: string;
}) => `mysql://${user}:${pass}@${host}:${port}/${name}`;

/** The command as an operator calls it. */
async function command(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const child = spawn('scripts/platform-node', ['verify', ...args], { cwd: root });
  recordPipes(child, {});
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number, out, err };
}

test('the command exits 0 when equal, 1 when different, 64 on wrong usage, 69 when unreachable, 77 when refused', async () => {
  const [source, replica] = [await createDatabase('source'), await createDatabase('replica')];
  const both = ['--source', url(source), '--replica', url(replica)];
  const connection = await connect(source);
  assert.equal((await command(both)).code, 0);
  await connection.query('CREATE TABLE t (a INT)');
  await connection.end();
  const different = await command([...both, '--json']);
  assert.equal(different.code, 1);
  assert.deepEqual(JSON.parse(different.out).tables[0].schema, ['the table is missing in the replica']);
  assert.equal((await command(['--source', url(source)])).code, 64);
  assert.equal((await command(['--source', 'ftp://x/y', '--replica', url(replica)])).code, 64);
  assert.equal((await command([...both, '--table', 'nowhere'])).code, 64);
  const unreachable = await command([
    '--source',
    url({ ...source, port: 1 }),
    '--replica',
    url({ ...replica, pass: 'secret' })
  ]);
  assert.equal(unreachable.code, 69);
  assert.doesNotMatch(unreachable.err, /secret/);
  assert.equal(
    (await command(['--source', url(source), '--replica', url({ ...replica, pass: 'not-the-password' })])).code,
    77
  );
});

test('one changed row among 300000 is found', async () => {
  const verdict = await compare(
    [
      'CREATE TABLE t (k INT PRIMARY KEY, a BIGINT, amount VARCHAR(250), memo VARCHAR(100), raw VARBINARY(32))',
      "INSERT INTO t SELECT seq, seq * 7, CONCAT(seq, '.5'), CONCAT('memo of ', seq), UNHEX(SHA2(seq, 256)) FROM seq_1_to_300000"
    ],
    [],
    ['UPDATE t SET amount = 0 WHERE k = 123456']
  );
  assert.deepEqual(
    only(verdict).differences.map(({ key }) => key),
    [{ k: '123456' }]
  );
});

const MARKER =
  'CREATE TABLE sync_state (id INT PRIMARY KEY, height BIGINT NULL, floor BIGINT NULL, infra_only INT NOT NULL)';
const CHAIN = [
  'CREATE TABLE blocks (block_index INT PRIMARY KEY, ledger_hash VARCHAR(64) NOT NULL)',
  'CREATE TABLE transactions (tx_index INT PRIMARY KEY, block_index INT NOT NULL)',
  'CREATE TABLE sends (tx_index INT NOT NULL, memo VARCHAR(20) NULL)',
  'CREATE TABLE stakes (action_index INT PRIMARY KEY, amount INT NOT NULL)',
  'CREATE TABLE balances (id INT PRIMARY KEY, amount INT NOT NULL)',
  "INSERT INTO blocks VALUES (2, 'b'), (3, 'c')",
  'INSERT INTO transactions VALUES (20, 2), (30, 3)',
  "INSERT INTO sends VALUES (20, 'second'), (30, 'third')"
];
const BELOW = [
  "INSERT INTO blocks VALUES (1, 'a')",
  'INSERT INTO transactions VALUES (10, 1)',
  "INSERT INTO sends VALUES (10, 'first')",
  'INSERT INTO balances VALUES (1, 5)'
];

test('of a truncated replica the rows from its floor on are compared, and no others', async () => {
  const truncated = [MARKER, 'INSERT INTO sync_state VALUES (1, 3, 2, 0)'];
  const equal = await compare(CHAIN, BELOW, truncated);
  assert.deepEqual([equal.equal, equal.part], [true, { floor: 2, infraOnly: false, height: 3 }]);
  assert.deepEqual(only(equal, 'sends').rows, { source: 2, replica: 2 });
  assert.match(renderVerdict(equal), /begins at block 2[\s\S]*\nEQUAL/);
  const different = await compare(CHAIN, BELOW, [...truncated, "UPDATE sends SET memo = 'other' WHERE tx_index = 30"]);
  assert.deepEqual([different.equal, only(different, 'sends').differences.length > 0], [false, true]);
  assert.equal((await compare(CHAIN, BELOW, [])).equal, false, 'a replica that does not say so is a whole one');
});

test('of an infra-only replica its ten tables are compared, at the height that its marker says', async () => {
  const stakes = ['CREATE TABLE stakes (action_index INT PRIMARY KEY, amount INT NOT NULL)', MARKER];
  const others = CHAIN.filter((statement) => !statement.startsWith('CREATE TABLE stakes'));
  const at = (height: number) => `INSERT INTO sync_state VALUES (1, ${height}, NULL, 1)`;
  const equal = await compare(stakes, others, [at(3)]);
  assert.deepEqual([equal.equal, equal.tables.map(({ table }) => table)], [true, ['stakes']]);
  assert.equal((await compare(stakes, others, [at(2)])).equal, false);
  assert.equal((await compare(stakes, others, [at(3), 'INSERT INTO stakes VALUES (1, 5)'])).equal, false);
});
