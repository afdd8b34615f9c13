import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { blocks } from 'doge-test-data';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { liveOf } from '../../../src/decoder/health.ts';
import { isSynced, readinessOf } from '../../../src/follower/report.ts';
import { monotonicMs } from '../../../src/wire/state/monotonic.ts';
import { type RecordedNodeOptions, startRecordedNode } from '../../support/coin/recorded-node.ts';
import { startLoop } from '../../support/decoder/loop.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

const NETWORK = chainNetwork('dogecoin', 'mainnet');
const FIRST = 371_335;
const LAST = 371_337;
const HASHES = new Map(blocks.map(({ blockNumber, blockHash }) => [blockNumber, blockHash]));
const BLOCKS = new Map(blocks.map(({ blockNumber, rawBlock }) => [blockNumber, Buffer.from(rawBlock, 'hex')]));

async function decode(options: RecordedNodeOptions) {
  const chain = new Map([0, FIRST, FIRST + 1, LAST].map((height) => [height, BLOCKS.get(height)!]));
  const { url } = await startRecordedNode(chain, options);
  const database = await createDatabase('decoder_stalls');
  return startLoop({
    database,
    network: NETWORK,
    magic: 'TEST',
    startBlock: FIRST,
    node: { url, user: 'u', password: 'p' }
  });
}

async function until(what: string, isDone: () => boolean): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !isDone(); await sleep(10)) assert.ok(Date.now() < end, what);
}

test('a height that failed twenty times stalls it, and the block that comes after all ends that', async () => {
  let refused: string | undefined = HASHES.get(FIRST + 1);
  const { loop, reach, stop } = await decode({ isRefused: (hash) => hash === refused });
  const live = () => {
    const limits = { alertMs: 900_000, fetchAttempts: 20 };
    return liveOf({ report: { ...loop.report, parseErrors: 0 }, crash: null }, limits, monotonicMs());
  };
  await until('it stalls', () => live().stalled);
  assert.deepEqual([live().last_processed_block, live().node_height, live().lag], [FIRST, LAST, 2]);
  assert.ok(loop.report.failures >= 20 && live().rpc_errors >= 20);
  refused = undefined;
  await reach(LAST, HASHES.get(LAST));
  assert.equal(live().stalled, false);
  await stop();
});

test('it waits until the node has verified 0.99 of its chain', async () => {
  let progress = 0.98;
  const { loop, states, reach, stop } = await decode({ progress: () => progress });
  await until('the node is asked twice', () => loop.report.failures >= 2);
  assert.deepEqual([loop.report.state, loop.report.lastProcessedBlock], ['waitingForNode', null]);
  progress = 0.99;
  await reach(LAST, HASHES.get(LAST));
  assert.equal(states[1], 'waitingForNode');
  await stop();
});

test('NODE_BEHIND: a node that has headers of many more blocks is not at the tip of its network, though 0.99 are verified', async () => {
  let headers = LAST + 1_000;
  const { loop, reach, stop } = await decode({ progress: () => 0.995, headers: () => headers });
  await reach(LAST, HASHES.get(LAST));
  const shown = () => [
    loop.report.alarm?.code,
    isSynced(loop.report),
    readinessOf({ report: loop.report, crash: null })
  ];
  assert.match(loop.report.alarm?.reason ?? '', /has 371337 blocks but headers up to 372337/);
  assert.deepEqual(shown(), ['NODE_BEHIND', false, 'behind']);
  headers = LAST;
  await until('it is at the tip', () => loop.report.alarm === null);
  await loop.probe();
  assert.deepEqual(shown(), [undefined, true, 'ready']);
  await stop();
});
