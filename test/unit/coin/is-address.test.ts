import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { isAddress } from '../../../src/coin/script/address.ts';

const bitcoin = chainNetwork('bitcoin', 'mainnet').addresses;
const litecoin = chainNetwork('litecoin', 'mainnet').addresses;
const dogecoin = chainNetwork('dogecoin', 'mainnet').addresses;

// Examples of BIP 13, BIP 173 and BIP 350.
const SEGWIT = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
const TAPROOT = 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0';

test('addresses of the network count, those of another do not', () => {
  assert.deepEqual(
    ['1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2', '3P14159f73E4gFr7JterCCQh9QjiTjiZrG', SEGWIT, TAPROOT].map((text) => [
      isAddress(text, bitcoin),
      isAddress(text, dogecoin)
    ]),
    Array.from({ length: 4 }, () => [true, false])
  );
  assert.equal(isAddress('3P14159f73E4gFr7JterCCQh9QjiTjiZrG', litecoin), true, 'the older byte is accepted');
});

test('a wrong checksum, the wrong kind of checksum, capitals and nonsense are none', () => {
  const wrong = [
    '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3',
    SEGWIT.replace('q', 'p'),
    SEGWIT.toUpperCase(),
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd',
    '',
    'A',
    '1'.repeat(8_000),
    'bc1'
  ];
  assert.deepEqual(
    wrong.filter((text) => isAddress(text, bitcoin)),
    []
  );
});
