import assert from 'node:assert/strict';
import { test } from 'node:test';
import { databaseError } from '../../../src/db/connection.ts';
import { deleteFrom } from '../../../src/indexer/store/delete-rows.ts';

test('rows of a rollback are deleted in parts of a bounded size, by the end of a key', async () => {
  const asked: string[] = [];
  let left = 50_000;
  const query = async (sql: string, values: unknown[]) => {
    asked.push(sql);
    assert.deepEqual(values, [7]);
    const affectedRows = Math.min(left, Number(/LIMIT (\d+)$/.exec(sql)![1]));
    left -= affectedRows;
    return [{ affectedRows }];
  };
  await deleteFrom({ query } as never, 'credits', 'action_index', 7);
  assert.equal(left, 0);
  assert.equal(asked.length, 3);
  for (const sql of asked) assert.match(sql, /WHERE action_index >= \? ORDER BY action_index DESC LIMIT 20000$/);
});

test('DATABASE_UNAVAILABLE: a statement that took longer than its limit is named, with the setting that helps', () => {
  const caught = Object.assign(new Error('driver'), {
    code: 'ER_STATEMENT_TIMEOUT',
    errno: 1969,
    sqlState: '70100',
    sqlMessage: 'Query execution was interrupted',
    sql: `SELECT *\n  FROM credits WHERE ${'x'.repeat(500)}`
  });
  const { reason } = databaseError(caught).detail as { reason: string };
  assert.match(reason, /interrupted.*DB_QUERY_TIMEOUT.*SELECT \* FROM credits/);
  assert.ok(reason.length < 300, reason);
  const lost = databaseError(Object.assign(new Error('gone'), { errno: 2013, sql: 'SELECT 1' })).detail;
  assert.ok(!/DB_QUERY_TIMEOUT/.test(String(lost['reason'])));
});
