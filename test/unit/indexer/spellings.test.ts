import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bech32m } from '@scure/base';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { activationHeight, DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { type Program, payTo } from '../../../src/coin/script/pay-scripts.ts';
import type { ChainTransaction } from '../../../src/indexer/block/block.ts';
import { rulesOf, spellingAt } from '../../../src/indexer/profile/rules.ts';
import { tickKey } from '../../../src/indexer/state/keys.ts';
import { counterOf } from '../../../src/indexer/state/offer.ts';
import { OWN_COUNTER } from '../../../src/indexer/state/offer-book.ts';
import { View } from '../../../src/indexer/state/view.ts';
import { MemoryLedger } from '../../support/indexer-ledger.ts';

const LITECOIN = chainNetwork('litecoin', 'mainnet');
const RULES = rulesOf(DEFAULT_PROFILE, LITECOIN, 'TEST');
const FROM = activationHeight(DEFAULT_PROFILE, LITECOIN, 'CANONICAL_ADDRESSES');
const PROGRAM = Buffer.alloc(20, 7);
const addressAt = (kind: Program['kind'], { addresses } = LITECOIN) =>
  addressOf(payTo({ kind, bytes: PROGRAM }), addresses)!;
const NEW = addressAt('scriptHash');
const OLD = addressAt('scriptHash', chainNetwork('bitcoin', 'mainnet'));
const SEGWIT = addressAt('witnessKeyHash');
const OWNER = addressAt('keyHash');
/** Version 2 of BIP 350: no rule is known by which anybody could spend from it. */
const UNKNOWN_WITNESS = bech32m.encode('ltc', [2, ...bech32m.toWords(PROGRAM)]);

function ledgerAt(height: number): MemoryLedger {
  const ledger = new MemoryLedger(height, RULES);
  ledger.give('TOKA', 0, OWNER, { [OWNER]: '100' });
  return ledger;
}

const payment = (source: string, address: string, amount: bigint) => ({
  hash: '1'.repeat(64),
  source,
  fee: null,
  data: '',
  outputs: [{ vout: 0, address, amount }]
});

test('an address in its old spelling, or in capitals, is one account with that of its usual one', () => {
  assert.ok(OLD.startsWith('3') && NEW.startsWith('M'));
  const ledger = ledgerAt(FROM);
  ledger.act(
    [OWNER, `SEND|0|TOKA|1|${OLD}`],
    [OWNER, `SEND|1|TOKA|2|${OLD}|3|${NEW}|4|${SEGWIT.toUpperCase()}`],
    [OWNER, `MINT|0|TOKA|5|${OLD}`],
    [OWNER, `ISSUE|0|TOKB|10|0|0||10||${OLD}`],
    [OWNER, `ISSUE|0|TOKC|10|0|0|||${OLD}`],
    [OWNER, `LIST|0|2||${OLD}|${SEGWIT.toUpperCase()}`]
  );
  assert.deepEqual(
    [OLD, NEW, SEGWIT, SEGWIT.toUpperCase()].map((address) => ledger.balance('TOKA', address)),
    ['0', '11', '4', '0']
  );
  assert.equal(ledger.balance('TOKB', NEW), '10');
  assert.equal(ledger.view.get('token', tickKey('TOKC'))?.owner, NEW);
  assert.deepEqual(ledger.view.get('list', String(ledger.lastAction))?.members.sorted, [NEW, SEGWIT]);
  ledger.act([NEW, `SWEEP|0|${SEGWIT.toUpperCase()}`]);
  assert.equal(ledger.balance('TOKA', SEGWIT), '15');
});

test('a list bars the account of an old spelling; one of earlier blocks does after an edit', () => {
  const ledger = ledgerAt(FROM - 1);
  ledger.act([OWNER, `LIST|0|2||${OLD}`], [OWNER, 'ISSUE|5|TOKA||1']);
  const send = () => ledger.act([OWNER, `SEND|0|TOKA|1|${NEW}`]);
  assert.deepEqual(send(), [['valid']]);
  ledger.height = FROM;
  assert.deepEqual(send(), [['valid']], 'its members stay as they were written');
  ledger.act([OWNER, `LIST|1|1|1||${OLD}`]);
  assert.deepEqual(send(), [['invalid: DESTINATION (not authorized)']]);
  ledger.act([OWNER, `LIST|1|2|1||${OLD}`]);
  assert.deepEqual(send(), [['valid']]);
});

test('a dispenser at the old spelling serves who pays the address', () => {
  const ledger = ledgerAt(FROM);
  ledger.act([OWNER, `DISPENSER|0|LTC|TOKA|1|0|10|LTC||1|${OLD}||||`]);
  const hash = '2'.repeat(64);
  ledger.run({ height: FROM, time: 1, hash, transactions: [payment(SEGWIT, NEW, 10n ** 18n)] });
  assert.equal(ledger.balance('TOKA', SEGWIT), '1');
});

test('below the height of CANONICAL_ADDRESSES an address counts as it is written', () => {
  const ledger = ledgerAt(FROM - 1);
  ledger.act([OWNER, `SEND|0|TOKA|1|${OLD}`]);
  assert.equal(ledger.balance('TOKA', OLD), '1');
  assert.deepEqual(ledger.act([OWNER, `SEND|0|TOKA|1|${SEGWIT.toUpperCase()}`]), [['invalid: DESTINATION (format)']]);
});

test('nobody can send to a witness version that no rule spends: its tokens would be lost', () => {
  const verdict = (height: number) => ledgerAt(height).act([OWNER, `SEND|0|TOKA|1|${UNKNOWN_WITNESS}`]);
  assert.deepEqual([verdict(FROM - 1), verdict(FROM)], [[['valid']], [['invalid: DESTINATION (format)']]]);
});

/** Runs a block of some transactions, ten minutes after the one before. */
function runBlock(ledger: MemoryLedger, height: number, transactions: readonly Partial<ChainTransaction>[]) {
  ledger.height = height;
  ledger.time += 600;
  const filled = transactions.map((one, at) => ({
    hash: `${height}${at}`.padStart(64, '0'),
    source: OWNER,
    fee: null,
    data: '',
    ...one
  }));
  return ledger.run({ height, time: ledger.time, hash: String(height).padStart(64, '0'), transactions: filled });
}
const COIN = 10n ** 18n;
const END = 99_999_999_999;

/** A seller's order, dispenser for everybody, and dispenser for himself, all at the old spelling. */
function sellBelow(ledger: MemoryLedger) {
  const [order] = runBlock(ledger, FROM - 3, [
    { data: `ORDER|0|LTC|TOKA|20|0|LTC||20|0|${OLD}|${END}` },
    { data: `DISPENSER|0|LTC|TOKA|1||10|LTC||1|${OLD}||||${END}` },
    { source: NEW, data: `DISPENSER|0|LTC|TOKA|2||10|LTC||1|${OLD}||||${END}` }
  ]).rows.flatMap(({ table, columns }) => (table === 'orders' ? [Number(columns['action_index'])] : []));
  return { order: order!, dispensers: [order! + 1, order! + 2] as const };
}

test('an order of an earlier block at an old spelling sells to whoever pays the address', () => {
  const ledger = ledgerAt(FROM - 3);
  const { order } = sellBelow(ledger);
  runBlock(ledger, FROM - 1, [{ source: SEGWIT, data: 'ORDER|0|LTC||5|0|LTC|TOKA|5' }]);
  const early = ledger.lastAction;
  runBlock(ledger, FROM, [{ source: SEGWIT, data: 'ORDER|0|LTC||3|0|LTC|TOKA|3' }]);
  const late = ledger.lastAction;
  for (const [height, match, coins] of [
    [FROM, early, 5n],
    [FROM + 1, late, 3n]
  ] as const)
    runBlock(ledger, height, [
      { source: SEGWIT, data: `COINPAY|0|${match}`, outputs: [{ vout: 0, address: NEW, amount: coins * COIN }] }
    ]);
  assert.equal(ledger.balance('TOKA', SEGWIT), '8');
  assert.equal(ledger.view.get('offer', String(order))?.status, 'open');
});

test('dispensers of an earlier block at an old spelling serve whoever pays the address, its own one first', () => {
  const ledger = ledgerAt(FROM - 3);
  ledger.give('TOKA', 0, OWNER, { [OWNER]: '100', [NEW]: '10' });
  const { dispensers } = sellBelow(ledger);
  const pay = (height: number) =>
    runBlock(ledger, height, [{ source: SEGWIT, outputs: [{ vout: 0, address: NEW, amount: COIN }] }]);
  pay(FROM - 1);
  assert.equal(ledger.balance('TOKA', SEGWIT), '0', 'below the height it counts as it is written');
  pay(FROM);
  assert.equal(ledger.balance('TOKA', SEGWIT), '2', 'the dispenser that the address opened itself');
  assert.deepEqual(
    runBlock(ledger, FROM + 1, [{ source: NEW, data: `DISPENSER|1|${dispensers[0]}` }]).rows.flatMap(
      ({ table, columns }) => (table === 'dispenser_cancels' ? [columns['status_id']] : [])
    ),
    ['valid'],
    'the address may cancel what takes its payments'
  );
});

test('an order of an earlier block at an old spelling is credited to the account, and barred with it', () => {
  const ledger = ledgerAt(FROM - 3);
  ledger.give('CASH', 0, SEGWIT, { [SEGWIT]: '100' });
  runBlock(ledger, FROM - 2, [{ data: `ORDER|0|LTC|TOKA|10|0|LTC|CASH|10|0|${OLD}|${END}` }]);
  runBlock(ledger, FROM, [{ source: SEGWIT, data: 'ORDER|0|LTC|CASH|4|0|LTC|TOKA|4' }]);
  assert.deepEqual(
    [OLD, NEW].map((address) => ledger.balance('CASH', address)),
    ['0', '4']
  );
  runBlock(ledger, FROM + 1, [{ source: SEGWIT, data: `LIST|0|2||${NEW}` }]);
  runBlock(ledger, FROM + 2, [{ source: SEGWIT, data: `ISSUE|5|CASH||${ledger.lastAction}` }]);
  runBlock(ledger, FROM + 3, [{ source: SEGWIT, data: 'ORDER|0|LTC|CASH|4|0|LTC|TOKA|4' }]);
  assert.equal(ledger.balance('CASH', NEW), '4', 'the list of the token bars the account');
});

test('offers are the same whether they were in memory at the height or are loaded later', () => {
  const ledger = ledgerAt(FROM - 3);
  ledger.give('TOKA', 0, OWNER, { [OWNER]: '100', [NEW]: '10' });
  sellBelow(ledger);
  runBlock(ledger, FROM - 1, [{ source: SEGWIT, data: 'ORDER|0|LTC||5|0|LTC|TOKA|5' }]);
  const written = ledger.offers;
  runBlock(ledger, FROM, []);
  const loaded = new View({ isWhole: true });
  loaded.respell(spellingAt(RULES, FROM));
  for (const offer of written) loaded.loadOffer(String(offer.index), offer);
  const counters = ['', OWN_COUNTER].map((own) => counterOf(NEW, null) + own);
  const seen = (view: View) => ({
    offers: written.map(({ index }) => view.get('offer', String(index))),
    counters: counters.map((place) => [...view.book.at(place, () => false)])
  });
  assert.deepEqual(seen(ledger.view), seen(loaded));
  assert.deepEqual(
    seen(loaded).counters.map((entries) => entries.length),
    [1, 1]
  );
});
