import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_LIMITS, type Limits, NO_LIMITS } from '../../../src/coin/limits.ts';
import type { ExecutedBlock } from '../../../src/indexer/block/block.ts';
import { BlockExecution, timesOf } from '../../../src/indexer/block/execution.ts';
import { Progress } from '../../../src/indexer/block/progress.ts';
import type { Unit } from '../../../src/indexer/block/unit.ts';
import { Members } from '../../../src/indexer/state/members.ts';
import { NO_SIGNER } from '../../../src/indexer/state/signer.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';
import { priceText, slotMessage, testSigner } from '../../support/indexer-signers.ts';

function rulesWith(limits: Partial<Limits> = {}, base = DEFAULT_LIMITS) {
  return {
    ...TEST_RULES,
    readAddress: (text: string) => (/^[A-Z]\d*$/.test(text) ? text : undefined),
    limitsAt: () => ({ ...base, ...limits })
  };
}

const ledgerWith = (limits: Partial<Limits> = {}, base = DEFAULT_LIMITS) =>
  new MemoryLedger(100, rulesWith(limits, base));

/** One block of one transaction for each text. */
function blockOf({ height, time, blocks }: MemoryLedger, source: string, texts: readonly string[]) {
  const transactions = texts.map((data, place) => ({ hash: `${blocks.length} ${place}`, source, fee: null, data }));
  return { height, time, hash: String(blocks.length), transactions };
}

const block = (ledger: MemoryLedger, source: string, ...texts: readonly string[]): ExecutedBlock =>
  ledger.run(blockOf(ledger, source, texts));

const countOf = ({ rows }: ExecutedBlock, table: string) => rows.filter((row) => row.table === table).length;
const statusesOf = ({ rows }: ExecutedBlock, table: string) =>
  rows.flatMap((row) => (row.table === table ? [String(row.columns['status_id'])] : []));
const repeat = <T = string>(count: number, make: (place: number) => T) =>
  Array.from({ length: count }, (_, at) => make(at));

/** A ledger with a list, and a token that nobody on it may have. */
function barring(members: number, limits: Partial<Limits>, base = DEFAULT_LIMITS) {
  const ledger = ledgerWith(limits, base);
  ledger.give('TOKA', 0, 'A', { A: '100' });
  block(ledger, 'B', `LIST|0|2||${repeat(members, (at) => `C${at}`).join('|')}`);
  const list = ledger.lastAction;
  block(ledger, 'A', `ISSUE|5|TOKA||${list}`);
  return { ledger, airdrop: (legs: number) => `AIRDROP|1|${list}|${repeat(legs, () => 'TOKA|1').join('|')}` };
}

test('AIRDROP looks at each address that it names, whether or not the token bars it', () => {
  const { ledger, airdrop } = barring(300, { blockUnits: 180 }); // 300 looks of each leg, and 600 at the list of the token;
  const statuses = statusesOf(block(ledger, 'A', airdrop(10)), 'airdrops');
  assert.deepEqual(statuses.slice(3), ['valid', ...repeat(6, () => 'invalid: RECIPIENTS (block limit)')]);
});

test('an action of many legs gives the thread its turn between two of them, and does the same', () => {
  const { ledger, airdrop } = barring(2_000, {}, NO_LIMITS);
  const asked = blockOf(ledger, 'A', [airdrop(700), 'SEND|0|TOKA|1|B']);
  const execution = new BlockExecution(ledger.view, rulesWith({}, NO_LIMITS), asked, timesOf([0]));
  let turns = 0;
  while (execution.advance(performance.now() + 0.2) !== null) turns++;
  const executed = execution.finish(undefined);
  assert.ok(turns > 5, `${turns} turns`);
  assert.deepEqual([...new Set(statusesOf(executed, 'airdrops'))], ['valid']);
  assert.deepEqual(
    [countOf(executed, 'airdrops'), countOf(executed, 'sends'), countOf(executed, 'actions')],
    [700, 1, 2]
  );
});

/** A ledger with early polls of the token of M, who has three delegations, and after them one of A that ends with block 101. */
function polled(limits: Partial<Limits>, leastVoters = 2) {
  const ledger = ledgerWith(limits);
  ledger.give('TOKA', 0, 'A', { A: '60', B: '40' });
  ledger.give('TOKM', 0, 'M', { M: '10' });
  for (const from of ['C', 'D', 'E']) block(ledger, from, 'VOTE|3|TOKM|M');
  const early = repeat(5, () => {
    block(ledger, 'M', `VOTE|0|TOKM|9000|a,b|1||flat||${leastVoters}||0.9`);
    return String(ledger.lastAction);
  });
  block(ledger, 'A', 'VOTE|0|TOKA|101|yes,no');
  const poll = String(ledger.lastAction);
  block(ledger, 'A', `VOTE|1|${poll}|0`);
  const isOpen = () => ledger.view.get('poll', poll)!.isOpen;
  return { ledger, early, poll, isOpen };
}

test('a poll closes with its END_BLOCK, whatever others have done in the block and voted in older polls', () => {
  const { ledger, early, isOpen } = polled({ blockUnits: 20 }, 0);
  block(ledger, 'M', 'SEND|0|TOKM|5|Z'); // no ballot of M decides a poll
  ledger.height = 101;
  block(ledger, 'M', ...repeat(30, () => 'BROADCAST|0|full'), ...early.map((index) => `VOTE|1|${index}|0`));
  assert.equal(isOpen(), false);
});

test('a poll that waits after its END_BLOCK takes no ballot, and closes before those that end later', () => {
  const { ledger, poll, isOpen } = polled({ blockUnits: 4 });
  block(ledger, 'M', 'VOTE|0|TOKM|102|a,b');
  block(ledger, 'A', 'VOTE|0|TOKA|101|a,b');
  const second = String(ledger.lastAction);
  ledger.height = 101;
  block(ledger, 'M');
  assert.deepEqual([isOpen(), ledger.view.get('poll', second)!.isOpen], [false, true]);
  ledger.height = 102;
  const late = block(ledger, 'B', `VOTE|1|${second}|1`, `VOTE|1|${poll}|1`);
  assert.deepEqual(statusesOf(late, 'votes'), ['invalid: poll closed', 'invalid: poll closed']);
  assert.equal(ledger.view.get('poll', second)!.isOpen, false, 'before the poll that ends later');
});

test('a poll may be decided early once as many voted as it needs; its tallies stop when the block has seen enough', () => {
  const { ledger, early } = polled({ blockUnits: 40 });
  const voted = (source: string) => block(ledger, source, ...early.map((index) => `VOTE|1|${index}|0`));
  const open = () => early.filter((index) => ledger.view.get('poll', index)!.isOpen).length;
  block(ledger, 'M', 'SEND|0|TOKM|1|C');
  voted('M');
  assert.equal(open(), 5, 'one voter of two');
  voted('C');
  assert.equal(open(), 3, 'two tallies of 2 + 2 * 5 looks use up those of the block');
});

test('an edit that changes nothing keeps no members, and a short block keeps those of one list', () => {
  const ledger = ledgerWith({ wholeList: 10 });
  const lists = repeat(3, (at) => {
    block(ledger, 'A', `LIST|0|2||${repeat(6, (n) => `C${at}${n}`).join('|')}`);
    return String(ledger.lastAction);
  });
  const edits = (item: string) => `BATCH|0|${lists.map((list) => `LIST|1|1|${list}||${item}`).join(';')}`;
  const kept = repeat(4, () => String(countOf(block(ledger, 'A', edits('D')), 'list_items')));
  assert.deepEqual(kept, ['7', '7', '7', '0'], 'one list a block, and none once all are kept');
  const paid = block(ledger, 'A', edits('E'), `BROADCAST|0|${'x'.repeat(100)}`);
  assert.equal(countOf(paid, 'list_items'), 16, 'two lists, for which the bytes of the block pay');
});

test('ITEM (limit): no edit makes a list longer than a block may look at', () => {
  for (const [base, last] of [
    [DEFAULT_LIMITS, 'invalid: ITEM (limit)'],
    [NO_LIMITS, 'valid']
  ] as const) {
    const ledger = ledgerWith(base === NO_LIMITS ? {} : { blockUnits: 12 }, base);
    block(ledger, 'A', `LIST|0|2||${repeat(118, (at) => `C${at}`).join('|')}`);
    const list = ledger.lastAction;
    const edits = ['1|D1', '1|D2|D3', '1|D2', '1|D3', '2|D1', '1|D3', '1|D4'].map((edit) => {
      const [way, ...items] = edit.split('|');
      return statusesOf(block(ledger, 'A', `LIST|1|${way}|${list}||${items.join('|')}`), 'lists')[0];
    });
    assert.deepEqual(edits, ['valid', last, 'valid', last, 'valid', 'valid', last]);
  }
});

test('below LIMITS an edit that leaves no member is noted, because it keeps none', () => {
  const ledger = ledgerWith({}, NO_LIMITS);
  block(ledger, 'A', 'LIST|0|2||B|C');
  const list = ledger.lastAction;
  const noted = ['2|C', '2|B', '2|B', '1|B'].map((edit) => {
    const [way, item] = edit.split('|');
    return block(ledger, 'A', `LIST|1|${way}|${list}||${item}`).editedLists.length;
  });
  assert.deepEqual(noted, [0, 1, 0, 0], 'the others keep their members, or change nothing');
});

test('parts of an action are units: one of very many ends where its block has no room, after 250 at least', () => {
  for (const [text, table] of [
    ['SEND|1|', 'sends'],
    ['DESTROY|1|', 'destroys'],
    ['AIRDROP|1|', 'airdrops']
  ] as const) {
    const ledger = ledgerWith({ blockUnits: 1_000 });
    const many = text + '|'.repeat(8_000);
    const [alone, second] = [1, 2].map((count) => statusesOf(block(ledger, 'A', ...repeat(count, () => many)), table));
    assert.deepEqual([alone!.length, alone!.at(-1)], [1_001, 'invalid: PARTS (limit)']);
    assert.deepEqual([second!.length, second!.at(-1)], [1_001 + 251, 'invalid: PARTS (limit)']);
  }
});

test('a SWEEP of more than an action may move moves the first, and the next one the rest', () => {
  const ledger = ledgerWith({ parts: 3 });
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.give('TOKB', 0, 'M', { A: '1' });
  block(ledger, 'A', 'ORDER|0|BTC|TOKA|4|0|BTC||1');
  block(ledger, 'M', ...repeat(3, (at) => `ISSUE|0|TOKB.${at}|||||1||A`));
  const held = () => ['TOKA', 'TOKB', 'TOKB.0', 'TOKB.1', 'TOKB.2'].map((tick) => ledger.balance(tick, 'C'));
  const swept = block(ledger, 'A', 'SWEEP|0|C|1|1|1');
  assert.deepEqual(statusesOf(swept, 'sweeps'), ['valid']);
  assert.deepEqual(held(), ['10', '1', '0', '0', '0'], 'an order and two balances');
  block(ledger, 'A', 'SWEEP|0|C|1|1|1');
  assert.deepEqual(held(), ['10', '1', '1', '1', '1']);
  assert.equal(ledger.view.get('token', 'toka')!.owner, 'A');
  block(ledger, 'A', 'SWEEP|0|C|1|1|1');
  assert.equal(ledger.view.get('token', 'toka')!.owner, 'C');
});

const [VALIDATOR, DELEGATED] = [testSigner('validator'), testSigner('delegated')];

/** A ledger in which A staked behind 200 keys and has a delegated one, and B has the only key that signs prices. */
function staked(limits: Partial<Limits>) {
  const ledger = ledgerWith(limits);
  ledger.give('GAS', 8, 'A', { A: '10', B: '1000' });
  for (let at = 0; at < 200; at++) block(ledger, 'A', `STAKE|1|0.00000001|${at.toString(16).padStart(64, '0')}`);
  block(ledger, 'B', `STAKE|1|1000|${VALIDATOR.pubkey}`);
  ledger.height += 10;
  block(ledger, 'A', `DELEGATE|0|${DELEGATED.pubkey}`);
  ledger.height += 10;
  return ledger;
}
const KEYS_SEEN = 'invalid: KEYS (block limit)';

test('COLLECT counts the keys that it reads, and one of very many keys waits once the block has seen enough', () => {
  const ledger = staked({ blockUnits: 30 });
  const statuses = statusesOf(block(ledger, 'A', ...repeat(4, () => 'COLLECT|0')), 'reward_claims');
  assert.deepEqual(statuses.slice(1), ['invalid: no unclaimed rewards', ...repeat(2, () => KEYS_SEEN)]);
});

test('a key with many stakes counts as many looks', () => {
  const ledger = staked({ blockUnits: 30 });
  for (let at = 0; at < 200; at++) block(ledger, 'A', `STAKE|2|0.00000001|${'0'.repeat(64)}`);
  const statuses = statusesOf(block(ledger, 'A', ...repeat(2, () => 'COLLECT|0')), 'reward_claims');
  assert.deepEqual(statuses, ['invalid: no unclaimed rewards', KEYS_SEEN]);
});

test('each action that reads a key of very many stakes counts them, and waits once the block has seen enough', () => {
  const [count, pubkey] = [2_000, 'a'.repeat(64)];
  const [few, other] = ['b'.repeat(64), 'c'.repeat(64)];
  const stakes = repeat(count, (index) => ({ index, source: 'A', amount: 1n, from: 1, to: null }));
  const kept = new Members(new Set([pubkey]));
  for (const [table, text] of [
    ['stakes', `STAKE|1|1|${pubkey}`],
    ['stakes', `STAKE|2|1|${pubkey}`],
    ['unstakes', `UNSTAKE|0|${pubkey}|0.1`],
    ['delegations', `DELEGATE|2|${pubkey}`],
    ['delegations', `DELEGATE|0|${other}`],
    ['reward_claims', 'COLLECT|0']
  ] as const) {
    const ledger = ledgerWith({ blockUnits: 300 });
    ledger.give('GAS', 8, 'A', { A: '100' });
    ledger.view.load('signer', pubkey, { ...NO_SIGNER, stakes });
    ledger.view.load('keysOf', 'A', kept);
    const asked = block(ledger, 'A', ...repeat(3, () => text), `STAKE|1|1|${few}`);
    const isSeen = statusesOf(asked, table)
      .slice(0, 3)
      .map((status) => status === KEYS_SEEN);
    assert.deepEqual(isSeen, [false, false, true], text);
    assert.equal(statusesOf(asked, 'stakes').at(-1), 'valid', 'a key of few stakes is free');
  }
});

test('PRICE counts the keys of all sources, those of a delegated one again, and waits once the block has seen enough', () => {
  const ledger = staked({ blockUnits: 80 });
  const pairs = [['BTC/USD', '60000']] as const;
  const rounds = repeat(4, (at) => priceText({ round: at + 1, height: ledger.height, pairs }, [VALIDATOR]));
  const statuses = statusesOf(block(ledger, 'B', ...rounds), 'prices');
  assert.deepEqual(statuses, ['valid', 'valid', KEYS_SEEN, KEYS_SEEN], 'each looks at 1 + 202 + 200 of 800');
});

test('SLASH counts the keys behind a delegated one, before anybody has proved anything', () => {
  const ledger = staked({ blockUnits: 30 });
  const [a, b] = [1, 2].map((digest) => slotMessage(VALIDATOR, { btc_block_height: ledger.height, digest }));
  const slash = `SLASH|0|price|${DELEGATED.pubkey}|${[...a!, ...b!].join('|')}`;
  const statuses = block(ledger, 'B', slash, slash, slash).refusals.map(({ status }) => status);
  assert.deepEqual(statuses, ['invalid: OFFENDER_PUBKEY (not in snapshot)', KEYS_SEEN, KEYS_SEEN]);
});

test('no kind of offer keeps another from its end: a full block ends those that are longest overdue', () => {
  const ledger = ledgerWith({ blockUnits: 300 });
  ledger.give('TOKA', 0, 'A', { A: '1000' });
  ledger.give('JUNK', 0, 'M', { M: '100' });
  block(ledger, 'A', 'ORDER|0|BTC|TOKA|10|0|BTC||1');
  block(ledger, 'B', 'ORDER|0|BTC||1|0|BTC|TOKA|10');
  block(ledger, 'A', 'DISPENSER|0|BTC|TOKA|1|0|5|BTC||1');
  block(ledger, 'A', `DISPENSER|1|${ledger.lastAction}`);
  const end = 10_000;
  for (let at = 0; at < 6; at++)
    block(ledger, 'M', ...repeat(2, () => `ORDER|0|BTC|JUNK|1|0|BTC||1|||${end + 600 * at}`));
  const ends = repeat(3, (at) => {
    ledger.time = end + 600 * at + 300;
    ledger.times.fill(ledger.time);
    const full = block(ledger, 'M', ...repeat(301, () => 'BROADCAST|0|full'));
    return ['coinpay_expires', 'dispenser_closes', 'order_expires'].map((table) => countOf(full, table));
  });
  assert.deepEqual(ends[0], [1, 1, 0]);
  assert.equal(ledger.balance('TOKA', 'A'), '1000');
  assert.deepEqual(
    ends.slice(1).map(([, , orders]) => orders),
    [2, 2]
  );
});

class Counting extends Progress {
  units = 0;
  override begin(height: number, unit: Unit): void {
    this.units++;
    super.begin(height, unit);
  }
}

/** Runs a BATCH of 250 COINPAYs of one match at a time. @param outputs those of its transaction, in whole coins */
function payManyTimes(time: number, outputs: readonly (readonly [address: string, coins: bigint])[], base: Limits) {
  const ledger = ledgerWith({}, base);
  ledger.give('TOKA', 0, 'A', { A: '5' });
  block(ledger, 'A', 'ORDER|0|BTC|TOKA|1|0|BTC||1');
  block(ledger, 'B', 'ORDER|0|BTC||1|0|BTC|TOKA|1');
  const [paid] = blockOf(ledger, 'B', [
    `BATCH|0|${repeat(250, () => `COINPAY|0|${ledger.lastAction}`).join(';')}`
  ]).transactions;
  const amounts = outputs.map(([address, coins], vout) => ({ vout, address, amount: coins * 10n ** 18n }));
  const asked = { height: 100, time, hash: 'paid', transactions: [{ ...paid!, outputs: amounts }] };
  const progress = new Counting();
  const execution = new BlockExecution(ledger.view, rulesWith({}, base), asked, timesOf([time]), progress);
  execution.advance();
  return { statuses: statusesOf(execution.finish(undefined), 'coinpays'), units: progress.units, ledger };
}

test('COINPAYs look at the outputs to their payee alone, and each pays with one of them', () => {
  for (const base of [DEFAULT_LIMITS, NO_LIMITS]) {
    const outputs = [...repeat(3_000, () => ['Z', 1n] as const), ['A', 0n], ['A', 2n], ['A', 2n]] as const;
    const { statuses, units, ledger } = payManyTimes(0, outputs, base);
    assert.deepEqual([statuses, ledger.balance('TOKA', 'B')], [['valid'], '1']);
    assert.ok(units < 1_000, `${units} units`);
  }
});

test('a COINPAY that comes too late leaves one refusal; below LIMITS one for each output to the payee', () => {
  const outputs = repeat(20, () => ['A', 1_000n] as const);
  const late = (base: Limits) => payManyTimes(99_999, outputs, base).statuses;
  assert.deepEqual(
    late(DEFAULT_LIMITS),
    repeat(250, () => 'invalid: COINPAY obligation expired')
  );
  assert.equal(late(NO_LIMITS).length, 250 * 20);
});
