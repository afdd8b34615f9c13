import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

/** Returns the verdict and row by which compatible ledgers take texts of the field. */

const namedIn = (ledger: MemoryLedger) =>
  ledger.blocks.at(-1)!.rows.flatMap(({ table, columns }) => (table === 'actions' ? [columns['action_id']] : []));
const rowsOf = (ledger: MemoryLedger, wanted: string) =>
  ledger.blocks.at(-1)!.rows.flatMap(({ table, columns }) => (table === wanted ? [columns] : []));

test('a BATCH with a command that is not built runs the others', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.act(['A', 'BATCH|0|BET|0|x;SEND|0|TOKA|4|B;DEPLOY|0|x']);
  assert.deepEqual(namedIn(ledger), ['BATCH', 'BET', 'SEND', 'DEPLOY']);
  assert.equal(ledger.balance('TOKA', 'B'), '4');
  assert.deepEqual(ledger.act(['A', 'BATCH|0|SEND|0|TOKA|4|B;NOPE|0']), [['invalid: ACTION (unknown)']]);
  assert.deepEqual(ledger.act(['A', 'BATCH|0|SEND|0|TOKA|4|B;send|0|TOKA|1|B']), [['invalid: ACTION (unknown)']]);
});

test('aliases name commands of a BATCH where the profile says so', () => {
  for (const [isActive, held] of [
    [TEST_RULES.isActive, '4'],
    [(name: string, height: number) => name !== 'BATCH_ALIASES' && TEST_RULES.isActive(name, height), '0']
  ] as const) {
    const ledger = new MemoryLedger(100, { ...TEST_RULES, isActive });
    ledger.give('TOKA', 0, 'A', { A: '10' });
    ledger.act(['A', 'BATCH|0|TRANSFER|0|TOKA|4|B']);
    assert.equal(ledger.balance('TOKA', 'B'), held);
  }
});

test('no new token takes the symbol of a coin, in any case', () => {
  const ledger = new MemoryLedger();
  ledger.give('HYPE', 0, 'A', { A: '10' });
  for (const symbol of ['DASH', 'avax', 'Atom', 'ETH', 'BTC'])
    assert.deepEqual(ledger.act(['A', `ISSUE|0|${symbol}|1`]), [['invalid: TICK (reserved)']], symbol);
  assert.deepEqual(ledger.act(['A', 'ISSUE|1|HYPE|older than the rule']), [['valid']]);
});

test('an id has one spelling', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  assert.deepEqual(ledger.act(['A', 'SEND|0|^1|1|B'], ['A', 'SEND|0|^01|1|B'], ['A', 'MINT|0|TOKA|1|^02']), [
    ['valid'],
    ['invalid: TICK (unknown)'],
    ['invalid: DESTINATION (format)']
  ]);
});

test('an item that is given as text and as ^id is one; an edit has the type of its list', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.act(['A', 'LIST|0|1||TOKA|^1|toka|NOPE']);
  assert.deepEqual(
    rowsOf(ledger, 'list_edits').map(({ item_id }) => item_id),
    [1, null]
  );
  assert.equal(rowsOf(ledger, 'list_items').length, 1);
  const list = ledger.lastAction;
  ledger.act(['A', `LIST|1|2|${list}||TOKA`]);
  assert.deepEqual(
    rowsOf(ledger, 'lists').map(({ type, edit }) => [type, edit]),
    [['1', '2']]
  );
  ledger.act(['B', `LIST|1|1|${list}||TOKA`]);
  assert.equal(rowsOf(ledger, 'lists')[0]!['type'], '1', 'also of an edit that is refused');
});

test('a price needs no token, and its row has its value and fee as they are written', () => {
  const ledger = new MemoryLedger();
  assert.deepEqual(ledger.act(['A', 'PRICE|1|LTC|OTHER|USD|1.50000000|0.010']), [['valid']]);
  const [price] = rowsOf(ledger, 'prices');
  assert.deepEqual([price?.['value'], price?.['fee']], ['1.50000000', '0.010']);
});

const GATED = `FILE|0|a.bin||||TOKA|1|${'aB'.repeat(32)}`;

test('a token with files for its holders is sent with the key to whoever can then open one', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 1, 'A', { A: '100', B: '4' });
  const act = (text: string, source = 'A') => ledger.act([source, text])[0]!.at(-1);
  for (const [text, status] of [
    ['FILE|0|a.bin|||||||0', 'GATE_MIN_AMOUNT'],
    [`FILE|0|a.bin||||TOKA|2|${'a'.repeat(64)}`, 'ENCRYPTION_METHOD (must be 1)'],
    ['FILE|0|a.bin||||TOKA|1|abc', 'KEY_HASH (format)'],
    [GATED.replace('TOKA', 'NOPE'), 'GATE_TICKER (unknown)'],
    [`${GATED}|0.55`, 'GATE_MIN_AMOUNT'],
    [`${GATED}|010`, 'GATE_MIN_AMOUNT'],
    [`${GATED}|0.0`, 'GATE_MIN_AMOUNT']
  ] as const)
    assert.equal(act(text), `invalid: ${status}`, text);
  assert.equal(act(GATED, 'B'), 'invalid: SOURCE (not GATE_TICKER issuer)');
  assert.equal(act(`${GATED}|10`), 'valid');
  assert.deepEqual(
    rowsOf(ledger, 'gated_files').map(({ gate_ticker, key_hash, gate_min_amount }) => [
      gate_ticker,
      key_hash,
      gate_min_amount
    ]),
    [['TOKA', 'ab'.repeat(32), '10']]
  );
  const refused = 'invalid: gated token transfer requires key handoff message';
  assert.equal(act('SEND|0|TOKA|5.9|B'), 'valid', 'B holds 9.9 then');
  assert.equal(act('SEND|0|TOKA|0.1|B'), refused);
  assert.equal(act('SEND|1|TOKA|0.05|B|0.05|B'), 'invalid: AMOUNT (format)');
  assert.equal(act('BATCH|0|MESSAGE|3|BTC|B|key;SEND|0|TOKA|0.1|B'), refused);
  assert.equal(act('BATCH|0|MESSAGE|2|BTC|C|key;SEND|0|TOKA|0.1|B'), refused);
  assert.equal(act('BATCH|0|SEND|0|TOKA|0.1|B;MESSAGE|2|BTC|B|key'), 'valid');
  assert.equal(ledger.balance('TOKA', 'B'), '10');
  assert.equal(act(GATED), 'valid', 'a further file without a least amount');
  assert.equal(act('SEND|0|TOKA|0.1|D'), refused);
});

test('tickers of refused actions have ids, dealt in the order of the chain', () => {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  const act = (text: string, status: string) => {
    assert.deepEqual(new Set(ledger.act(['A', text])[0]), new Set([status]), text);
    return rowsOf(ledger, 'index_tickers').map(({ id, tick }) => `${id} ${tick}`);
  };
  const unknown = 'invalid: TICK (unknown)';
  const paid = 'ISSUE|0|newa|x|||||||||||||newb';
  assert.deepEqual(act(paid, 'invalid: MAX_SUPPLY (format)'), ['2 newb', '3 newa']);
  assert.deepEqual(act('SEND|2|NEWC|1|B|NEWD|1|B|^9|1|B|^x|1|B||1|B', unknown), ['4 NEWC', '5 NEWD']);
  assert.deepEqual(
    rowsOf(ledger, 'sends').map(({ tick_id }) => tick_id),
    [4, 5, null, null, null]
  );
  assert.deepEqual(act('SEND|0|^5|1|B', unknown), []);
  assert.deepEqual(
    rowsOf(ledger, 'sends').map(({ tick_id }) => tick_id),
    [5]
  );
  assert.deepEqual(act('DIVIDEND|0|NEWE|NEWF|1', unknown), ['6 NEWE', '7 NEWF']);
  assert.deepEqual(act('ISSUE|0|newa|5|0|0||5', 'valid'), []);
  assert.equal(ledger.view.get('token', 'newa')?.id, 3);
  assert.deepEqual(act('SEND|0|^3|1|B', 'valid'), []);
  // Another spelling has another id, and names the token; a token has the spelling of its ISSUE.
  assert.deepEqual(act('ISSUE|0|newc|5|0|0||5', 'valid'), ['8 newc']);
  assert.deepEqual(act('SEND|0|^4|1|B', 'valid'), []);
  assert.deepEqual(
    rowsOf(ledger, 'sends').map(({ tick_id }) => tick_id),
    [8]
  );
  assert.equal(ledger.view.get('token', 'newc')?.tick, 'newc');
});

test('they have none below the height of REFUSED_TICKERS', () => {
  const isActive = (name: string, height: number) => name !== 'REFUSED_TICKERS' && TEST_RULES.isActive(name, height);
  const ledger = new MemoryLedger(100, { ...TEST_RULES, isActive });
  ledger.act(['A', 'SEND|0|NEWA|1|B']);
  assert.deepEqual(rowsOf(ledger, 'index_tickers'), []);
  ledger.act(['A', 'ISSUE|0|NEWB|5']);
  assert.deepEqual(rowsOf(ledger, 'index_tickers'), [{ id: 1, tick: 'NEWB' }]);
});
