import assert from 'node:assert/strict';
import { test } from 'node:test';
import { squareRoot } from '../../../src/indexer/polls/tally.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const verdict = (ledger: MemoryLedger, source: string, data: string) => ledger.act([source, data])[0]![0];

/** A ledger whose block 100 has a poll of the holders of TOKA: A 9, B 4, C 1. */
function pollLedger(terms: string, rules = TEST_RULES): { readonly ledger: MemoryLedger; readonly poll: number } {
  const ledger = new MemoryLedger(100, rules);
  ledger.give('TOKA', 2, 'A', { A: '9', B: '4', C: '1' });
  ledger.give('GAS', 8, 'A', { A: '10' });
  assert.equal(verdict(ledger, 'A', `VOTE|0|TOKA|105|yes,no,both|${terms}`), 'valid');
  return { ledger, poll: ledger.lastAction };
}

/** The result of the poll: its change, and what each option has got. */
function closeAt(ledger: MemoryLedger, height: number) {
  ledger.height = height;
  const { rows, rowChanges } = ledger.run({ height, time: 0, hash: '', transactions: [] });
  const options = rows
    .filter(({ table }) => table === 'poll_results')
    .map(({ columns }) => `${columns['total_weight']} by ${columns['voter_count']}`);
  return { options, outcome: rowChanges.find(({ table }) => table === 'polls')?.columns };
}

test('the newest ballots are weighed when the poll closes; of equal options the first wins', () => {
  const { ledger, poll } = pollLedger('2');
  for (const [voter, ballot] of [
    ['A', '0'],
    ['B', '0'],
    ['A', '1,2'],
    ['C', '2']
  ] as const)
    assert.equal(verdict(ledger, voter, `VOTE|1|${poll}|${ballot}`), 'valid');
  assert.equal(verdict(ledger, 'A', 'SEND|0|TOKA|5|D'), 'valid');
  assert.equal(closeAt(ledger, 104).outcome, undefined);
  const { options, outcome } = closeAt(ledger, 105);
  assert.deepEqual(options, ['4 by 1', '4 by 1', '5 by 2']);
  assert.deepEqual(
    [outcome?.['poll_status'], outcome?.['winning_option'], outcome?.['total_weight'], outcome?.['total_voters']],
    ['finalized', 2, '9', 3]
  );
  assert.equal(verdict(ledger, 'A', `VOTE|1|${poll}|0`), 'invalid: poll closed');
  assert.equal(closeAt(ledger, 106).outcome, undefined, 'it closes once');
  const even = pollLedger('1');
  for (const voter of ['A', 'B']) verdict(even.ledger, voter, `SEND|0|TOKA|${voter === 'A' ? 6 : 1}|D`);
  for (const [voter, ballot] of [
    ['A', '2'],
    ['B', '1']
  ] as const)
    verdict(even.ledger, voter, `VOTE|1|${even.poll}|${ballot}`);
  assert.equal(closeAt(even.ledger, 105).outcome?.['winning_option'], 1);
});

test('a split vote shares its weight; roots and heads are weighed otherwise than balances', () => {
  const split = pollLedger('3|split');
  verdict(split.ledger, 'A', `VOTE|1|${split.poll}|0:2,1:1`);
  verdict(split.ledger, 'C', `VOTE|1|${split.poll}|0,1,2`);
  const third = '0.333333333333333333';
  assert.deepEqual(closeAt(split.ledger, 105).options, [
    '6.333333333333333333 by 2',
    `3.${third.slice(2)} by 2`,
    `${third} by 1`
  ]);
  const outcomes = [
    ['quadratic', '5'],
    ['flat', '2'],
    ['stake', '0']
  ].map(([mode, total]) => {
    const { ledger, poll } = pollLedger(`1||${mode}|||1`);
    verdict(ledger, 'A', `VOTE|1|${poll}|0`);
    verdict(ledger, 'B', `VOTE|1|${poll}|1`);
    return [closeAt(ledger, 105).outcome?.['total_weight'], total];
  });
  for (const [shown, total] of outcomes) assert.equal(shown, total);
  for (const root of [0n, 1n, 2n, 3n, 10n ** 30n + 7n]) {
    assert.equal(squareRoot(root * root), root);
    if (root > 0n) assert.equal(squareRoot(root * root + 2n * root), root);
  }
});

test('a holder without a ballot adds to that of its delegate, one step far', () => {
  const { ledger, poll } = pollLedger('1');
  assert.equal(verdict(ledger, 'B', 'VOTE|3|TOKA|C'), 'valid');
  assert.equal(verdict(ledger, 'A', 'VOTE|3|toka|B'), 'valid');
  assert.equal(verdict(ledger, 'C', `VOTE|1|${poll}|1`), 'valid');
  assert.deepEqual(closeAt(ledger, 105).options, ['0 by 0', '5 by 1', '0 by 0']);
  const ended = pollLedger('1');
  verdict(ended.ledger, 'B', 'VOTE|3|TOKA|C');
  verdict(ended.ledger, 'B', 'VOTE|3|TOKA|');
  verdict(ended.ledger, 'C', `VOTE|1|${ended.poll}|1`);
  assert.deepEqual(closeAt(ended.ledger, 105).options, ['0 by 0', '1 by 1', '0 by 0']);
});

test('a poll without its quorum fails, and its deposit goes to the pool; else it comes back', () => {
  const failing = ['1|||0.65', '1||||3', '1|||0.65|3'].map((terms) => {
    const { ledger, poll } = pollLedger(`${terms}${'|'.repeat(8 - terms.split('|').length)}|2.5`);
    verdict(ledger, 'A', `VOTE|1|${poll}|0`);
    return [closeAt(ledger, 105).outcome?.['fail_reason'], ledger.balance('GAS', 'E')];
  });
  assert.deepEqual(failing, [
    ['quorum', '2.5'],
    ['min_voters', '2.5'],
    ['both', '2.5']
  ]);
  const { ledger, poll } = pollLedger('1|||0.64|1||||2.5');
  assert.equal(ledger.balance('GAS', 'A'), '7.5');
  verdict(ledger, 'A', `VOTE|1|${poll}|0`);
  assert.equal(closeAt(ledger, 105).outcome?.['deposit_resolved'], 'refunded');
  assert.deepEqual([ledger.balance('GAS', 'A'), ledger.supply('GAS')], ['10', '10']);
  const burned = pollLedger('1||||||||1', { ...TEST_RULES, rewardPool: undefined });
  assert.equal(closeAt(burned.ledger, 105).outcome?.['deposit_resolved'], 'forfeited');
  assert.equal(burned.ledger.supply('GAS'), '9');
});

test('MIN_VOTE_BALANCE of half a unit shuts out nobody who has one, once the token is indivisible', () => {
  const ledger = new MemoryLedger();
  for (const data of ['ISSUE|0|TOKA|100||1||1', 'VOTE|0|TOKA|105|yes,no|1||quadratic|||0.5'])
    assert.equal(verdict(ledger, 'A', data), 'valid');
  const poll = ledger.lastAction;
  for (const data of ['DESTROY|0|TOKA|1', 'ISSUE|0|TOKA|||0', 'ISSUE|2|TOKA||10', 'SEND|0|TOKA|1|B'])
    assert.equal(verdict(ledger, 'A', data), 'valid');
  assert.equal(verdict(ledger, 'A', `VOTE|1|${poll}|0`), 'valid');
  assert.equal(verdict(ledger, 'B', `VOTE|1|${poll}|1`), 'valid');
  assert.equal(verdict(ledger, 'C', `VOTE|1|${poll}|1`), 'invalid: SOURCE (must hold TICK to vote)');
  assert.deepEqual(closeAt(ledger, 105).options, ['3 by 1', '1 by 1']);
});

test('a ballot that decides a poll closes it in its block', () => {
  const { ledger, poll } = pollLedger('1|||||0.5|0.64');
  assert.equal(verdict(ledger, 'B', `VOTE|1|${poll}|0`), 'valid');
  assert.equal(ledger.blocks.at(-1)!.rowChanges.length, 0);
  ledger.height = 101;
  assert.equal(verdict(ledger, 'A', `VOTE|1|${poll}|2`), 'valid');
  const { columns } = ledger.blocks.at(-1)!.rowChanges[0]!;
  assert.deepEqual(
    [columns['winning_option'], columns['decided_early'], columns['effective_close_block']],
    [2, 1, 101]
  );
});

const REFUSALS: readonly (readonly [source: string, data: string, status: string])[] = [
  ['A', 'VOTE|2|1', 'VERSION (unknown)'],
  ['A', 'VOTE|0||105|a,b', 'TICK (missing)'],
  ['A', 'VOTE|0|NOPE|105|a,b', 'TICK (unknown)'],
  ['D', 'VOTE|0|TOKA|105|a,b', 'SOURCE (must hold TICK to create poll)'],
  ['A', 'VOTE|0|TOKA|soon|a,b', 'END_BLOCK (must be a future block)'],
  ['A', 'VOTE|0|TOKA|100|a,b', 'END_BLOCK (must be a future block)'],
  ['A', 'VOTE|0|TOKA|105221|a,b', 'END_BLOCK (too far)'],
  ['A', 'VOTE|0|TOKA|105|a', 'OPTIONS (need at least 2)'],
  ['A', 'VOTE|0|TOKA|105|a, a', 'OPTIONS (format)'],
  ['A', `VOTE|0|TOKA|105|a,${'b'.repeat(65)}`, 'OPTIONS (format)'],
  ['A', `VOTE|0|TOKA|105|${Array.from({ length: 33 }, (_, n) => n).join(',')}`, 'OPTIONS (format)'],
  ['A', 'VOTE|0|TOKA|105|a,b|3', 'MAX_SELECTIONS (range)'],
  ['A', 'VOTE|0|TOKA|105|a,b|1|any', 'TALLY_MODE (value)'],
  ['A', 'VOTE|0|TOKA|105|a,b|1|split|time_weighted', 'WEIGHT_MODE (value)'],
  ['A', 'VOTE|0|TOKA|105|a,b|1||quadratic', 'quadratic WEIGHT_MODE requires MIN_VOTE_BALANCE > 0'],
  ['A', 'VOTE|0|TOKA|105|a,b|1|||-1', 'QUORUM (fraction 0-1)'],
  ['A', 'VOTE|0|TOKA|105|a,b|1|||1.000000000000000001', 'QUORUM (fraction 0-1)'],
  ['A', 'VOTE|0|TOKA|105|a,b|1||||1.5', 'MIN_VOTERS (non-negative integer)'],
  ['A', 'VOTE|0|TOKA|105|a,b|1|||||0.001', 'MIN_VOTE_BALANCE (non-negative amount)'],
  ['A', 'VOTE|0|TOKA|105|a,b|1||||||2', 'DECIDE_THRESHOLD (fraction 0-1)'],
  ['A', `VOTE|0|TOKA|105|a,b|1|||||||${'q'.repeat(1_001)}`, 'QUESTION (length)'],
  ['A', 'VOTE|0|TOKA|105|a,b|1||||||||1e1', 'DEPOSIT (non-negative amount)'],
  ['A', 'VOTE|0|TOKA|105|a,b|1|||||||||7', 'CALLBACK_CONTRACT (unknown)'],
  ['B', 'VOTE|0|TOKA|105|a,b|1||||||||0.1', 'insufficient funds (DEPOSIT)'],
  ['A', 'VOTE|1|x|0', 'POLL_REF (format)'],
  ['A', 'VOTE|1|999|0', 'POLL_REF (unknown poll)'],
  ['D', 'VOTE|1|1|', 'SOURCE (must hold TICK to vote)'],
  ['A', 'VOTE|1|1|', 'BALLOT (empty)'],
  ['A', 'VOTE|1|1|0,0', 'BALLOT (exceeds MAX_SELECTIONS)'],
  ...['3', '0:1', '-1', '00001', 'yes'].map(
    (ballot) => ['A', `VOTE|1|1|${ballot}`, 'BALLOT (option index out of range)'] as const
  ),
  ['A', 'VOTE|1|1|0|a;b', 'MEMO (semicolon)'],
  ['A', 'VOTE|3|TOKA|^999', 'DELEGATE_TO (unresolvable ^id)'],
  ['A', 'VOTE|3|NOPE|B', 'TICK (unknown)'],
  ['A', 'VOTE|3|TOKA|nobody', 'DELEGATE_TO (format)']
];

test('a ballot that is split names each option once, and gives it a share', () => {
  const { ledger, poll } = pollLedger('3|split');
  for (const [ballot, status] of [
    ['0,0', 'duplicate option'],
    ['0:0', 'share must be > 0 in split mode'],
    ['0:1000001', 'share must be > 0 in split mode'],
    ['0:x', 'share must be > 0 in split mode']
  ])
    assert.equal(verdict(ledger, 'A', `VOTE|1|${poll}|${ballot}`), `invalid: BALLOT (${status})`);
});

test('an action that is no poll, ballot or delegation is refused with its status', () => {
  const { ledger, poll } = pollLedger('1|||||2');
  assert.equal(poll, 1);
  for (const [source, data, status] of REFUSALS)
    assert.equal(verdict(ledger, source, data), `invalid: ${status}`, data.slice(0, 100));
});
