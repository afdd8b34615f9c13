import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { NodeCoins } from '../../../src/encoder/coins/coins.ts';
import { NodePolicyReader } from '../../../src/encoder/creation/node-policy.ts';

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
