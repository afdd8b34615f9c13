import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../support/fast-check.ts';
import { MemoryLedger } from '../../support/indexer-ledger.ts';
import { ReferenceLedger } from '../../support/indexer-reference.ts';

const tick = fc.constantFrom('TOKA', 'TOKB', 'TOKC', 'NOPE');
const amount = fc.constantFrom(
  '0',
  '1',
  '2.5',
  '0.01',
  '7',
  '1.001',
  '',
  '-1',
  '+1',
  '1e3',
  '１',
  '.5',
  '1000',
  '9'.repeat(21)
);
const address = fc.constantFrom('A', 'B', 'C', 'D', 'bad', '');
const memo = fc.constantFrom('hi', 'a;b', 'x'.repeat(250), 'x'.repeat(251));
const joined = (...fields: fc.Arbitrary<string>[]) => fc.tuple(...fields).map((all) => all.join('|'));
const groups = (...fields: fc.Arbitrary<string>[]) =>
  fc.array(joined(...fields), { minLength: 1, maxLength: 4 }).map((all) => all.join('|'));
const of = (head: string, ...fields: fc.Arbitrary<string>[]) => joined(fc.constant(head), ...fields);

const texts = fc.oneof(
  of('MINT|0', tick, amount, address, memo),
  of('SEND|0', tick, amount, address, memo),
  of('SEND|1', tick, groups(amount, address), memo),
  of('SEND|2', groups(tick, amount, address), memo),
  of('SEND|3', groups(tick, amount, address, memo)),
  of('DESTROY|0', tick, amount, memo),
  of('DESTROY|1', groups(tick, amount), memo),
  of('DESTROY|2', groups(tick, amount, memo))
);
const blocks = fc.array(fc.array(fc.tuple(fc.constantFrom('A', 'B', 'C'), texts), { maxLength: 6 }), { maxLength: 8 });

const TOKENS = [
  { tick: 'TOKA', decimals: 2, holdings: { A: '100', B: '10' } },
  { tick: 'TOKB', decimals: 0, holdings: { B: '20' } },
  { tick: 'TOKC', decimals: 18, holdings: { C: '5.5' } }
];

test('mints, sends and destroys: the verdicts, balances and hashes of a ledger written from the documentation', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(blocks, (all) => {
      const [ours, reference] = [new MemoryLedger(), new ReferenceLedger(TOKENS)];
      for (const each of TOKENS) ours.give(each.tick, each.decimals, 'A', each.holdings);
      for (const [height, block] of all.entries()) {
        const transactions = block.map(([source, data], place) => ({
          hash: String(height * 10 + place).padStart(64, '0'),
          source,
          fee: null,
          data
        }));
        const { rows, hashes } = ours.run({ height, time: 0, hash: '', transactions });
        const verdicts = rows.flatMap(({ table, columns }) =>
          ['mints', 'sends', 'destroys'].includes(table) ? [String(columns['status_id'])] : []
        );
        const told = reference.run(height, block);
        for (const verdict of verdicts) seen.add(verdict);
        assert.deepEqual({ verdicts, ledger: hashes.ledger, actions: hashes.actions }, told, JSON.stringify(block));
      }
      for (const { tick: name } of TOKENS)
        for (const holder of 'ABCD') assert.equal(ours.balance(name, holder), reference.balance(name, holder));
    }),
    { numRuns: 600 }
  );
  const refusals = [
    'TICK (unknown)',
    'AMOUNT (format)',
    'DESTINATION (format)',
    'MEMO (semicolon)',
    'MEMO (length)',
    'mint exceeds MAX_SUPPLY',
    'insufficient funds'
  ];
  assert.deepEqual([...seen].sort(), [...refusals.map((status) => `invalid: ${status}`), 'valid'].sort());
});
