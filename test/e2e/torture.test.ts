import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DbType } from '../../src/wire/database.ts';
import { runCase } from '../torture/run.ts';

/** Long enough for reorgs, an ALTER, kills and cuts; `npm run torture` goes on for as long as one likes. */
const BLOCKS: Readonly<Record<DbType, number>> = { indexer: 45, decoder: 20 };

for (const [dbType, blocks] of Object.entries(BLOCKS) as [DbType, number][]) {
  test(`${dbType}: ${blocks} blocks of an invented schema and history, under kills and cuts, end equal`, async () => {
    const { failure, settled } = await runCase({ seed: 'of the suite', dbType, blocks, without: [] });
    assert.equal(failure, null, failure ? `step ${failure.step}: ${failure.reason}\n${failure.detail}` : '');
    assert.ok(settled > 0);
  });
}
