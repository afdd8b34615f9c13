import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Chain, chainNetwork, type Network } from '../../../src/coin/chains.ts';
import { addressOf, canonicalAddress } from '../../../src/coin/script/address.ts';
import fc from '../../support/fast-check.ts';

const addressed = (scriptHex: string, chain: Chain, network: Network) =>
  addressOf(Buffer.from(scriptHex, 'hex'), chainNetwork(chain, network).addresses);

/** @see BIP 173 and BIP 350, "Test vectors" */
test('vectors of the proposals', () => {
  const keyHash = '751e76e8199196d454941c45d1b3a323f1433bd6';
  const program = '1863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262';
  const point = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
  assert.equal(addressed(`0014${keyHash}`, 'bitcoin', 'mainnet'), 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4');
  assert.equal(
    addressed(`0020${program}`, 'bitcoin', 'testnet'),
    'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7'
  );
  assert.equal(
    addressed(`5120${point}`, 'bitcoin', 'mainnet'),
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0'
  );
  assert.equal(addressed(`76a914${keyHash}88ac`, 'bitcoin', 'mainnet'), '1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH');
});

test('each chain has its own bytes in front', () => {
  const starts = (scriptHex: string, chain: Chain, network: Network) => addressed(scriptHex, chain, network)?.[0];
  const keyHash = `76a914${'11'.repeat(20)}88ac`;
  const scriptHash = `a914${'11'.repeat(20)}87`;
  assert.equal(starts(keyHash, 'litecoin', 'mainnet'), 'L');
  assert.equal(starts(scriptHash, 'litecoin', 'mainnet'), 'M');
  assert.equal(starts(scriptHash, 'litecoin', 'regtest'), 'Q');
  assert.equal(starts(keyHash, 'dogecoin', 'mainnet'), 'D');
  assert.equal(starts(scriptHash, 'bitcoin', 'regtest'), '2');
  assert.equal(addressed(`0014${'11'.repeat(20)}`, 'dogecoin', 'mainnet'), undefined);
});

test('property: an address is read back, and nothing else is one', () => {
  const scripts = [
    `76a914${'11'.repeat(20)}88ac`,
    `a914${'22'.repeat(20)}87`,
    `0014${'33'.repeat(20)}`,
    `5120${'44'.repeat(32)}`
  ];
  for (const chain of ['bitcoin', 'litecoin', 'dogecoin'] as const) {
    const { addresses } = chainNetwork(chain, 'regtest');
    for (const script of scripts) {
      const address = addressed(script, chain, 'regtest');
      if (address === undefined) continue;
      assert.equal(canonicalAddress(address, addresses), address);
      assert.equal(canonicalAddress(`${address.slice(0, -1)}!`, addresses), undefined);
    }
  }
  const { addresses } = chainNetwork('litecoin', 'mainnet');
  const older = addressOf(Buffer.from(scripts[1]!, 'hex'), { ...addresses, p2sh: 0x05 })!;
  assert.equal(canonicalAddress(older, addresses), addressed(scripts[1]!, 'litecoin', 'mainnet'));
  fc.assert(
    fc.property(fc.string({ maxLength: 100 }), (text) => assert.equal(canonicalAddress(text, addresses), undefined))
  );
});

test('no other script has an address, and none throws', () => {
  const { addresses } = chainNetwork('bitcoin', 'mainnet');
  for (const hex of [
    '',
    '51',
    `21${'02'.repeat(33)}ac`,
    `5214${'11'.repeat(20)}`,
    `0015${'11'.repeat(21)}`,
    '6a0101'
  ]) {
    assert.equal(addressOf(Buffer.from(hex, 'hex'), addresses), undefined, hex);
  }
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (script) => void addressOf(script, addresses)));
});
