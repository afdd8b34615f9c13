import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkIndex } from '../../../lab/reference/check.ts';
import { createDatabase } from '../../support/mariadb.ts';

test('an index that went through reorgs is the index of the final chain, row for row and hash for hash', async () => {
  const databases = { forked: await createDatabase('indexer'), fresh: await createDatabase('indexer') };
  const { actions, rows, statuses } = await checkIndex({ seed: 1, blocks: 60, forks: 4, databases });
  assert.ok(actions > 120 && rows > 800, `${actions} actions, ${rows} rows`);
  const valid = [...statuses.keys()].filter((status) => status.endsWith(' valid'));
  assert.ok(valid.length > 15 && statuses.size > 60, `${valid.join()} of ${statuses.size} statuses`);
});
