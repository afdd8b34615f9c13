import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bech32m } from '@scure/base';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { activationHeight, DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { type Program, payTo } from '../../../src/coin/script/pay-scripts.ts';
import { rulesOf } from '../../../src/indexer/rules/rules.ts';
import { tickKey } from '../../../src/indexer/state/keys.ts';
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
  ...{ hash: '1'.repeat(64), source, fee: null, data: '' },
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
