import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { type Connection, connect, rows } from '../../../../src/db/connection.ts';
import type { PlatformError } from '../../../../src/errors.ts';
import { readReplicaSchema } from '../../../../src/replication/replica/database/schema.ts';
import { loadBatch } from '../../../../src/replication/replica/load/bulk-load.ts';
import { LoaderPool } from '../../../../src/replication/replica/load/loader-pool.ts';
import type { WireRow } from '../../../../src/wire/data/messages.ts';
import { createDatabase, startOwnServer } from '../../../support/mariadb.ts';

async function tableIn(create: string) {
  const at = await createDatabase('bulk');
  const connection = await connect(at);
  await connection.query(create);
  const name = /TABLE (\w+)/.exec(create)![1]!;
  const table = (await readReplicaSchema(connection, 'indexer', [])).byName.get(name)!;
  const control = await connect(at);
  const all = () => rows(control, `SELECT * FROM ${name} ORDER BY 1`);
  const end = async () => {
    connection.destroy();
    await control.end();
  };
  return { at, connection, control, table, all, end };
}

/** Statements that a connection was given, marked or not. */
function listen(connection: Connection): string[] {
  const statements: string[] = [];
  const { connection: raw } = connection as unknown as { connection: { query: (...given: unknown[]) => unknown } };
  const query = raw.query.bind(raw);
  raw.query = (first, ...rest) => {
    statements.push(typeof first === 'string' ? first : (first as { sql: string }).sql);
    return query(first, ...rest);
  };
  return statements;
}

const TIGHT = `CREATE TABLE tight (id INT PRIMARY KEY, word VARCHAR(3) NOT NULL, raw VARBINARY(2) NULL, small TINYINT NULL,
  amount DECIMAL(4,1) NULL, kind ENUM('a','b') NULL, day DATE NULL, code VARCHAR(9) NULL, UNIQUE KEY code (code)) ENGINE=InnoDB CHARSET=utf8mb4`;
const GOOD = { id: 1, word: 'abc', raw: null, small: 1, amount: '1.0', kind: 'a', day: '2026-01-01', code: 'one' };

/** Rows that LOAD DATA would take with a warning at most, with the number of the error that names them. */
const TRAPS: readonly (readonly [string, WireRow, number])[] = [
  ['a text that is too long would be cut', { ...GOOD, id: 2, code: 'two', word: 'abcd' }, 1406],
  ['bytes that are too many would be cut', { ...GOOD, id: 2, code: 'two', raw: { __xbin__: 'AAAA' } }, 1406],
  ['an integer out of range would be clamped', { ...GOOD, id: 2, code: 'two', small: 128 }, 1264],
  ['a decimal out of range would be clamped', { ...GOOD, id: 2, code: 'two', amount: '1000.0' }, 1264],
  ['an unknown word of an ENUM would become empty', { ...GOOD, id: 2, code: 'two', kind: 'c' }, 1265],
  ['a date that is none would become zero', { ...GOOD, id: 2, code: 'two', day: '2026-02-32' }, 1292],
  ['NULL would become the empty text', { ...GOOD, id: 2, code: 'two', word: null }, 1048],
  ['a second row of a primary key would be skipped', { ...GOOD, code: 'two' }, 1062],
  ['a second row of a unique key would be skipped', { ...GOOD, id: 2 }, 1062]
];
for (const [what, bad, errno] of TRAPS) {
  test(`ROW_REFUSED: ${what} by LOAD DATA; nothing of the batch is there, whichever row it is`, async () => {
    const { at, table, all, end } = await tableIn(TIGHT);
    for (const batch of [
      [GOOD, bad],
      [bad, GOOD]
    ]) {
      const own = await connect(at);
      await assert.rejects(loadBatch(own, table, batch, true), (fault: PlatformError) => {
        assert.deepEqual([fault.code, fault.detail['errno']], ['ROW_REFUSED', errno], fault.message);
        return true;
      });
      assert.deepEqual(await all(), []);
    }
    await end();
  });
}

test('a duplicate takes no committed row with it: what was there before the batch stays', async () => {
  const { at, connection, table, all, end } = await tableIn(TIGHT);
  await loadBatch(connection, table, [GOOD, { ...GOOD, id: 2, code: 'two' }], true);
  const before = await all();
  const own = await connect(at);
  await assert.rejects(
    loadBatch(
      own,
      table,
      [
        { ...GOOD, id: 3, code: 'three' },
        { ...GOOD, id: 4, code: 'two' }
      ],
      true
    ),
    {
      code: 'ROW_REFUSED'
    }
  );
  assert.deepEqual(await all(), before);
  await end();
});

test('SOURCE_INVALID: a row with a field too few or too many is refused before anything is sent', async () => {
  const { at, table, all, end } = await tableIn('CREATE TABLE two (a INT NOT NULL, b INT NULL) ENGINE=InnoDB');
  for (const bad of [{ a: 1 }, { a: 1, b: 2, c: 3 }, {}]) {
    const own = await connect(at);
    const statements = listen(own);
    await assert.rejects(loadBatch(own, table, [{ a: 1, b: 2 }, bad], true), { code: 'SOURCE_INVALID' });
    assert.deepEqual(statements, []);
    own.destroy();
  }
  assert.deepEqual(await all(), []);
  await end();
});

test('the id 0 of an AUTO_INCREMENT key is kept, by LOAD DATA and by INSERT', async () => {
  for (const bulk of [true, false]) {
    const { connection, table, all, end } = await tableIn(
      'CREATE TABLE index_zero (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9) NOT NULL) ENGINE=InnoDB'
    );
    const list = [
      { id: 0, name: 'zero' },
      { id: 7, name: 'seven' }
    ];
    await loadBatch(connection, table, list, bulk);
    assert.deepEqual(await all(), list);
    await end();
  }
});

test('generated columns are computed here, also where the source sends their values', async () => {
  for (const bulk of [true, false]) {
    const { connection, table, all, end } = await tableIn(
      'CREATE TABLE made (a INT NOT NULL, twice INT AS (a * 2) STORED, b INT NOT NULL, sum INT AS (a + b) VIRTUAL) ENGINE=InnoDB'
    );
    await loadBatch(connection, table, [{ a: 3, twice: 999, b: 4, sum: 999 }], bulk);
    assert.deepEqual(await all(), [{ a: 3, twice: 6, b: 4, sum: 7 }]);
    await end();
  }
});

test('every byte and every BIT pattern goes in by LOAD DATA alone, beside text in UTF-8', async () => {
  const { connection, table, all, end } = await tableIn(
    'CREATE TABLE bytes (n INT PRIMARY KEY, raw VARBINARY(8) NULL, few BIT(8) NULL, wide BIT(16) NULL, word VARCHAR(9) NULL) ENGINE=InnoDB CHARSET=utf8mb4'
  );
  const statements = listen(connection);
  const bytes = (...list: number[]) => ({ __xbin__: Buffer.from(list).toString('base64') });
  const list = Array.from({ length: 256 }, (_, n) => ({
    n,
    raw: bytes(n, 78, 92, n),
    few: bytes(n),
    wide: bytes(n, 255 - n),
    word: `é${String.fromCodePoint(n)}🂡`
  }));
  await loadBatch(connection, table, list, true);
  assert.deepEqual(
    statements.map((sql) => sql.split(' ')[0]),
    ['BEGIN', 'LOAD', 'COMMIT']
  );
  for (const [n, row] of (await all()).entries()) {
    const { raw, few, wide, word } = row as { raw: Buffer; few: Buffer; wide: Buffer; word: string };
    assert.deepEqual([[...raw], [...few], [...wide], word], [[n, 78, 92, n], [n], [n, 255 - n], list[n]!.word]);
  }
  await end();
});

const LIST = Array.from({ length: 1_000 }, (_, n) => ({ n, word: `word ${n}` }));
const MANY = 'CREATE TABLE many (n INT PRIMARY KEY, word VARCHAR(20) NOT NULL) ENGINE=InnoDB';

function half(own: Readable, then: (stream: Readable) => void): Readable {
  const stream = new Readable({ read: () => undefined });
  own.once('data', (bytes: Buffer) => {
    stream.push(bytes.subarray(0, bytes.indexOf('\n', bytes.length / 2) + 1));
    setImmediate(() => then(stream));
  });
  return stream;
}

/** Lets the first half of each load's rows go through; then the test does something to the stream. */
function interfere(connection: Connection, then: (stream: Readable) => void): void {
  const { connection: raw } = connection as unknown as { connection: { query: (...given: unknown[]) => unknown } };
  const query = raw.query.bind(raw);
  raw.query = (first, ...rest) => {
    const load = first as { infileStreamFactory?: () => Readable };
    const { infileStreamFactory: own } = load;
    if (own) load.infileStreamFactory = () => half(own(), then);
    return query(first, ...rest);
  };
}

/** A load that is cut in its middle fails, destroys its connection, and leaves nothing. */
async function assertCut(then: (stream: Readable, connection: Connection, control: Connection) => void): Promise<void> {
  const { connection, control, table, all, end } = await tableIn(MANY);
  interfere(connection, (stream) => then(stream, connection, control));
  await assert.rejects(loadBatch(connection, table, LIST, true), { code: 'DATABASE_UNAVAILABLE' });
  await assert.rejects(connection.query('SELECT 1'), 'the connection is used again');
  await control.query('LOCK TABLES many WRITE'); // waits until the load is rolled back
  await control.query('UNLOCK TABLES');
  assert.deepEqual(await all(), []);
  await end();
}

test('a stream of rows that errors commits nothing of what the server had', () =>
  assertCut((stream) => stream.destroy(new Error('the rows ended'))));

test('a connection that is killed in the middle of a load commits nothing', () =>
  assertCut((_stream, { threadId }, control) => void control.query('KILL CONNECTION ?', [threadId])));

test('a stream that is destroyed without an error ends at the deadline of its batch, and commits nothing', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await assertCut((stream) => {
    stream.destroy();
    setImmediate(() => t.mock.timers.tick(300_000));
  });
});

test('a stream that ends early without an error is not taken for the whole batch', async () => {
  const { connection, table, all, end } = await tableIn(MANY);
  interfere(connection, (stream) => stream.push(null));
  const statements = listen(connection);
  await loadBatch(connection, table, LIST, true);
  assert.deepEqual(await all(), LIST);
  assert.ok(statements.some((sql) => sql.startsWith('INSERT')));
  await end();
});

test('without LOAD DATA the same rows go in by INSERT', async () => {
  const { connection, table, all, end } = await tableIn(MANY);
  const statements = listen(connection);
  await loadBatch(connection, table, LIST, false);
  assert.deepEqual(await all(), LIST);
  assert.deepEqual(
    statements.map((sql) => sql.split(' ')[0]),
    ['BEGIN', 'INSERT', 'COMMIT']
  );
  await end();
});

test("under any defaults of the replica's server a duplicate takes no row with it, nothing is cut, times are UTC", async () => {
  const { root } = await startOwnServer();
  const control = await connect(root);
  for (const setting of ['unique_checks = 0', "sql_mode = ''", 'max_error_count = 0', "time_zone = '+05:00'"])
    await control.query(`SET GLOBAL ${setting}`);
  await control.query('CREATE DATABASE lax');
  await control.query('USE lax');
  const create =
    'CREATE TABLE index_tight (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(3) NOT NULL, at TIMESTAMP NULL';
  await control.query(`${create}, UNIQUE KEY (word)) ENGINE=InnoDB CHARSET=utf8mb4`);
  const at = { ...root, name: 'lax' };
  const table = (await readReplicaSchema(control, 'indexer', [])).byName.get('index_tight')!;
  const row = (id: number, word: string) => ({ id, word, at: '2026-01-01 00:00:00' });
  const load = async (...list: WireRow[]) => {
    const pool = await LoaderPool.open(at, 1, 1, true);
    try {
      await pool.add(table, list);
      await pool.finish(table.name);
    } finally {
      pool.destroy();
    }
  };
  const before = [row(0, 'a'), row(1, 'b'), row(2, 'c')];
  await load(...before);
  await assert.rejects(load(row(3, 'd'), row(4, 'b')), { code: 'ROW_REFUSED' });
  await assert.rejects(load(row(1, 'x')), { code: 'ROW_REFUSED' });
  await assert.rejects(load(row(5, 'long')), { code: 'ROW_REFUSED' });
  const session = await connect(at);
  const [set] = await rows(session, 'SELECT @@unique_checks AS u, @@max_error_count AS e, @@time_zone AS t');
  assert.deepEqual(set, { u: 1, e: 64, t: '+00:00' });
  await session.end();
  assert.deepEqual(await rows(control, 'SELECT * FROM index_tight ORDER BY id'), before);
  await control.end();
});
