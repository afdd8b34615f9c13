import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderVerdict } from '../../../src/verify/report.ts';
import { compare, only } from './compared.ts';

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

const ORIGIN = 'CREATE TABLE sync_state (id INT PRIMARY KEY, ids TEXT NULL)';
const mark = (source: string | null, ...own: string[]) =>
  `INSERT INTO sync_state VALUES (1, '${JSON.stringify({ source, own })}')`;

test('surrogate ids count where the marker says that they are the source’s, and everywhere when asked', async () => {
  const setup = [
    'CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, UNIQUE KEY (v))',
    'INSERT INTO t VALUES (1, 10)',
    ORIGIN
  ];
  const moved = 'UPDATE t SET id = 7';
  const carried = await compare(setup, [], [moved, mark('a source')]);
  assert.deepEqual([carried.equal, only(carried).ownIds], [false, false]);
  assert.deepEqual(only(carried).differences, [
    { kind: 'changed', key: { v: '10' }, columns: { id: { source: '1', replica: '7' } } }
  ]);
  for (const own of [mark('a source', 't'), mark(null)]) {
    const verdict = await compare(setup, [], [moved, own]);
    assert.deepEqual([verdict.equal, only(verdict).ownIds], [true, true]);
    assert.match(renderVerdict(verdict), /without its ids/);
    assert.equal((await compare(setup, [], [moved, own], { ids: true })).equal, false);
  }
});

test("rows of a truncated replica's blocks are compared, also where the block may be NULL by definition", async () => {
  const setup = [
    'CREATE TABLE blocks (block_index INT NULL, hash INT, KEY (block_index))',
    'CREATE TABLE anchors (action_index INT NOT NULL, block_index INT NULL, KEY (block_index))',
    'CREATE TABLE actions (action_index INT PRIMARY KEY, block_index INT NOT NULL)',
    'INSERT INTO blocks VALUES (5, 5), (6, 6)',
    'INSERT INTO actions VALUES (50, 5), (60, 6)',
    'INSERT INTO anchors VALUES (60, 1)'
  ];
  const floor = [
    'CREATE TABLE sync_state (id INT PRIMARY KEY, floor INT, infra_only INT, height INT)',
    'INSERT INTO sync_state VALUES (1, 6, 0, 6)',
    'DELETE FROM blocks WHERE block_index = 5',
    'DELETE FROM actions WHERE block_index = 5'
  ];
  const below = ['INSERT INTO blocks VALUES (NULL, 1), (4, 4)', 'INSERT INTO anchors VALUES (50, 9), (77, 9)'];
  assert.equal((await compare(setup, below, floor)).equal, true);
  const changed = await compare(setup, below, [
    ...floor,
    'UPDATE blocks SET hash = 7',
    'UPDATE anchors SET block_index = 2'
  ]);
  assert.deepEqual([only(changed, 'blocks').equal, only(changed, 'anchors').equal], [false, false]);
});

test('rows without a block, without their parent and ahead of the tip are compared as all others', async () => {
  const setup = [
    'CREATE TABLE blocks (block_index INT NULL, hash INT, KEY (block_index))',
    'INSERT INTO blocks VALUES (1, 1)',
    'CREATE TABLE actions (action_index INT PRIMARY KEY, block_index INT NULL, KEY (block_index))',
    'CREATE TABLE sends (action_index INT NOT NULL)'
  ];
  const rows = ['INSERT INTO actions VALUES (1, NULL), (2, -1), (3, 9)', 'INSERT INTO sends VALUES (77), (1)'];
  assert.equal((await compare(setup, rows, rows)).equal, true);
  for (const change of ['block_index = 0 WHERE action_index = 1', 'block_index = 10 WHERE action_index = 3'])
    assert.equal((await compare(setup, rows, [...rows, `UPDATE actions SET ${change}`])).equal, false);
  assert.equal((await compare(setup, rows, [...rows, 'DELETE FROM sends WHERE action_index = 77'])).equal, false);
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
  assert.match(renderVerdict(verdict), /DIFFERENT: the heights differ/);
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

test('the definition of a table that each side makes by itself does not count, its rows do', async () => {
  const tables = ['CREATE TABLE merkle_epochs (id INT AUTO_INCREMENT PRIMARY KEY, epoch INT NOT NULL)'];
  const wider = ['ALTER TABLE merkle_epochs MODIFY epoch BIGINT UNSIGNED NOT NULL'];
  const one = ['INSERT INTO merkle_epochs (epoch) VALUES (1)'];
  assert.equal((await compare(tables, one, [...wider, ...one])).equal, true);
  assert.equal((await compare(tables, one, wider)).equal, false);
});

test('generated columns do not count', async () => {
  const verdict = await compare(
    [],
    ['CREATE TABLE t (k INT PRIMARY KEY, v INT AS (k + 1) STORED)', 'INSERT INTO t (k) VALUES (1)'],
    ['CREATE TABLE t (k INT PRIMARY KEY, v INT AS (k + 2) STORED)', 'INSERT INTO t (k) VALUES (1)']
  );
  assert.equal(verdict.equal, true);
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

test('rows of a truncated replica are compared from its floor on, and no others', async () => {
  const truncated = [MARKER, 'INSERT INTO sync_state VALUES (1, 3, 2, 0)'];
  const equal = await compare(CHAIN, BELOW, truncated);
  assert.deepEqual([equal.equal, equal.part], [true, { floor: 2, infraOnly: false, height: 3 }]);
  assert.deepEqual(only(equal, 'sends').rows, { source: 2, replica: 2 });
  assert.match(renderVerdict(equal), /begins at block 2[\s\S]*\nEQUAL/);
  const different = await compare(CHAIN, BELOW, [...truncated, "UPDATE sends SET memo = 'other' WHERE tx_index = 30"]);
  assert.deepEqual([different.equal, only(different, 'sends').differences.length > 0], [false, true]);
  assert.equal((await compare(CHAIN, BELOW, [])).equal, false, 'a replica that does not say so is a whole one');
});

test('the ten tables of an infra-only replica are compared, at the height of its marker', async () => {
  const stakes = ['CREATE TABLE stakes (action_index INT PRIMARY KEY, amount INT NOT NULL)', MARKER];
  const others = CHAIN.filter((statement) => !statement.startsWith('CREATE TABLE stakes'));
  const at = (height: number) => `INSERT INTO sync_state VALUES (1, ${height}, NULL, 1)`;
  const equal = await compare(stakes, others, [at(3)]);
  assert.deepEqual([equal.equal, equal.tables.map(({ table }) => table)], [true, ['stakes']]);
  assert.equal((await compare(stakes, others, [at(2)])).equal, false);
  assert.equal((await compare(stakes, others, [at(3), 'INSERT INTO stakes VALUES (1, 5)'])).equal, false);
});
