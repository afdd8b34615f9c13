import assert from 'node:assert/strict';
import { connect } from '../../../src/db/connection.ts';
import { type CompareOptions, compareDatabases, type TableVerdict, type Verdict } from '../../../src/verify/compare.ts';
import { createDatabase } from '../../support/mariadb.ts';

/** Runs the first statements on both sides, then what differs on each. */
export async function compare(
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

export function only(verdict: Verdict, table = 't'): TableVerdict {
  const found = verdict.tables.find((row) => row.table === table);
  assert.ok(found, `${table} is compared`);
  return found;
}
