import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_LIMITS, type Limits, NO_LIMITS } from '../../../src/coin/limits.ts';
import type { ExecutedBlock } from '../../../src/indexer/block/block.ts';
import { KEPT_UNITS, Shares } from '../../../src/indexer/block/shares.ts';
import { noLooks } from '../../../src/indexer/state/effects.ts';
import fc from '../../support/fast-check.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

type Texts = readonly (readonly [source: string, data: string])[];

function ledgerWith(limits: Partial<Limits>): MemoryLedger {
  return new MemoryLedger(100, {
    ...TEST_RULES,
    readAddress: (text) => (/^[A-Z]\d*$/.test(text) ? text : undefined),
    limitsAt: () => ({ ...DEFAULT_LIMITS, ...limits })
  });
}

/** Runs one block of a transaction for each text. */
function block(ledger: MemoryLedger, ...texts: Texts): ExecutedBlock {
  const hash = String(ledger.blocks.length);
  const transactions = texts.map(([source, data], at) => ({ hash: `${hash} ${at}`, source, fee: null, data }));
  return ledger.run({ height: ledger.height, time: ledger.time, hash, transactions });
}

const statusesOf = ({ rows }: ExecutedBlock, table: string) =>
  rows.flatMap((row) => (row.table === table ? [String(row.columns['status_id'])] : []));
const repeat = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at));
const units = (count: number) => [count, noLooks()] as const;

/** A ledger whose M0, M1 and so on have tokens to give to a list of 1,000, and with an offer, a list and a holder of others. */
function crowded() {
  const ledger = ledgerWith({ blockUnits: 12_000 });
  const givers = Object.fromEntries(repeat(30, (at) => [`M${at}`, '1000000']));
  for (const tick of ['TOKA', 'TOKB', 'TOKC', 'TOKD']) ledger.give(tick, 0, 'M', givers);
  ledger.give('GOOD', 0, 'A', { A: '100', C: '5' });
  ledger.give('CASH', 0, 'A', { B: '100', D: '100', E: '500', F: '100' });
  block(ledger, ['M', `LIST|0|2||${repeat(1_000, (at) => `H${at}`).join('|')}`]);
  const long = ledger.lastAction;
  block(ledger, ['E', `LIST|0|2||${repeat(50, (at) => `K${at}`).join('|')}`]);
  const short = ledger.lastAction;
  block(ledger, ['A', 'ORDER|0|BTC|GOOD|10|0|BTC|CASH|10']);
  const flood = `BATCH|0|AIRDROP|1|${long}|TOKA|1|TOKB|1|TOKC|1|TOKD|1`;
  const honest: Texts = [
    ['B', 'ORDER|0|BTC|CASH|10|0|BTC|GOOD|10'],
    ['C', 'SWEEP|0|Z'],
    ['D', `BATCH|0|SEND|0|CASH|1|Z;ORDER|0|BTC|CASH|1|0|BTC||1`],
    ['E', `AIRDROP|0|CASH|1|${short}`],
    ['F', 'LIST|0|2||A|B|C']
  ];
  return { ledger, flood, honest };
}

test('nobody closes a block for others, however many transactions in front fill it', () => {
  for (const floods of [2, 25]) {
    const { ledger, flood, honest } = crowded();
    const made = block(ledger, ...repeat(floods, (at) => [`M${at}`, flood] as const), ...honest);
    const honestly = ['orders', 'order_matches', 'sweeps', 'lists'].map((table) => statusesOf(made, table));
    assert.deepEqual(honestly, [['valid', 'valid'], ['valid'], ['valid'], ['valid']], `${floods} before them`);
    assert.deepEqual(statusesOf(made, 'batches').at(-1), 'valid');
    assert.deepEqual(statusesOf(made, 'airdrops').at(-1), 'valid');
    assert.ok(statusesOf(made, 'airdrops').includes('invalid: RECIPIENTS (block limit)'));
    const moved = made.rows.filter(({ table }) => ['credits', 'debits', 'escrows', 'actions'].includes(table)).length;
    assert.ok(moved <= 12_000, `${moved} units`);
  }
});

test('transactions of one source share its part of the block', () => {
  const { ledger, flood, honest } = crowded();
  const made = block(ledger, ...repeat(25, () => ['M0', flood] as const), ...honest);
  const valid = statusesOf(made, 'airdrops').filter((status) => status === 'valid').length;
  assert.equal(valid, 5 + 1, 'half of 12,000 less 500, and the honest one');
});

test('a source alone in its block may use all of it, and so may whoever comes last', () => {
  const { ledger, flood, honest } = crowded();
  const alone = block(ledger, ['M0', flood], ['M0', flood], ['M0', flood]);
  assert.deepEqual(
    statusesOf(alone, 'airdrops'),
    repeat(12, () => 'valid')
  );
  const last = block(ledger, ...honest, ['M1', flood], ['M1', flood]);
  assert.deepEqual(
    statusesOf(last, 'airdrops'),
    repeat(9, () => 'valid')
  );
});

test('an ORDER that takes 8,000 others, and gifts to 69,000, pass beside a hundred others', () => {
  const ledger = ledgerWith({});
  ledger.give('TOKA', 0, 'A', { A: '8000' });
  ledger.give('TOKB', 0, 'B', { B: '8000' });
  block(ledger, ...repeat(8_000, () => ['A', 'ORDER|0|BTC|TOKA|1|0|BTC|TOKB|1'] as const));
  const others = repeat(100, (at) => [`C${at}`, 'LIST|0|2||A|B'] as const);
  const taken = block(ledger, ['B', 'ORDER|0|BTC|TOKB|8000|0|BTC|TOKA|8000'], ...others);
  assert.equal(statusesOf(taken, 'order_matches').length, 8_000);
  ledger.give('GIFT', 0, 'A', { A: '100000' });
  block(ledger, ['A', `LIST|0|2||${repeat(69_000, (at) => `H${at}`).join('|')}`]);
  const given = block(ledger, ['A', `AIRDROP|0|GIFT|1|${ledger.lastAction}`], ...others);
  assert.deepEqual(statusesOf(given, 'airdrops'), ['valid']);
  assert.deepEqual([...new Set(statusesOf(given, 'lists'))], ['valid']);
});

test('a CALLBACK or SWEEP beside others takes as much as its part of the block, the next one the rest', () => {
  const ledger = ledgerWith({ blockUnits: 800 });
  const holders = Object.fromEntries(repeat(200, (at) => [`H${at}`, '1']));
  ledger.give('BOND', 0, 'A', holders);
  ledger.give('PAYT', 0, 'A', { A: '1000' });
  const bond = ledger.view.get('token', 'bond')!;
  const terms = { callbackBlock: 100, callbackTick: 'PAYT', callbackAmount: 10n ** 18n };
  ledger.view.load('token', 'bond', { ...bond, ...terms });
  const other = ['F', 'LIST|0|2||A'] as const;
  const called = block(ledger, ['A', 'CALLBACK|0|BOND'], other);
  assert.deepEqual([statusesOf(called, 'callbacks'), statusesOf(called, 'lists')], [['valid'], ['valid']]);
  assert.equal(ledger.balance('BOND', 'A'), '133', 'a third of its 400 units');
  block(ledger, ['A', 'CALLBACK|0|BOND']);
  assert.equal(ledger.balance('BOND', 'A'), '200');
  for (let at = 0; at < 200; at++) ledger.give(`TOK${at}`, 0, 'M', { C: '1' });
  const swept = block(ledger, ['C', 'SWEEP|0|Z'], other);
  assert.deepEqual([statusesOf(swept, 'sweeps'), statusesOf(swept, 'lists')], [['valid'], ['valid']]);
  const left = () => repeat(200, (at) => Number(ledger.balance(`TOK${at}`, 'C'))).reduce((sum, one) => sum + one, 0);
  assert.equal(left(), 200 - 133);
  block(ledger, ['C', 'SWEEP|0|Z']);
  assert.equal(left(), 0);
});

const anyBlock = fc.array(
  fc.record({
    source: fc.constantFrom(...'ABCDEFGH'),
    isLimited: fc.boolean(),
    part: fc.double({ min: 0, max: 1, noNaN: true })
  }),
  { minLength: 1, maxLength: 40 }
);

test('actions in front may use all of their parts: the next ones have what is kept, and the block its bound', () => {
  fc.assert(
    fc.property(anyBlock, fc.integer({ min: 1, max: 5_000 }), (acts, blockUnits) => {
      const texts = acts.map(({ source, isLimited }) => ({ source, data: isLimited ? 'BATCH|0|x' : 'SEND|0|x' }));
      const shares = new Shares(
        { ...DEFAULT_LIMITS, blockUnits },
        texts.map((one) => ({ ...one, hash: '', fee: null }))
      );
      const sources = new Set(texts.flatMap(({ source, data }) => (data.startsWith('B') ? [source] : [])));
      const kept = Math.min(KEPT_UNITS, Math.floor(blockUnits / (sources.size + 1)));
      const seen = new Set<string>();
      let used = 0;
      for (const [place, { source, isLimited, part }] of acts.entries()) {
        shares.begin(place, { source });
        const { units: left, isLast } = shares.left;
        assert.ok(used + left <= blockUnits, 'within the block');
        if (isLimited && !seen.has(source)) assert.ok(left >= kept - 1, `${left} of ${kept}`);
        assert.equal(isLast, !texts.slice(place + 1).some((one) => one.data.startsWith('B') && one.source !== source));
        if (isLast) assert.equal(left, blockUnits - used);
        if (!isLimited) continue;
        seen.add(source);
        const mine = Math.floor(left * part);
        shares.use(...units(mine));
        used += mine;
      }
      shares.end();
      assert.equal(shares.left.units, blockUnits - used);
    })
  );
});

test('below the height of limits nobody has a share', () => {
  const transactions = ['A', 'B'].map((source) => ({ source, data: 'BATCH|0|x', hash: '', fee: null }));
  const shares = new Shares(NO_LIMITS, transactions);
  shares.begin(0, { source: 'A' });
  shares.use(1e9, { ...noLooks(), recipients: 1e9 });
  const { units: left, looks } = shares.left;
  assert.deepEqual([left, looks.recipients], [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
});
