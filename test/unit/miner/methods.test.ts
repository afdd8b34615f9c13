import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import { type ErrorCode, PlatformError } from '../../../src/errors.ts';
import { silentLogger } from '../../../src/log.ts';
import { type MinerMethodDeps, minerMethods } from '../../../src/miner/methods.ts';
import { Miner } from '../../../src/miner/miner.ts';
import type { RpcCaller } from '../../../src/service/rpc/method.ts';

const NETWORK = chainNetwork('litecoin', 'regtest');
const ADDRESS = addressOf(payTo({ kind: 'witnessKeyHash', bytes: Buffer.alloc(20, 7) }), NETWORK.addresses)!;
const HASH = 'ab'.repeat(32);
const CALLS = {
  send_funds: { address: ADDRESS, amount: 1 },
  generate_blocks: { count: 1 },
  fill_mempool: { tx_quantity: 1 },
  set_mock_time: { timestamp: 0 },
  invalidate_block: { block_hash: HASH },
  reconsider_block: { block_hash: HASH }
};

test('NODE_UNREACHABLE: a node is asked for nothing until it is found to be of the network, nor after it was lost', async () => {
  let [look, asked] = [Promise.withResolvers<number>(), 0];
  const used = async () => {
    asked++;
    return [];
  };
  const wallet = {
    ...{ pay: used, mine: used, fill: used, mockTime: used, invalidate: used, reconsider: used },
    prepare: async () => undefined,
    waiting: () => look.promise
  };
  let verified = Promise.withResolvers<void>();
  const miner = new Miner({ wallet, verify: () => verified.promise, idleMs: 0, log: silentLogger });
  const methods = minerMethods({ miner, wallet, network: NETWORK } as unknown as MinerMethodDeps);
  const outcomes = async () => {
    const all = Object.entries(CALLS).map(async ([name, params]) => await methods[name]!.run(params, {} as RpcCaller));
    const settled = await Promise.allSettled(all);
    return new Set(settled.map((each) => (each.status === 'fulfilled' ? 'done' : (each.reason as PlatformError).code)));
  };
  const turn = () => new Promise((resolve) => setTimeout(resolve, 20));
  const fail = (code: ErrorCode) => {
    look.reject(new PlatformError(code, { reason: 'of the node' }));
    [look, verified] = [Promise.withResolvers(), Promise.withResolvers()];
  };
  const stopping = new AbortController();
  const ended = miner.run(stopping.signal);
  assert.deepEqual([await outcomes(), asked], [new Set(['NODE_UNREACHABLE']), 0]);
  verified.resolve();
  await turn();
  assert.deepEqual([await outcomes(), asked], [new Set(['done']), 6]);
  fail('NODE_REFUSED');
  await turn();
  assert.deepEqual(await outcomes(), new Set(['done']), 'it is the same node that refuses');
  verified.resolve();
  await new Promise((resolve) => setTimeout(resolve, 300));
  fail('NODE_UNREACHABLE');
  await turn();
  assert.deepEqual(await outcomes(), new Set(['NODE_UNREACHABLE']), 'another node may answer by now');
  stopping.abort();
  verified.resolve();
  look.resolve(0);
  await ended;
});

test('a paused miner asks the node once a second, and looks at once when it may mine again', async () => {
  let looks = 0;
  const wallet = {
    prepare: async () => undefined,
    mine: async () => [],
    waiting: async () => {
      looks++;
      return 0;
    }
  };
  const miner = new Miner({ wallet, verify: async () => undefined, idleMs: 0, log: silentLogger });
  miner.set({ isPaused: true });
  const stopping = new AbortController();
  const ended = miner.run(stopping.signal);
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  await wait(700);
  assert.equal(looks, 1);
  miner.set({ isPaused: false });
  await wait(50);
  assert.equal(looks, 2);
  await wait(500);
  assert.ok(looks >= 4, `${looks} looks`);
  stopping.abort();
  await ended;
});
