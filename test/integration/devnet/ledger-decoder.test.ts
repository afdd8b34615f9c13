import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../../src/db/connection.ts';
import { compareDatabases } from '../../../src/verify/compare.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { appendBacklog, appendBlocks, createDecoder, reorg } from '../../support/sync/generated-decoder.ts';

test('a generated decoder of 20000 rows is made in seconds, repeatable, chained, and survives a reorg', async () => {
  const [one, other] = [await createDatabase('decoder'), await createDatabase('decoder')];
  for (const database of [one, other]) {
    const startedAt = performance.now();
    await createDecoder(database, { seed: 'd', blocks: 300, rows: 20_000 });
    assert.ok(performance.now() - startedAt < 10_000);
    assert.equal(await appendBlocks(database, 5, 'live'), 404);
    assert.equal(await appendBacklog(database, 5, 'backlog'), 409);
    assert.equal(await reorg(database, 7, 9, 'branch'), 411);
  }
  const verdict = await compareDatabases(one, other, { strict: true });
  assert.deepEqual(
    verdict.tables.filter(({ equal }) => !equal).map(({ table, differences }) => [table, differences[0]]),
    []
  );
  const total = verdict.tables.reduce((sum, table) => sum + table.rows.source!, 0);
  assert.ok(total > 18_000 && total < 24_000, `${total} rows`);
  const connection = await connect(one);
  const [found] = await rows(
    connection,
    `SELECT (SELECT COUNT(*) FROM blocks b JOIN blocks p ON p.block_index = b.block_index - 1 WHERE p.block_hash_id <> b.previous_block_hash_id) AS breaks,
            (SELECT COUNT(*) FROM events WHERE code = 'REORG') AS reorgs, (SELECT COUNT(*) FROM dispensers) AS dispensers,
            (SELECT COUNT(*) FROM pubkeys a JOIN pubkeys b ON b.id = a.id + 1 WHERE b.address_id < a.address_id) AS disorder`
  );
  await connection.end();
  assert.equal(found!['breaks'], 0);
  assert.equal(found!['reorgs'], 7);
  assert.ok(Number(found!['dispensers']) > 0 && Number(found!['disorder']) > 0);
});
