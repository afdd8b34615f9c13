import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printAdditions, printChanges, printTable } from '../../../../src/replication/tables/ddl.ts';
import { reprintDefault, reprintExpression } from '../../../../src/replication/tables/sql-expression.ts';
import type { TypedColumn, TypedTable } from '../../../../src/wire/data/schema.ts';
import fc from '../../../support/fast-check.ts';

const column = (over: Partial<TypedColumn> = {}): TypedColumn => ({
  name: 'a',
  type: 'int(11)',
  nullable: false,
  default: null,
  charset: null,
  collation: null,
  autoIncrement: false,
  onUpdate: null,
  generated: null,
  json: false,
  ...over
});
const table = (over: Partial<TypedTable> = {}): TypedTable => ({
  name: 't',
  engine: 'MyISAM',
  columns: [column()],
  keys: [],
  foreignKeys: [],
  ...over
});
const refuse = (description: TypedTable, reason: RegExp) =>
  assert.throws(
    () => printTable(description),
    (error: Error & { code?: string }) => error.code === 'SCHEMA_REFUSED' && reason.test(error.message)
  );

test('unique keys and the AUTO_INCREMENT key come with the table, other keys after the load', () => {
  const ddl = printTable(
    table({
      columns: [column({ name: 'id', autoIncrement: true }), column({ name: 'b' })],
      keys: [
        { name: 'PRIMARY', unique: true, kind: 'BTREE', columns: [{ name: 'id', prefix: null, descending: false }] },
        { name: 'b', unique: false, kind: 'BTREE', columns: [{ name: 'b', prefix: null, descending: true }] }
      ]
    })
  );
  assert.match(ddl.create, /PRIMARY KEY \(`id`\)\n\) ENGINE=InnoDB/);
  assert.deepEqual(ddl.afterLoad, ['ALTER TABLE `t` ADD KEY `b` (`b` DESC)']);
});

test('a name with other characters is refused', () =>
  refuse(table({ name: 't`; DROP DATABASE x; --' }), /other characters/));
test('an unknown type is refused', () =>
  refuse(table({ columns: [column({ type: 'int(11)) AS SELECT 1' })] }), /not allowed/));
test('a default that calls a function is refused', () =>
  refuse(table({ columns: [column({ default: 'sleep(10)' })] }), /default/));
test('a generated column of two columns is refused', () => {
  const generated = { expression: 'concat(`a`,`b`)', stored: false };
  refuse(table({ columns: [column(), column({ name: 'b' }), column({ name: 'g', generated })] }), /expression/);
});
test('AUTO_INCREMENT that is not first in a key is refused', () => {
  refuse(table({ columns: [column({ autoIncrement: true })] }), /not first in a key/);
});
test('an enum with quotes in its members is printed anew', () => {
  const { create } = printTable(table({ columns: [column({ type: "enum('a','it''s','\\\\')" })] }));
  assert.match(create, /enum\('a','it\\'s','\\\\'\)/);
});
test('before a wildcard of LIKE a backslash stays, as the server reads it', () => {
  assert.match(printTable(table({ columns: [column({ default: "'a\\%\\_\\x'" })] })).create, /DEFAULT 'a\\\\%\\\\_x'/);
});
test('a character set is one that MariaDB has, and a collation is its own; any other word would be a word of SQL', () => {
  const text = (charset: string, collation: string) =>
    table({ columns: [column({ type: 'varchar(9)', charset, collation })] });
  for (const [charset, collation] of [
    ['select', 'select_general_ci'],
    ['latin1', 'utf8mb4_bin'],
    ['latin1', 'like']
  ] as const)
    refuse(text(charset, collation), /unknown character set/);
  for (const [charset, collation] of [
    ['latin1', 'latin1_german2_ci'],
    ['binary', 'binary'],
    ['utf8mb3', 'utf8_bin'],
    ['utf8mb4', 'utf8mb4_uca1400_ai_ci']
  ] as const)
    assert.match(
      printTable(text(charset, collation)).create,
      new RegExp(`CHARACTER SET ${charset} COLLATE ${collation}`)
    );
});
test('a key over a column that is not there is refused', () => {
  refuse(
    table({
      keys: [{ name: 'k', unique: false, kind: 'BTREE', columns: [{ name: 'zz', prefix: null, descending: false }] }]
    }),
    /is not there/
  );
});
test('from a source that gives texts only, a column that changed its type is refused by name', () => {
  assert.throws(
    () => printAdditions(table(), table({ columns: [column({ type: 'bigint(20)' })] })),
    /column a.*bootstrap/
  );
});
test('missing columns and keys are added in place', () => {
  const to = table({
    columns: [column(), column({ name: 'b', nullable: true, default: 'NULL' })],
    keys: [{ name: 'b', unique: false, kind: 'BTREE', columns: [{ name: 'b', prefix: null, descending: false }] }]
  });
  const statement = 'ALTER TABLE `t` ADD COLUMN `b` int(11) NULL DEFAULT NULL AFTER `a`, ADD KEY `b` (`b`)';
  assert.deepEqual(printAdditions(table(), to), [statement]);
  assert.deepEqual(printChanges(table(), to), [statement]);
});
test('the display width of an integer is no change, unless zeros fill it', () => {
  const typed = (type: string) => table({ columns: [column({ type })] });
  assert.deepEqual(printChanges(typed('int(11)'), typed('int')), []);
  assert.equal(printChanges(typed('int(5) unsigned zerofill'), typed('int(8) unsigned zerofill')).length, 1);
});
test('a generated column whose expression holds a character that MariaDB does not tell is refused', () => {
  const generated = { expression: "concat(`a`,'????')", stored: false };
  refuse(table({ columns: [column(), column({ name: 'g', generated })] }), /column g.*does not tell/);
});

test('expressions of one column pass, and come out the same', () => {
  const columns = new Set(['a', 'b']);
  assert.equal(reprintExpression('cast(`a` as char charset binary)', columns), 'cast(`a` as char charset binary)');
  assert.equal(reprintExpression("concat(`a`,'x;y')", columns), "concat(`a`, 'x;y')");
  for (const hostile of [
    'sleep(`a`)',
    '`a`; drop table x',
    '`a` /* x */',
    'load_file(`a`)',
    '(select `a`)',
    '`a`)',
    '../../../version',
    '`c`',
    '1'
  ])
    assert.equal(reprintExpression(hostile, columns), null, hostile);
});

test('any default is refused or prints to one SQL token', () => {
  const token = /^(NULL|-?[\d.]+(e[+-]?\d+)?|[bx]'[0-9a-f]*'|current_timestamp\(\d?\)|'(?:[^'\\]|\\.)*')$/isu;
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((text) => `'${text}'`),
        fc.string({ unit: fc.constantFrom("'", '\\', 'a', ';', ' ') })
      ),
      (text) => {
        const printed = reprintDefault(text);
        assert.ok(printed === null || token.test(printed), `${text} gave ${printed}`);
      }
    ),
    { numRuns: 2000 }
  );
});
