import assert from 'node:assert/strict';
import { test } from 'node:test';
import { databaseError, refusalOf, slowStatement } from '../../../src/db/connection.ts';
import { hasCode } from '../../../src/errors.ts';

const failed = (errno: number) =>
  Object.assign(new Error('driver'), { errno, sqlState: 'HY000', sqlMessage: `error ${errno}`, sql: 'SELECT 1' });

/** Errors that pass by waiting, by the names that MariaDB gives them. */
const PASSING: Readonly<Record<number, string>> = {
  1020: 'ER_CHECKREAD',
  1021: 'ER_DISK_FULL',
  1026: 'ER_ERROR_ON_WRITE',
  1037: 'ER_OUTOFMEMORY',
  1040: 'ER_CON_COUNT_ERROR',
  1041: 'ER_OUT_OF_RESOURCES',
  1044: 'ER_DBACCESS_DENIED_ERROR',
  1049: 'ER_BAD_DB_ERROR',
  1053: 'ER_SERVER_SHUTDOWN',
  1114: 'ER_RECORD_FILE_FULL',
  1135: 'ER_CANT_CREATE_THREAD',
  1142: 'ER_TABLEACCESS_DENIED_ERROR',
  1143: 'ER_COLUMNACCESS_DENIED_ERROR',
  1197: 'ER_TRANS_CACHE_FULL',
  1205: 'ER_LOCK_WAIT_TIMEOUT',
  1206: 'ER_LOCK_TABLE_FULL',
  1213: 'ER_LOCK_DEADLOCK',
  1227: 'ER_SPECIFIC_ACCESS_DENIED_ERROR',
  1290: 'ER_OPTION_PREVENTS_STATEMENT',
  1317: 'ER_QUERY_INTERRUPTED',
  1412: 'ER_TABLE_DEF_CHANGED',
  1792: 'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
  1836: 'ER_READ_ONLY_MODE',
  1927: 'ER_CONNECTION_KILLED',
  1969: 'ER_STATEMENT_TIMEOUT',
  2006: 'CR_SERVER_GONE_ERROR',
  2013: 'CR_SERVER_LOST'
};

test('every error of MariaDB is a refusal of the statement, but those that pass by waiting', () => {
  const all = Array.from({ length: 4_200 }, (_, place) => 1_000 + place);
  const passing = all.filter((errno) => refusalOf(failed(errno)) === null);
  assert.deepEqual(passing, Object.keys(PASSING).map(Number));
  assert.equal(refusalOf(failed(1366)), 'error 1366');
  assert.equal(refusalOf(failed(3)), null, 'a temporary file that cannot be written has a number of its own');
  const engine = (words: string) => refusalOf({ ...failed(1030), sqlMessage: words });
  assert.equal(engine('Got error 28 "No space left on device" from storage engine InnoDB'), null);
  assert.notEqual(engine('Got error 128 "Out of memory in engine" from storage engine InnoDB'), null);
  assert.equal(refusalOf(Object.assign(new Error('gone'), { code: 'ECONNRESET' })), null, 'MariaDB said nothing');
});

test('STATEMENT_TOO_SLOW: one error says that a statement took longer than its limit', () => {
  const slow = slowStatement(failed(1969));
  assert.ok(hasCode(slow, 'STATEMENT_TOO_SLOW'));
  assert.match(slow.message, /longer than DB_QUERY_TIMEOUT; it begins with SELECT 1/);
  for (const errno of [1205, 1317, 2013]) assert.equal(slowStatement(failed(errno)), null);
  assert.equal(slowStatement(slow), null, 'it is one already');
});

test('a server without room, or that takes no writes, says what helps', () => {
  assert.match(databaseError(failed(3)).message, /make room for its files; it is tried again by itself/);
  assert.match(databaseError(failed(1290)).message, /let this account write there; it is tried again by itself/);
});
