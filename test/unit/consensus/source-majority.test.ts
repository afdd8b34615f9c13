import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MarksOf, majorityOf } from '../../../src/consensus/source-majority.ts';
import fc from '../../support/fast-check.ts';

/** `a=x b=y`: who says what. `a:1,2`: the marks of a. */
function found(count: number, answers: string, marks = ''): string | undefined {
  const pairs = answers.split(' ').map((each) => each.split('=') as [string, string]);
  const byName = new Map(marks.split(' ').map((each) => [each.split(':')[0], each.split(':')[1]?.split(',') ?? []]));
  return majorityOf(new Map(pairs), count, (source) => byName.get(source) ?? [source]);
}

test('a strict majority of all sources, silent ones included', () => {
  assert.equal(found(3, 'a=x b=x'), 'x');
  assert.equal(found(3, 'a=x b=y'), undefined);
  assert.equal(found(4, 'a=x b=x c=y'), undefined);
});

test('one server under two names, or two servers of one database, are no majority against the third source', () => {
  assert.equal(found(3, 'a=lie a2=lie b=x', 'a:key1 a2:key1'), undefined);
  assert.equal(found(3, 'a=lie a2=lie', 'a:key1,db1 a2:key2,db1'), undefined, 'the third is only late');
  assert.equal(found(3, 'a=x a2=x b=x', 'a:key1,db1 a2:key2,db1'), 'x');
  assert.equal(found(2, 'a=x a2=x', 'a:key1 a2:key1'), 'x', 'it is one source: nobody contradicts it');
});

test('a source that claims to be another one does not silence it', () => {
  assert.equal(found(3, 'a=x b=x liar=lie', 'a:key1,db1 liar:key1,db1'), 'x');
  assert.equal(found(3, 'a=x b=x', 'a:key1,db1 liar:key1,db1'), 'x');
  assert.equal(found(3, 'liar=lie b=x', 'a:key1,db1 liar:key1,db1'), undefined);
  assert.equal(found(2, 'liar=lie', 'a:key1 liar:key1'), undefined);
  assert.equal(found(5, 'a=x b=x c=x l=lie m=lie', 'a:1 l:1 b:2 m:2'), 'x');
  assert.equal(found(5, 'c=late l=lie m=lie', 'a:1 l:1 b:2 m:2'), undefined);
});

/**
 * Honest servers, each under one or more names, say the same or nothing yet. Each liar says what it likes and carries a mark of its
 * own or the marks of any one honest server; nobody can join the marks of two.
 */
const worlds = fc.record({
  names: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 5 }),
  silent: fc.boolean(),
  liars: fc.array(fc.record({ as: fc.nat(12), says: fc.constantFrom('lie', 'truth', 'other', null) }), { maxLength: 6 })
});

test('liars in the minority of different servers decide nothing, whatever they claim to be, and hold nothing up', () => {
  fc.assert(
    fc.property(worlds, ({ names, silent, liars }) => {
      const marks = new Map<string, readonly string[]>();
      const reports = new Map<string, string>();
      for (const [server, count] of names.entries())
        for (let name = 0; name < count; name++) {
          marks.set(`${server}.${name}`, [`key ${server}`, `database ${server}`]);
          if (!silent) reports.set(`${server}.${name}`, 'truth');
        }
      for (const [place, { as, says }] of liars.entries()) {
        const copied = as % 2 === 0 ? [`key ${as / 2}`, `database ${as / 2}`] : [`key liar ${place}`, `database ${as}`];
        marks.set(`liar ${place}`, copied);
        if (says !== null) reports.set(`liar ${place}`, says);
      }
      const marksOf: MarksOf = (source) => marks.get(source)!;
      const verdict = majorityOf(reports, marks.size, marksOf);
      if (liars.length >= names.length) return;
      if (silent) assert.ok(verdict === undefined || verdict === 'truth', 'liars alone');
      else assert.equal(verdict, 'truth');
    })
  );
});
