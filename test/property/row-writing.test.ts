import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import { selectList } from '../../src/db/row-codec.ts';
import { streamRowBytes } from '../../src/db/row-stream.ts';
import { wireRows } from '../../src/db/wire-rows.ts';
import {
  deleteReceived,
  deleteRows,
  insertRows,
  selectWhere
} from '../../src/replication/replica/database/row-statements.ts';
import { canonicalRow, type ReplicaTable, readReplicaSchema } from '../../src/replication/replica/database/schema.ts';
import { allowsBulkLoad, loadBatch } from '../../src/replication/replica/load/bulk-load.ts';
import { ChunkWriter } from '../../src/replication/snapshot/chunk-writer.ts';
import { RowEncoder } from '../../src/replication/snapshot/row-encoder.ts';
import type { WireRow } from '../../src/wire/data/messages.ts';
import fc from '../support/fast-check.ts';
import { createDatabase } from '../support/mariadb.ts';

const CREATE = `CREATE TABLE every_type (
  i BIGINT UNSIGNED NULL, s SMALLINT NULL, n DECIMAL(40,18) NULL, d DOUBLE NULL, f FLOAT NULL, bits BIT(64) NULL, few BIT(3) NULL,
  bin VARBINARY(40) NULL, blobby LONGBLOB NULL, txt VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  big LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL, kind ENUM('a','it''s') NULL, other ENUM('a','','b') NULL, tags SET('x','y') NULL,
  cyrillic VARCHAR(20) CHARACTER SET cp1251 NULL, han VARCHAR(20) CHARACTER SET gbk NULL, seven VARCHAR(20) CHARACTER SET ascii NULL,
  half VARCHAR(20) CHARACTER SET ucs2 NULL, halves VARCHAR(20) CHARACTER SET utf8mb3 NULL, quarter TEXT CHARACTER SET utf32 NULL,
  at DATETIME(6) NULL, day DATE NULL, took TIME(3) NULL, yr YEAR NULL, js JSON NULL,
  uid UUID NULL, ip INET6 NULL,
  twice VARCHAR(130) AS (concat(txt, txt)) VIRTUAL
) ENGINE=InnoDB CHARSET=utf8mb4`;

const orNull = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: null, freq: 8 });
const bytes = (max: number) =>
  fc.uint8Array({ maxLength: max }).map((list) => ({ __xbin__: Buffer.from(list).toString('base64') }));
const bits = (length: number, most = 255) =>
  fc
    .tuple(fc.integer({ min: 0, max: most }), fc.uint8Array({ minLength: length - 1, maxLength: length - 1 }))
    .map(([first, rest]) => ({ __xbin__: Buffer.from([first, ...rest]).toString('base64') }));
const text = (maxLength: number) =>
  fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: maxLength / 4 }).filter((made) => [...made].length <= maxLength),
    fc.string({
      unit: fc.constantFrom('\\', '\t', '\n', '\r', '\0', "'", '"', 'N', ' ', 'a', 'A', '🂡', '\u001a', '`'),
      maxLength
    })
  );

/** Texts, and bytes of a character set that are none. */
const orBytes = (texts: readonly string[], ...hex: readonly string[]) =>
  fc.constantFrom(...texts, ...hex.map((each) => ({ __xbin__: Buffer.from(each, 'hex').toString('base64') })));

const row: fc.Arbitrary<WireRow> = fc.record({
  i: orNull(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => (value > 2n ** 53n ? value.toString() : Number(value)))
  ),
  s: orNull(fc.integer({ min: -32_768, max: 32_767 })),
  n: orNull(fc.bigInt({ min: -(10n ** 39n), max: 10n ** 39n }).map((value) => decimal(value, 18))),
  d: orNull(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? '-0' : value))),
  f: orNull(fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? '-0' : value))),
  bits: orNull(bits(8)),
  few: orNull(bits(1, 7)),
  bin: orNull(bytes(40)),
  blobby: orNull(bytes(300)),
  txt: orNull(
    fc.oneof({ weight: 6, arbitrary: text(60) }, orBytes(['\ufffd', '\u{10000}'], 'eda08041', 'eda08141', '41edbfbf'))
  ),
  cyrillic: orNull(orBytes(['', '?', 'привет', 'a\\', "'"], '98', '98a0ff', 'd098', '3f98')),
  han: orNull(orBytes(['?', '你好', '縗'], '8140fefe', 'fefe')),
  seven: orNull(orBytes(['?', 'a?', '\u007f'], 'ff', '61ff', '61fe')),
  half: orNull(orBytes(['?', 'ä€', '\uffff', '\ufffd'], 'd8000041', 'dc01', '0041d800')),
  halves: orNull(orBytes(['???', 'ä€', '\ufffd\ufffd\ufffd'], 'eda080', 'edbfbf')),
  quarter: orNull(orBytes(['?', '\u{1f600}'], '0000d80000000041')),
  big: orNull(text(200)),
  // A lax server stored the empty text for a value that is no member.
  kind: orNull(fc.constantFrom('a', "it's", '')),
  other: orNull(orBytes(['a', '', 'b'], '')),
  tags: orNull(fc.constantFrom('', 'x', 'y', 'x,y')),
  at: orNull(fc.constantFrom('2026-01-02 03:04:05.123456', '1000-01-01 00:00:00.000000', '0000-00-00 00:00:00.000000')),
  day: orNull(fc.constantFrom('2026-02-28', '2026-02-31', '2026-00-00')),
  took: orNull(fc.constantFrom('-838:59:59.000', '00:00:00.001')),
  yr: orNull(fc.constantFrom(0, 1901, 2155)),
  js: orNull(fc.json()),
  uid: orNull(fc.constantFrom('00000000-0000-0000-0000-000000000000', '123e4567-e89b-12d3-a456-426655440000')),
  ip: orNull(fc.constantFrom('::', '::ffff:1.2.3.4', 'fe80::1'))
});

function decimal(value: bigint, scale: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Equal rows give equal texts, whichever order the database returns them in. */
const sorted = (table: ReplicaTable, list: readonly WireRow[]) =>
  list.map((each) => JSON.stringify(canonicalRow(table, each))).sort();

/** The rows of a table as the body of a snapshot holds them. */
async function readAsSnapshot(connection: Connection, { plan }: ReplicaTable): Promise<string[]> {
  const texts: string[] = [];
  const columns = plan.storedColumns;
  const encoder = new RowEncoder(columns);
  const chunk = new ChunkWriter(async (bytes) => void texts.push(bytes.toString('utf8')));
  const take = (bytes: Buffer, start: number, end: number): undefined => {
    encoder.encode(bytes, start, end, chunk);
    chunk.flush();
  };
  const sql = `SELECT ${selectList(columns)} FROM ${plan.name}`;
  await streamRowBytes(connection, { table: plan.name, columns, sql, values: [] }, take, new AbortController().signal);
  return texts;
}

test('every value of every type is stored and read back unchanged, by LOAD DATA and by INSERT, and deleted exactly', async () => {
  const connection = await connect(await createDatabase('types'));
  await connection.query(CREATE);
  const table = (await readReplicaSchema(connection, 'indexer', [])).byName.get('every_type')!;
  assert.equal(await allowsBulkLoad(connection), true);
  const columns = table.plan.storedColumns;
  const read = () => wireRows(connection, { columns, sql: (list) => `SELECT ${list} FROM every_type` });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 40 }), fc.boolean(), async (list, bulk) => {
      await connection.query('TRUNCATE every_type');
      await loadBatch(connection, table, list, bulk);
      const stored = await read();
      assert.deepEqual(sorted(table, stored), sorted(table, list));
      assert.deepEqual(
        (await readAsSnapshot(connection, table)).sort(),
        stored.map((each) => JSON.stringify(each)).sort()
      );
      const [first, ...rest] = list.map((each) => canonicalRow(table, each));
      await deleteReceived(connection, table, [first!]);
      assert.deepEqual(sorted(table, await read()), sorted(table, list.slice(1)));
      await deleteRows(connection, table, rest);
      assert.deepEqual(await read(), []);
    }),
    { numRuns: 40 }
  );
  await connection.end();
});

test('every double arrives as it is stored', async () => {
  const connection = await connect(await createDatabase('doubles'));
  const sixteenDigits = fc
    .tuple(fc.bigInt({ min: 10n ** 15n, max: 10n ** 16n - 1n }), fc.integer({ min: 1, max: 15 }), fc.boolean())
    .map(([digits, point, minus]) =>
      Number(`${minus ? '-' : ''}${String(digits).replace(/./g, (d, at) => (at === point ? `.${d}` : d))}`)
    );
  const doubles = fc.array(fc.oneof(sixteenDigits, fc.double({ noNaN: true, noDefaultInfinity: true })), {
    minLength: 200,
    maxLength: 200
  });
  await fc.assert(
    fc.asyncProperty(doubles, async (list) => {
      const wanted = list.map((value) => (Object.is(value, -0) ? 0 : value));
      const [found] = await rows(
        connection,
        `SELECT ${wanted.map((value, n) => `${literal(value)} AS c${n}`).join(', ')}`
      );
      assert.deepEqual(Object.values(found!), wanted);
    }),
    { numRuns: 20 }
  );
  await connection.end();
});

/** With an exponent, or MariaDB takes it for a DECIMAL. */
const literal = (value: number): string => (String(value).includes('e') ? String(value) : `${value}e0`);

test('every pair of bytes survives LOAD DATA in a binary column', async () => {
  const connection = await connect(await createDatabase('bytes'));
  await connection.query(
    'CREATE TABLE pairs (id INT PRIMARY KEY, b VARBINARY(4), t VARCHAR(9)) ENGINE=InnoDB CHARSET=utf8mb4'
  );
  const table = (await readReplicaSchema(connection, 'indexer', [])).byName.get('pairs')!;
  const list = Array.from({ length: 65_536 }, (_, id) => ({
    id,
    b: { __xbin__: Buffer.from([id >> 8, id & 255, id >> 8]).toString('base64') },
    t: 'é🂡\t'
  }));
  await loadBatch(connection, table, list, true);
  const [found] = await rows(
    connection,
    "SELECT COUNT(*) AS n, SUM(b = CHAR(id DIV 256, id MOD 256, id DIV 256) AND t = 'é🂡\\t') AS same FROM pairs"
  );
  assert.deepEqual([Number(found!['n']), Number(found!['same'])], [65_536, 65_536]);
  await connection.end();
});

test('rows that differ in case or in trailing spaces are told apart without a key', async () => {
  const connection = await connect(await createDatabase('case'));
  await connection.query('CREATE TABLE loose (t VARCHAR(9)) ENGINE=InnoDB CHARSET=utf8mb4');
  const table = (await readReplicaSchema(connection, 'indexer', [])).byName.get('loose')!;
  await insertRows(connection, table, [['a'], ['A'], ['a '], ['a']]);
  await deleteReceived(connection, table, [['A'], ['a']]);
  assert.deepEqual((await selectWhere(connection, table, '1')).flat().sort(), ['a', 'a ']);
  await connection.end();
});

test('ROW_REFUSED: a row that LOAD DATA would cut, clamp or skip is named, and nothing of its batch stays', async () => {
  const to = await createDatabase('refused');
  const connection = await connect(to);
  await connection.query(
    'CREATE TABLE tight (id INT PRIMARY KEY, t VARCHAR(3) NOT NULL) ENGINE=InnoDB CHARSET=utf8mb4'
  );
  const table = (await readReplicaSchema(connection, 'indexer', [])).byName.get('tight')!;
  const bad = [
    { id: 2, t: 'long' },
    { id: 1, t: 'b' },
    { id: 2, t: null },
    { id: '99999999999', t: 'b' }
  ];
  for (const second of bad) {
    const own = await connect(to);
    await assert.rejects(loadBatch(own, table, [{ id: 1, t: 'a' }, second], true), { code: 'ROW_REFUSED' });
    const [left] = await rows(connection, 'SELECT COUNT(*) AS n FROM tight');
    assert.equal(Number(left!['n']), 0);
  }
  await connection.end();
});
