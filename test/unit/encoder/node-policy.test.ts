import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { TransactionForm } from '../../../src/coin/raw/transaction-form.ts';
import { NodePolicyReader, policyOf } from '../../../src/encoder/creation/node-policy.ts';
import { readFee } from '../../../src/encoder/creation/request.ts';
import { PlatformError } from '../../../src/errors.ts';

test('a node that says what it relays is believed; estimates are no lower than its least rate', () => {
  const mempool = {
    mempoolminfee: '0.00002000',
    minrelaytxfee: '0.00000100',
    maxdatacarriersize: '100000',
    permitbaremultisig: false
  };
  const network = { relayfee: '0.00000100', incrementalfee: '0.00005000' };
  assert.deepEqual(policyOf({ mempool, network }, [1_500n, 3_000n, 20_000n]), {
    leastRate: 2_000n,
    raiseRate: 5_000n,
    rates: { low: 2_000n, medium: 3_000n, high: 20_000n },
    source: 'estimate',
    dataCarrierBytes: 100_000,
    permitsBareMultisig: false
  });
});

test('an older node relays 83 bytes of data and bare multisig; without estimates its relay fee is the rate', () => {
  assert.deepEqual(
    policyOf({ mempool: { mempoolminfee: '0' }, network: { relayfee: '0.00100000' } }, [null, null, null]),
    {
      leastRate: 100_000n,
      raiseRate: 100_000n,
      rates: { low: 100_000n, medium: 100_000n, high: 100_000n },
      source: 'relay fee',
      dataCarrierBytes: 83,
      permitsBareMultisig: true
    }
  );
});

test('a faster confirmation costs no less than a slower one', () => {
  const answers = { mempool: { mempoolminfee: '0.00001' }, network: { relayfee: '0.00001' } };
  assert.deepEqual(policyOf(answers, [9_000n, null, 4_000n]).rates, { low: 9_000n, medium: 9_000n, high: 9_000n });
});

test('NODE_REFUSED: answers that are no policy', () => {
  const mempool = { mempoolminfee: '0.00001' };
  const network = { relayfee: '0.00001' };
  for (const answers of [
    null,
    {},
    { mempoolminfee: true },
    { mempoolminfee: 'much' },
    { mempoolminfee: '0.000000001' },
    { mempoolminfee: '0.1', maxdatacarriersize: -1 }
  ])
    assert.throws(() => policyOf({ mempool: answers, network }, []), { code: 'NODE_REFUSED' });
  assert.throws(() => policyOf({ mempool: { size: 0 }, network }, []), { message: /has no mempoolminfee/ });
  for (const answers of [null, {}, { relayfee: 'much' }])
    assert.throws(() => policyOf({ mempool, network: answers }, []), { code: 'NODE_REFUSED' });
});

test('an estimate above ENCODER_MAX_FEE_RATE is none: the least rate is paid, and no mistake of the node', async () => {
  const answers: Readonly<Record<string, unknown>> = {
    getblockcount: 7,
    getmempoolinfo: { mempoolminfee: '0.00001' },
    getnetworkinfo: { relayfee: '0.00001' }
  };
  const policyFor = (feerate: string) => {
    const call = async (method: string) => answers[method] ?? { feerate };
    return new NodePolicyReader({ call }, { leastMinedRate: 1_000 }, 3_000_000n).read();
  };
  const { rates, source } = await policyFor('10');
  assert.deepEqual([rates.medium, rates.high, source], [1_000n, 1_000n, 'relay fee']);
  assert.equal((await policyFor('0.02')).rates.medium, 2_000_000n);
});

/** A transaction of 10 bytes, which pays nobody. */
const FORM: TransactionForm = { inputs: [], outputs: [] };

test('NODE_REFUSED: a failure to estimate is no word that there is no estimate', async () => {
  const answers: Readonly<Record<string, unknown>> = {
    getblockcount: 7,
    getmempoolinfo: { mempoolminfee: '0.00001' },
    getnetworkinfo: { relayfee: '0.00001' }
  };
  const sourceWhere = async (estimate: () => unknown) => {
    const call = async (method: string) => answers[method] ?? estimate();
    const policy = await new NodePolicyReader({ call }, { leastMinedRate: 1_000 }, 3_000_000n).read();
    const bounds = { mostRate: 3_000_000n, softDust: 0 };
    assert.equal(readFee({ feePerKb: 5_000 }, policy, bounds)(FORM), 50n, 'who names a rate needs no estimate');
    try {
      return `${policy.source} ${readFee({}, policy, bounds)(FORM)}`;
    } catch (caught) {
      return (caught as PlatformError).code;
    }
  };
  const refusing = (rpcCode: number | undefined, reason: string) => () => {
    throw new PlatformError('NODE_REFUSED', { rpcCode, reason });
  };
  assert.equal(await sourceWhere(refusing(-32_601, 'Method not found')), 'relay fee 10');
  assert.equal(await sourceWhere(refusing(-32_603, 'Fee estimation disabled')), 'relay fee 10');
  assert.equal(await sourceWhere(refusing(-1, 'Fee estimation not available.')), 'relay fee 10');
  for (const none of [{ errors: ['Insufficient data or no feerate found'] }, { feerate: '-1', blocks: '6' }])
    assert.equal(await sourceWhere(() => none), 'relay fee 10');
  for (const refusal of [refusing(-32_005, 'too many requests'), refusing(-32_603, 'internal error')])
    assert.equal(await sourceWhere(refusal), 'NODE_REFUSED');
  for (const answer of [null, [], 'soon', { feerate: 'much' }, { feerate: [] }])
    assert.equal(await sourceWhere(() => answer), 'NODE_REFUSED', JSON.stringify(answer));
});

test("the usual ENCODER_MAX_FEE_RATE leaves each chain's own estimate as it is", async () => {
  // 0.05 DOGE per kB is a usual rate of Dogecoin; the same on the other chains is a mistake.
  const answers: Readonly<Record<string, unknown>> = {
    getblockcount: 7,
    getmempoolinfo: { mempoolminfee: '0.00001' },
    getnetworkinfo: { relayfee: '0.00001' },
    estimatesmartfee: { feerate: '0.05' }
  };
  const mediumOf = async (chain: 'bitcoin' | 'litecoin' | 'dogecoin') => {
    const network = chainNetwork(chain, 'mainnet');
    const call = async (method: string) => answers[method];
    const { rates, source } = await new NodePolicyReader(
      { call },
      network,
      BigInt(network.usualMostRate) * 1000n
    ).read();
    return [rates.medium, source];
  };
  assert.deepEqual(await mediumOf('dogecoin'), [5_000_000n, 'estimate']);
  for (const chain of ['bitcoin', 'litecoin'] as const)
    assert.deepEqual(await mediumOf(chain), [1_000n, 'relay fee'], chain);
});

test('rewards ripen by the rule of their network, on the regtest of Dogecoin after 60 blocks', () => {
  const ofMainnets = (['bitcoin', 'litecoin', 'dogecoin'] as const).map(
    (chain) => chainNetwork(chain, 'mainnet').coinbaseMaturity
  );
  assert.deepEqual(ofMainnets, [100, 100, 240]);
  assert.equal(chainNetwork('dogecoin', 'regtest').coinbaseMaturity, 60);
});
