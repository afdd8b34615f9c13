import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../src/db/connection.ts';
import { hasCode } from '../../../src/errors.ts';
import { LeftOutSums } from '../../../src/indexer/store/left-out-sums.ts';
import { checkSanity } from '../../../src/indexer/store/sanity.ts';
import { SanitySchedule } from '../../../src/indexer/store/sanity-schedule.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';

const ROWS = 400_000;

test('a ticker with too many rows to add up in time stops no block; the others are added up', async () => {
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, TEST_RULES, 120);
  const transactions = ['ISSUE|0|JUNK|0|0|0||1000', 'ISSUE|0|TOKA|0|0|0||1000'].map((data, at) => {
    return { hash: String(at).padStart(64, 'd'), source: 'A', fee: null, data };
  });
  await store.addBlocks([{ height: 1, time: 1_700_000_000, hash: 'a'.repeat(64), transactions }]);
  const connection = await connect(database);
  const [junk, toka] = [store.tickers.get('junk')!, store.tickers.get('toka')!];
  await connection.query(
    `INSERT INTO credits (action_index, address_id, tick_id, amount) SELECT 2, 1, ${junk}, '0' FROM seq_1_to_${ROWS}`
  );
  assert.ok((await checkSanity([connection], [junk])).get(junk)! > ROWS);
  const sizes = await checkSanity([connection], [toka, junk], 0.06);
  assert.deepEqual([sizes.get(toka), sizes.get(junk)], [2, Number.POSITIVE_INFINITY]);
  const schedule = new SanitySchedule();
  const late = schedule.finish(sizes);
  const leftOut = new LeftOutSums();
  assert.equal(leftOut.fault, null);
  await leftOut.add(late, connection);
  assert.match(leftOut.fault!, /^the rows of JUNK take too long to add up: .*restart the indexer$/);
  await leftOut.add(Array(100_000).fill(toka), connection);
  assert.match(leftOut.fault!, /^the rows of JUNK, TOKA, TOKA, TOKA, TOKA and 99996 more take/);
  assert.deepEqual(
    schedule.begin(
      new Map([
        [junk, 1_000],
        [toka, 1]
      ]),
      false
    ),
    [toka],
    'it is not tried at each block'
  );
  await connection.query(`UPDATE balances SET amount = '999' WHERE tick_id = ${toka}`);
  await assert.rejects(checkSanity([connection], [toka, junk], 0.06), (error) => hasCode(error, 'LEDGER_INSANE'));
  await connection.end();
  store.close();
});
