import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAmount, parseAmount } from '../../../src/consensus/amount.ts';
import { ChangedOffers } from '../../../src/indexer/store/changed-offers.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const HOUR_S = 3_600;

const holdings = (ledger: MemoryLedger, tick: string, addresses: string) =>
  addresses.split('').map((address) => ledger.balance(tick, address));

/** Actions of one block, and the statuses of the last row of each. */
function act(ledger: MemoryLedger, ...steps: readonly (readonly [string, string])[]): (string | undefined)[] {
  return ledger.act(...steps).map((statuses) => statuses[0]);
}

/** Names of the actions of the last block. */
const named = (ledger: MemoryLedger) =>
  ledger.blocks.at(-1)!.rows.flatMap(({ table, columns }) => (table === 'actions' ? [columns['action_id']] : []));

/** One block with a transaction that pays; without an action it is a payment alone. */
function pay(ledger: MemoryLedger, source: string, data: string, to: string, amount: string): void {
  const output = { vout: 0, address: to, amount: parseAmount(amount)! };
  const hash = String(ledger.blocks.length).padStart(64, 'f');
  ledger.run({
    height: ledger.height,
    time: ledger.time,
    hash,
    transactions: [{ hash, source, fee: null, data, outputs: [output] }]
  });
}

test('a dispenser sells for a token, goes on for an hour after its cancel, and gives the rest back', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.give('PAYT', 0, 'A', { B: '12', C: '4' });
  assert.deepEqual(act(ledger, ['A', 'DISPENSER|0|BTC|TOKA|2|0|10|BTC|PAYT|5']), ['valid']);
  const dispenser = ledger.lastAction;
  assert.equal(ledger.balance('TOKA', 'A'), '0');
  act(ledger, ['B', 'SEND|0|PAYT|12|A']);
  assert.deepEqual(named(ledger), ['SEND', 'DISPENSE']);
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['0', '4']);
  act(ledger, ['C', 'SEND|0|PAYT|4|A']);
  assert.deepEqual(named(ledger), ['SEND']);
  assert.deepEqual(act(ledger, ['C', `DISPENSER|1|${dispenser}`]), ['invalid: SOURCE (not owner)']);
  assert.deepEqual(act(ledger, ['A', `DISPENSER|1|${dispenser}`]), ['valid']);
  for (let block = 0; block < 11; block++) {
    ledger.time = HOUR_S;
    act(ledger, ['D', 'BROADCAST|0|tick']);
  }
  assert.equal(ledger.balance('TOKA', 'A'), '6');
  assert.deepEqual([ledger.supply('TOKA'), ledger.balance('PAYT', 'A')], ['10', '16']);
});

test('a payment alone is served at dispensers for the coin, oldest first, each with what is left', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  act(ledger, ['A', 'DISPENSER|0|BTC|TOKA|1|0|2|BTC||0.5'], ['A', 'DISPENSER|0|BTC|TOKA|1|0|5|BTC||1']);
  pay(ledger, 'B', '', 'A', '3.2');
  assert.deepEqual(named(ledger), ['DISPENSE', 'DISPENSER_CLOSE', 'DISPENSE']);
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['3', '4']);
  pay(ledger, 'B', '', 'A', '0.4');
  assert.deepEqual(named(ledger), []);
});

test('orders at the same price match; what is left can be cancelled once', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.give('TOKB', 0, 'B', { B: '10', C: '20' });
  assert.deepEqual(act(ledger, ['A', 'ORDER|0|BTC|TOKA|10|0|BTC|TOKB|20']), ['valid']);
  const order = ledger.lastAction;
  assert.deepEqual(act(ledger, ['B', 'ORDER|0|BTC|TOKB|10|0|BTC|TOKA|5']), ['valid']);
  assert.deepEqual(named(ledger), ['ORDER', 'ORDER_MATCH']);
  assert.deepEqual([...holdings(ledger, 'TOKA', 'AB'), ...holdings(ledger, 'TOKB', 'AB')], ['0', '5', '10', '0']);
  assert.deepEqual(act(ledger, ['C', `ORDER|1|${order}`]), ['invalid: SOURCE (not owner)']);
  assert.deepEqual(act(ledger, ['A', `ORDER|1|${order}`]), ['valid']);
  assert.equal(ledger.balance('TOKA', 'A'), '5');
  assert.deepEqual(act(ledger, ['A', `ORDER|1|${order}`]), ['invalid: ORDER_ACTION_INDEX (order not open)']);
  assert.deepEqual(act(ledger, ['C', 'ORDER|0|BTC||1|0|BTC||1']), [
    'invalid: cannot trade native coin for native coin'
  ]);
});

test('a taker gets the best price first, then the oldest offer, and keeps what it need not give', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10', B: '10', C: '10' });
  ledger.give('TOKB', 0, 'D', { D: '100' });
  act(
    ledger,
    ['A', 'ORDER|0|BTC|TOKA|10|0|BTC|TOKB|40'],
    ['B', 'ORDER|0|BTC|TOKA|10|0|BTC|TOKB|20'],
    ['C', 'ORDER|0|BTC|TOKA|10|0|BTC|TOKB|20']
  );
  act(ledger, ['D', 'ORDER|0|BTC|TOKB|60|0|BTC|TOKA|15']);
  assert.deepEqual(holdings(ledger, 'TOKB', 'ABCD'), ['0', '20', '10', '70']);
  assert.equal(ledger.balance('TOKA', 'D'), '15');
});

test('EXACT_AMOUNTS, FAIR_FILLS: below their heights fills have no more places than their tokens, also of an order from before DECIMALS changed', () => {
  const isActive = (name: string) => !['EXACT_AMOUNTS', 'FAIR_FILLS'].includes(name);
  for (const [wanted, left, got] of [
    ['0.5', '9', '1'],
    ['1.4', '9', '1'],
    ['0.4', '10', '0']
  ] as const) {
    const ledger = new MemoryLedger(100, { ...TEST_RULES, isActive });
    ledger.give('PAYT', 0, 'B', { B: '12' });
    act(ledger, ['A', 'ISSUE|0|TOKA|10.5|1.5|1']);
    act(ledger, ['B', `ORDER|0|BTC|PAYT|6|0|BTC|TOKA|${wanted}`], ['A', 'ISSUE|0|TOKA|||0||10']);
    act(ledger, ['A', 'ORDER|0|BTC|TOKA|10|0|BTC|PAYT|20']);
    const inEscrow = ledger.offers.find((offer) => offer.kind === 'order' && offer.source === 'A');
    assert.ok(inEscrow?.kind === 'order');
    assert.equal(formatAmount(inEscrow.giveLeft), left, `wanted ${wanted}`);
    assert.equal(ledger.balance('TOKA', 'B'), got);
  }
});

test('caps are rounded to the places of their token, and stay caps', () => {
  const ledger = new MemoryLedger();
  const capsOf = () => {
    const { maxSupply, maxMint } = ledger.view.get('token', 'toka')!;
    return [maxSupply, maxMint].map(formatAmount);
  };
  act(ledger, ['A', 'ISSUE|0|TOKA|10.55|0.04|2']);
  assert.deepEqual(capsOf(), ['10.55', '0.04']);
  act(ledger, ['A', 'ISSUE|0|TOKA|||1']);
  assert.deepEqual(capsOf(), ['10.6', '0.1']);
  act(ledger, ['A', 'ISSUE|0|TOKA|0||0']);
  assert.deepEqual(capsOf(), ['0', '1']);
});

test('a match with the coin waits two hours for its payment', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  const match = () => {
    act(ledger, ['A', 'ORDER|0|BTC|TOKA|5|0|BTC||1'], ['B', 'ORDER|0|BTC||1|0|BTC|TOKA|5']);
    return ledger.lastAction;
  };
  const paid = match();
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['5', '0']);
  pay(ledger, 'B', `COINPAY|0|${paid}`, 'A', '0.9');
  assert.deepEqual([named(ledger), ledger.balance('TOKA', 'B')], [[], '0']);
  pay(ledger, 'B', `COINPAY|0|${paid}`, 'A', '1');
  assert.deepEqual([named(ledger), ledger.balance('TOKA', 'B')], [['COINPAY'], '5']);
  match();
  ledger.time = 2 * HOUR_S;
  for (let block = 0; block < 11; block++) act(ledger, ['D', 'BROADCAST|0|tick']);
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['5', '5']);
  assert.deepEqual(ledger.offers, [], 'the order that was to pay has ended');
  pay(ledger, 'B', `COINPAY|0|${match()}`, 'A', '1');
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['0', '10']);
  assert.deepEqual(ledger.offers, []);
});

test('UNPAID_ENDS: a bid that nobody means to pay takes one offer from the market, and no second one', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10', C: '10' });
  act(ledger, ['M', 'ORDER|0|BTC||1000|0|BTC|TOKA|1000|0||999999999999'], ['B', 'ORDER|0|BTC||5|0|BTC|TOKA|50']);
  act(ledger, ['A', 'ORDER|0|BTC|TOKA|10|0|BTC||1']);
  ledger.time = 2 * HOUR_S;
  for (let block = 0; block < 11; block++) act(ledger, ['D', 'BROADCAST|0|tick']);
  assert.equal(ledger.balance('TOKA', 'A'), '10');
  act(ledger, ['C', 'ORDER|0|BTC|TOKA|10|0|BTC||1']);
  pay(ledger, 'B', `COINPAY|0|${ledger.lastAction}`, 'C', '1');
  assert.equal(ledger.balance('TOKA', 'B'), '10');
});

test('DISPENSER_NOTICE: an edit ends a dispenser after an hour at the earliest, so that payments under way are served', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.time = 1_000_000;
  for (let block = 0; block < 11; block++) act(ledger, ['D', 'BROADCAST|0|tick']);
  act(ledger, ['A', 'DISPENSER|0|BTC|TOKA|1|0|10|BTC||0.001']);
  const dispenser = ledger.lastAction;
  const endOf = () => (ledger.offers.find(({ index }) => index === dispenser) as { expiration?: number })?.expiration;
  assert.deepEqual(act(ledger, ['A', `DISPENSER|2|${dispenser}||1000001`]), ['valid']);
  assert.equal(endOf(), 1_000_000 + HOUR_S);
  ledger.time += HOUR_S;
  for (let block = 0; block < 11; block++) act(ledger, ['D', 'BROADCAST|0|tick']);
  pay(ledger, 'B', '', 'A', '0.002');
  assert.equal(ledger.balance('TOKA', 'B'), '2');
  assert.deepEqual(act(ledger, ['A', `DISPENSER|2|${dispenser}||${ledger.time + 1}`]), ['valid']);
  assert.equal(endOf(), ledger.time + 1, 'a later end counts as it is');
  ledger.time += 2;
  for (let block = 0; block < 11; block++) act(ledger, ['D', 'BROADCAST|0|tick']);
  pay(ledger, 'B', '', 'A', '0.002');
  assert.deepEqual([ledger.balance('TOKA', 'B'), ledger.balance('TOKA', 'A')], ['2', '8']);
});

test('UNPAID_DUST: a bid outlives sales that are worth less than nodes take, and ends with one that could be paid', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '2000' });
  act(ledger, ['B', 'ORDER|0|BTC||1|0|BTC|TOKA|100000000|0||999999999999']);
  const bid = ledger.lastAction;
  const wait = () => {
    ledger.time += 2 * HOUR_S;
    for (let block = 0; block < 11; block++) act(ledger, ['D', 'BROADCAST|0|tick']);
  };
  act(ledger, ['A', 'ORDER|0|BTC|TOKA|1|0|BTC||0.00000001'], ['A', 'ORDER|0|BTC|TOKA|545|0|BTC||0.00000545']);
  assert.equal(ledger.balance('TOKA', 'A'), '1454');
  wait();
  assert.equal(ledger.balance('TOKA', 'A'), '2000');
  assert.equal(ledger.offers.find(({ index }) => index === bid)?.status, 'open');
  act(ledger, ['A', 'ORDER|0|BTC|TOKA|546|0|BTC||0.00000546']);
  wait();
  assert.equal(
    ledger.offers.find(({ index }) => index === bid),
    undefined
  );
  assert.equal(ledger.balance('TOKA', 'A'), '2000');
});

test('DISPENSER_LIMITS: a payment asks the dispensers of the paid address before those that strangers have there', () => {
  const ledger = new MemoryLedger();
  ledger.give('JUNK', 0, 'M', { M: '1000' });
  ledger.give('GOOD', 0, 'F', { F: '10', B: '1' });
  const inOneBlock = [
    ['B', 'SEND|0|GOOD|1|G'],
    ['M', 'DISPENSER|0|BTC|JUNK|1|0|900|BTC||0.00000001|G']
  ] as const;
  const transactions = inOneBlock.map(([source, data], at) => ({ hash: `first ${at}`, source, fee: null, data }));
  ledger.run({ height: ledger.height, time: 0, hash: 'first', transactions });
  assert.equal(ledger.offers.length, 1, 'an address that is new takes a dispenser of anybody');
  act(ledger, ['F', 'SEND|0|GOOD|10|G'], ['G', 'DISPENSER|0|BTC|GOOD|1|0|10|BTC||0.001']);
  pay(ledger, 'B', '', 'G', '0.01');
  assert.deepEqual([ledger.balance('GOOD', 'B'), ledger.balance('JUNK', 'B')], ['10', '0']);
  pay(ledger, 'B', '', 'G', '0.00000002');
  assert.equal(ledger.balance('JUNK', 'B'), '2', 'what the address itself does not serve goes to the others');
});

test('KEPT_TERMS: the terms of a CALLBACK stay while others have units, those in their offers too', () => {
  const ledger = new MemoryLedger();
  ledger.give('PAYT', 0, 'A', { A: '1000' });
  assert.deepEqual(act(ledger, ['A', 'ISSUE|0|BOND|||0||100'], ['A', 'ISSUE|4|BOND|101|PAYT|5']), ['valid', 'valid']);
  act(ledger, ['A', 'SEND|0|BOND|100|B'], ['B', 'ORDER|0|BTC|BOND|100|0|BTC|PAYT|600']);
  const order = ledger.lastAction;
  assert.deepEqual(act(ledger, ['A', 'ISSUE|4|BOND|||0']), ['invalid: CALLBACK_AMOUNT (supply distributed)']);
  act(ledger, ['B', `ORDER|1|${order}`]);
  ledger.height = 101;
  assert.deepEqual(act(ledger, ['A', 'CALLBACK|0|BOND']), ['valid']);
  assert.deepEqual([ledger.balance('PAYT', 'B'), ledger.balance('BOND', 'A')], ['500', '100']);
});

test('an ownership is sold by an order, and comes back with its cancel', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.give('TOKB', 0, 'B', { B: '10' });
  act(ledger, ['A', 'ORDER|0|BTC|TOKA||1|BTC|TOKB|4']);
  const order = ledger.lastAction;
  assert.deepEqual(act(ledger, ['A', 'ISSUE|1|TOKA|new']), ['invalid: TICK (ownership escrowed)']);
  act(ledger, ['A', `ORDER|1|${order}`]);
  assert.deepEqual(act(ledger, ['A', 'ISSUE|1|TOKA|new']), ['valid']);
  act(ledger, ['A', 'ORDER|0|BTC|TOKA||1|BTC|TOKB|4'], ['B', 'ORDER|0|BTC|TOKB|4|0|BTC|TOKA||1']);
  assert.deepEqual(named(ledger), ['ORDER', 'ORDER_MATCH', 'ISSUE']);
  assert.deepEqual(act(ledger, ['B', 'ISSUE|1|TOKA|mine']), ['valid']);
});

test('a swap takes whole amounts only', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.give('TOKB', 0, 'B', { B: '10' });
  act(ledger, ['A', 'SWAP|0|BTC|TOKA|4|0|BTC|TOKB|8'], ['B', 'SWAP|0|BTC|TOKB|4|0|BTC|TOKA|2']);
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['6', '0']);
  act(ledger, ['B', 'SWAP|0|BTC|TOKB|8|0|BTC|TOKA|4']);
  assert.equal(ledger.balance('TOKB', 'A'), '0');
  act(ledger, ['B', 'SWEEP|0|C|1|0|0|1'], ['C', 'SWAP|0|BTC|TOKB|8|0|BTC|TOKA|4']);
  assert.deepEqual([ledger.balance('TOKB', 'A'), ledger.balance('TOKA', 'C')], ['8', '4']);
});

test('an amount beside an ownership is refused before an escrow beside it', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  const verdict = (data: string) => ledger.act(['A', data])[0]![0];
  const sold = (amount: string, escrow: string) => `DISPENSER|0|BTC|TOKA|${amount}|1|${escrow}|BTC||1`;
  assert.equal(verdict(sold('1', '1')), 'invalid: GIVE_AMOUNT (must be empty when GIVE_OWNERSHIP=1)');
  assert.equal(verdict(sold('', '1')), 'invalid: GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)');
});

test('an address that is new in the block may be paid for others, one that an earlier block met may not', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10', B: '10' });
  const inOneBlock = (...texts: readonly (readonly [source: string, data: string])[]) => {
    const transactions = texts.map(([source, data], place) => {
      return { hash: `${ledger.blocks.length}.${place}`.padStart(64, '0'), source, fee: null, data };
    });
    const { rows } = ledger.run({ height: ledger.height, time: 0, hash: 'f'.repeat(64), transactions });
    return rows.flatMap(({ table, columns }) => (table === 'dispensers' ? [columns['status_id']] : []));
  };
  const at = (address: string) => `DISPENSER|0|BTC|TOKA|1|0|1|BTC||1|${address}`;
  const refusal = 'invalid: GET_ADDRESS (dispenser not permitted)';
  assert.deepEqual(inOneBlock(['A', 'SEND|0|NOPE|1|D'], ['A', at('D')], ['B', at('D')]), ['valid', refusal]);
  assert.deepEqual(inOneBlock(['A', at('D')], ['C', at('D')], ['A', 'SEND|0|NOPE|1|E']), ['valid', refusal]);
  assert.deepEqual(inOneBlock(['A', at('E')], ['A', at('F')]), [refusal, 'valid'], 'E was named, if in vain');
});

test('DISPENSER_LIMITS: an address that said nothing is for the first source that sells there, until it says so', () => {
  const openedAt = (address: string, rules = TEST_RULES) => {
    const ledger = new MemoryLedger(100, rules);
    ledger.give('TOKA', 0, 'A', { A: '10', B: '10' });
    const at = `DISPENSER|0|BTC|TOKA|1|0|1|BTC||1|${address}`;
    const verdicts = () => ['A', 'B', 'A'].map((source) => act(ledger, [source, at])[0] === 'valid');
    const before = verdicts();
    act(ledger, [address, 'BROADCAST|0|x']);
    const choices = ['1', '2', '1'].map((preference) => {
      act(ledger, [address, `ADDRESS|0|||${preference}`]);
      return verdicts();
    });
    return [before, ...choices];
  };
  const [nobody, everybody] = [Array(3).fill(false), Array(3).fill(true)];
  assert.deepEqual(openedAt('F'), [[true, false, true], nobody, everybody, nobody]);
  const isActive = (name: string) => name !== 'DISPENSER_LIMITS' && TEST_RULES.isActive(name, 0);
  const below = openedAt('F', { ...TEST_RULES, isActive });
  assert.deepEqual(below, [[true, false, true], [true, false, true], everybody, everybody]);
});

test('DISPENSER_LIMITS: 261 dispensers of who came first take no payment from those of the address itself', () => {
  const ledger = new MemoryLedger();
  ledger.give('JUNK', 0, 'M', { M: '1000' });
  ledger.give('GOOD', 0, 'A', { A: '1000' });
  const dispenserText = 'DISPENSER|0|BTC|JUNK|1|0|1|BTC||0.00000001|F';
  const inOneBlock = [
    ['A', 'SEND|0|GOOD|500|F'],
    ['M', dispenserText]
  ] as const;
  const transactions = inOneBlock.map(([source, data], at) => ({ hash: `first ${at}`, source, fee: null, data }));
  ledger.run({ height: ledger.height, time: 0, hash: 'first', transactions });
  for (let count = 0; count < 260; count++) act(ledger, ['M', dispenserText]);
  act(ledger, ['F', 'DISPENSER|0|BTC|GOOD|1|0|100|BTC||0.001']);
  pay(ledger, 'B', '', 'F', '0.01');
  assert.deepEqual([ledger.balance('GOOD', 'B'), ledger.balance('JUNK', 'B')], ['10', '0']);
  act(ledger, ['F', 'ADDRESS|0|||1']);
  assert.deepEqual(act(ledger, ['M', dispenserText]), ['invalid: GET_ADDRESS (dispenser not permitted)']);
});

test('DISPENSER_LIMITS: a BATCH opens dispensers at the address of its source alone', () => {
  const opened = (rules = TEST_RULES) => {
    const ledger = new MemoryLedger(100, rules);
    ledger.give('TOKA', 0, 'A', { A: '10' });
    act(ledger, ['B', 'ADDRESS|0|||2']);
    const at = (address: string) => `DISPENSER|0|BTC|TOKA|1|0|1|BTC||1|${address}`;
    const verdicts = ledger.act(['A', `BATCH|0|${[at('A'), at('B'), at('C'), at('')].join(';')}`])[0]!.slice(1);
    return [...verdicts, ...ledger.act(['A', at('B')])[0]!];
  };
  const refusal = 'invalid: GET_ADDRESS (dispenser not permitted)';
  assert.deepEqual(opened(), ['valid', refusal, refusal, 'valid', 'valid']);
  const isActive = (name: string) => name !== 'DISPENSER_LIMITS' && TEST_RULES.isActive(name, 0);
  assert.deepEqual(opened({ ...TEST_RULES, isActive }), Array(5).fill('valid'));
});

test('the two new addresses of a dispenser get their ids in byte order', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.act(['A', 'DISPENSER|0|BTC|TOKA|1||1|BTC||1|Z|USD||Y']);
  const [y, z] = ['Y', 'Z'].map((address) => ledger.view.get('addressId', address)!);
  assert.equal(z! - y!, 1);
});

const INDIVISIBLE = 'ISSUE|0|TOKA|||0';

test('EXACT_AMOUNTS: half a unit of a token that became indivisible is never sold, refilled, matched or paid', () => {
  const ledger = new MemoryLedger();
  ledger.give('PAYT', 0, 'B', { B: '10' });
  assert.deepEqual(act(ledger, ['A', 'ISSUE|0|TOKA|100||1']), ['valid']);
  assert.deepEqual(act(ledger, ['A', 'DISPENSER|0|BTC|TOKA|0.5||0|BTC|PAYT|1']), ['valid']);
  const dispenser = ledger.lastAction;
  assert.deepEqual(act(ledger, ['B', 'ISSUE|4|PAYT|101|TOKA|0.5']), ['valid']);
  assert.deepEqual(act(ledger, ['B', 'ORDER|0|BTC|PAYT|5|0|BTC|TOKA|0.5']), ['valid']);
  assert.deepEqual(act(ledger, ['A', INDIVISIBLE], ['A', 'ISSUE|2|TOKA||10']), ['valid', 'valid']);
  assert.deepEqual(act(ledger, ['A', `DISPENSER|2|${dispenser}|1`]), ['invalid: GIVE_AMOUNT (format)']);
  act(ledger, ['B', 'SEND|0|PAYT|1|A']);
  assert.equal(ledger.balance('TOKA', 'B'), '0');
  assert.deepEqual(act(ledger, ['A', 'ORDER|0|BTC|TOKA|1|0|BTC|PAYT|5']), ['valid']);
  assert.deepEqual(named(ledger), ['ORDER']);
  ledger.height = 101;
  assert.deepEqual(act(ledger, ['B', 'CALLBACK|0|PAYT']), ['invalid: CALLBACK_AMOUNT (format)']);
  for (const tick of ['TOKA', 'PAYT']) assert.match(ledger.supply(tick), /^10$/);
});

test('EXACT_AMOUNTS: a swap that by now asks for half a unit is taken by nobody, and gives all back', () => {
  const ledger = new MemoryLedger();
  ledger.give('PAYT', 0, 'B', { B: '10' });
  assert.deepEqual(act(ledger, ['A', 'ISSUE|0|TOKA|100||1']), ['valid']);
  assert.deepEqual(act(ledger, ['B', 'SWAP|0|BTC|PAYT|5|0|BTC|TOKA|0.5']), ['valid']);
  const swap = ledger.lastAction;
  assert.deepEqual(act(ledger, ['A', INDIVISIBLE], ['A', 'ISSUE|2|TOKA||10']), ['valid', 'valid']);
  for (const [given, status] of [
    ['0.5', 'invalid: GIVE_AMOUNT (format)'],
    ['1', 'valid']
  ]) {
    assert.deepEqual(act(ledger, ['A', `SWAP|0|BTC|TOKA|${given}|0|BTC|PAYT|5`]), [status]);
    assert.deepEqual(named(ledger), ['SWAP']);
  }
  assert.deepEqual(act(ledger, ['B', `SWAP|2|${swap}`]), ['valid']);
  assert.deepEqual(named(ledger), ['SWAP_EDIT'], 'an edit looks for others again');
  assert.deepEqual(act(ledger, ['B', `SWAP|1|${swap}`]), ['valid']);
  assert.deepEqual([ledger.balance('PAYT', 'B'), ledger.supply('TOKA')], ['10', '10']);
});

test('EXACT_AMOUNTS, LOCKED_CAPS: below their heights a ledger goes on as it was begun', () => {
  const isActive = (name: string) => !/EXACT|LOCKED/.test(name);
  const ledger = new MemoryLedger(100, { ...TEST_RULES, isActive });
  assert.deepEqual(act(ledger, ['A', 'ISSUE|0|TOKA|1.5||1'], ['A', 'ISSUE|3|TOKA|1'], ['A', INDIVISIBLE]), [
    'valid',
    'valid',
    'valid'
  ]);
});

test('LOCKED_CAPS: DECIMALS never round a locked cap', () => {
  const ledger = new MemoryLedger();
  assert.deepEqual(act(ledger, ['A', 'ISSUE|0|TOKA|1.5|0.5|1'], ['A', 'ISSUE|3|TOKA|1']), ['valid', 'valid']);
  assert.deepEqual(act(ledger, ['A', INDIVISIBLE]), ['invalid: MAX_SUPPLY (locked)']);
  assert.deepEqual(act(ledger, ['A', 'ISSUE|0|TOKA|||2']), ['valid']);
  assert.deepEqual(act(ledger, ['A', 'ISSUE|0|TOKB||0.5|1'], ['A', 'ISSUE|3|TOKB||1'], ['A', 'ISSUE|0|TOKB|||0']), [
    'valid',
    'valid',
    'invalid: MAX_MINT (locked)'
  ]);
});

test('a dispenser that is cancelled and expires within its hour pays who cancelled it, or whom it was swept to', () => {
  for (const [ending, receiver] of [
    ['DISPENSER|1|2', 'B'],
    ['SWEEP|0|C|0|0|0|0|1', 'C']
  ] as const) {
    const ledger = new MemoryLedger();
    ledger.give('TOKA', 0, 'A', { A: '10' });
    assert.deepEqual(act(ledger, ['B', 'ADDRESS|0|||2'], ['A', 'DISPENSER|0|BTC|TOKA|1||10|BTC||1|B||||60']), [
      'valid',
      'valid'
    ]);
    assert.deepEqual(act(ledger, [ending.startsWith('SWEEP') ? 'A' : 'B', ending]), ['valid']);
    for (let block = 0; block < 12; block++) {
      ledger.time += HOUR_S / 6;
      act(ledger, ['D', 'BROADCAST|0|tick']);
      if (ledger.time === HOUR_S / 3) assert.equal(ledger.balance('TOKA', 'A'), '0', 'its hour is not over');
    }
    assert.deepEqual(
      holdings(ledger, 'TOKA', 'ABC'),
      ['A', 'B', 'C'].map((one) => (one === receiver ? '10' : '0'))
    );
  }
});

test('an order that is swept while a payment is awaited leaves it to the DESTINATION of the SWEEP', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  assert.deepEqual(act(ledger, ['A', 'ORDER|0|BTC|TOKA|10|0|BTC||10'], ['B', 'ORDER|0|BTC||4|0|BTC|TOKA|4']), [
    'valid',
    'valid'
  ]);
  assert.deepEqual(act(ledger, ['A', 'SWEEP|0|C|0|0|1']), ['valid']);
  assert.deepEqual(holdings(ledger, 'TOKA', 'ABC'), ['0', '0', '6']);
  for (let block = 0; block < 12; block++) {
    ledger.time += HOUR_S;
    act(ledger, ['D', 'BROADCAST|0|tick']);
  }
  assert.deepEqual(holdings(ledger, 'TOKA', 'ABC'), ['0', '0', '10']);
});

test('open offers end in the block whose time is above their expiration, in the order of their numbers', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '30' });
  ledger.give('TOKB', 0, 'A', {});
  act(
    ledger,
    ['A', 'DISPENSER|0|BTC|TOKA|1||10|BTC||1|||||50'],
    ['A', 'SWAP|0|BTC|TOKA|10|0|BTC|TOKB|10|||40'],
    ['A', 'ORDER|0|BTC|TOKA|10|0|BTC|TOKB|10|||30']
  );
  ledger.times.length = 0;
  ledger.time = 50;
  act(ledger, ['D', 'BROADCAST|0|tick']);
  assert.deepEqual(named(ledger), ['BROADCAST', 'SWAP_EXPIRE', 'ORDER_EXPIRE']);
  ledger.times.length = 0;
  ledger.time = 51;
  act(ledger, ['D', 'BROADCAST|0|tick']);
  assert.deepEqual(named(ledger), ['BROADCAST', 'DISPENSER_EXPIRE']);
});

test("an address that a token's lists bar offers nothing for it that others would look at", () => {
  const ledger = new MemoryLedger();
  ledger.give('REGT', 0, 'A', { A: '10', C: '10' });
  act(ledger, ['A', 'LIST|0|2||A|B|C|M'], ['A', `ISSUE|5|REGT|${ledger.lastAction + 1}`]);
  const list = ledger.lastAction - 1;
  const bids = ['ORDER|0|BTC||9|0|BTC|REGT|1', 'SWAP|0|BTC|BOND|9|0|BTC|REGT|1'];
  ledger.give('BOND', 0, 'M', { M: '100', D: '100' });
  const refusal = 'invalid: GET_ADDRESS (not authorized)';
  for (const bid of bids) {
    assert.deepEqual(act(ledger, ['D', bid], ['M', `${bid}||D`]), [refusal, refusal]);
    assert.deepEqual(act(ledger, ['M', bid], ['M', bid]), ['valid', 'valid']);
  }
  assert.deepEqual(act(ledger, ['C', 'ORDER|0|BTC|REGT|1|0|BTC||5||D']), [refusal], 'nor is D paid for it');
  act(ledger, ['B', 'ORDER|0|BTC||8|0|BTC|REGT|1'], ['A', `LIST|1|2|${list}||M`]);
  const [first, second] = ledger.offers.filter(({ kind }) => kind === 'order');
  assert.deepEqual(act(ledger, ['M', `ORDER|2|${first!.index}|99999`]), ['valid']);
  act(ledger, ['C', 'ORDER|0|BTC|REGT|1|0|BTC||5']);
  assert.deepEqual(named(ledger), ['ORDER', 'ORDER_EXPIRE', 'ORDER_EXPIRE', 'ORDER_MATCH']);
  assert.deepEqual(
    [first, second].map((bid) => ledger.view.get('offer', String(bid!.index))?.status),
    ['expired', 'expired']
  );
  act(ledger, ['C', 'SWAP|0|BTC|REGT|1|0|BTC|BOND|9']);
  assert.deepEqual(named(ledger), ['SWAP', 'SWAP_EXPIRE', 'SWAP_EXPIRE']);
  assert.equal(ledger.balance('BOND', 'M'), '100', 'what they held is back');
});

test('a rollback knows which offers its blocks changed, but of very many blocks the newest alone', () => {
  const changed = new ChangedOffers();
  assert.equal(changed.takeAbove(9), null, 'nothing is known yet');
  changed.begin(9);
  changed.add(10, new Set([1, 2]));
  changed.add(12, new Set([2, 3]));
  changed.add(13, new Set([4]));
  assert.equal(changed.takeAbove(8), null);
  assert.deepEqual(changed.takeAbove(11), [2, 3, 4]);
  assert.deepEqual(changed.takeAbove(11), [], 'they are taken');
  assert.deepEqual(changed.takeAbove(9), [1, 2, 3, 4], 'block 11 was of the group that ended with block 12');
  for (const height of [10, 11, 12]) changed.add(height, new Set(Array.from({ length: 90_000 }, (_, at) => at)));
  assert.equal(changed.takeAbove(9), null, 'those of block 10 are forgotten');
  assert.equal(changed.takeAbove(10)!.length, 90_000);
});
