import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMinimumStakes } from '../../../src/coin/capabilities.ts';

test('stakes are decimals; a capability without one is left out, and what is for validators is ignored', () => {
  const value = {
    CAPABILITIES: { price: { MIN_STAKE: '1000.5', SLASH: 1 }, cross_chain: { MIN_STAKE: 5_000 }, attestation: {} },
    price: { sources: ['kraken'] }
  };
  assert.deepEqual(readMinimumStakes(value), { price: '1000.5', cross_chain: '5000' });
});

test('a configuration that names no stakes, another capability or no decimal is refused by its place', () => {
  const cases: [value: unknown, reason: RegExp][] = [
    [[], /must name the stakes of capabilities/],
    [{}, /CAPABILITIES/],
    [{ CAPABILITIES: { prices: {} } }, /\/CAPABILITIES\/prices is none of price, cross_chain, oracle_publish, attest/],
    [{ CAPABILITIES: { price: { MIN_STAKE: '1e3' } } }, /\/CAPABILITIES\/price\/MIN_STAKE/],
    [{ CAPABILITIES: { price: { MIN_STAKE: -1 } } }, /\/CAPABILITIES\/price\/MIN_STAKE/]
  ];
  for (const [value, reason] of cases) assert.throws(() => readMinimumStakes(value), reason);
});
