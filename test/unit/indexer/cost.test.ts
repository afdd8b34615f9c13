import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_LIMITS, type Limits, NO_LIMITS } from '../../../src/coin/limits.ts';
import { HANDLERS } from '../../../src/indexer/actions/handlers.ts';
import type { ExecutedBlock } from '../../../src/indexer/block/block.ts';
import { BlockExecution, timesOf } from '../../../src/indexer/block/execution.ts';
import { FactKeys } from '../../../src/indexer/state/fact-keys.ts';
import { withMost } from '../../../src/indexer/state/holding.ts';
import { Members } from '../../../src/indexer/state/members.ts';
import { NO_SIGNER } from '../../../src/indexer/state/signer.ts';
import { View } from '../../../src/indexer/state/view.ts';
import { PIECES } from '../../support/cost/pieces.ts';
import fc from '../../support/fast-check.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';
import { slotMessage, testSigner } from '../../support/indexer-signers.ts';

/** Four times the work may take this many times as long: sorting and a busy machine make more than four. */
const MOST_GROWTH = 10;

/** @param limits  may be changed between two blocks */
function ledgerWith(limits: Partial<Limits> = {}, base = DEFAULT_LIMITS): MemoryLedger {
  return new MemoryLedger(100, {
    ...TEST_RULES,
    readAddress: (text) => (/^[A-Z]\d*$/.test(text) ? text : undefined),
    limitsAt: () => ({ ...base, ...limits })
  });
}

/** One block of transactions of one source. */
function block(ledger: MemoryLedger, source: string, texts: readonly string[]): ExecutedBlock {
  const transactions = texts.map((data, place) => {
    return { hash: `${ledger.blocks.length} ${place}`, source, fee: null, data };
  });
  return ledger.run({ height: ledger.height, time: ledger.time, hash: String(ledger.blocks.length), transactions });
}

const countOf = ({ rows }: ExecutedBlock, table: string) => rows.filter((row) => row.table === table).length;
const statusesOf = ({ rows }: ExecutedBlock, table: string) =>
  rows.flatMap((row) => (row.table === table ? [String(row.columns['status_id'])] : []));
const repeat = (count: number, text: (place: number) => string) => Array.from({ length: count }, (_, at) => text(at));

/** CPU milliseconds of some work on this thread: other files of tests run on others. */
function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** Asserts that work for 8,000 takes about four times as long as for 2,000, each by the quicker of two runs. */
function assertLinear(workFor: (count: number) => () => void): void {
  const quickest = (count: number) => Math.min(cpuMs(workFor(count)), cpuMs(workFor(count)));
  cpuMs(workFor(500)); // compiled by now
  const [few, many] = [quickest(2_000), quickest(8_000)];
  assert.ok(many < MOST_GROWTH * few + 50, `2,000 took ${few} ms, 8,000 ${many} ms`);
}

test('an ORDER that takes 8,000 others costs in proportion to what it takes', () => {
  assertLinear((count) => {
    const ledger = ledgerWith();
    ledger.give('TOKA', 0, 'A', { A: '10000' });
    ledger.give('TOKB', 0, 'A', { B: '10000' });
    block(
      ledger,
      'A',
      repeat(count, () => 'ORDER|0|BTC|TOKA|1|0|BTC|TOKB|1')
    );
    return () => {
      const taken = block(ledger, 'B', [`ORDER|0|BTC|TOKB|${count}|0|BTC|TOKA|${count}`]);
      assert.equal(countOf(taken, 'order_matches'), count);
    };
  });
});

test('an ORDER passes over offers of its own source without reading them again at each match', () => {
  assertLinear((count) => {
    const ledger = ledgerWith();
    ledger.give('TOKA', 0, 'A', { A: '10000', B: '10000' });
    ledger.give('TOKB', 0, 'A', { B: '10000' });
    block(
      ledger,
      'B',
      repeat(count, () => 'ORDER|0|BTC|TOKA|1|0|BTC|TOKB|1')
    );
    block(
      ledger,
      'A',
      repeat(count, () => 'ORDER|0|BTC|TOKA|1|0|BTC|TOKB|1')
    );
    return () => {
      const taken = block(ledger, 'B', [`ORDER|0|BTC|TOKB|${count}|0|BTC|TOKA|${count}`]);
      assert.equal(countOf(taken, 'order_matches'), count);
    };
  });
});

test('empty dispensers of an address cost a payment nothing after the first', () => {
  assertLinear((count) => {
    const ledger = ledgerWith();
    ledger.give('TOKA', 0, 'A', { A: '10' });
    ledger.give('PAYT', 0, 'A', { B: '1000' });
    block(ledger, 'A', [
      ...repeat(count, () => 'DISPENSER|0|BTC|TOKA|2|0||BTC|PAYT|1'),
      'DISPENSER|0|BTC|TOKA|2|0|4|BTC|PAYT|1'
    ]);
    return () => {
      const sends = repeat(250, () => 'SEND|0|PAYT|2|A').join(';');
      const paid = block(ledger, 'B', [`BATCH|0|${sends}`]);
      assert.deepEqual(statusesOf(paid, 'dispenses').slice(0, 2), ['invalid: insufficient funds', 'valid']);
      assert.equal(ledger.balance('TOKA', 'B'), '4');
      assert.equal(countOf(paid, 'dispenses'), 251);
    };
  });
});

test('DISPENSE (limit): a payment is served by so many dispensers, the next one refuses it', () => {
  const ledger = ledgerWith({ dispenses: 2 });
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.give('PAYT', 0, 'A', { B: '10' });
  block(
    ledger,
    'A',
    repeat(4, () => 'DISPENSER|0|BTC|TOKA|1|0|1|BTC|PAYT|1')
  );
  const paid = block(ledger, 'B', ['SEND|0|PAYT|4|A']);
  assert.deepEqual(statusesOf(paid, 'dispenses'), ['valid', 'valid', 'invalid: DISPENSE (limit)']);
  assert.equal(ledger.balance('TOKA', 'B'), '2');
});

test('offers that nobody takes cost a block nothing until their time is over', () => {
  assertLinear((count) => {
    const ledger = ledgerWith();
    ledger.give('TOKA', 0, 'A', { A: '10000' });
    block(
      ledger,
      'A',
      repeat(count, () => 'ORDER|0|BTC|TOKA|1|0|BTC||1')
    );
    return () => {
      for (let at = 0; at < count; at++) block(ledger, 'B', []);
    };
  });
});

test('offers that end together end in as many blocks as they need, those that end first in front', () => {
  const limits = { blockUnits: 10_000 };
  const ledger = ledgerWith(limits);
  ledger.give('TOKA', 0, 'A', { A: '10000' });
  block(ledger, 'A', [
    ...repeat(700, () => 'ORDER|0|BTC|TOKA|1|0|BTC||1|||20'),
    'DISPENSER|0|BTC|TOKA|1|0|1|BTC||1|||||20',
    ...repeat(700, () => 'DISPENSER|0|BTC|TOKA|1|0|1|BTC||1|||||10')
  ]);
  const expires = (executed: ExecutedBlock) =>
    ['order_expires', 'dispenser_expires'].map((at) => countOf(executed, at));
  ledger.time = 30;
  limits.blockUnits = 3_000;
  assert.deepEqual(expires(block(ledger, 'B', [])), [300, 700]);
  const edited = block(ledger, 'A', ['DISPENSER|2|701||40']);
  assert.deepEqual(statusesOf(edited, 'dispenser_edits'), ['invalid: DISPENSER_ACTION_INDEX (dispenser not open)']);
  assert.deepEqual(expires(edited), [400, 1]);
  assert.equal(ledger.balance('TOKA', 'A'), '10000');
});

test('CALLBACKs and SWEEPs cost nothing for those who held or owned something once', () => {
  assertLinear((count) => {
    const ledger = ledgerWith();
    ledger.give('TOKA', 0, 'D', { D: '100000' });
    ledger.give('PAYT', 0, 'A', { D: '100000' });
    block(ledger, 'D', ['ISSUE|4|TOKA|100|PAYT|1', ...repeat(count, (at) => `SEND|0|TOKA|1|C${at}`)]);
    block(
      ledger,
      'A',
      repeat(count, (at) => `ISSUE|0|PAYT.${at}`)
    );
    block(ledger, 'D', ['CALLBACK|0|TOKA']);
    block(ledger, 'A', ['SWEEP|0|B|0|1']);
    return () => {
      const valid = Array.from({ length: count / 4 }, () => 'valid');
      const called = block(
        ledger,
        'D',
        repeat(count / 4, () => 'CALLBACK|0|TOKA')
      );
      const swept = block(
        ledger,
        'A',
        repeat(count / 4, () => 'SWEEP|0|B|0|1')
      );
      assert.deepEqual([statusesOf(called, 'callbacks'), statusesOf(swept, 'sweeps')], [valid, valid]);
    };
  });
});

test('8,000 who let another vote cost in proportion to their number', () => {
  assertLinear((count) => {
    const ledger = ledgerWith();
    ledger.give('TOKA', 0, 'A', { A: '10' });
    const transactions = Array.from({ length: count }, (_, at) => {
      return { hash: String(at), source: `C${at}`, fee: null, data: 'VOTE|3|TOKA|A' };
    });
    return () => {
      const made = ledger.run({ height: ledger.height, time: ledger.time, hash: '', transactions });
      assert.equal(statusesOf(made, 'vote_delegations').filter((status) => status === 'valid').length, count);
    };
  });
});

test('polls that end together close in as many blocks as they need, each tally counts what it looks at', () => {
  const ledger = ledgerWith({ blockUnits: 9 });
  ledger.give('TOKA', 0, 'A', { A: '10' });
  block(
    ledger,
    'A',
    repeat(3, (at) => `VOTE|0|TOKA|101|yes,no|1|approval|balance|0|0|0||which ${at}`)
  );
  assert.deepEqual(statusesOf(ledger.blocks.at(-1)!, 'polls'), ['valid', 'valid', 'valid']);
  block(ledger, 'A', ['VOTE|1|1|0', 'VOTE|1|2|0', 'VOTE|1|3|0']);
  ledger.height = 101;
  const closed = () =>
    countOf(
      block(
        ledger,
        'A',
        repeat(6, () => 'BROADCAST|0|busy')
      ),
      'poll_results'
    ) / 2;
  assert.deepEqual([closed(), closed(), closed()], [2, 1, 0]);
});

test('polls weighed by stakes that close together read the stakes of a voter once', () => {
  const [count, pubkey] = [1_000, 'a'.repeat(64)];
  const ledger = ledgerWith();
  ledger.give('TOKA', 0, 'A', { A: '1' });
  const looks = { count: 0 };
  const stakes = Array.from({ length: count }, (_, index) => {
    return { index, source: 'A', amount: 10n ** 18n, from: 1, to: null };
  });
  ledger.view.load('signer', pubkey, { ...NO_SIGNER, stakes: counted(stakes, looks) });
  ledger.view.load('keysOf', 'A', new Members(new Set([pubkey])));
  const polls = repeat(50, () => 'VOTE|0|TOKA|101|yes,no||approval|stake');
  block(ledger, 'A', polls);
  block(
    ledger,
    'A',
    polls.map((_, at) => `VOTE|1|${at + 1}|1`)
  );
  ledger.height = 101;
  looks.count = 0;
  const { rows } = block(ledger, 'A', []);
  const weights = rows.flatMap(({ table, columns }) => (table === 'poll_results' ? [columns['total_weight']] : []));
  assert.deepEqual(
    weights,
    polls.flatMap(() => ['0', String(count)])
  );
  assert.ok(looks.count >= count && looks.count <= 5 * count, `${looks.count} looks`);
});

test('250 edits of one item of a list of 100,000 write four rows each', () => {
  const ledger = ledgerWith();
  block(ledger, 'A', [`LIST|0|2||${repeat(100_000, (at) => `C${at}`).join('|')}`]);
  const root = ledger.lastAction;
  let edited: ExecutedBlock | undefined;
  const tookMs = cpuMs(() => {
    edited = block(ledger, 'A', [`BATCH|0|${repeat(250, (at) => `LIST|1|2|${root}||C${at}`).join(';')}`]);
  });
  assert.ok(tookMs < 10_000, `${tookMs} ms`);
  const tables = ['actions', 'lists', 'list_edits', 'mappings_actions'];
  const ofBatch = ['transactions', 'actions', 'batches', 'mappings_actions'];
  assert.deepEqual(
    edited!.rows.map(({ table }) => table).sort(),
    [...ofBatch, ...Array.from({ length: 250 }, () => tables).flat()].sort()
  );
  assert.equal(ledger.view.get('list', String(root))!.members.size, 99_750);
});

test('the newest edit of a list in a block keeps all members, earlier ones what they changed', () => {
  const ledger = ledgerWith();
  block(ledger, 'A', ['LIST|0|2||B|C']);
  const root = ledger.lastAction;
  const edited = block(ledger, 'A', [`LIST|1|1|${root}||D`, `LIST|1|2|${root}||B`]);
  const kept = edited.rows.flatMap(({ table, columns }) => (table === 'list_items' ? [columns['action_index']] : []));
  assert.deepEqual(kept, [ledger.lastAction, ledger.lastAction]);
  assert.deepEqual([...ledger.view.get('list', String(root))!.members].sort(), ['C', 'D']);
});

test('a block keeps a bounded part of lists: others keep what edits changed, until a later edit', () => {
  const ledger = ledgerWith({ blockListRows: 3 });
  block(ledger, 'A', ['LIST|0|2||B|C']);
  const first = ledger.lastAction;
  block(ledger, 'A', ['LIST|0|2||B|C']);
  const second = ledger.lastAction;
  const edited = block(ledger, 'A', [`LIST|1|2|${first}||B`, `LIST|1|1|${second}||D`]);
  assert.equal(countOf(edited, 'list_items'), 1);
  assert.equal(ledger.view.get('list', String(second))!.changes, 1);
  const again = block(ledger, 'A', [`LIST|1|1|${second}||E`]);
  assert.equal(countOf(again, 'list_items'), 4);
});

test('an AIRDROP or DIVIDEND of nothing writes its action alone', () => {
  const ledger = ledgerWith();
  ledger.give('TOKA', 0, 'A', { A: '10', B: '5' });
  ledger.give('DUST', 0, 'D', { D: '10' });
  block(ledger, 'A', ['LIST|0|2||B|C']);
  const list = ledger.lastAction;
  const nothing = block(ledger, 'D', [`AIRDROP|0|DUST|0|${list}`, 'DIVIDEND|0|TOKA|DUST|0']);
  assert.deepEqual(statusesOf(nothing, 'airdrops'), ['valid']);
  assert.deepEqual(statusesOf(nothing, 'dividends'), ['valid']);
  assert.deepEqual([countOf(nothing, 'credits'), countOf(nothing, 'debits')], [0, 0]);
});

test('AIRDROP to many asks a long allow list about each in no time', () => {
  assertLinear((count) => {
    const ledger = ledgerWith();
    ledger.give('TOKA', 0, 'A', { A: '1000000' });
    block(ledger, 'A', [`LIST|0|2||A|${repeat(count, (at) => `C${at}`).join('|')}`]);
    const list = ledger.lastAction;
    block(ledger, 'A', [`ISSUE|5|TOKA|${list}`]);
    return () => assert.equal(countOf(block(ledger, 'A', [`AIRDROP|0|TOKA|1|${list}`]), 'credits'), count + 1);
  });
});

test('(limit) and (block limit): what looks at more than it may is refused, and what comes when the block is full', () => {
  const ledger = ledgerWith({ parts: 2, blockUnits: 12 });
  ledger.give('TOKA', 0, 'A', { A: '100', B: '1', C: '1', E: '1' });
  block(ledger, 'A', ['LIST|0|2||B|C|D']);
  assert.deepEqual(statusesOf(ledger.blocks.at(-1)!, 'lists'), ['invalid: ITEM (limit)']);
  block(ledger, 'A', ['LIST|0|2||B|C']);
  const list = ledger.lastAction;
  const full = block(ledger, 'A', [
    `AIRDROP|0|TOKA|1|${list}`,
    'DIVIDEND|0|TOKA|TOKA|1',
    `AIRDROP|0|TOKA|1|${list}`,
    `AIRDROP|0|TOKA|1|${list}`,
    'DIVIDEND|0|TOKA|TOKA|1',
    'BATCH|0|SEND|0|TOKA|1|B',
    `LIST|1|1|${list}||D`,
    'SWEEP|0|B',
    'ORDER|0|BTC|TOKA|1|0|BTC||1',
    'DISPENSER|0|BTC|TOKA|1|0||BTC||1',
    'SEND|0|TOKA|1|B'
  ]);
  assert.deepEqual(statusesOf(full, 'airdrops'), ['valid', 'valid', 'invalid: RECIPIENTS (block limit)']);
  assert.deepEqual(statusesOf(full, 'dividends'), ['valid', 'invalid: RECIPIENTS (block limit)']);
  assert.deepEqual(statusesOf(full, 'batches'), ['invalid: COMMAND (block limit)']);
  assert.deepEqual(statusesOf(full, 'lists'), ['invalid: ITEM (block limit)']);
  assert.deepEqual(statusesOf(full, 'sweeps'), ['invalid: ITEMS (block limit)']);
  assert.deepEqual(statusesOf(full, 'orders'), ['invalid: ORDER (block limit)']);
  assert.deepEqual(statusesOf(full, 'dispensers'), ['invalid: DISPENSER (block limit)']);
  assert.deepEqual(statusesOf(full, 'sends'), ['valid']);
});

test('a dispenser that holds nothing costs a block as many units as it leaves rows', () => {
  const ledger = ledgerWith({ blockUnits: 21 });
  ledger.give('TOKA', 0, 'A', { A: '1' });
  const empty = 'DISPENSER|0|BTC|TOKA|1|0||BTC||1';
  const full = block(ledger, 'A', [`BATCH|0|${repeat(5, () => empty).join(';')}`]);
  const refused = repeat(2, () => 'invalid: DISPENSER (block limit)');
  assert.deepEqual(statusesOf(full, 'dispensers'), [...repeat(3, () => 'valid'), ...refused]);
});

test('below the height of limits a block is what it was', () => {
  const ledger = ledgerWith({}, NO_LIMITS);
  ledger.give('TOKA', 0, 'A', { A: '10' });
  block(ledger, 'A', ['LIST|0|2||B|C']);
  const list = ledger.lastAction;
  const nothing = block(ledger, 'A', [`AIRDROP|0|TOKA|0|${list}`]);
  assert.equal(countOf(nothing, 'credits'), 2);
  const edited = block(ledger, 'A', [`LIST|1|1|${list}||D`, `LIST|1|1|${list}||E`]);
  assert.equal(countOf(edited, 'list_items'), 7);
});

test('the search for the costliest block tries every action', () => {
  const tried = new Set(Object.keys(PIECES).map((name) => name.split(' ')[0]));
  assert.deepEqual([...tried].sort(), [...HANDLERS.keys(), 'COINPAY'].filter((name) => name !== 'BATCH').sort());
});

for (const kind of ['ORDER', 'SWAP'])
  test(`${kind}s that keep everybody out cost those who pass them by no more for each than for a thousand`, () => {
    assertLinear((count) => {
      const ledger = ledgerWith();
      ledger.give('TOKA', 0, 'A', { A: '10000', D: '10' });
      ledger.give('TOKB', 0, 'A', { B: '10000' });
      block(ledger, 'A', ['LIST|0|2||C']);
      const offer = `${kind}|0|BTC|TOKA|1|0|BTC|TOKB|1||||1`;
      block(
        ledger,
        'A',
        repeat(count, () => offer)
      );
      block(ledger, 'D', [`${kind}|0|BTC|TOKA|1|0|BTC|TOKB|1`]);
      return () => {
        const taken = block(
          ledger,
          'B',
          repeat(count / 100, () => `${kind}|0|BTC|TOKB|1|0|BTC|TOKA|1`)
        );
        assert.equal(countOf(taken, `${kind.toLowerCase()}_matches`), 1, 'who keeps nobody out is found behind them');
      };
    });
  });

test('nobody keeps others from trading: looks that one wasted stop no trade that fits', () => {
  const ledger = ledgerWith({ blockUnits: 2_000 });
  ledger.give('JUNK', 0, 'M', { M: '10000' });
  ledger.give('GOOD', 0, 'A', { A: '100' });
  ledger.give('PAYT', 0, 'B', { B: '100' });
  for (let part = 0; part < 4; part++)
    block(
      ledger,
      'M',
      repeat(500, () => 'ORDER|0|BTC|JUNK|1|0|BTC||1')
    );
  const texts = [
    ...Array.from({ length: 5 }, () => ['M', 'ORDER|0|BTC||1|0|BTC|JUNK|1'] as const),
    ['A', 'ORDER|0|BTC|GOOD|10|0|BTC|PAYT|10'] as const,
    ['B', 'ORDER|0|BTC|PAYT|100|0|BTC|GOOD|10'] as const
  ];
  const transactions = texts.map(([source, data], at) => ({ hash: `last ${at}`, source, fee: null, data }));
  const made = ledger.run({ height: ledger.height, time: ledger.time, hash: 'last', transactions });
  assert.equal(countOf(made, 'order_matches'), 1);
  assert.equal(ledger.balance('GOOD', 'B'), '10');
  assert.ok(countOf(made, 'order_expires') > 0, 'who looked at too much stays beside nothing that fits');
});

test('an order that a full block stops expires: no stranger takes the difference between it and those that fit', () => {
  const ledger = ledgerWith({ blockUnits: 60 });
  ledger.give('GOOD', 0, 'A', { A: '100' });
  ledger.give('PAYT', 0, 'B', { B: '1000' });
  block(
    ledger,
    'A',
    repeat(8, () => 'ORDER|0|BTC|GOOD|1|0|BTC|PAYT|1')
  );
  const taken = block(ledger, 'B', [...repeat(34, () => 'BROADCAST|0|x'), 'ORDER|0|BTC|PAYT|80|0|BTC|GOOD|8']);
  const matches = countOf(taken, 'order_matches');
  assert.ok(matches > 0 && matches < 8, `${matches} matches`);
  assert.equal(countOf(taken, 'order_expires'), 1);
  assert.equal(ledger.balance('PAYT', 'B'), String(1_000 - matches), 'the rest of what it gave is back');
});

test('dispensers that refuse a payer keep no payment from the one behind them, and leave ten rows', () => {
  const ledger = ledgerWith();
  ledger.give('TOKA', 0, 'A', { A: '1000' });
  ledger.give('PAYT', 0, 'A', { B: '10' });
  block(ledger, 'A', ['LIST|0|2||C']);
  const nobody = `DISPENSER|0|BTC|TOKA|1|0|1|BTC|PAYT|1||||||${ledger.lastAction}`;
  block(
    ledger,
    'A',
    repeat(300, () => nobody)
  );
  block(ledger, 'A', ['DISPENSER|0|BTC|TOKA|1|0|5|BTC|PAYT|1']);
  const paid = block(ledger, 'B', ['SEND|0|PAYT|5|A']);
  assert.equal(ledger.balance('TOKA', 'B'), '5');
  assert.equal(countOf(paid, 'dispenses'), 11);
});

test('a dispenser that a payment passes over is two looks of the block, and two more for each of its lists', () => {
  for (const [blockUnits, status] of [
    [597, 'valid'],
    [596, 'invalid: DISPENSE (limit)']
  ] as const) {
    const limits = { blockUnits: 150_000 };
    const ledger = ledgerWith(limits);
    ledger.give('TOKA', 0, 'A', { A: '1000' });
    ledger.give('PAYT', 0, 'A', { B: '10' });
    block(ledger, 'A', ['LIST|0|2||C', 'LIST|0|2||B']);
    const listed = `DISPENSER|0|BTC|TOKA|1|0|1|BTC|PAYT|1||||||${ledger.lastAction - 1}|${ledger.lastAction}`;
    const open = 'DISPENSER|0|BTC|TOKA|1|0|5|BTC|PAYT|1';
    block(ledger, 'A', [...repeat(210, () => listed), open]);
    Object.assign(limits, { blockUnits });
    // Ten refuse on record, and 200 are passed over: before the last one of them the block has used 1,194 looks.
    const paid = block(ledger, 'B', ['SEND|0|PAYT|5|A']);
    const statuses = statusesOf(paid, 'dispenses');
    assert.deepEqual([statuses.length, statuses.at(-1)], [11, status], `${blockUnits} units`);
  }
});

test('a full block keeps no payment from a dispenser that serves it, and writes one refusal before that one', () => {
  const ledger = ledgerWith({ blockUnits: 100 });
  ledger.give('TOKA', 0, 'A', { A: '1000' });
  block(ledger, 'A', ['LIST|0|2||C']);
  const members = `DISPENSER|0|BTC|TOKA|1|0|1|BTC||1||||||${ledger.lastAction}`;
  block(
    ledger,
    'A',
    repeat(48, () => members)
  );
  block(ledger, 'A', ['DISPENSER|0|BTC|TOKA|1|0|50|BTC||1', 'DISPENSER|0|BTC|TOKA|1|0|50|BTC||1']);
  const busy = Array.from({ length: 101 }, () => ({ source: 'M', data: 'BROADCAST|0|full', outputs: [] }));
  const pay = (source: string) => ({ source, data: '', outputs: [{ vout: 0, address: 'A', amount: 2n * 10n ** 18n }] });
  const payers = repeat(9, (at) => `B${at}`);
  const transactions = [...busy, ...payers.map(pay)].map((one, at) => ({ ...one, hash: `full ${at}`, fee: null }));
  const full = ledger.run({ height: ledger.height, time: ledger.time, hash: 'full', transactions });
  assert.deepEqual(
    payers.map((payer) => ledger.balance('TOKA', payer)),
    payers.map(() => '2')
  );
  const refused = statusesOf(full, 'dispenses').filter((status) => status !== 'valid');
  assert.deepEqual([refused.length, countOf(full, 'dispenses')], [9, 18], 'one serves each, and the rest buys nothing');
});

test('holders to whom a dividend gives nothing count for no limit of it', () => {
  const ledger = ledgerWith({ parts: 3 });
  const dust = Object.fromEntries(repeat(10, (at) => `C${at}`).map((address) => [address, '0.01']));
  ledger.give('BOND', 2, 'A', { B: '5', ...dust });
  ledger.give('PAYT', 0, 'A', { A: '100' });
  const paid = block(ledger, 'A', ['DIVIDEND|0|BOND|PAYT|2']);
  assert.deepEqual([statusesOf(paid, 'dividends'), ledger.balance('PAYT', 'B')], [['valid'], '10']);
});

/** Ledger in which A may call BOND back from B and C, and from specks at addresses in front of theirs. */
function callable(specks: number): MemoryLedger {
  const ledger = ledgerWith({ parts: 3 });
  ledger.give('PAYT', 2, 'A', { A: '1000' });
  block(ledger, 'A', ['ISSUE|0|BOND|0|0|2||1000', 'ISSUE|4|BOND|100|PAYT|1', 'SEND|1|BOND|1|B|7|C']);
  for (let at = 0; at < specks; at++) block(ledger, 'B', [`SEND|0|BOND|0.01|A${at}`]);
  return ledger;
}

test('CALLBACK with more holders than an action may be about takes the most units first, then the rest', () => {
  const ledger = callable(6);
  const held = () => ['B', 'C', 'A0', 'A1', 'A2', 'A3', 'A4', 'A5'].map((address) => ledger.balance('BOND', address));
  const first = block(ledger, 'A', ['CALLBACK|0|BOND']);
  assert.deepEqual(statusesOf(first, 'callbacks'), ['valid']);
  assert.deepEqual(held(), ['0', '0', '0', '0.01', '0.01', '0.01', '0.01', '0.01']);
  assert.deepEqual([ledger.balance('PAYT', 'B'), ledger.balance('PAYT', 'C')], ['0.94', '7']);
  assert.deepEqual([ledger.balance('PAYT', 'A'), ledger.balance('PAYT', 'A1')], ['992.05', '0'], 'it pays no others');
  block(ledger, 'A', ['CALLBACK|0|BOND']);
  assert.deepEqual(held(), ['0', '0', '0', '0', '0', '0', '0.01', '0.01']);
  block(ledger, 'A', ['CALLBACK|0|BOND']);
  assert.equal(ledger.balance('BOND', 'A'), '1000');
});

test('CALLBACK passes over holders who may not be paid; where all are such, it is refused', () => {
  const ledger = callable(1);
  block(ledger, 'A', ['LIST|0|2||A|B|C']);
  block(ledger, 'A', [`ISSUE|5|PAYT|${ledger.lastAction}`]);
  assert.deepEqual(statusesOf(block(ledger, 'A', ['CALLBACK|0|BOND']), 'callbacks'), ['valid']);
  assert.deepEqual([ledger.balance('BOND', 'A'), ledger.balance('BOND', 'A0')], ['999.99', '0.01']);
  const refused = block(ledger, 'A', ['CALLBACK|0|BOND']);
  assert.deepEqual(statusesOf(refused, 'callbacks'), ['invalid: CALLBACK_TICK (holder not authorized)']);
});

test('below the height of limits a holder who may not be paid keeps a token from its CALLBACK', () => {
  const ledger = ledgerWith({}, NO_LIMITS);
  ledger.give('PAYT', 0, 'A', { A: '100' });
  block(ledger, 'A', ['ISSUE|0|BOND|0|0|0||100', 'ISSUE|4|BOND|100|PAYT|1', 'SEND|1|BOND|1|B|1|C', 'LIST|0|2||B']);
  block(ledger, 'A', [`ISSUE|5|PAYT||${ledger.lastAction}`]);
  const refused = block(ledger, 'A', ['CALLBACK|0|BOND']);
  assert.deepEqual(statusesOf(refused, 'callbacks'), ['invalid: CALLBACK_TICK (holder not authorized)']);
});

test('a DIVIDEND of more shares than an action may be about pays the greatest ones', () => {
  const ledger = callable(6);
  assert.deepEqual(statusesOf(block(ledger, 'A', ['DIVIDEND|0|BOND|PAYT|1']), 'dividends'), ['valid']);
  const paid = ['B', 'C', 'A0', 'A1', 'A5'].map((address) => ledger.balance('PAYT', address));
  assert.deepEqual(paid, ['0.94', '7', '0.01', '0', '0']);
});

test('the holdings with the most units are those of a whole sort, found in no more time than it takes to look', () => {
  const holdingsOf = (amounts: readonly number[]) =>
    amounts.map((amount, at) => ({ address: `A${at}`, amount: BigInt(amount) }));
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 })), fc.integer({ min: 1, max: 12 }), (amounts, most) => {
      const holdings = holdingsOf(amounts);
      const sorted = holdings.toSorted((a, b) => Number(b.amount - a.amount)).slice(0, most);
      assert.deepEqual(
        withMost(holdings, most),
        holdings.filter((holding) => sorted.includes(holding))
      );
    })
  );
  assertLinear((count) => {
    const holdings = holdingsOf(Array.from({ length: 50 * count }, (_, at) => 1 + ((at * 7_919) % 104_729)));
    return () => assert.equal(withMost(holdings, count).length, count);
  });
});

test('a refused CALLBACK closes the block to nobody else', () => {
  const ledger = ledgerWith({ blockUnits: 400 });
  ledger.give('PAYT', 0, 'A', { A: '1', B: '10' });
  block(ledger, 'A', [
    'ISSUE|0|BOND|0|0|0||1000',
    'ISSUE|4|BOND|100|PAYT|1',
    `LIST|0|2||${repeat(300, (at) => `C${at}`).join('|')}`
  ]);
  block(ledger, 'A', [`AIRDROP|0|BOND|1|${ledger.lastAction}`]);
  const closing = block(ledger, 'A', [...repeat(4, () => 'CALLBACK|0|BOND'), 'ORDER|0|BTC|PAYT|1|0|BTC||1']);
  assert.deepEqual([...new Set(statusesOf(closing, 'callbacks'))], ['invalid: insufficient funds (CALLBACK_TICK)']);
  assert.deepEqual(statusesOf(closing, 'orders'), ['valid']);
});

test('a dispenser whose end waits for a block with room sells no more', () => {
  const ledger = ledgerWith({ blockUnits: 150 });
  ledger.give('TOKA', 0, 'A', { A: '10000' });
  ledger.give('TOKB', 0, 'A', { B: '100' });
  const end = ledger.time + 3_600;
  block(
    ledger,
    'A',
    repeat(4, (place) => `DISPENSER|0|BTC|TOKA|1|0|10|BTC|TOKB|1|||||${end + place}`)
  );
  ledger.time = end + 7_200;
  block(
    ledger,
    'A',
    repeat(200, () => 'BROADCAST|0|full')
  );
  const open = [...ledger.offers].filter(({ kind, status }) => kind === 'dispenser' && status === 'open').length;
  assert.ok(open > 0, 'all of them ended at once');
  ledger.time += 60;
  const filling = repeat(200, () => 'BROADCAST|0|full');
  assert.deepEqual(statusesOf(block(ledger, 'A', ['SWEEP|0|Z|0|0|0|0|1', ...filling]), 'sweeps'), ['valid']);
  const states = [...ledger.offers].map(({ status }) => status);
  assert.ok(states.includes('open'), 'all of them ended at once');
  assert.ok(!states.includes('cancelling'), 'it would sell for another hour');
  const sold = block(ledger, 'B', ['SEND|0|TOKB|1|A']);
  assert.deepEqual([...new Set(statusesOf(sold, 'dispenses'))], ['invalid: dispenser expired']);
});

test('each choice of a ballot is a unit of its block', () => {
  const ledger = ledgerWith({ blockUnits: 1_000 });
  ledger.give('TOKA', 0, 'A', { A: '1' });
  const options = repeat(32, (at) => `o${at}`);
  block(ledger, 'A', [`VOTE|0|TOKA|${ledger.height + 50}|${options.join(',')}|32`]);
  const ballot = `VOTE|1|${ledger.lastAction}|${options.map((_, at) => at).join(',')}`;
  const closing = block(ledger, 'A', [...repeat(40, () => ballot), 'ORDER|0|BTC|TOKA|1|0|BTC||1']);
  assert.equal(closing.rows.filter(({ table }) => table === 'votes').length, 40 * 32, 'each of them is valid');
  assert.deepEqual(statusesOf(closing, 'orders'), ['invalid: ORDER (block limit)']);
});

test('a trade whose end waits for a block with room is taken by nobody, and ends when another meets it', () => {
  for (const kind of ['ORDER', 'SWAP']) {
    const ledger = ledgerWith({ blockUnits: 150 });
    ledger.give('GOOD', 0, 'V', { V: '100' });
    ledger.give('CASH', 0, 'Z', { Z: '100', M: '100' });
    const end = ledger.time + 3_600;
    block(
      ledger,
      'M',
      repeat(3, () => `${kind}|0|BTC|CASH|1|0|BTC|GOOD|2|||${end - 1}`)
    );
    block(ledger, 'V', [`${kind}|0|BTC|GOOD|100|0|BTC|CASH|100|0||${end}`]);
    const late = ledger.lastAction;
    ledger.time = end + 7_200;
    for (let blocks = 0; blocks < 3; blocks++)
      block(
        ledger,
        'M',
        repeat(200, () => 'BROADCAST|0|full')
      );
    assert.equal(ledger.view.get('offer', String(late))?.status, 'open', 'it waits for its end');
    const texts = [
      ['V', `${kind}|2|${late}|${end + 90_000}`],
      ['Z', `${kind}|0|BTC|CASH|100|0|BTC|GOOD|100`]
    ] as const;
    const transactions = texts.map(([source, data], at) => ({ hash: `late ${at}`, source, fee: null, data }));
    const taken = ledger.run({ height: ledger.height, time: ledger.time, hash: 'late', transactions });
    assert.match(String(statusesOf(taken, `${kind.toLowerCase()}_edits`)), /not open/);
    assert.equal(countOf(taken, `${kind.toLowerCase()}_matches`), 0);
    assert.deepEqual([ledger.balance('GOOD', 'Z'), ledger.balance('GOOD', 'V')], ['0', '100']);
    const ended = taken.rows.find(({ table }) => table === `${kind.toLowerCase()}_expires`)!;
    assert.equal(ended.columns[`${kind.toLowerCase()}_action_index`], late, 'it ends before those that wait longer');
  }
});

test('refused gifts to very many close a block to further gifts, and to nothing else', () => {
  const ledger = ledgerWith({ blockUnits: 1_000 });
  const holders = Array.from({ length: 2_000 }, (_, at) => [`H${at}`, '1'] as const);
  ledger.give('TOKA', 0, 'A', { A: '100', ...Object.fromEntries(holders) });
  ledger.give('TOKB', 0, 'A', { B: '100' });
  block(ledger, 'A', ['LIST|0|1||TOKA', 'ORDER|0|BTC|TOKA|1|0|BTC|TOKB|1']);
  const closing = repeat(30, (at) => (at % 2 === 0 ? 'AIRDROP|0|TOKB|1|1' : 'DIVIDEND|0|TOKA|TOKB|1'));
  const filled = block(ledger, 'C', [...closing, 'ORDER|0|BTC|TOKB|1|0|BTC|TOKA|1', 'BATCH|0|BROADCAST|0|x']);
  assert.match(String(statusesOf(filled, 'dividends')), /block limit/);
  assert.ok(!/block limit/.test(String([...statusesOf(filled, 'orders'), ...statusesOf(filled, 'batches')])));
});

test('missing rows of a block are loaded in parts, however many actions lack the same', () => {
  const transactions = repeat(30_000, (at) => `SEND|0|TICK${at}|1|C${at}`).map((data, at) => {
    return { hash: String(at), source: `S${at}`, fee: null, data };
  });
  const block = { height: 1, time: 1, hash: '', transactions };
  const lacking = new FactKeys();
  new BlockExecution(new View({ isWhole: false }), TEST_RULES, block, timesOf([1])).scout(lacking);
  assert.ok(lacking.size >= 50_000 && lacking.size < 51_000, `${lacking.size} facts`);
});

test('facts of many are loaded ahead for some actions of a block, the others wait for their turn', () => {
  const parts = repeat(30, (at) => repeat(999, (part) => `|TICK${at}.${part}|1|C`).join(''));
  const transactions = parts.map((part, at) => ({
    hash: String(at),
    source: `S${at}`,
    fee: null,
    data: `SEND|2${part}`
  }));
  const block = { height: 1, time: 1, hash: '', transactions };
  const view = new View({ isWhole: false });
  for (const key of ['action', 'address', 'ticker', 'transaction'] as const) view.load('counter', key, 0);
  const execution = new BlockExecution(view, TEST_RULES, block, timesOf([1]));
  const sizes = Array.from({ length: 20 }, () => {
    const lacking = new FactKeys();
    execution.scout(lacking);
    return lacking.size;
  });
  assert.ok(sizes[0]! >= 50_000, `${sizes[0]} facts`);
  const all = sizes.reduce((sum, size) => sum + size);
  assert.ok(all <= 550_000 && sizes.at(-1)! < 500, `${all} facts, ${sizes.at(-1)} at last`);
});

/** Returns a list that counts each look at one of its items, or at one of a list that is made from it. */
function counted<T extends object>(list: readonly T[], looks: { count: number }): readonly T[] {
  return new Proxy(list, {
    get(target, name, proxy) {
      if (typeof name === 'string' && /^\d+$/.test(name)) looks.count += 1;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || (name !== 'filter' && name !== 'map')) return value;
      return (...given: unknown[]) => counted(Reflect.apply(value, proxy, given) as T[], looks);
    }
  });
}

test('UNSTAKE and SLASH look at each stake of a key some times, not once for each other stake', () => {
  const [count, signer] = [1_000, testSigner('very many stakes')];
  const ledger = ledgerWith();
  ledger.give('GAS', 8, 'A', { A: '1000000' });
  ledger.height = 102;
  const [amount, until] = [3n * 10n ** 18n, 9_000];
  const looks = { count: 0 };
  const stakes = Array.from({ length: count }, (_, at) => ({ index: at, source: 'A', amount, from: 100, to: null }));
  const cooling = stakes.map(({ index }) => ({ index: count + index, source: 'A', amount, until }));
  const load = () => {
    const lists = { stakes: counted(stakes, looks), cooling: counted(cooling, looks) };
    ledger.view.load('signer', signer.pubkey, { ...NO_SIGNER, ...lists });
    ledger.view.load('cooling', String(until), counted(cooling, looks));
    looks.count = 0;
  };
  const messages = [1, 2].map((digest) => slotMessage(signer, { btc_block_height: 102, digest }));
  const cases = [
    [`UNSTAKE|0|${signer.pubkey}`, 'unstakes', 0],
    [`SLASH|0|price|${signer.pubkey}|${messages.flat().join('|')}`, 'capability_slash_events', 2 * count]
  ] as const;
  for (const [text, table, cut] of cases) {
    load();
    const executed = block(ledger, 'A', [text]);
    assert.deepEqual(executed.refusals, []);
    assert.deepEqual(statusesOf(executed, table), ['valid']);
    assert.equal(countOf(executed, 'capability_slash_debits'), cut);
    assert.ok(looks.count >= count && looks.count <= 30 * count, `${looks.count} looks of ${table}`);
  }
});

test('a holder costs a block three looks: where it has not as many, nothing of the token is read', () => {
  const limits = { blockUnits: 1_000 };
  const ledger = ledgerWith(limits);
  ledger.give('PAYT', 0, 'A', { A: '1000' });
  block(ledger, 'A', ['ISSUE|0|HELD|0|0|0||1', 'ISSUE|4|HELD|100|PAYT|1', 'LIST|0|1||HELD']);
  const list = ledger.lastAction;
  block(ledger, 'A', [`LIST|0|2||${repeat(40, (at) => `H${at}`).join('|')}`, 'ISSUE|0|HELD|0|0|0||39']);
  block(ledger, 'A', [`AIRDROP|0|HELD|1|${ledger.lastAction - 1}`]);
  const cases = [
    ['dividends', 'DIVIDEND|0|HELD|PAYT|1', 12],
    ['airdrops', `AIRDROP|0|PAYT|1|${list}`, 17],
    ['callbacks', 'CALLBACK|0|HELD', 12]
  ] as const;
  for (const [table, text, least] of cases)
    for (const [blockUnits, status] of [
      [least - 1, 'invalid: RECIPIENTS (block limit)'],
      [least, 'valid']
    ] as const) {
      limits.blockUnits = blockUnits;
      assert.deepEqual(statusesOf(block(ledger, 'A', [text]), table), [status], `${table} in ${blockUnits} units`);
    }
});
