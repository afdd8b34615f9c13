import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const OK = 'valid';

/** Runs actions one by one, each with the status that it must have; several rows of one action stand in an array. */
function expectStatuses(
  ledger: MemoryLedger,
  steps: readonly (readonly [string, string, string | readonly string[]])[]
) {
  for (const [source, data, wanted] of steps) {
    const [statuses] = ledger.act([source, data]);
    const named = (typeof wanted === 'string' ? [wanted] : wanted).map((text) =>
      text === OK ? OK : `invalid: ${text}`
    );
    assert.deepEqual(statuses, named, `${source} ${data}`);
  }
}

const holdings = (ledger: MemoryLedger, tick: string, addresses: string) =>
  addresses.split('').map((address) => ledger.balance(tick, address));

test('issue, mint, send', () => {
  const ledger = new MemoryLedger();
  expectStatuses(ledger, [
    ['A', 'ISSUE|0|TOKA|1000|100|2||50', OK],
    ['B', 'MINT|0|TOKA|100', OK],
    ['B', 'MINT|0|TOKA|1.001', 'AMOUNT (format)'],
    ['B', 'MINT|0|TOKA|101', 'AMOUNT > MAX_MINT'],
    ['B', 'SEND|0|TOKA|30.25|C', OK],
    ['B', 'SEND|0|TOKA|70|C', 'insufficient funds']
  ]);
  assert.deepEqual(holdings(ledger, 'TOKA', 'ABC'), ['50', '69.75', '30.25']);
  assert.equal(ledger.supply('TOKA'), '150');
});

test('a DEPLOY of 65,536 bytes and one of more: not yet activated, the row in actions is all', () => {
  for (const bytes of [65_536, 65_537]) {
    const ledger = new MemoryLedger();
    ledger.run({
      height: 100,
      time: 0,
      hash: '',
      transactions: [{ hash: 'a'.repeat(64), source: 'A', fee: null, data: `DEPLOY|0|${'x'.repeat(bytes)}` }]
    });
    const { rows } = ledger.blocks[0]!;
    assert.deepEqual(rows.map(({ table }) => table).sort(), [
      'actions',
      'index_addresses',
      'mappings_actions',
      'transactions'
    ]);
    assert.equal(rows.find(({ table }) => table === 'actions')!.columns['action_id'], 'DEPLOY');
  }
});

test('ownership and locks', () => {
  const ledger = new MemoryLedger();
  expectStatuses(ledger, [
    ['A', 'ISSUE|0|TOKA|1000|0|0||10', OK],
    ['B', 'ISSUE|1|TOKA|mine', 'issued by another address'],
    ['A', 'ISSUE|0|TOKA||||||C', OK],
    ['A', 'ISSUE|3|TOKA|1', 'issued by another address'],
    ['C', 'ISSUE|3|TOKA|1', OK],
    ['C', 'ISSUE|0|TOKA|2000', 'MAX_SUPPLY (locked)'],
    ['C', 'ISSUE|0|TOKA|1000', OK],
    ['C', 'ISSUE|3|TOKA|0', 'LOCK_MAX_SUPPLY (locked)']
  ]);
  assert.deepEqual(holdings(ledger, 'TOKA', 'A'), ['10']);
});

test('caps and names', () => {
  const ledger = new MemoryLedger();
  expectStatuses(ledger, [
    ['A', 'ISSUE|0|TOKA|100|0|2||60', OK],
    ['A', 'ISSUE|0|TOKA|||3', 'DECIMALS (locked)'],
    ['A', 'ISSUE|0|TOKA|50', 'MAX_SUPPLY < SUPPLY'],
    ['A', 'ISSUE|2|TOKA||60', 'MINT_SUPPLY exceeds MAX_SUPPLY'],
    ['A', 'ISSUE|2|TOKA||40', OK],
    ['B', 'MINT|0|TOKA|1', 'mint exceeds MAX_SUPPLY'],
    ['B', 'ISSUE|0|TOKA.X', 'TICK (parent issued by another address)'],
    ['B', 'ISSUE|0|NOPE.X', 'TICK (parent unknown)'],
    ['B', 'ISSUE|0|^5.1', 'TICK (parent unknown)'],
    ['B', 'ISSUE|0|^5', 'TICK (unresolvable ^id)'],
    ['B', 'ISSUE|0|', 'TICK (null)'],
    ['B', 'ISSUE|0|.ABCD', 'TICK (period)'],
    ['B', 'ISSUE|0|AB CD', 'TICK (character)'],
    ['B', 'ISSUE|0|btc', 'TICK (reserved)'],
    ['B', 'ISSUE|0|ABC', 'TICK (length)'],
    ['B', 'ISSUE|9|ABCD', 'VERSION (unknown)'],
    ['B', 'ISSUE|7|TOKA|LTC', 'ACTION is not yet activated'],
    ['B', 'LIST|2|5', 'ACTION is not yet activated'],
    ['B', 'LIST|0|3||5', 'ACTION is not yet activated']
  ]);
  assert.deepEqual(holdings(ledger, 'TOKA', 'A'), ['100']);
});

test('mint window', () => {
  const ledger = new MemoryLedger();
  expectStatuses(ledger, [
    ['A', 'ISSUE|0|TOKA|1000|10', OK],
    ['A', 'ISSUE|2|TOKA|10|||15|105|110', OK]
  ]);
  ledger.height = 104;
  expectStatuses(ledger, [['B', 'MINT|0|TOKA|10', 'MINT_START_BLOCK']]);
  ledger.height = 105;
  expectStatuses(ledger, [['B', 'MINT|0|TOKA|10|C', OK]]);
  const moved = ledger.blocks.at(-1)!.rows.filter(({ table }) => table === 'credits' || table === 'debits');
  assert.deepEqual(
    moved.map(({ table, columns }) => `${table} ${columns['amount']}`),
    ['debits 10', 'credits 10', 'credits 10']
  );
  ledger.height = 110;
  expectStatuses(ledger, [
    ['B', 'MINT|0|TOKA|10', 'mint exceeds MINT_ADDRESS_MAX'],
    ['C', 'MINT|0|TOKA|10', OK]
  ]);
  ledger.height = 111;
  expectStatuses(ledger, [['C', 'MINT|0|TOKA|1', 'MINT_STOP_BLOCK']]);
  assert.deepEqual(holdings(ledger, 'TOKA', 'BC'), ['0', '20']);
});

test('legs of a send', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  expectStatuses(ledger, [['A', 'SEND|1|TOKA|4|B|3|C|5|B|hi', [OK, 'insufficient funds']]]);
  const memos = ledger.blocks
    .at(-1)!
    .rows.filter(({ table }) => table === 'sends')
    .map(({ columns }) => columns['memo_id']);
  assert.deepEqual(memos, ['hi', 'hi']);
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['1', '9']);
  expectStatuses(ledger, [
    ['A', 'SEND|2|TOKA|1|B|NOPE|1|C', [OK, 'TICK (unknown)']],
    ['B', 'SEND|1|TOKA|0.5|C|0.5|C', ['AMOUNT (format)', 'AMOUNT (format)']]
  ]);
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['0', '10']);
});

test('sleep', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10', B: '10' });
  expectStatuses(ledger, [
    ['A', 'SLEEP|1|103|TOKA', OK],
    ['B', 'SEND|0|TOKA|1|C', 'TICK (sleeping)']
  ]);
  ledger.height = 102;
  expectStatuses(ledger, [['B', 'SEND|0|TOKA|1|C', 'TICK (sleeping)']]);
  ledger.height = 103;
  expectStatuses(ledger, [
    ['B', 'SEND|0|TOKA|1|C', OK],
    ['C', 'SLEEP|1|0|TOKA', 'TICK (not authorized)'],
    ['B', 'SLEEP|0|-1', OK]
  ]);
  ledger.height = 104;
  expectStatuses(ledger, [
    ['B', 'SEND|0|TOKA|1|C', 'SOURCE (sleeping)'],
    ['B', 'SLEEP|0|0', 'SOURCE (sleeping)'],
    ['A', 'SEND|0|TOKA|1|B', OK]
  ]);
  assert.deepEqual(holdings(ledger, 'TOKA', 'ABC'), ['9', '10', '1']);
});

test('lists', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '5', B: '2' });
  const rowsOf = (table: string) => ledger.blocks.at(-1)!.rows.filter((row) => row.table === table);
  expectStatuses(ledger, [['A', 'LIST|0|2||B|C|bad', [OK, OK, 'ADDRESS (format)', 'ADDRESS (format)', OK]]]);
  assert.equal(rowsOf('list_items').length, 2);
  assert.equal(rowsOf('list_items_invalid').length, 1);
  const list = ledger.lastAction;
  expectStatuses(ledger, [
    ['A', `ISSUE|5|TOKA|${list}`, OK],
    ['A', 'SEND|0|TOKA|1|B', 'SOURCE (not authorized)'],
    ['B', 'SEND|0|TOKA|1|D', 'DESTINATION (not authorized)'],
    ['D', `LIST|1|1|${list}||D`, 'LIST_ACTION_INDEX (not owner)'],
    ['A', `LIST|1|1|${list}||A`, [OK, OK]]
  ]);
  assert.equal(rowsOf('list_items').length, 3);
  assert.equal(rowsOf('lists')[0]!.columns['list_action_index'], list);
  expectStatuses(ledger, [['A', 'SEND|0|TOKA|1|B', OK]]);
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['4', '3']);
});

test('destroy and callback', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.give('PAYT', 0, 'A', { A: '20' });
  expectStatuses(ledger, [
    ['A', 'ISSUE|4|TOKA|105|PAYT|2', OK],
    ['A', 'DESTROY|0|TOKA|4|bye', OK],
    ['A', 'DESTROY|1|TOKA|1|TOKA|1', OK],
    ['A', 'DESTROY|0|TOKA|9', 'insufficient funds'],
    ['A', 'SEND|0|TOKA|3|B', OK],
    ['A', 'ISSUE|4|TOKA|||9', 'CALLBACK_AMOUNT (supply distributed)']
  ]);
  ledger.height = 104;
  expectStatuses(ledger, [['A', 'CALLBACK|0|TOKA', 'CALLBACK_BLOCK (block index)']]);
  ledger.height = 105;
  expectStatuses(ledger, [
    ['B', 'CALLBACK|0|TOKA', 'SOURCE (not authorized)'],
    ['A', 'CALLBACK|0|TOKA', OK]
  ]);
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['4', '0']);
  assert.equal(ledger.supply('TOKA'), '4');
  assert.deepEqual(holdings(ledger, 'PAYT', 'AB'), ['14', '6']);
});

test('batch', () => {
  const ledger = new MemoryLedger();
  const before = ledger.lastAction;
  expectStatuses(ledger, [
    [
      'A',
      'BATCH|0|ISSUE|0|PARE|100|0|0||5;ISSUE|0|PARE.X|10|0|0||1;MINT|0|PARE|1;SEND|0|PARE|2|B',
      [OK, OK, OK, OK, OK]
    ]
  ]);
  assert.equal(ledger.lastAction, before + 5);
  expectStatuses(ledger, [
    ['A', 'BATCH|0|MINT|0|PARE|1;MINT|0|PARE|1', 'MINT (limit)'],
    ['A', 'BATCH|0|SEND|0|PARE|9|B;SEND|0|PARE|1|B', [OK, 'insufficient funds', OK]],
    ['A', 'BATCH|0|SEND|0|PARE|1|B;', 'ACTION (unknown)'],
    ['A', 'BATCH|0|BATCH|0|SEND|0|PARE|1|B', 'BATCH (limit)'],
    ['A', 'BATCH|0|send|0|PARE|1|B', 'ACTION (unknown)'],
    ['A', 'BATCH|0|FILE|0|a;FILE|0|b', 'FILE (limit)'],
    ['A', 'BATCH|0|', 'COMMAND (unknown)'],
    ['A', `BATCH|0|${Array.from({ length: 251 }, () => 'SEND|0|PARE|1|B').join(';')}`, 'COMMAND (limit)'],
    ['A', `BATCH|0|${Array.from({ length: 11 }, () => 'DIVIDEND|0|PARE|PARE|1').join(';')}`, 'COMMAND (limit)']
  ]);
  assert.deepEqual(holdings(ledger, 'PARE', 'AB'), ['3', '3']);
  assert.deepEqual(holdings(ledger, 'PARE.X', 'A'), ['1']);
});

test('dividend, airdrop, sweep', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 1, 'A', { A: '5', B: '3.3', C: '0.1' });
  ledger.give('DIVI', 0, 'A', { A: '10' });
  ledger.act(['A', 'LIST|0|2||B|C|A']);
  const list = ledger.lastAction;
  expectStatuses(ledger, [
    ['A', 'DIVIDEND|0|TOKA|DIVI|0.5', 'AMOUNT (format)'],
    ['A', 'DIVIDEND|0|TOKA|DIVI|1', OK]
  ]);
  assert.deepEqual(holdings(ledger, 'DIVI', 'ABC'), ['7', '3', '0']);
  expectStatuses(ledger, [
    ['A', `AIRDROP|0|DIVI|2|${list}`, OK],
    ['A', `AIRDROP|0|DIVI|2|${list}`, 'insufficient funds (TICK)']
  ]);
  assert.deepEqual(holdings(ledger, 'DIVI', 'ABC'), ['3', '5', '2']);
  expectStatuses(ledger, [['B', 'SWEEP|0|C|1|0', OK]]);
  assert.deepEqual([...holdings(ledger, 'DIVI', 'BC'), ...holdings(ledger, 'TOKA', 'BC')], ['0', '7', '0', '3.4']);
  expectStatuses(ledger, [
    ['C', 'SWEEP|0||1', 'DESTINATION (null)'],
    ['A', 'SWEEP|0|D', [OK, OK, OK]],
    ['A', 'ISSUE|1|TOKA|gone', 'issued by another address'],
    ['D', 'ISSUE|1|TOKA|mine', OK]
  ]);
});

test('a preference with zeros before it is the number that its row holds', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '5' });
  expectStatuses(ledger, [
    ['B', 'ADDRESS|0||01', OK],
    ['A', 'SEND|0|TOKA|1|B', 'MEMO (required)']
  ]);
});

test('records: broadcast, address, message, file, link', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '5' });
  expectStatuses(ledger, [['A', 'BROADCAST|0|rain|1.5', OK]]);
  const broadcast = ledger.lastAction;
  expectStatuses(ledger, [
    ['A', `BROADCAST|3|${broadcast}|2`, OK],
    ['A', 'BROADCAST|3|99999|2', 'BROADCAST_ACTION_INDEX (status)'],
    ['A', 'BROADCAST|0|rain|1e3', 'VALUE (format)'],
    ['A', `BROADCAST|0|${'x'.repeat(251)}`, 'MESSAGE (length)'],
    ['B', 'ADDRESS|0||1', OK],
    ['B', 'ADDRESS|0|3', 'FEE_PREFERENCE (value)'],
    ['A', 'SEND|0|TOKA|1|B', 'MEMO (required)'],
    ['A', 'SEND|0|TOKA|1|B|hello', OK],
    ['A', 'MESSAGE|3|BTC|B|hello', OK],
    ['A', 'MESSAGE|3|XYZ|B|hello', 'COIN (value)'],
    ['A', 'MESSAGE|0|BTC|B|4|key', 'ENCRYPTION_METHOD (value)'],
    ['A', 'FILE|0|a.txt|text/plain|A file', OK],
    ['A', `LINK|0|BTC|${broadcast}|LTC|5`, OK],
    ['A', 'LINK|0|BTC|99999|LTC|5', 'COIN1_ACTION_INDEX (status)'],
    ['A', 'ISSUE|6|TOKA|C|all', 'CONTROLLER (unknown)']
  ]);
});

test('an ownership that changes hands is an ISSUE that tells whom and what it touched', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', {});
  ledger.act(['A', 'SWEEP|0|B|0|1|||']);
  const issue = ledger.lastAction;
  const rowsOf = (wanted: string) =>
    ledger.blocks
      .at(-1)!
      .rows.flatMap(({ table, columns }) => (table === wanted && columns['action_index'] === issue ? [columns] : []));
  assert.equal(rowsOf('issues')[0]!['transfer_id'], 2);
  assert.deepEqual(
    rowsOf('mappings_actions').map(({ type_id, id }) => [type_id, id]),
    [
      [2, 1],
      [2, 2],
      [1, 1]
    ]
  );
});

test('the gas token is reserved by every name of it', () => {
  const rules = { ...TEST_RULES, isRegtest: false, gasIssuer: 'G' };
  const ledger = new MemoryLedger(100, rules);
  expectStatuses(ledger, [
    ['B', 'ISSUE|0|gas', 'TICK (reserved)'],
    ['G', 'ISSUE|0|GAS|0|0|8||10|B', OK],
    ['B', 'ISSUE|1|GAS|x', 'TICK (reserved)'],
    ['B', 'ISSUE|1|^1|x', 'TICK (reserved)']
  ]);
  const elsewhere = new MemoryLedger(100, { ...rules, coin: 'LTC', gasIssuer: 'B' });
  elsewhere.give('GAS', 8, 'B', {});
  expectStatuses(elsewhere, [['B', 'ISSUE|1|^1|x', 'TICK (BTC-only)']]);
});

test('references by ^id, old texts without a version, and names in any case', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  const id = ledger.view.get('token', 'toka')!.id;
  expectStatuses(ledger, [
    ['A', `SEND|0|^${id}|1|B`, OK],
    ['A', 'SEND|toka|1|B', OK],
    ['A', 'send|0|Toka|1|B', OK],
    ['A', 'SEND|0|^99|1|B', 'TICK (unknown)'],
    ['B', `MINT|0|TOKA|1|^${ledger.view.get('addressId', 'A')}`, OK],
    ['B', 'MINT|0|TOKA|1|^99', 'DESTINATION (unresolvable ^id)'],
    ['A', 'DESTROY|TOKA|1', 'VERSION (unknown)'],
    ['A', 'SEND|0|TOKA|1|b', 'DESTINATION (format)'],
    ['A', 'SEND|0|TOKA|+1|B', 'AMOUNT (format)'],
    ['A', 'SEND|0|TOKA|１|B', 'AMOUNT (format)'],
    ['A', 'SEND|0|TOKA||B', 'AMOUNT (format)'],
    ['A', 'NONSENSE|0', []]
  ]);
  assert.deepEqual(holdings(ledger, 'TOKA', 'AB'), ['8', '3']);
});

test('an action of very many parts', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '30000' });
  expectStatuses(ledger, [['A', `SEND|1|TOKA${'|1|B'.repeat(30_000)}`, OK]]);
  assert.equal(ledger.balance('TOKA', 'B'), '30000');
});

test('a FILE belongs to the token whose owner links them, in either order', () => {
  const ledger = new MemoryLedger();
  const mapped = (source: string, data: string) => {
    ledger.act([source, data]);
    return ledger.blocks.at(-1)!.rows.flatMap(({ table, columns }) => (table === 'mappings_files' ? [columns] : []));
  };
  assert.deepEqual(mapped('A', 'FILE|0|a.txt'), [], 'of no token yet');
  ledger.act(['A', 'ISSUE|0|TOKA|100']);
  const { id } = ledger.view.get('token', 'toka')!;
  assert.deepEqual(mapped('B', 'LINK|0|BTC|2|BTC|1'), [], 'B does not own the token');
  const mapping = { action_index: 1, type_id: 1, id };
  assert.deepEqual(mapped('A', 'LINK|0|BTC|1|BTC|2'), [mapping]);
  assert.deepEqual(mapped('A', 'LINK|0|BTC|2|BTC|1'), [mapping]);
  assert.deepEqual(mapped('A', 'LINK|0|LTC|1|BTC|2'), [], 'the file is of another chain');
});
