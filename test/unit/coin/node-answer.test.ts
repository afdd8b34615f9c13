import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import type { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { NodeCoins } from '../../../src/encoder/coins/coins.ts';
import { NodePolicyReader } from '../../../src/encoder/creation/node-policy.ts';
import { hasCode } from '../../../src/errors.ts';
import { MinerWallet } from '../../../src/miner/wallet.ts';

const ODD = [null, undefined, '', 'many', -1, 1.5, {}, [], 'f'.repeat(63), 10 ** 10];

test('NODE_REFUSED: a height or hash that is none is not taken for 0 or for a state', async () => {
  const answers: Readonly<Record<string, unknown>> = {
    getmempoolinfo: { mempoolminfee: '0.00001' },
    getnetworkinfo: { relayfee: '0.00001' },
    estimatesmartfee: {}
  };
  for (const odd of ODD) {
    const call = async (method: string) => (method.startsWith('getb') ? odd : answers[method]);
    const refused = { code: 'NODE_REFUSED', message: /malformed/ };
    await assert.rejects(new NodePolicyReader({ call }, { leastMinedRate: 1_000 }, 1_000n).read(), refused);
    const coins = new NodeCoins({ call } as NodeRpc, { coinbaseMaturity: 100 });
    await assert.rejects(coins.ofScript(Buffer.alloc(22)), refused);
  }
});

test('NODE_REFUSED: a mempool whose size is no number is not taken for an empty one', async () => {
  for (const size of ODD) {
    const wallet = new MinerWallet({ call: async () => ({ size }) } as never, chainNetwork('litecoin', 'regtest'));
    await assert.rejects(wallet.waiting(), (error) => hasCode(error, 'NODE_REFUSED'), String(size));
  }
});

test('NODE_REFUSED: a pruned node that does not say from which block is not taken for one that has all', async () => {
  const network = chainNetwork('bitcoin', 'mainnet');
  const info = { chain: 'main', blocks: 900, bestblockhash: 'ab'.repeat(32), verificationprogress: 1, pruned: true };
  let answer: object = info;
  const call = async (method: string) => (method === 'getblockhash' ? network.genesisHash : answer);
  const chain = new NodeChain({ call: call as NodeRpc['call'] } as NodeRpc);
  const verify = (blocksFrom: number | null) => chain.verify(network, { hasIndex: false, blocksFrom });
  for (answer of [info, { ...info, pruneheight: null }]) {
    await assert.rejects(verify(100), (error) => hasCode(error, 'NODE_REFUSED') && /malformed/.test(error.message));
    assert.equal((await verify(null)).height, 900, 'it needs no block');
  }
  answer = { ...info, pruneheight: 101 };
  await assert.rejects(verify(100), /lacks blocks below 101/);
  assert.equal((await verify(101)).height, 900);
});
