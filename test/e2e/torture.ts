import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCase } from '../../lab/torture/run.ts';
import { runSized } from '../../lab/torture/sized/run.ts';
import type { DbType } from '../../src/wire/data/database.ts';
import { startOwnServer } from '../support/mariadb.ts';

/** Blocks of each case. */
interface Lengths extends Readonly<Record<DbType, number>> {
  /** Tables that the indexer itself writes. */
  readonly ledger: number;
  /** Tables of several sizes. */
  readonly sized: number;
  /** The same, where a source lies. */
  readonly lied: number;
}

/** Runs each kind of case once. */
export function tortureTests({ ledger, sized, lied, ...lengths }: Lengths): void {
  for (const [dbType, blocks] of Object.entries(lengths) as [DbType, number][]) {
    for (const schema of ['invented', 'in-use'] as const)
      test(`${dbType}: ${blocks} blocks of ${schema} tables, under kills and cuts, end equal`, async () => {
        const { failure, settled } = await runCase({ seed: 'of the suite', dbType, schema, blocks, without: [] });
        assert.equal(failure, null, failure ? `step ${failure.step}: ${failure.reason}\n${failure.detail}` : '');
        assert.ok(settled > 0);
      });
  }

  test(`indexer: ${ledger} blocks that the indexer itself writes, under kills and cuts, end equal, and as the reference has them`, async () => {
    const of = { seed: 'of the suite', dbType: 'indexer', schema: 'ledger', blocks: ledger, without: [] } as const;
    const { failure, settled } = await runCase(of);
    assert.equal(failure, null, failure ? `step ${failure.step}: ${failure.reason}\n${failure.detail}` : '');
    assert.ok(settled > 0);
  });

  test(`tables of 5,000 and 25,000 rows, read with the binary log, are equal at each of ${sized} blocks`, async () => {
    const { root } = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
    const of = {
      seed: 'of the suite',
      blocks: sized,
      binlog: 'on',
      sizes: [5_000, 25_000],
      without: [],
      isLiedTo: false
    } as const;
    const { failure, comparisons } = await runSized(of, root);
    assert.equal(failure, null);
    assert.ok(comparisons > sized);
  });

  test(`a replica of three sources is equal at each of ${lied} blocks, though the one that it follows lies of schema, hashes and reorgs`, async () => {
    const { root } = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
    const of = {
      seed: 'lies',
      blocks: lied,
      binlog: 'on',
      sizes: [1_000, 5_000],
      without: [],
      isLiedTo: true
    } as const;
    const { failure, comparisons } = await runSized(of, root);
    assert.equal(failure, null);
    assert.ok(comparisons > lied);
  });
}
