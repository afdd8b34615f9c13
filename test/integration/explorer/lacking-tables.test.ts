import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createExplored } from '../../support/explorer-database.ts';
import { startExplorer } from '../../support/explorer-process.ts';
import { sql } from '../../support/sql.ts';

test('TABLE_LACKING: a table or column that is missing is named, to callers and once in the log; MariaDB is not blamed', async () => {
  const explored = await createExplored();
  const { url, output } = await startExplorer(explored, { EXPLORER_CACHE_MB: '0' });
  await sql(
    explored.indexer,
    'RENAME TABLE bets TO kept_bets',
    'ALTER TABLE broadcasts CHANGE COLUMN value kept_value varchar(25) NULL'
  );
  const ask = async (path: string) => {
    const response = await fetch(`${url}/api/${path}`);
    return { status: response.status, body: (await response.json()) as { error?: string; code?: string } };
  };
  for (const [path, missing] of [
    ['bets', /table bets/],
    ['broadcasts/3/block', /column (?:t\.)?value/]
  ] as const)
    for (let n = 0; n < 8; n++) {
      const { status, body } = await ask(path);
      assert.deepEqual([status, body.code], [500, 'DB_ERROR'], JSON.stringify(body));
      assert.match(body.error ?? '', missing);
    }
  assert.equal((await ask('blocks')).status, 200);
  const lines = output()
    .split('\n')
    .filter((line) => line.includes('TABLE_LACKING'));
  assert.equal(lines.filter((line) => /table bets/.test(line)).length, 1, lines.join('\n'));
  assert.equal(lines.filter((line) => /column/.test(line)).length, 1, lines.join('\n'));
  assert.ok(!/circuit of the .* is/.test(output()), 'the database was never taken for down');
  explored.store.close();
});
