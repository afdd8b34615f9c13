import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sized, uint64, varInt } from '../../../src/coin/raw/byte-writer.ts';
import { readSpentScripts } from '../../../src/coin/raw/spent-outputs.ts';
import fc from '../../support/fast-check.ts';

/** The bytes for transactions of a block, each with the scripts that it spends. */
const written = (transactions: readonly (readonly Uint8Array[])[]): Buffer =>
  Buffer.concat([
    varInt(transactions.length),
    ...transactions.flatMap((scripts) => [
      varInt(scripts.length),
      ...scripts.flatMap((script) => [uint64(5n), sized(script)])
    ])
  ]);

test('the script that a transaction spends first is found by its place in the block', () => {
  const bytes = Buffer.from(
    `03${'00'}${'02'}${'0100000000000000'}02aabb${'0200000000000000'}00${'01'}${'0300000000000000'}00`,
    'hex'
  );
  const found = readSpentScripts(bytes, new Set([0, 1, 2]));
  assert.deepEqual(
    [...found],
    [
      [1, Buffer.from('aabb', 'hex')],
      [2, Buffer.alloc(0)]
    ]
  ); // the miner's spends nothing
});

test('the wanted scripts of any block are found, and nothing is a view on the bytes', () => {
  const script = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(fc.array(fc.array(script, { maxLength: 3 }), { maxLength: 300 }), fc.nat(), (transactions, any) => {
      fc.pre(transactions.length > 0);
      const position = any % transactions.length;
      const bytes = written(transactions);
      const found = readSpentScripts(bytes, new Set([position])).get(position);
      bytes.fill(0);
      assert.deepEqual(found && Uint8Array.from(found), transactions[position]![0]);
    })
  );
});

test('malformed bytes are refused: cut, with a rest, with counts beyond the end, without a wanted transaction', () => {
  const bytes = written([[], [Buffer.from('aa', 'hex'), Buffer.from('bb', 'hex')]]);
  for (let length = 0; length < bytes.length; length++)
    assert.throws(() => readSpentScripts(bytes.subarray(0, length), new Set([1])), RangeError);
  assert.throws(() => readSpentScripts(Buffer.concat([bytes, Buffer.alloc(1)]), new Set([1])), RangeError);
  assert.throws(() => readSpentScripts(bytes, new Set([2])), RangeError);
  assert.throws(() => readSpentScripts(Buffer.from('feffffffff', 'hex'), new Set()), RangeError);
});
