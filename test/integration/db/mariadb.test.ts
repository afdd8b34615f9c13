import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, openPool, readFault, rows } from '../../../src/db/connection.ts';
import { hasCode } from '../../../src/errors.ts';
import { recreateTables } from '../../../src/replication/ddl/schema-writer.ts';
import { CoinReader } from '../../../src/tracker/coins/coin-reader.ts';
import { openLink } from '../../support/link.ts';
import { createDatabase, startOwnServer } from '../../support/mariadb.ts';

test('a connection reads values without loss', async () => {
  const connection = await connect(await createDatabase('values'));
  const [row] = await rows(
    connection,
    "SELECT 18446744073709551615 AS big, 9007199254740991 AS safe, CAST('1.50' AS DECIMAL(10,2)) AS amount, TIMESTAMP '2026-01-02 03:04:05.123456' AS moment, X'00ff' AS bytes"
  );
  await connection.end();
  assert.deepEqual(
    { ...row },
    {
      big: '18446744073709551615',
      safe: 9007199254740991,
      amount: '1.50',
      moment: '2026-01-02 03:04:05.123456',
      bytes: Buffer.from([0, 255])
    }
  );
});

test('DATABASE_REFUSED: wrong credentials', async () => {
  const database = await createDatabase('refused');
  await assert.rejects(connect({ ...database, pass: 'wrong' }), { code: 'DATABASE_REFUSED' });
});

test('STATEMENT_REFUSED, TABLE_LACKING: a fault of our own in a query is no outage, and names what is missing', async () => {
  const connection = await connect(await createDatabase('faults'));
  await connection.query('CREATE TABLE here (id INT)');
  for (const [query, code, message] of [
    ['SELEC 1', 'STATEMENT_REFUSED', /SELEC 1/],
    ['SELECT gone FROM here', 'TABLE_LACKING', /no column gone/],
    ['SELECT id FROM gone', 'TABLE_LACKING', /no table gone/]
  ] as const) {
    const fault = readFault(await rows(connection, query).catch((caught: unknown) => caught));
    assert.equal(fault.code, code, query);
    assert.match(fault.message, message);
    assert.doesNotMatch(fault.message, /check MariaDB/);
  }
  await connection.end();
});

/** Settings that an operator may have made for other programs, with the values that we need. */
const ODD_SETTINGS: readonly [name: string, odd: string, needed: string | number][] = [
  [
    'sql_mode',
    "'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'",
    'NO_AUTO_VALUE_ON_ZERO,STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'
  ],
  ['autocommit', '0', 1],
  ['completion_type', "'RELEASE'", 'NO_CHAIN'],
  ['sql_safe_updates', '1', 0],
  ['sql_select_limit', '2', '18446744073709551615'],
  ['sql_auto_is_null', '1', 0],
  ['sql_quote_show_create', '0', 1],
  ['time_zone', "'+05:30'", '+00:00'],
  ['unique_checks', '0', 1],
  ['check_constraint_checks', '1', 0],
  ['innodb_strict_mode', '1', 0],
  ['group_concat_max_len', '4', 1_048_576],
  // Names of tables and keys that agree in so many bytes would come in any order, with another fingerprint each time.
  ['max_sort_length', '64', 1_024],
  ['tx_isolation', "'READ-UNCOMMITTED'", 'REPEATABLE-READ'],
  ['wait_timeout', '1', 604_800],
  ['idle_transaction_timeout', '1', 0],
  ['idle_readonly_transaction_timeout', '1', 0],
  ['idle_write_transaction_timeout', '1', 0],
  ['net_read_timeout', '1', 600],
  ['net_write_timeout', '1', 600]
];

test('a server set for other programs: no setting of it reaches our sessions, and what cannot be set is refused by name', async () => {
  const server = await startOwnServer(['--lower-case-table-names=1']);
  const at = { ...server.root, name: 'mysql' };
  const setter = await connect(at);
  for (const [name, odd] of ODD_SETTINGS) await setter.query(`SET GLOBAL ${name} = ${odd}`);
  await setter.end();
  const connection = await connect(at);
  for (const [name, , needed] of ODD_SETTINGS) {
    const [row] = await rows(connection, `SELECT @@SESSION.${name} AS value`);
    assert.equal(row?.['value'], needed, name);
  }
  const column = { name: 'a', type: 'int(11)', nullable: true, default: null, charset: null, collation: null };
  const rest = { autoIncrement: false, onUpdate: null, generated: null, json: false };
  const table = { name: 'Upper', engine: 'InnoDB', columns: [{ ...column, ...rest }], keys: [], foreignKeys: [] };
  await assert.rejects(
    recreateTables(connection, [{ table, class: 'mutable', ddl: { create: '', afterLoad: [] } }]),
    (fault: Error) => /Upper.*lower_case_table_names=0.*SCHEMA_REFUSED/.test(fault.message)
  );
  await connection.query('SET GLOBAL max_allowed_packet = 1048576');
  await connection.end();
  await assert.rejects(connect(at), (fault: Error) =>
    /max_allowed_packet.*1048576.*DATABASE_UNUSABLE/.test(fault.message)
  );
  await server.stop();
});

test('a look of a tracker on a connection that says nothing any more ends, and gives its place in the pool to the next', async (t) => {
  const database = await createDatabase('silent');
  const link = await openLink(`http://127.0.0.1:${database.port}`);
  const pool = openPool({ ...database, host: '127.0.0.1', port: Number(new URL(link.url).port) }, 1);
  t.after(() => pool.end());
  const coins = new CoinReader(pool, 500);
  assert.equal(await coins.look(async () => 'well'), 'well');
  link.hold(60_000);
  const looks = [coins.look(async () => 'silent'), coins.look(async () => 'well')];
  const ended = Promise.allSettled(looks.map((each) => Promise.race([each, sleep(10_000, 'it waits still')])));
  const [silent, next] = await ended;
  assert.ok(silent?.status === 'rejected' && hasCode(silent.reason, 'DATABASE_UNAVAILABLE'), JSON.stringify(silent));
  assert.deepEqual(next, { status: 'fulfilled', value: 'well' });
});

test('a connection that rests is asked whether it stands, so that what lies between does not forget it', async (t) => {
  const pool = openPool(await createDatabase('rests'), 1);
  t.after(() => pool.end());
  const connection = await pool.getConnection();
  const { localPort } = (connection as unknown as { connection: { stream: Socket } }).connection.stream;
  const local = `:${localPort!.toString(16).toUpperCase().padStart(4, '0')}`;
  const timerOf = () => {
    const found = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map((row) => row.trim().split(/\s+/));
    return found.find(([, address = '', , state]) => address.endsWith(local) && state === '01')?.[5] ?? '';
  };
  const sent = '01:'; // it waits for the server's kernel to say that it has what was sent
  for (let looks = 0; looks < 100 && timerOf().startsWith(sent); looks++) await sleep(50);
  const [kind, ticks = ''] = timerOf().split(':'); // @see proc(5): 02 is keep-alive, and a second has 100 ticks
  assert.deepEqual([kind, Number.parseInt(ticks, 16) <= 6_000], ['02', true], timerOf());
  connection.release();
});
