import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../../../src/errors.ts';
import { type Advance, Advances, type Row, type Subject } from '../../../src/explorer/live/advance.ts';
import { Followed } from '../../../src/explorer/live/followed.ts';
import type { Question, Reply } from '../../../src/explorer/question.ts';

const token = (query: string): Subject => ({ type: 'token', query });
const known: readonly Row[] = [{ block_index: 1, block_hash: 'a' }];
const ACTION = { block_index: '2', action_index: '7' };

/** Returns the news of a chain of two blocks, of which one is known. */
async function readNew(
  subjects: readonly Subject[],
  history: (query: string) => Promise<Partial<Reply>>,
  limits?: ConstructorParameters<typeof Advances>[1]
) {
  const asked: string[] = [];
  const blocks = [{ block_index: '2', block_hash: 'b' }, ...known.map((row) => ({ ...row, block_index: '1' }))];
  const read = async ({ method, query = '' }: Question) => {
    if (method === 'history') asked.push(query);
    const body = JSON.stringify({ data: method === 'blocks' ? blocks : [ACTION] });
    return { body, mark: 'm', ...(method === 'history' ? await history(query) : {}) } as Reply;
  };
  const coin = { read, network: { undoDepth: 126 } } as ConstructorParameters<typeof Advances>[0];
  const advances = new Advances(coin, limits);
  const news = async () => (await advances.read(known, subjects))!;
  return { news, asked };
}
const summaryOf = ({ blocks, actions }: Advance) => ({
  blocks: blocks.map(({ block_index }) => block_index),
  actions: [...actions].map(([{ query }, { rows, isCut }]) => [query, rows.length, isCut])
});

test('a subject that is too heavy to read takes no blocks and no actions from others', async () => {
  const { news } = await readNew([token('HEAVY'), token('LIGHT')], async (query) => {
    if (query === 'HEAVY') throw new PlatformError('QUESTION_TOO_HEAVY', { reason: 'it took longer than 4000 ms' });
    return {};
  });
  const actions = [
    ['HEAVY', 0, true],
    ['LIGHT', 1, false]
  ];
  assert.deepEqual(summaryOf(await news()), { blocks: [2], actions });
});

test('a subject that is slow to read is cut, and comes last the next time', async () => {
  const { news, asked } = await readNew(
    [token('SLOW'), token('QUICK')],
    (query) => sleep(query === 'SLOW' ? 2_000 : 0, {}),
    { allMs: 4_000, slowMs: 400 }
  );
  const first = summaryOf(await news());
  assert.deepEqual([first.blocks, first.actions[0]], [[2], ['SLOW', 0, true]]);
  asked.length = 0;
  const second = summaryOf(await news());
  assert.deepEqual(asked, ['QUICK', 'SLOW']);
  assert.deepEqual(second.actions, [
    ['QUICK', 1, false],
    ['SLOW', 0, true]
  ]);
});

test('however many subjects are slow, quick ones are read, and blocks wait for them no longer than a moment', async () => {
  const slow = Array.from({ length: 20 }, (_, n) => token(`SLOW${n}`));
  const history = (query: string) => sleep(query === 'QUICK' ? 0 : 300, {});
  const { news, asked } = await readNew([...slow, token('QUICK')], history, { allMs: 500, slowMs: 50 });
  for (let n = 0; n < 3; n++) assert.deepEqual(summaryOf(await news()).blocks, [2]);
  asked.length = 0;
  const began = performance.now();
  const { actions } = summaryOf(await news());
  assert.ok(performance.now() - began < 1_200);
  assert.ok(asked[0] === 'QUICK' && asked.length <= 4, asked.join());
  assert.deepEqual(
    actions.find(([query]) => query === 'QUICK'),
    ['QUICK', 1, false]
  );
});

test('the newest actions of all are cut by nothing but the time of all', async () => {
  const everything = { type: 'recent', query: 'all' } as const;
  const history = (query: string) => sleep(query === 'all' ? 200 : 0, {});
  const { news, asked } = await readNew([token('QUICK'), everything], history, { allMs: 2_000, slowMs: 50 });
  for (let n = 0; n < 2; n++)
    assert.deepEqual(summaryOf(await news()).actions, [
      ['all', 1, false],
      ['QUICK', 1, false]
    ]);
  assert.deepEqual(asked, ['all', 'QUICK', 'all', 'QUICK']);
});

test('blocks are told although the tip moves whenever a subject is read', async () => {
  let at = 0;
  const { news } = await readNew([token('A')], () => sleep(60, { mark: String(at++) }), { allMs: 200, slowMs: 150 });
  assert.deepEqual(summaryOf(await news()), { blocks: [2], actions: [['A', 0, true]] });
});

test('an address that follows the most gives way to one that follows less, and to no other', () => {
  const ask = (address: string, more: readonly string[], most: number) => {
    const followed = new Followed(most);
    for (const name of ['a', 'b', 'c', 'd']) followed.add('many', token(name));
    followed.add('few', token('e'));
    return followed.whoGivesWay(address, more.map(token));
  };
  assert.equal(ask('few', ['f'], 6), 'room');
  assert.equal(ask('new', ['a'], 5), 'room', 'what is read already costs nothing more');
  assert.deepEqual(ask('few', ['f'], 5), { address: 'many' });
  assert.deepEqual(ask('new', ['f', 'g', 'h'], 5), { address: 'many' });
  assert.equal(ask('new', ['f', 'g', 'h', 'i'], 5), null, 'it would follow as much');
  assert.equal(ask('many', ['f'], 5), null);
});

test('a subject is followed until the last one leaves that follows it', () => {
  const followed = new Followed(1);
  const [first, second] = [followed.add('one', token('a')), followed.add('other', token('a'))];
  assert.equal(first, second, 'all share it');
  followed.remove('one', token('a'));
  assert.deepEqual(followed.subjects, [token('a')]);
  assert.equal(followed.whoGivesWay('one', [token('b')]), null);
  followed.remove('other', token('a'));
  assert.deepEqual([followed.subjects, followed.whoGivesWay('one', [token('b')])], [[], 'room']);
});
