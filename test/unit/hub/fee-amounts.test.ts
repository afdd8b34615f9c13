import assert from 'node:assert/strict';
import { test } from 'node:test';
import { feeAmounts } from '../../../src/hub/methods/fee-amounts.ts';
import fc from '../../support/fast-check.ts';

const PARTS = { gasCost: 100_000, gasPrice: '0.00001', gasTokenUsd: '2.50000000', coinUsd: '80.00000000', coin: 'LTC' };

test('a fee in gas tokens, in USD and in the coin of its chain', () => {
  assert.deepEqual(feeAmounts(PARTS), {
    gasTokenAmount: '1.00000000',
    gasTokenUsd: '2.50000000',
    feeUsd: '2.50000000',
    coinUsd: '80.00000000',
    nativeCoinAmount: '0.03125000',
    nativeCoin: 'LTC'
  });
});

test('amounts are rounded up at 8 places', () => {
  const { gasTokenAmount, feeUsd, nativeCoinAmount } = feeAmounts({
    gasCost: 1,
    gasPrice: '0.000000001',
    gasTokenUsd: '1.00000001',
    coinUsd: '64000.00000000',
    coin: 'BTC'
  });
  assert.deepEqual([gasTokenAmount, feeUsd, nativeCoinAmount], ['0.00000001', '0.00000002', '0.00000001']);
});

test('unknown amounts are absent; a fee of nothing needs no price', () => {
  const usd = { feeUsd: '2.50000000' };
  assert.deepEqual(feeAmounts({ ...PARTS, coinUsd: null }), {
    gasTokenAmount: '1.00000000',
    gasTokenUsd: '2.50000000',
    ...usd
  });
  const known = { gasTokenAmount: '1.00000000', coinUsd: '80.00000000' };
  assert.deepEqual(feeAmounts({ ...PARTS, gasTokenUsd: null }), { ...known, gasTokenUsd: null });
  assert.deepEqual(feeAmounts({ ...PARTS, gasTokenUsd: '0' }), { ...known, gasTokenUsd: '0' });
  assert.deepEqual(feeAmounts({ ...PARTS, gasCost: 0, gasTokenUsd: null, coinUsd: null }), {
    gasTokenAmount: '0.00000000',
    gasTokenUsd: null,
    feeUsd: '0.00000000',
    nativeCoinAmount: '0.00000000',
    nativeCoin: 'LTC'
  });
});

test('property: what is quoted in coins is worth the fee, and less than one unit more', () => {
  const price = fc
    .bigInt({ min: 1n, max: 10n ** 18n })
    .map((n) => `${n / 10n ** 8n}.${String(n % 10n ** 8n).padStart(8, '0')}`);
  const e8 = (text: string) => BigInt(text.replace('.', ''));
  fc.assert(
    fc.property(fc.nat({ max: 1e9 }), price, price, (gasCost, gasTokenUsd, coinUsd) => {
      const { gasTokenAmount, nativeCoinAmount } = feeAmounts({ ...PARTS, gasCost, gasTokenUsd, coinUsd });
      const [owed, paid] = [e8(gasTokenAmount) * e8(gasTokenUsd), e8(nativeCoinAmount!) * e8(coinUsd)];
      assert.ok(paid >= owed && paid - owed < e8(coinUsd));
    })
  );
});
