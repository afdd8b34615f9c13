import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkIndex } from '../../../lab/reference/check.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

/** Returns the number of edits that added to the escrow of a dispenser. */
async function countRefills(database: DatabaseCoordinates): Promise<number> {
  const [row] = await sql(
    database,
    `SELECT COUNT(*) AS refills FROM dispenser_edits e JOIN index_statuses s ON s.id = e.status_id
     WHERE s.status = 'valid' AND e.give_escrow > 0`
  );
  return Number(row!['refills']);
}

const KINDS = [
  { what: '', isLimited: false, isRising: false, seed: 5 },
  { what: ', with low limits', isLimited: true, isRising: false, seed: 5 },
  { what: ', while rules begin', isLimited: false, isRising: true, seed: 9 }
];

for (const { what, isLimited, isRising, seed } of KINDS)
  test(`an index that went through reorgs and restarts has every trade as it was${what}`, async () => {
    const databases = { forked: await createDatabase('indexer'), fresh: await createDatabase('indexer') };
    const options = { seed, blocks: 100, forks: 12, isOfTrades: true, isLimited, isRising, databases };
    const { restarts, statuses } = await checkIndex(options);
    const count = (status: string) => statuses.get(status) ?? 0;
    const counts = {
      editsOfOrders: count('order_edits valid'),
      editsOfSwaps: count('swap_edits valid'),
      editsOfDispensers: count('dispenser_edits valid'),
      refills: await countRefills(databases.fresh),
      dispenses: count('dispenses valid'),
      fills: count('order_matches valid') + count('swap_matches valid'),
      payments: count('coinpays valid'),
      cancels: count('order_cancels valid') + count('swap_cancels valid') + count('dispenser_cancels valid'),
      restarts
    };
    for (const [what, found] of Object.entries(counts)) assert.ok(found > 1, `${what}: ${found}`);
    assert.equal(
      [...statuses.keys()].some((status) => status.endsWith(' (block limit)')),
      isLimited
    );
  });
