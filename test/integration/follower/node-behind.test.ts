import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { startLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { isSynced, readinessOf } from '../../../src/follower/report.ts';
import { atEnd } from '../../support/cleanup.ts';
import { query, startLoop } from '../../support/decoder/loop.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { startTracker } from '../../support/tracker/loop.ts';

const NETWORK = chainNetwork('litecoin', 'regtest');
/** More than a rollback may take. */
const LOST_BLOCKS = 140;

async function until(what: string, isDone: () => boolean): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !isDone(); await sleep(20)) assert.ok(Date.now() < end, what);
}

/** Starts the node again where it was, on the data of a directory. */
async function restart(coin: TestLitecoind, directory: string): Promise<void> {
  const { rpcPort, user, password } = coin.node;
  await coin.node.stop();
  coin.node = await startLitecoind(directory, { rpcPort, user, password });
}

test('NODE_BEHIND: a node that comes back 140 blocks lower on our own chain is waited for; nothing is rolled back or halted', async () => {
  const coin = await startTestLitecoind();
  await coin.node.fund(2);
  const low = await coin.node.height();
  const old = mkdtempSync(join(tmpdir(), 'platform-test-ltc-old-'));
  atEnd(async () => rmSync(old, { recursive: true, force: true }));
  const { rpcPort, user, password } = coin.node;
  await coin.node.stop();
  cpSync(join(coin.directory, 'data'), join(old, 'data'), { recursive: true });
  coin.node = await startLitecoind(coin.directory, { rpcPort, user, password });
  await coin.node.mine(LOST_BLOCKS);
  const [decoded, tracked] = [await createDatabase('behind_decoder'), await createDatabase('behind_tracker')];
  const decoder = startLoop({ database: decoded, node: coin.node, network: NETWORK, magic: 'TEST' });
  const tracker = startTracker(tracked, coin.node);
  const loops = [decoder.loop, tracker.loop];
  const hash = await coin.node.rpc.call('getbestblockhash');
  await decoder.reach(low + LOST_BLOCKS, hash);
  await tracker.reach(hash);

  await restart(coin, old);
  assert.equal(await coin.node.height(), low);
  await until('both wait', () =>
    loops.every(({ report }) => report.state === 'nodeBehind' && report.nodeHeight === low)
  );
  await sleep(500);
  for (const { report } of loops) {
    assert.equal(report.alarm?.code, 'NODE_BEHIND');
    assert.match(report.alarm.reason, new RegExp(`at block ${low}, .* lacks ${LOST_BLOCKS} blocks`));
    assert.deepEqual([report.haltReason, report.lastProcessedBlock], [null, low + LOST_BLOCKS]);
    assert.deepEqual([isSynced(report), readinessOf({ report, crash: null })], [false, 'behind']);
  }
  await restart(coin, coin.directory);
  await coin.node.mine(1);
  const newest = await coin.node.rpc.call('getbestblockhash');
  await decoder.reach(low + LOST_BLOCKS + 1, newest);
  await tracker.reach(newest);
  for (const { report } of loops) assert.deepEqual([report.alarm, isSynced(report)], [null, true]);
  for (const database of [decoded, tracked])
    assert.deepEqual(await query(database, "SELECT code FROM events WHERE code IN ('REORG', 'HALT')"), []);
  await decoder.stop();

  // What an earlier release recorded of such a node ends by itself, for the node has our newest block.
  const store = await openDecoderStore(decoded);
  await store.database.halts.write({
    code: 'ROLLBACK_TOO_DEEP',
    reason: 'a reorg reaches more than 126 blocks deep',
    block_index: low
  });
  await store.database.close();
  const again = startLoop({ database: decoded, node: coin.node, network: NETWORK, magic: 'TEST' });
  await again.reach(low + LOST_BLOCKS + 1, newest);
  assert.ok(again.states.includes('halted'));
  assert.equal(again.loop.report.haltReason, null);
  await again.stop();
});
