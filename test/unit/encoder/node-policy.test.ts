import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policyOf } from '../../../src/encoder/node-policy.ts';

test('a node that says what it relays is believed; estimates are no lower than its least rate', () => {
  const mempool = {
    mempoolminfee: '0.00002000',
    minrelaytxfee: '0.00000100',
    maxdatacarriersize: '100000',
    permitbaremultisig: false
  };
  assert.deepEqual(policyOf(mempool, [1_500n, 3_000n, 20_000n]), {
    leastRate: 2_000n,
    rates: { low: 2_000n, medium: 3_000n, high: 20_000n },
    source: 'estimate',
    dataCarrierBytes: 100_000,
    permitsBareMultisig: false
  });
});

test('an older node relays 83 bytes of data and bare multisig; without estimates its relay fee is the rate', () => {
  assert.deepEqual(policyOf({ mempoolminfee: '1e-05', minrelaytxfee: '0.00001000' }, [null, null, null]), {
    leastRate: 1_000n,
    rates: { low: 1_000n, medium: 1_000n, high: 1_000n },
    source: 'relay fee',
    dataCarrierBytes: 83,
    permitsBareMultisig: true
  });
});

test('NODE_REFUSED: an answer that is no policy', () => {
  for (const answer of [null, {}, { mempoolminfee: true }, { mempoolminfee: '0.1', maxdatacarriersize: -1 }])
    assert.throws(() => policyOf(answer, []), { code: 'NODE_REFUSED' });
});
