import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAIN_NETWORKS, chainNetwork } from '../../../src/coin/chains.ts';
import { databaseName, findNetwork, readNetwork, sameNetwork } from '../../../src/coin/find-network.ts';
import fc from '../../support/fast-check.ts';

const row = fc.constantFrom(...CHAIN_NETWORKS);
/** A text with each letter in either case. */
const inAnyCase = (text: string) =>
  fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map((upper) => [...text].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter)).join(''));
const spellings = ({ chain, network, ticker, code }: (typeof CHAIN_NETWORKS)[number]) => [
  ...[chain, ticker, code].flatMap((word) => ['-', '_', ':', '/', ' '].map((between) => word + between + network)),
  code,
  ...(network === 'mainnet' ? [chain] : [])
];

test('property: every spelling of a network, in any case, is found and means that network alone', () => {
  const spelled = row.chain((known) =>
    fc.record({
      known: fc.constant(known),
      spelling: fc.constantFrom(...spellings(known)).chain(inAnyCase)
    })
  );
  fc.assert(
    fc.property(spelled, ({ known, spelling }) => {
      assert.equal(findNetwork(spelling), known);
      assert.equal(readNetwork(` ${spelling} `), known);
    })
  );
  const all = CHAIN_NETWORKS.flatMap((known) => spellings(known).map((spelling) => spelling.toLowerCase()));
  const owners = (spelling: string) =>
    CHAIN_NETWORKS.filter((known) => spellings(known).some((each) => each.toLowerCase() === spelling)).length;
  assert.deepEqual(
    all.filter((spelling) => owners(spelling) !== 1),
    [],
    'no two networks share a spelling'
  );
});

test('property: any other text is no network, and the refusal lists those that are', () => {
  const words = CHAIN_NETWORKS.flatMap(({ chain, network, ticker, code }) => [chain, network, ticker, code]);
  const other = fc
    .array(fc.oneof(fc.constantFrom(...words, '-', ':', '_', '/'), fc.string()), { maxLength: 4 })
    .map((parts) => parts.join(''))
    .filter((text) => !CHAIN_NETWORKS.some((known) => spellings(known).includes(text)));
  fc.assert(
    fc.property(other, (text) => {
      const found = findNetwork(text);
      if (found)
        assert.ok(
          spellings(found).some((each) => each.toLowerCase() === text.trim().toLowerCase()),
          text
        );
    })
  );
  for (const text of ['litecoin-regtest-2', 'monero-mainnet', 'TBTC:mainnet', 'mainnet', '-', '', 'constructor']) {
    assert.equal(findNetwork(text), undefined);
    assert.throws(() => readNetwork(text), {
      message: /^must be one of bitcoin-mainnet \(BTC\), bitcoin-testnet \(TBTC\),.* dogecoin-regtest \(RDOGE\)$/
    });
  }
});

test('the registry has nine networks; no two share a genesis, a code or a database name', () => {
  assert.equal(CHAIN_NETWORKS.length, 9);
  for (const { genesisHash } of CHAIN_NETWORKS) assert.match(genesisHash, /^[0-9a-f]{64}$/);
  for (const fact of [
    (known: (typeof CHAIN_NETWORKS)[number]) => known.genesisHash,
    (known: (typeof CHAIN_NETWORKS)[number]) => known.code,
    (known: (typeof CHAIN_NETWORKS)[number]) => databaseName(known, 'Indexer')
  ])
    assert.equal(new Set(CHAIN_NETWORKS.map(fact)).size, 9);
});

test('public codes, ports, delays and database names are those of the specification', () => {
  const codes = CHAIN_NETWORKS.map(({ code }) => code).join(' ');
  assert.equal(codes, 'BTC TBTC RBTC LTC TLTC RLTC DOGE TDOGE RDOGE');
  const ports = CHAIN_NETWORKS.map(({ rpcPort }) => rpcPort);
  assert.deepEqual(ports, [8332, 18332, 18443, 9332, 19332, 19443, 22555, 44555, 18332]);
  const delays = (['bitcoin', 'litecoin', 'dogecoin'] as const).map((chain) => {
    const { confirmations, activationDelayBlocks } = chainNetwork(chain, 'mainnet');
    return [confirmations, activationDelayBlocks];
  });
  assert.deepEqual(delays, [
    [3, 6],
    [3, 24],
    [6, 60]
  ]);
  assert.equal(databaseName(chainNetwork('bitcoin', 'mainnet'), 'Decoder'), 'Platform_BTC_Mainnet_Decoder');
});

test('a network accepts the version that it writes before a script hash; only Dogecoin has no segwit', () => {
  for (const { chain, addresses, segwitHeight } of CHAIN_NETWORKS) {
    assert.ok(addresses.p2shAccepted.includes(addresses.p2sh));
    assert.equal(segwitHeight === null, chain === 'dogecoin');
    assert.equal(addresses.bech32 === null, chain === 'dogecoin');
  }
});

test('a chain is meant by ticker or full name, in any case; unknown names are the same by their letters', () => {
  assert.ok(sameNetwork({ chain: 'DOGE', network: 'Mainnet' }, { chain: 'dogecoin', network: 'mainnet' }));
  assert.ok(sameNetwork({ chain: 'TBTC', network: 'testnet' }, { chain: 'Bitcoin', network: 'testnet' }));
  assert.ok(sameNetwork({ chain: 'btc', network: 'signet' }, { chain: 'bitcoin', network: 'signet' }));
  assert.ok(sameNetwork({ chain: 'Other', network: 'x' }, { chain: 'other', network: 'X' }));
  assert.ok(!sameNetwork({ chain: 'LTC', network: 'mainnet' }, { chain: 'bitcoin', network: 'mainnet' }));
  assert.ok(!sameNetwork({ chain: 'bitcoin', network: 'mainnet' }, { chain: 'bitcoin', network: 'testnet' }));
});
