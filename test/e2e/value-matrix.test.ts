import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, quoteName, rows } from '../../src/db/connection.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { differences, startPair } from '../support/sync/sync-pair.ts';
import { eventually, temporaryDirectory } from '../support/sync/sync-process.ts';

/** The sql_mode of a writer: what it lets pass, and how it reads a literal. The tables of a mode are made and filled under it. */
const MODES = {
  lax: '',
  strict: 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION',
  no_zero: 'NO_ZERO_DATE,NO_ZERO_IN_DATE',
  invalid_dates: 'ALLOW_INVALID_DATES',
  ansi: 'ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE',
  no_backslash: 'NO_BACKSLASH_ESCAPES',
  padded: 'PAD_CHAR_TO_FULL_LENGTH',
  zero: 'NO_AUTO_VALUE_ON_ZERO',
  real: 'REAL_AS_FLOAT,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION',
  round: 'TIME_ROUND_FRACTIONAL,EMPTY_STRING_IS_NULL',
  oracle: 'ORACLE',
  mssql: 'MSSQL',
  traditional: 'TRADITIONAL'
} as const;

/**
 * Character sets with collations in use, and texts of their own as bytes of that set; some are no character of Unicode, or half of
 * a surrogate pair.
 */
const CHARSETS: Readonly<
  Record<string, { readonly collations: readonly string[]; readonly bytes: readonly string[] }>
> = {
  latin1: { collations: ['swedish_ci', 'bin', 'general_cs'], bytes: ['80859F', 'E4F6FCDF', '819DFF'] },
  ascii: { collations: ['general_ci', 'bin'], bytes: ['007F', '5C27', '61FF', '61FE'] },
  utf8mb3: {
    collations: ['general_ci', 'bin', 'unicode_ci'],
    bytes: ['C3A4E282AC', 'EFBFBDEFBFBF', 'C39F7373', 'EDA08041', '41EDBFBF']
  },
  utf8mb4: {
    collations: [
      'general_ci',
      'bin',
      'unicode_ci',
      'unicode_520_ci',
      'general_nopad_ci',
      'nopad_bin',
      'swedish_ci',
      'turkish_ci'
    ],
    bytes: ['F09F9880', 'F48FBFBF', 'E29885CC81', 'EDA08041', 'EDA08141', 'EFBFBD', 'F0908080']
  },
  ucs2: { collations: ['general_ci', 'bin'], bytes: ['00E420AC', '0000FFFF', '00410042', 'D8000041', 'DC01'] },
  utf16: { collations: ['general_ci', 'bin'], bytes: ['D83DDE00', '00000041'] },
  utf16le: { collations: ['general_ci'], bytes: ['3DD800DE', 'E400AC20'] },
  utf32: { collations: ['general_ci', 'unicode_ci'], bytes: ['0001F600', '000000E4', '0000D80000000041'] },
  cp1251: { collations: ['general_ci', 'bin'], bytes: ['EFF0E8E2E5F2', '98A0FF', '98', 'D098'] },
  koi8r: { collations: ['general_ci'], bytes: ['F0D2C9D7C5D4'] },
  gbk: { collations: ['chinese_ci', 'bin'], bytes: ['BF5C', 'C4E3BAC3', '8140FEFE', 'FEFE'] },
  big5: { collations: ['chinese_ci'], bytes: ['A55C', 'A440'] },
  sjis: { collations: ['japanese_ci', 'bin'], bytes: ['835C', '93FA967B', 'B1B2'] },
  cp932: { collations: ['japanese_ci'], bytes: ['8740', '835C', 'FC4B'] },
  eucjpms: { collations: ['japanese_ci'], bytes: ['ADA1', 'C6FC'] },
  tis620: { collations: ['thai_ci'], bytes: ['CAC7D1CA'] },
  binary: { collations: [], bytes: ['00FF5C27', 'ED9F80'] }
};

/** Texts that every set has; in SQL that no sql_mode reads in another way. */
const TEXTS = [
  '',
  ' ',
  'a ',
  'a',
  'A',
  'a\\',
  "it's",
  '"',
  'a\\0b',
  '%_',
  '\t\r\n',
  '\u001a',
  '{"a": 1}',
  '0',
  '-0',
  'NULL',
  '`'
];

/** Types with values at which they are odd, as SQL; values that the mode refuses become what it makes of them. */
const TYPES: readonly (readonly [type: string, values: readonly string[]])[] = [
  ['TINYINT', ['-128', '127', '0']],
  ['TINYINT UNSIGNED ZEROFILL', ['0', '255', '7']],
  ['SMALLINT', ['-32768', '32767']],
  ['MEDIUMINT UNSIGNED', ['16777215', '0']],
  ['INT', ['-2147483648', '2147483647']],
  ['BIGINT', ['-9223372036854775808', '9223372036854775807', '-9007199254740993']],
  ['BIGINT UNSIGNED', ['18446744073709551615', '9007199254740993', '0']],
  [
    'DECIMAL(65,30)',
    ['99999999999999999999999999999999999.999999999999999999999999999999', '-0.000000000000000000000000000001', '0']
  ],
  ['DECIMAL(10,0)', ['-9999999999', '1.5']],
  ['FLOAT', ['3.4028235e38', '-1.17549435e-38', '16777217', '0.1', '1.4e-45']],
  ['FLOAT(7,3)', ['1234.5678', '-0.0005', '9999.999']],
  [
    'DOUBLE',
    ['1.7976931348623157e308', '2.2250738585072014e-308', '0.1', '-1e15', '1e21', '123456789.12345679', '5e-324']
  ],
  ['REAL', ['0.1', '16777217']],
  ['BIT(1)', ["b'1'", "b'0'"]],
  ['BIT(64)', ["b'1111111111111111111111111111111111111111111111111111111111111111'", '0', '1']],
  ['YEAR', ['0', '1901', '2155', "'70'"]],
  ['DATE', ["'0000-00-00'", "'2020-00-10'", "'2026-02-31'", "'9999-12-31'", "'0001-01-01'"]],
  ['DATETIME', ["'0000-00-00 00:00:00'", "'9999-12-31 23:59:59'", "'2026-02-31 12:00:00'"]],
  ['DATETIME(6)', ["'2026-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"]],
  ['TIMESTAMP(3) NULL', ["'1970-01-01 00:00:01'", "'2038-01-19 03:14:07.999'", "'0000-00-00 00:00:00'"]],
  ['TIME', ["'838:59:59'", "'-838:59:59'", "'00:00:00'", "'24:00:00'"]],
  ['TIME(6)', ["'-00:00:00.000001'", "'838:59:59.999999'"]],
  ["ENUM('a','B','','c d','é')", ["'a'", "'none'", "''", '5']],
  ["SET('x','y','zz')", ["''", "'x,y'", "'nothing'", '7']],
  ['BINARY(4)', ["x'00'", "x'FFFFFFFF'", "'a '"]],
  ['VARBINARY(40)', ["x''", "x'0000'", "x'5C275C00'"]],
  ['TINYBLOB', ["x'00FF'", "''"]],
  ['LONGBLOB', ["REPEAT(x'00FF5C', 5000)", "x''"]],
  ['LONGTEXT', ["REPEAT('long ', 5000)", "''"]],
  ['JSON', ['\'{"a": [1, 2.50, null]}\'', "'null'", "'[1e400]'", '\'"\\\\u0000"\'']],
  [
    'UUID',
    [
      "'00000000-0000-0000-0000-000000000000'",
      "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
      "'123e4567-e89b-12d3-a456-426655440000'"
    ]
  ],
  ['INET6', ["'::'", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'", "'::ffff:1.2.3.4'"]],
  ['INET4', ["'0.0.0.0'", "'255.255.255.255'"]]
];

const NULLABLE_AT = 4;
const ROWS = 6;

/** A table of the matrix, of blocks or with keys of its own. */
interface MatrixTable {
  readonly name: string;
  readonly sqlMode: string;
  readonly isScoped: boolean;
  /** The values of a row by its turn, as SQL. */
  readonly values: (turn: number) => readonly string[];
  readonly turns: number;
  /** Columns that take other rows' values. */
  readonly texts: readonly string[];
}

const hex = (text: string) => `x'${Buffer.from(text).toString('hex')}'`;

/** One column of each type; every second mode's table is one of blocks. */
function typesTable(mode: string, sqlMode: string, isScoped: boolean): MatrixTable & { readonly columns: string } {
  const columns = TYPES.map(
    ([type], at) => `c${at} ${type}${at % NULLABLE_AT === 0 || type.endsWith('NULL') ? '' : ' NOT NULL'}`
  );
  const values = (turn: number) =>
    TYPES.map(([, list], at) => (at % NULLABLE_AT === 0 && turn === ROWS - 1 ? 'NULL' : list[turn % list.length]!));
  return { name: `types_${mode}`, sqlMode, isScoped, values, turns: ROWS, texts: [], columns: columns.join(', ') };
}

/** Texts of one character set and collation as CHAR, VARCHAR, TEXT, ENUM and SET. */
function textsTable(
  name: string,
  sqlMode: string,
  isScoped: boolean,
  charset: string,
  collation: string | null
): MatrixTable & { readonly columns: string } {
  const bare = `CHARACTER SET ${charset}${collation === null ? '' : ` COLLATE ${charset}_${collation}`}`;
  const set = charset === 'binary' ? '' : ` ${bare}`;
  const columns = `fixed CHAR(12)${set}, held VARCHAR(60)${set} NOT NULL DEFAULT 'a b', text TEXT${set},
     kind ENUM('one', 'two '${charset === 'ascii' ? '' : ", 'x'"})${set}, kinds SET('p', 'q')${set} NOT NULL`;
  const all = textsOf(charset);
  const values = (turn: number) => {
    const value = all[turn % all.length]!;
    const kind = ["'one'", "'two '", "'no such'", 'NULL'][turn % 4]!;
    return [value, value, turn % 5 === 4 ? 'NULL' : value, kind, ["'p'", "'p,q'", "''"][turn % 3]!];
  };
  return { name, sqlMode, isScoped, values, turns: all.length, texts: ['fixed', 'held', 'kinds'], columns };
}

function textsOf(charset: string): string[] {
  const own = CHARSETS[charset]!.bytes.map((value) => `x'${value}'`);
  return [...TEXTS.map((text) => `CONVERT(_utf8mb4 ${hex(text)} USING ${charset})`), ...own];
}

/** Adds a row for each turn. @param keyOf of the row, by its place */
function insertSql(table: MatrixTable, shift: number, keyOf: (at: number) => number): string {
  const list = Array.from({ length: table.turns }, (_, at) => [at + shift, ...table.values(at + shift), keyOf(at)]);
  return `INSERT IGNORE INTO ${table.name} VALUES ${list.map((row) => `(${row.join(', ')})`).join(', ')}`;
}

async function createTables(run: (sql: string) => Promise<unknown>): Promise<MatrixTable[]> {
  const tables: MatrixTable[] = [];
  const create = async (table: MatrixTable & { readonly columns: string }) => {
    const key = table.isScoped ? 'block_index INT NOT NULL, KEY (block_index)' : 'id INT NOT NULL PRIMARY KEY';
    await run(`CREATE TABLE ${table.name} (turn INT NOT NULL, ${table.columns}, ${key}) ENGINE=InnoDB CHARSET=utf8mb4`);
    await run(insertSql(table, 0, (at) => (table.isScoped ? 1 + (at % 20) : at)));
    tables.push(table);
  };
  for (const [mode, sqlMode] of Object.entries(MODES)) {
    await run(`SET SESSION sql_mode = '${sqlMode}'`);
    await create(typesTable(mode, sqlMode, tables.length % 2 === 0));
    for (const [charset, { collations }] of Object.entries(CHARSETS))
      for (const collation of collations.length > 0 ? collations : [null]) {
        if (mode !== 'lax' && collation !== collations[0] && collation !== null) continue;
        const name = `texts_${mode}_${charset}${collation === null ? '' : `_${collation}`}`;
        await create(textsTable(name, sqlMode, tables.length % 2 === 0, charset, collation));
      }
  }
  await run("SET SESSION sql_mode = ''");
  return tables;
}

/** Tables whose keys, and the rows of blocks whose only names, are texts that no Unicode text stands for. */
async function createKeyed(run: (sql: string) => Promise<unknown>): Promise<void> {
  for (const [charset, { bytes }] of Object.entries(CHARSETS)) {
    if (charset === 'binary') continue;
    await run(
      `CREATE TABLE keyed_${charset} (name VARCHAR(20) CHARACTER SET ${charset} NOT NULL PRIMARY KEY, note VARCHAR(20) CHARACTER SET ${charset} NOT NULL)`
    );
    await run(`CREATE TABLE bare_${charset} (name VARCHAR(20) CHARACTER SET ${charset}, n INT)`);
    await run(
      `CREATE TABLE index_${charset} (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) CHARACTER SET ${charset} NOT NULL)`
    );
    for (const value of ["'a'", "'b'", "'?'", "'??'", ...bytes.map((each) => `x'${each}'`)]) {
      await run(`INSERT IGNORE INTO keyed_${charset} VALUES (${value}, ${value})`);
      await run(`INSERT INTO bare_${charset} VALUES (${value}, 1), (${value}, 1), (${value}, 2)`);
      await run(`INSERT INTO index_${charset} (name) VALUES (${value})`);
    }
  }
}

/** The changes of one block to the keyed tables: each odd text's row changes, goes, or comes. */
function* keyedChanges(step: number): Generator<string> {
  for (const [charset, { bytes }] of Object.entries(CHARSETS)) {
    if (charset === 'binary') continue;
    const odd = `x'${bytes.at(-1 - (step % bytes.length))}'`;
    yield `UPDATE keyed_${charset} SET note = CONCAT('s${step}', LEFT(note, 5)) WHERE BINARY name <> 'a'`;
    yield `DELETE FROM keyed_${charset} WHERE name = CONVERT(${odd} USING ${charset}) AND ${step} % 2 = 0`;
    yield `INSERT IGNORE INTO keyed_${charset} VALUES (${odd}, ${odd})`;
    yield `DELETE FROM bare_${charset} WHERE BINARY name = ${odd} LIMIT 1`;
    yield `UPDATE bare_${charset} SET n = n + 1 WHERE BINARY name = '?' LIMIT 1`;
    yield `INSERT INTO bare_${charset} VALUES (${odd}, ${step}), (${odd}, ${step})`;
    yield `INSERT INTO index_${charset} (name) VALUES (${odd})`;
  }
}

for (const binlog of ['required', 'off'])
  test(`a replica holds to the byte what MariaDB holds under any sql_mode, in any character set and type (binary log: ${binlog})`, async () => {
    const mariadb = await startOwnServer([
      '--log-bin=binlog',
      '--binlog-format=ROW',
      '--innodb-flush-log-at-trx-commit=0'
    ]);
    const source = await createDatabase('matrix', mariadb.root);
    const writer = await connect(source);
    const run = (statement: string) => writer.query(statement);
    await run(
      'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)'
    );
    await run("INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_1_to_20");
    const tables = await createTables(run);
    assert.ok(tables.length > 200, `${tables.length} tables`);
    await createKeyed(run);
    const pair = await startPair('decoder', source, { SYNC_BINLOG: binlog });
    const clientEnv = { SYNC_STATE_DIR: temporaryDirectory('client-state') };
    let client = await pair.startClient(clientEnv);
    let height = 20;

    const equal = async (what: string) => {
      let last: Record<string, unknown> = {};
      await eventually(`complete after ${what}`, async () => {
        last = await pair.status(client);
        if (last['phase'] !== 'live' || last['block_height'] !== height || last['settling'] === true) return false;
        const tip = (name: string) =>
          `SELECT block_hash AS hash FROM ${quoteName(name)}.blocks ORDER BY block_index DESC LIMIT 1`;
        const [sourceRows, replicaRows] = await Promise.all(
          [source, pair.replica].map(({ name }) => rows(writer, tip(name)))
        );
        return sourceRows![0]!['hash'] === replicaRows![0]!['hash'];
      }).catch((fault: Error) => {
        const warnings = client
          .log()
          .split('\n')
          .filter((line) => /"level":[45]0/.test(line));
        throw new Error(`${fault.message}: ${JSON.stringify(last)}\n${warnings.slice(-5).join('\n').slice(0, 4_000)}`);
      });
      assert.deepEqual((await pair.status(client))['not_replicated'] ?? {}, {}, what);
      const verdict = await compareDatabases(source, pair.replica, { ids: true });
      assert.ok(verdict.equal, `${what}: ${JSON.stringify(differences(verdict)).slice(0, 2_000)}`);
      assert.equal((await pair.status(client))['repairs'], 0, `after ${what}: nothing was left for a repair`);
    };
    const block = async (what: string, shift: number) => {
      height += 1;
      await run('BEGIN');
      for (const table of tables) {
        await run(`SET SESSION sql_mode = '${table.sqlMode}'`);
        await run(insertSql(table, shift, (at) => (table.isScoped ? height : 100 * height + at)));
        const changed = table.texts.map((column) => `a.${column} = b.${column}`).join(', ');
        if (changed)
          await run(
            `UPDATE IGNORE ${table.name} a JOIN ${table.name} b ON b.turn = a.turn + ${shift + 1} SET ${changed} WHERE a.turn IN (1, 6, 18, 21)`
          );
        await run(`DELETE FROM ${table.name} WHERE turn IN (${shift + 2}, ${shift + 18})`);
      }
      await run("SET SESSION sql_mode = ''");
      for (const sql of keyedChanges(shift)) await run(sql);
      await run(`INSERT INTO blocks (block_index, block_hash) VALUES (${height}, 'h${height} ${what}')`);
      await run('COMMIT');
      await equal(what);
    };

    await equal('the bootstrap');
    await block('a block', 3);
    await run('BEGIN');
    await run(`DELETE FROM blocks WHERE block_index = ${height}`);
    for (const table of tables)
      await run(
        `DELETE FROM ${table.name} WHERE ${table.isScoped ? `block_index = ${height}` : `id >= ${100 * height}`}`
      );
    height -= 1;
    await run('COMMIT');
    await block('another one instead of it', 4);

    const replica = await connect(pair.replica);
    for (const charset of ['cp1251', 'gbk', 'utf8mb4', 'ascii'])
      await replica.query(`DELETE FROM bare_${charset} LIMIT 7`);
    await client.end();
    client = await pair.startClient(clientEnv);
    await eventually('a comparison repaired what was lost', async () => (await pair.status(client))['repairs'] === 1);
    const verdict = await compareDatabases(source, pair.replica, { ids: true });
    assert.ok(verdict.equal, `after a repair: ${JSON.stringify(differences(verdict)).slice(0, 2_000)}`);
    replica.destroy();
    writer.destroy();
  });
