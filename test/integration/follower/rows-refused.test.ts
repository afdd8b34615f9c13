import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { healthOf } from '../../../src/decoder/health.ts';
import { readinessOf } from '../../../src/follower/report.ts';
import { monotonicMs } from '../../../src/wire/state/monotonic.ts';
import { query, startLoop } from '../../support/decoder/loop.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { startTracker } from '../../support/tracker/loop.ts';

test('ROWS_REFUSED: rows that MariaDB refuses are told with their table, no block is lost, and a mended table ends it', async () => {
  const { node } = await startTestLitecoind();
  await node.fund(2);
  const [decoded, tracked] = [await createDatabase('refused_decoder'), await createDatabase('refused_tracker')];
  const decoder = startLoop({ database: decoded, node, network: chainNetwork('litecoin', 'regtest'), magic: 'PNOD' });
  const tracker = startTracker(tracked, node);
  const tip = async () => String(await node.rpc.call('getbestblockhash'));
  await decoder.reach(await node.height(), await tip());
  await tracker.reach(await tip());
  await query(decoded, 'ALTER TABLE transactions MODIFY data VARCHAR(4) NOT NULL');
  await query(tracked, 'ALTER TABLE blocks ADD COLUMN more INT NOT NULL');
  await node.pay({ action: 'SEND|0|T|1' });
  await node.mine(1);
  for (const [{ loop }, table] of [
    [decoder, 'transactions'],
    [tracker, 'blocks']
  ] as const) {
    for (const end = Date.now() + PATIENCE_MS; loop.report.alarm?.code !== 'ROWS_REFUSED'; await sleep(20))
      assert.ok(Date.now() < end, JSON.stringify(loop.report));
    assert.match(loop.report.alarm.reason, new RegExp(`^MariaDB refuses rows of the table ${table}: `));
    assert.equal(loop.report.state, 'refusedByDatabase');
    await loop.probe();
    assert.equal(readinessOf({ report: loop.report, crash: null }), 'unavailable');
  }
  const { status, alarm } = healthOf(
    { report: { ...decoder.loop.report, parseErrors: 0 }, crash: null },
    monotonicMs()
  );
  assert.deepEqual([status, alarm?.code], ['unhealthy', 'ROWS_REFUSED']);
  await query(decoded, 'ALTER TABLE transactions MODIFY data MEDIUMTEXT NOT NULL');
  await query(tracked, 'ALTER TABLE blocks DROP COLUMN more');
  await decoder.reach(await node.height(), await tip());
  await tracker.reach(await tip());
  for (const { loop } of [decoder, tracker]) assert.equal(loop.report.alarm, null);
  await decoder.stop();
  await tracker.stop();
});
