import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { hasCode } from '../../../src/errors.ts';
import { feeMethods } from '../../../src/indexer/api/fees.ts';
import { CALLER } from '../../support/frame.ts';

const profile = {
  ...DEFAULT_PROFILE,
  gasPrice: '0.00001',
  gas: { ...DEFAULT_PROFILE.gas, issue: 100_000, recipient: 100, offerDay: 550 },
  roles: { 'litecoin-regtest': { FEE_DESTINATION: 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn' } }
};
const { feequote, feeschedule } = feeMethods(profile, { name: 'litecoin-regtest' });
const quote = async (params: object) => (await feequote!.run(params, CALLER)) as Record<string, unknown>;

test('a quote is gas times its price, by what the action does', async () => {
  const issue = await quote({ action: 'issue' });
  assert.deepEqual([issue['action'], issue['gas_cost'], issue['fee']], ['ISSUE', 100_000, '1']);
  assert.equal(issue['fee_destination'], 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn');
  assert.equal((await quote({ action: 'AIRDROP', recipients: 3 }))['fee'], '0.003');
  assert.equal((await quote({ action: 'ORDER', days: 91 }))['gas_cost'], 550);
  assert.equal((await quote({ action: 'SEND' }))['fee'], '0');
  assert.throws(
    () => feequote!.run({ action: 'SENT' }, CALLER),
    (error) => hasCode(error, 'REQUEST_INVALID') && /"SENT" is none of/.test(error.message)
  );
});

test('the schedule lists what costs gas', async () => {
  const { items } = (await feeschedule!.run({}, CALLER)) as { items: Record<string, unknown>[] };
  assert.deepEqual(
    items.find(({ item }) => item === 'recipient'),
    { item: 'recipient', gas: 100, fee: '0.001' }
  );
});
