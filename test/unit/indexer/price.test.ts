import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAmount } from '../../../src/consensus/amount.ts';
import { executeBlocks } from '../../../src/indexer/block/execute.ts';
import type { FactKey } from '../../../src/indexer/state/facts.ts';
import { View } from '../../../src/indexer/state/view.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';
import { priceText, type TestSigner, testSigner } from '../../support/indexer-signers.ts';

const [ONE, TWO, THREE] = ['one', 'two', 'three'].map(testSigner) as [TestSigner, TestSigner, TestSigner];
const { stakeDelay } = TEST_RULES;
const verdict = (ledger: MemoryLedger, source: string, data: string) => ledger.act([source, data])[0]!.at(-1);

/** A ledger with three stakers of prices, of whom two are more than two thirds only together with A. */
function votersLedger(rules = TEST_RULES): MemoryLedger {
  const ledger = new MemoryLedger(100, rules);
  ledger.give('GAS', 8, 'A', { A: '5000', B: '1000', C: '1000', D: '600', E: '100' });
  ledger.act(['A', `STAKE|1|4000|${ONE.pubkey}`], ['B', `STAKE|1|1000|${TWO.pubkey}`]);
  ledger.act(['C', `STAKE|1|1000|${THREE.pubkey}`], ['D', `STAKE|1|600|${'d'.repeat(64)}`]);
  ledger.height += stakeDelay;
  return ledger;
}
const ROUND = {
  round: 5,
  height: 102,
  pairs: [
    ['LTC/USD', '90.5'],
    ['BTC/USD', '60000']
  ] as const
};

test('a round that two thirds of the stakes signed is final; its signers share ten units', () => {
  const ledger = votersLedger();
  assert.equal(verdict(ledger, 'D', priceText(ROUND, [TWO, THREE])), 'invalid: SIG (no quorum)');
  assert.equal(
    verdict(ledger, 'D', priceText(ROUND, [ONE])),
    'invalid: SIG (no quorum)',
    '4000 of 6000 are two thirds'
  );
  assert.equal(verdict(ledger, 'A', 'COLLECT|0'), 'invalid: no unclaimed rewards', 'they count from their block on');
  assert.equal(verdict(ledger, 'D', priceText(ROUND, [ONE, THREE])), 'valid');
  const { rows } = ledger.blocks.at(-1)!;
  const columns = rows.find(({ table }) => table === 'prices')!.columns;
  assert.deepEqual(
    [columns['round_number'], columns['pair_count'], columns['sig_count'], columns['validation_status']],
    [5, 2, 2, 'valid']
  );
  assert.equal(rows.filter(({ table }) => table === 'validator_rewards').length, 2);
  const unclaimed = ['A', 'B', 'C'].map((source) => formatAmount(ledger.view.get('unclaimed', source)));
  assert.deepEqual(unclaimed, ['5', '0', '5']);
  assert.equal(verdict(ledger, 'D', priceText(ROUND, [ONE, THREE])), 'invalid: ROUND (already finalized)');
  assert.equal(verdict(ledger, 'A', 'COLLECT|0'), 'valid');
  assert.deepEqual([ledger.balance('GAS', 'A'), ledger.balance('GAS', 'E')], ['1005', '95']);
});

test('a second key of a source adds nothing, a key that was taken back signs no more', () => {
  const ledger = votersLedger();
  const second = testSigner('second');
  ledger.act(['A', `DELEGATE|0|${second.pubkey}`]);
  ledger.act(['A', `DELEGATE|2|${ONE.pubkey}`]);
  ledger.height += stakeDelay;
  const at = ledger.height;
  assert.equal(verdict(ledger, 'D', priceText({ ...ROUND, height: at }, [second])), 'invalid: SIG (no quorum)');
  assert.equal(verdict(ledger, 'D', priceText({ ...ROUND, height: at }, [ONE, TWO])), 'invalid: SIG (no quorum)');
  assert.equal(verdict(ledger, 'D', priceText({ ...ROUND, height: at }, [second, TWO])), 'valid');
  const older = { ...ROUND, round: 6, height: at - 1 };
  assert.equal(verdict(ledger, 'D', priceText(older, [ONE, TWO])), 'valid', 'the keys of the height that was signed');
});

test('a round of many signers reads what it needs in a few loads, so that signatures are not checked again and again', async () => {
  const ledger = new MemoryLedger(100);
  const signers = 'FGHIJKLMNO'.split('').map((source) => ({ source, signer: testSigner(source) }));
  ledger.give('GAS', 8, 'A', Object.fromEntries(signers.map(({ source }) => [source, '1000'])));
  for (const { source, signer } of signers) ledger.act([source, `STAKE|1|1000|${signer.pubkey}`]);
  const text = priceText(
    ROUND,
    signers.map(({ signer }) => signer)
  );
  const view = new View({ isWhole: false });
  let loads = 0;
  const load = async (keys: readonly FactKey[]) => {
    loads += 1;
    for (const { kind, key } of keys) view.load(kind, key, ledger.view.get(kind, key));
  };
  const transactions = [{ hash: 'f'.repeat(64), source: 'F', fee: null, data: text }];
  const [executed] = await executeBlocks(
    { view, rules: TEST_RULES, load },
    [{ height: 102, time: 0, hash: '', transactions }],
    { hashes: ledger.hashes, times: ledger.times }
  );
  assert.equal(executed!.rows.filter(({ table }) => table === 'validator_rewards').length, signers.length);
  assert.ok(loads < 14, `${loads} loads`);
});

const good = priceText(ROUND, [ONE, THREE]).split('|');
const changed = (place: number, text: string) => good.with(place, text).join('|');
const REFUSALS: readonly (readonly [source: string, data: string, status: string])[] = [
  ['D', changed(1, '2'), 'ACTION is not yet activated'],
  ['D', changed(1, '3'), 'VERSION (unknown)'],
  ['D', changed(2, '-5'), 'ROUND (format)'],
  ['D', changed(3, '1e9'), 'TIMESTAMP (format)'],
  ['D', changed(4, ''), 'BTC_BLOCK_HEIGHT (format)'],
  ['D', changed(5, '0'), 'PAIR_COUNT (format)'],
  ['D', changed(5, '101'), 'PAIR_COUNT (format)'],
  ['D', changed(6, 'btc/usd'), 'PAIR (format)'],
  ['D', changed(6, 'BTC/USD'), 'PAIR (format)'],
  ['D', changed(7, '0'), 'PRICE (format)'],
  ['D', changed(7, '10000000000.00000001'), 'PRICE (format)'],
  ['D', changed(7, '1.123456789'), 'PRICE (format)'],
  ['D', changed(10, '3'), 'PUBKEY (format)'],
  ['D', changed(10, '0'), 'SIG_COUNT (format)'],
  ['D', changed(12, 'ab'), 'SIG (format)'],
  ['D', changed(4, '103'), 'BTC_BLOCK_HEIGHT (block index)'],
  ['B', changed(3, '1700000001'), 'SIG (no quorum)'],
  ['F', good.join('|'), 'SOURCE (not qualified)'],
  ['D', 'PRICE|0', 'ROUND (format)'],
  ['B', 'PRICE|1|XYZ|GAS|USD|1', 'COIN (unsupported)'],
  ['B', 'PRICE|1|BTC||USD|1', 'TICK (format)'],
  ['B', `PRICE|1|BTC|${'x'.repeat(251)}|USD|1`, 'TICK (format)'],
  ['B', 'PRICE|1|BTC|GAS|ZAR|1', 'FIAT (unsupported)'],
  ['B', 'PRICE|1|BTC|GAS|USD|1.123456789', 'VALUE (format)'],
  ['B', 'PRICE|1|BTC|GAS|USD|0', 'VALUE (format)'],
  ['B', 'PRICE|1|BTC|GAS|USD|1|-1', 'FEE (format)'],
  ['B', 'PRICE|1|BTC|GAS|USD|1|1.01', 'FEE (format)'],
  ['B', 'PRICE|1|BTC|GAS|USD|1||a;b', 'MEMO (semicolon)']
];

test('a PRICE that is no round and no price is refused with its status', () => {
  const ledger = votersLedger();
  for (const [source, data, status] of REFUSALS)
    assert.equal(verdict(ledger, source, data), `invalid: ${status}`, data.slice(0, 80));
  assert.equal(verdict(ledger, 'F', 'PRICE|1|btc|gas|usd|0.5|0.0001|fair'), 'valid');
  const litecoin = votersLedger({ ...TEST_RULES, coin: 'LTC' });
  assert.equal(verdict(litecoin, 'D', good.join('|')), 'invalid: ACTION (BTC only)');
  assert.equal(verdict(litecoin, 'D', 'PRICE|1|LTC|GAS|EUR|2'), 'valid');
});

test('validators of a day ago count, of longer ago no more', () => {
  const ledger = votersLedger();
  ledger.height = 246;
  assert.equal(verdict(ledger, 'D', priceText(ROUND, [ONE, THREE])), 'valid');
  ledger.height = 247;
  const late = priceText({ ...ROUND, round: 6 }, [ONE, THREE]);
  assert.equal(verdict(ledger, 'D', late), 'invalid: BTC_BLOCK_HEIGHT (block index)');
});

const QUESTION = 'a'.repeat(64);
const ANSWERS: readonly (readonly [data: string, status: string])[] = [
  ['ATTEST|0', 'ACTION is not yet activated'],
  ['ATTEST|2', 'VERSION (unknown)'],
  ['ATTEST|1|x', 'REQUEST_ID (format)'],
  [`ATTEST|1|${QUESTION}|a b`, 'PROVIDER_ID (format)'],
  [`ATTEST|1|${QUESTION}|http|${'x'.repeat(65_537)}`, 'RESPONSE_PAYLOAD (length)'],
  [`ATTEST|1|${QUESTION}|http|x|expired`, 'STATUS (format)'],
  [`ATTEST|1|${QUESTION}|http|x|ok|${'m'.repeat(257)}`, 'META (length)'],
  [`ATTEST|1|${QUESTION}|http|x|ok||0`, 'SIG_COUNT (format)'],
  [`ATTEST|1|${QUESTION}|http|x|ok||1|x`, 'PUBKEY (format)'],
  [`ATTEST|1|${QUESTION}|http|x|ok||1|${ONE.pubkey}|x`, 'SIG (format)'],
  [`ATTEST|1|${QUESTION}|http|x|ok||1|${ONE.pubkey}|${ONE.sign('x')}`, 'REQUEST_ID (unknown)']
];

test('an answer that nobody asked for is refused with its status', () => {
  const ledger = votersLedger();
  for (const [data, status] of ANSWERS)
    assert.equal(verdict(ledger, 'D', data), `invalid: ${status}`, data.slice(0, 99));
});
