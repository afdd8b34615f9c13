import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCreateTable } from '../../../../src/replication/ddl/create-table-parser.ts';
import { printTable } from '../../../../src/replication/tables/ddl.ts';
import fc from '../../../support/fast-check.ts';

const PLAIN = 'CREATE TABLE `t` (\n  `a` int(11) NOT NULL\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4';

/** Everything that the parser knows, as MariaDB prints it. */
const RICH = `CREATE TABLE \`t\` (
  \`id\` int(10) unsigned NOT NULL AUTO_INCREMENT,
  \`word\` varchar(40) CHARACTER SET latin1 COLLATE latin1_german2_ci NOT NULL DEFAULT 'it''s \\\\ ; ) "x"' COMMENT 'a; b)',
  \`old\` varchar(40) CHARACTER SET utf8 DEFAULT NULL,
  \`zip\` varchar(9) /*!100301 COMPRESSED*/ DEFAULT NULL,
  \`kind\` enum('a','b''c',',') NOT NULL DEFAULT 'b''c',
  \`price\` decimal(40,18) NOT NULL DEFAULT -1.500000000000000000 CHECK (\`price\` > (1 + 2)),
  \`flags\` bit(5) NOT NULL DEFAULT b'101',
  \`doc\` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL CHECK (json_valid(\`doc\`)),
  \`seen\` timestamp(3) NULL DEFAULT NULL ON UPDATE current_timestamp(3),
  \`low\` varchar(40) GENERATED ALWAYS AS (lcase(\`old\`)) VIRTUAL,
  PRIMARY KEY (\`id\`),
  UNIQUE KEY \`word\` (\`word\`(10),\`kind\` DESC) USING BTREE COMMENT 'k',
  FULLTEXT KEY \`old\` (\`old\`),
  CONSTRAINT \`up\` FOREIGN KEY (\`id\`) REFERENCES \`p\` (\`id\`) ON DELETE SET NULL ON UPDATE NO ACTION,
  CONSTRAINT \`fine\` CHECK (\`id\` <> 7 and \`word\` like '%;%')
) ENGINE=MyISAM AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8 COMMENT='x; DROP TABLE y'`;

/** As MySQL prints it. */
const MYSQL = `CREATE TABLE \`t\` (
  \`id\` bigint unsigned NOT NULL AUTO_INCREMENT,
  \`n\` int DEFAULT '0',
  \`doc\` json DEFAULT NULL,
  \`body\` mediumtext COLLATE utf8mb4_bin,
  \`made\` datetime NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (\`id\`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci`;

const refuse = (text: string, reason: RegExp) =>
  assert.throws(
    () => printTable(parseCreateTable('t', text)),
    (fault: Error & { code?: string }) =>
      fault.code === 'SCHEMA_REFUSED' && fault.message.includes('table t') && reason.test(fault.message),
    text
  );

test('a table as MariaDB prints it is read part by part', () => {
  const table = parseCreateTable('t', RICH);
  const column = (name: string) => table.columns.find((each) => each.name === name)!;
  assert.deepEqual([column('old').charset, column('old').collation], ['utf8mb3', 'utf8mb3_general_ci']);
  assert.deepEqual([column('kind').charset, column('kind').collation], ['utf8mb4', 'utf8mb4_general_ci']);
  assert.equal(column('word').collation, 'latin1_german2_ci');
  assert.equal(column('doc').json, true);
  assert.deepEqual(column('low').generated, { expression: 'lcase(`old`)', stored: false });
  assert.equal(column('seen').onUpdate, 'current_timestamp(3)');
  assert.deepEqual(table.keys[1], {
    name: 'word',
    unique: true,
    kind: 'BTREE',
    columns: [
      { name: 'word', prefix: 10, descending: false },
      { name: 'kind', prefix: null, descending: true }
    ]
  });
  assert.deepEqual(
    table.foreignKeys.map(({ onDelete, onUpdate }) => [onDelete, onUpdate]),
    [['SET NULL', 'NO ACTION']]
  );
  const { create, afterLoad } = printTable(table);
  assert.doesNotMatch(`${create} ${afterLoad.join(' ')}`, /DROP|COMPRESSED|like|MyISAM|7/);
});

test('a table as MySQL prints it is read too', () => {
  const { columns } = parseCreateTable('t', MYSQL);
  assert.deepEqual(
    columns.map(({ type, charset, collation, json, default: value, onUpdate }) => [
      type,
      charset,
      collation,
      json,
      value,
      onUpdate
    ]),
    [
      ['bigint unsigned', null, null, false, null, null],
      ['int', null, null, false, "'0'", null],
      ['longtext', 'utf8mb4', 'utf8mb4_bin', true, 'NULL', null],
      ['mediumtext', 'utf8mb4', 'utf8mb4_bin', false, null, null],
      ['datetime', null, null, false, 'current_timestamp()', 'current_timestamp()']
    ]
  );
});

test('SCHEMA_REFUSED: whatever could do more than make a table is refused by name and reason', () => {
  const inside = (line: string) => PLAIN.replace('NOT NULL', line);
  const behind = (option: string) => `${PLAIN} ${option}`;
  for (const [text, reason] of [
    [behind('/*!50100 PARTITION BY HASH (`a`) */'), /comment/],
    [inside('NOT NULL /*! , `b` int DEFAULT (sleep(9)) */'), /comment/],
    [inside('NOT NULL -- x'), /comment/],
    [inside('NOT NULL # x'), /comment/],
    [`${PLAIN}; DROP TABLE x`, /semicolon/],
    [behind("CONNECTION='mysql://u:p@h/d/t'"), /CONNECTION/],
    [behind("DATA DIRECTORY='/etc'"), /DATA/],
    [behind("INDEX DIRECTORY='/etc'"), /INDEX/],
    [behind('AS SELECT * FROM mysql.user'), /AS is not allowed/],
    [behind('SELECT 1'), /SELECT/],
    [behind('UNION=(`x`,`y`)'), /UNION/],
    [behind('PARTITION BY HASH (`a`)'), /PARTITION/],
    [behind('WITH SYSTEM VERSIONING'), /WITH/],
    ['CREATE TABLE `t` LIKE `mysql`.`user`', /is expected/],
    ['CREATE TABLE `t` (LIKE `x`)', /begins no column/],
    ['CREATE TABLE `mysql`.`t` (`a` int)', /another name/],
    ['CREATE TABLE `u` (`a` int)', /another name/],
    ['CREATE OR REPLACE TABLE `t` (`a` int)', /no CREATE TABLE/],
    ['CREATE TEMPORARY TABLE `t` (`a` int)', /no CREATE TABLE/],
    ['CREATE ALGORITHM=UNDEFINED SQL SECURITY DEFINER VIEW `t` AS select 1', /no CREATE TABLE/],
    ['CREATE TRIGGER `t` BEFORE INSERT ON `x` FOR EACH ROW SET @a = 1', /no CREATE TABLE/],
    ['', /no CREATE TABLE/],
    [PLAIN.replaceAll('`a`', '`a``b`'), /other characters/],
    [PLAIN.replaceAll('`a`', '`a b`'), /other characters/],
    [PLAIN.replaceAll('`', '"'), /stands in no definition/],
    [PLAIN.replace('`a`', 'a'), /begins no column/],
    [inside('NOT NULL DEFAULT (uuid())'), /expression/],
    [inside('NOT NULL DEFAULT sleep(9)'), /not an allowed value/],
    [inside('NOT NULL DEFAULT nextval(`x`)'), /not an allowed value/],
    [inside('GENERATED ALWAYS AS (sleep(`b`)) VIRTUAL'), /expression/],
    [inside(`GENERATED ALWAYS AS (${'('.repeat(100)}1${')'.repeat(100)}) VIRTUAL`), /too many parentheses/],
    [inside('NOT NULL CHECK (((1)'), /not closed/],
    [inside('NOT NULL AUTO_INCREMENT'), /not first in a key/],
    [inside('NOT NULL,\n  SPATIAL KEY `s` (`a`)'), /SPATIAL/],
    [inside('NOT NULL,\n  KEY `f` ((lower(`a`)))'), /expression/],
    [inside('NOT NULL,\n  CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `mysql`.`user` (`x`)'), /another database/],
    [PLAIN.replace('int(11)', 'geometry'), /geometry/],
    [PLAIN.replace('int(11)', 'int(11), PRIMARY'), /KEY is expected/],
    [`${PLAIN.slice(0, -30)}`, /./],
    [`CREATE TABLE \`t\` (\`a\` int DEFAULT '${'x'.repeat(2 ** 20)}')`, /longer than/],
    [inside(`NOT NULL, \`g\` int AS (\`a\`${'+1'.repeat(600)})`), /more columns, keys or words/],
    [inside(`NOT NULL, \`g\` int AS (\`a\`${'+1'.repeat(400)})`), /expression/],
    [inside(`NOT NULL${Array.from({ length: 4_096 }, (_, index) => `, \`c${index}\` int`).join('')}`), /more columns/],
    [inside('NOT NULL DEFAULT current_timestamp(7)'), /default/]
  ] as const)
    refuse(text, reason);
});

test('10,000 mutated texts are refused, or print into nothing but one table', () => {
  const pieces = [
    '`',
    "'",
    '"',
    '(',
    ')',
    ',',
    ';',
    '--',
    '#',
    '/*',
    '/*!',
    '*/',
    '\\',
    '\n',
    '\0',
    '``',
    "''",
    '=',
    '😀',
    'SELECT',
    'LIKE',
    'AS',
    'UNION=',
    'DATA DIRECTORY=',
    'CHECK (',
    'DEFAULT',
    'KEY',
    'COMMENT',
    '`a`',
    'x',
    '9'
  ];
  // Outside quotes only letters, digits and the punctuation of lists may stand in what is printed.
  const safe = /^(CREATE|ALTER) TABLE `t` (?:`\w{1,64}`|'(?:[^'\\]|\\.)*'|[A-Za-z0-9_\s(),.=<>+*/%!|&-])*$/su;
  let printed = 0;
  const texts = fc.constantFrom(RICH, MYSQL, PLAIN);
  const edits = fc.array(
    fc.record({ at: fc.nat(9_999), cut: fc.constantFrom(0, 0, 1, 2, 6), put: fc.constantFrom('', ...pieces) }),
    { minLength: 1, maxLength: 3 }
  );
  fc.assert(
    fc.property(texts, edits, (text, list) => {
      let mutated = text;
      for (const { at, cut, put } of list) {
        const from = Math.floor((at / 10_000) * mutated.length);
        mutated = mutated.slice(0, from) + put + mutated.slice(from + cut);
      }
      try {
        const { create, afterLoad } = printTable(parseCreateTable('t', mutated));
        for (const statement of [create, ...afterLoad]) {
          assert.match(statement, safe);
          const bare = statement.replaceAll(/'(?:[^'\\]|\\.)*'|`\w+`/gsu, '');
          assert.doesNotMatch(bare, /\/\*|--|#|;|\b(select|like|union|directory|connection|sleep)\b/i);
        }
        printed++;
      } catch (caught) {
        assert.equal((caught as { code?: string }).code, 'SCHEMA_REFUSED', String(caught));
      }
    }),
    { numRuns: 10_000 }
  );
  assert.ok(printed > 100, `only ${printed} of the mutated texts were still tables`);
});
