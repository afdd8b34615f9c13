import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addFork,
  listOlder,
  missedSince,
  type Told
} from '../../../../src/replication/source/reading/older-changes.ts';

const isScoped = (table: string) => table !== 'tokens';

test('a resume point lists what the newest groups told of 5000 older parts in all, then what scoped tables were told', () => {
  const hashes = { block_hash: 'h' };
  const parts = (count: number) => Array.from({ length: count }, (_, at) => [2 * at, 2 * at] as const);
  const older = { spans: { sends: parts(500), tokens: parts(1_500) }, lastIdsBefore: { sends: 7 } };
  const nothing = { height: 99, hashes };
  const recent = Array.from({ length: 20 }, (_, height) => ({ height, hashes, older }));
  const listed = listOlder([...recent, nothing], isScoped);
  assert.deepEqual(listed.slice(-3), [...recent.slice(-2), nothing]);
  assert.deepEqual(listed[17], { height: 17, hashes, older: null, scoped: { sends: parts(500) } });
  assert.deepEqual(
    listed.map(({ older, scoped }) => (older ? 'all' : scoped ? 'scoped' : '')),
    [...Array(8).fill(''), ...Array(10).fill('scoped'), 'all', 'all', '']
  );
  assert.deepEqual(listOlder(listed, isScoped), listed, 'the same of what was listed');
  const at = (height: number) => recent[height]!;
  const known = { forks: [], recent: listed.slice(0, 20).map((block) => ({ ...block, lookupsBefore: {} })), isScoped };
  assert.deepEqual(missedSince(8, at(19), known)?.spans, { sends: parts(500) });
  assert.equal(missedSince(8, at(19), known)?.others, null, 'of tables without blocks the older groups are not listed');
  assert.deepEqual(missedSince(17, at(19), known)?.others, { tokens: parts(1_500) });
  assert.equal(missedSince(6, at(19), known), null);
});

const hashes = (height: number) => ({ block_hash: `h${height}` });
const sentBlock = (height: number, spans: Record<string, [number, number][]> = {}) => ({
  height,
  hashes: hashes(height),
  lookupsBefore: {},
  older: { spans, lastIdsBefore: {} }
});
const known = { forks: [], isScoped };
const at = (height: number) => ({ height, hashes: hashes(height) });

test('a reader is told the parts of what the groups after its block told, of tables that have blocks and of others', () => {
  const recent = [
    sentBlock(3),
    sentBlock(4, { sends: [[1, 1]] }),
    sentBlock(5, {
      sends: [[3, 4]],
      tokens: [[1, 9]]
    }),
    sentBlock(6, { sends: [[5, 5]] })
  ];
  const all = { ...known, recent };
  assert.deepEqual(missedSince(4, at(6), all), { from: 5, spans: { sends: [[3, 5]] }, others: { tokens: [[1, 9]] } });
  assert.deepEqual(missedSince(6, at(6), all), { from: 7, spans: {}, others: {} });
  assert.deepEqual(missedSince(3, at(6), all)?.spans, {
    sends: [
      [1, 1],
      [3, 5]
    ]
  });
  assert.deepEqual(missedSince(4, at(5), all)?.spans, { sends: [[3, 5]] }, 'what came later does no harm');
});

test('a reader is told what amendments changed of the block that it stands at: they may have come after it left', () => {
  const amended = { ...sentBlock(4, { sends: [[1, 1]], tokens: [[7, 8]] }), amended: 1 };
  const all = { ...known, recent: [sentBlock(3), amended, sentBlock(5, { sends: [[3, 3]] })] };
  const expected = {
    from: 5,
    spans: {
      sends: [
        [1, 1],
        [3, 3]
      ]
    },
    others: { tokens: [[7, 8]] }
  };
  assert.deepEqual(missedSince(4, at(5), all), expected);
  const unlisted = { ...all, recent: [sentBlock(3), { ...amended, older: null }, sentBlock(5)] };
  assert.equal(missedSince(4, at(5), unlisted), null);
});

test('missed changes of a reader are not known if one of the groups is not, or sent too much', () => {
  const recent = [sentBlock(4), sentBlock(5), sentBlock(6)];
  const of = (since: number, list: Told['recent'] = recent, head = at(6)) =>
    missedSince(since, head, { ...known, recent: list });
  assert.equal(of(2), null, 'block 3 is not remembered');
  assert.equal(of(7), null, 'above the tip');
  assert.equal(of(3, []), null);
  assert.equal(of(3), null, 'the block that it stands at is not');
  assert.equal(
    of(4, [at(4), sentBlock(5), sentBlock(6)]),
    null,
    'the block that it stands at is from before the start'
  );
  assert.equal(of(4, recent, at(7)), null, 'a block that is not broadcast yet');
  assert.equal(of(4, recent, { height: 6, hashes: hashes(7) }), null, 'a block of another branch');
  assert.equal(of(4, [sentBlock(4), { ...sentBlock(5), older: null }, sentBlock(6)]), null);
  assert.equal(of(4, [sentBlock(4), at(5), sentBlock(6)]), null, 'a block from before the start');
  const scattered = Array.from({ length: 5_001 }, (_, value): [number, number] => [2 * value, 2 * value]);
  assert.equal(of(5, [sentBlock(5), sentBlock(6, { sends: scattered })]), null);
});

test('a reader on a block that a reorg replaced gets the blocks from the fork on, and what was sent since', () => {
  const recent = [sentBlock(3), sentBlock(4, { sends: [[1, 1]] }), sentBlock(5), sentBlock(6)];
  const all = { ...known, recent, forks: [{ fork: 4, height: 5 }] };
  assert.deepEqual(missedSince(5, at(6), all), { from: 4, spans: { sends: [[1, 1]] }, others: {} });
  assert.equal(missedSince(6, at(6), all)?.from, 7);
  assert.equal(missedSince(3, at(6), all)?.from, 4);
});

test('a reader that undid groups whose older rows nobody knows takes tables without blocks whole', () => {
  const recent = [sentBlock(3), sentBlock(4), sentBlock(5), sentBlock(6)];
  const all = { ...known, recent, forks: [{ fork: 4, height: 5, isUnlisted: true }] };
  assert.deepEqual(
    [3, 5, 6].map((since) => missedSince(since, at(6), all)?.others),
    [null, null, {}]
  );
});

test('a reader within a group gets the blocks of the group again: their rows are as of its last one', () => {
  const inside = (height: number) => ({ height, hashes: hashes(height), lookupsBefore: {}, within: 4 });
  const recent = [sentBlock(3), inside(4), inside(5), sentBlock(6), sentBlock(7)];
  const from = (since: number) => missedSince(since, at(7), { ...known, recent })?.from;
  assert.deepEqual([3, 4, 5, 6].map(from), [4, 4, 4, 7]);
});

test('many reorgs are remembered in as many entries, and none is forgotten', () => {
  let forks: ReturnType<typeof addFork> = [];
  for (let at = 0; at < 500; at++) forks = addFork(forks, { fork: 10 * at, height: 10 * at + 3 });
  assert.ok(forks.length <= 50);
  for (let at = 0; at < 500; at++)
    assert.ok(forks.some(({ fork, height }) => fork <= 10 * at && 10 * at + 3 <= height));
});
