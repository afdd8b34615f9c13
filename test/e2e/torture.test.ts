import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCase } from '../../lab/torture/run.ts';
import { runSized } from '../../lab/torture/sized/run.ts';
import type { DbType } from '../../src/wire/data/database.ts';
import { startOwnServer } from '../support/mariadb.ts';

/** Long enough for reorgs, an ALTER, kills and cuts; `npm run torture` goes on for as long as one likes. */
const BLOCKS: Readonly<Record<DbType, number>> = { indexer: 45, decoder: 20 };

for (const [dbType, blocks] of Object.entries(BLOCKS) as [DbType, number][]) {
  for (const schema of ['invented', 'in-use'] as const)
    test(`${dbType}: ${blocks} blocks of ${schema} tables, under kills and cuts, end equal`, async () => {
      const { failure, settled } = await runCase({ seed: 'of the suite', dbType, schema, blocks, without: [] });
      assert.equal(failure, null, failure ? `step ${failure.step}: ${failure.reason}\n${failure.detail}` : '');
      assert.ok(settled > 0);
    });
}

test('indexer: 60 blocks that the indexer itself writes, under kills and cuts, end equal, and as the reference has them', async () => {
  const of = { seed: 'of the suite', dbType: 'indexer', schema: 'ledger', blocks: 60, without: [] } as const;
  const { failure, settled } = await runCase(of);
  assert.equal(failure, null, failure ? `step ${failure.step}: ${failure.reason}\n${failure.detail}` : '');
  assert.ok(settled > 0);
});

test('tables of 5,000 and 25,000 rows, read with the binary log, are equal at each of 30 blocks', async () => {
  const { root } = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  const of = {
    seed: 'of the suite',
    blocks: 30,
    binlog: 'on',
    sizes: [5_000, 25_000],
    without: [],
    isLiedTo: false
  } as const;
  const { failure, comparisons } = await runSized(of, root);
  assert.equal(failure, null);
  assert.ok(comparisons > 30);
});

test('a replica of three sources is equal at each of 20 blocks, though the one that it follows lies of schema, hashes and reorgs', async () => {
  const { root } = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  const of = { seed: 'lies', blocks: 20, binlog: 'on', sizes: [1_000, 5_000], without: [], isLiedTo: true } as const;
  const { failure, comparisons } = await runSized(of, root);
  assert.equal(failure, null);
  assert.ok(comparisons > 20);
});
