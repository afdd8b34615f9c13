import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { PlatformError } from '../../../src/errors.ts';
import { type BlockStore, ChainWork, type LinkedBlock } from '../../../src/follower/work.ts';
import { silentLogger } from '../../../src/log.ts';

test('NODE_MISMATCH: a node of another network that has verified nothing yet is not waited for', async () => {
  let isOfOther = true;
  const chain = {
    waitForHeight: async () => undefined,
    tip: async () => ({ height: 0, hash: 'bb', headers: 0, verificationProgress: 0.001 }),
    verifyNetwork: async () => {
      if (isOfOther) throw new PlatformError('NODE_MISMATCH', { reason: 'another network' });
    }
  };
  const store = {
    database: { keepAlive: async () => undefined, halts: { read: async () => null } },
    readTip: async () => ({ height: 716, hash: 'aa' }),
    readBlocksBelow: async () => [{ height: 0, hash: 'cc' }]
  };
  const work = new ChainWork<LinkedBlock, BlockStore<LinkedBlock>>({
    command: 'utxo',
    network: chainNetwork('litecoin', 'regtest'),
    startBlock: 0,
    pollIntervalMs: 1,
    chain: chain as unknown as NodeChain,
    feed: { failures: 0, clear: () => undefined },
    take: async () => [],
    openStore: async () => store as unknown as BlockStore<LinkedBlock>,
    log: silentLogger
  });
  await work.connect();
  const { signal } = new AbortController();
  await assert.rejects(work.watchTip(signal), { code: 'NODE_MISMATCH' });
  await assert.rejects(work.takeBlocks(signal), { code: 'NODE_MISMATCH' });
  isOfOther = false;
  await assert.rejects(work.watchTip(signal), { code: 'NODE_UNREACHABLE', message: /has verified 0.1%/ });
});
