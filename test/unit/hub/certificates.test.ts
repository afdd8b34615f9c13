import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Keys } from '../../../lab/federation/keys.ts';
import {
  beginningOf,
  isCommitted,
  isStable,
  isViewChange
} from '../../../src/hub/federation/consensus/certificates.ts';
import {
  type Batch,
  type Committed,
  EMPTY_LOG,
  type Prepared,
  type ViewChange
} from '../../../src/hub/federation/consensus/messages.ts';

const KEYS = new Keys(4);
const RULES = KEYS.rulesOf('a');

function batchOf(seq: number, previous: Batch | null, body: string): Batch {
  return {
    seq,
    time: 1_000 * seq,
    previous: previous === null ? '' : KEYS.digestOf(previous),
    operations: [{ submitter: 'a', number: seq - 1, body, sig: '' }]
  };
}

/** A batch that the leader of a view proposed and some others prepared. */
function preparedBatch(batch: Batch, view: number, by: string, sign: Keys['sign'] = KEYS.sign.bind(KEYS)): Prepared {
  const digest = KEYS.digestOf(batch);
  const { seq } = batch;
  return {
    proposal: sign(KEYS.keys[view % 4]!, { kind: 'prePrepare', view, seq, digest, batch }),
    votes: [...by].map((sender) => sign(sender, { kind: 'prepare', view, seq, digest }))
  };
}

function committedBatch(batch: Batch, view: number, by: string): Committed {
  const digest = KEYS.digestOf(batch);
  return { batch, votes: [...by].map((sender) => KEYS.sign(sender, { kind: 'commit', view, seq: batch.seq, digest })) };
}

function wish(view: number, ...places: Prepared[]): ViewChange {
  return { kind: 'viewChange', view, stable: EMPTY_LOG, last: null, places };
}

function wishAfter(last: Committed, ...places: Prepared[]): ViewChange {
  return { ...wish(3, ...places), last };
}

function carriedOf(...batches: Batch[]): Map<number, Batch> {
  return new Map(batches.map((batch) => [batch.seq, batch]));
}

const FIRST = batchOf(1, null, 'first');
const OTHER = batchOf(1, null, 'other');
const SECOND = batchOf(2, FIRST, 'second');

test('a view begins with what one hub of the quorum has prepared', () => {
  const wishes = [wish(1), wish(1, preparedBatch(FIRST, 0, 'bc')), wish(1)];
  assert.deepEqual(beginningOf(RULES, wishes).carried, carriedOf(FIRST));
});

test('the prepared batch of the higher view counts, and none where a place is committed', () => {
  const older = wish(3, preparedBatch(FIRST, 0, 'bc'));
  const newer = wish(3, preparedBatch(OTHER, 1, 'cd'));
  assert.deepEqual(beginningOf(RULES, [older, newer, wish(3)]).carried, carriedOf(OTHER));
  assert.deepEqual(beginningOf(RULES, [newer, older, wish(3)]).carried, carriedOf(OTHER));
  const { last, carriedTo, carried } = beginningOf(RULES, [newer, wishAfter(committedBatch(FIRST, 0, 'abc'))]);
  assert.deepEqual([last?.batch, carriedTo, carried], [FIRST, 1, carriedOf()]);
});

test('a view begins with no place behind a gap, and with none that follows another batch', () => {
  const gap = wish(2, preparedBatch(FIRST, 0, 'bc'), preparedBatch(SECOND, 0, 'bc'));
  assert.deepEqual(beginningOf(RULES, [gap, wish(2)]).carried, carriedOf(FIRST, SECOND));
  assert.deepEqual(beginningOf(RULES, [wish(2, preparedBatch(OTHER, 1, 'cd')), gap]).carried, carriedOf(OTHER));
});

test('a decided batch is proposed again where a hub that has no commits of it has prepared it', () => {
  const ofOne = wishAfter(committedBatch(batchOf(3, SECOND, 'third'), 0, 'abd'));
  const others = wish(3, preparedBatch(FIRST, 0, 'bc'), preparedBatch(SECOND, 0, 'bc'));
  const misled = wish(3, preparedBatch(OTHER, 1, 'cd'));
  const { last, carried, carriedTo } = beginningOf(RULES, [ofOne, misled, others]);
  assert.deepEqual([last?.batch.seq, carriedTo, carried], [3, 3, carriedOf(SECOND, FIRST)]);
  assert.deepEqual(beginningOf(RULES, [ofOne, misled, wish(3)]).carried, carriedOf());
});

test('the newest checkpoint is the base, and what is below it is carried no more', () => {
  const state = { seq: 100, digest: 'd', state: 's' };
  const votes = ['a', 'b', 'c'].map((sender) => KEYS.sign(sender, { kind: 'checkpoint', ...state }));
  const ahead: ViewChange = { ...wish(1), stable: { ...state, votes } };
  const { carriedTo, carried } = beginningOf(RULES, [wish(1, preparedBatch(FIRST, 0, 'bc')), ahead]);
  assert.deepEqual([carriedTo, carried], [100, carriedOf()]);
  assert.equal(isViewChange(RULES, ahead), true);
  assert.equal(isViewChange(RULES, { ...ahead, stable: { ...state, votes: votes.slice(1) } }), false);
  assert.equal(isViewChange(RULES, { ...ahead, stable: { ...state, state: 'another', votes } }), false);
});

test('a wish counts only with proofs of places without a gap, all of earlier views', () => {
  const good = [preparedBatch(FIRST, 0, 'bc'), preparedBatch(SECOND, 0, 'cd')];
  assert.equal(isViewChange(RULES, wish(1, ...good)), true);
  assert.equal(isViewChange(RULES, wishAfter(committedBatch(FIRST, 0, 'abd'), good[1]!)), true);
  const forged = preparedBatch(FIRST, 0, 'bc', KEYS.forge.bind(KEYS));
  const [first, second] = good as [Prepared, Prepared];
  const stranger = { ...first, votes: [...first.votes.slice(1), { ...first.votes[0]!, sender: 'z' }] };
  const twice = { ...first, votes: [first.votes[0]!, first.votes[0]!] };
  const ofLeader = { ...first, votes: [first.votes[0]!, KEYS.sign('a', first.votes[0]!.message)] };
  const wrongLeader = { ...first, proposal: KEYS.sign('b', first.proposal.message) };
  const otherBatch = { ...first, proposal: KEYS.sign('a', { ...first.proposal.message, batch: OTHER }) };
  const bad: Record<string, ViewChange> = {
    'a gap': wish(1, second),
    'another order': wish(1, second, first),
    'a chain that is broken': wish(1, preparedBatch(OTHER, 0, 'bc'), second),
    'a place of the view that is asked for': wish(1, preparedBatch(FIRST, 1, 'cd')),
    'forged votes': wish(1, forged),
    'a vote of a stranger': wish(1, stranger),
    'one vote twice': wish(1, twice),
    'a vote of the leader beside its proposal': wish(1, ofLeader),
    'a proposal of no leader': wish(1, wrongLeader),
    'another batch under the digest': wish(1, otherBatch),
    'too few votes': wish(1, preparedBatch(FIRST, 0, 'b')),
    'too few commits': wishAfter(committedBatch(FIRST, 0, 'ab')),
    'a place that is committed in the view that is asked for': wishAfter(committedBatch(FIRST, 3, 'abd')),
    'a place below the one that is committed': wishAfter(committedBatch(SECOND, 0, 'abd'), first),
    'a place that does not follow the one that is committed': wishAfter(committedBatch(OTHER, 0, 'abd'), second)
  };
  for (const [what, change] of Object.entries(bad)) assert.equal(isViewChange(RULES, change), false, what);
});

test('a certificate with more votes than hubs counts for nothing: what a liar adds to it would be kept and handed on', () => {
  const committed = committedBatch(FIRST, 0, 'bcd');
  const prepared = preparedBatch(SECOND, 0, 'bcd');
  const padded = <V>(votes: readonly V[], most: number) => Array.from({ length: most }, (_, at) => votes[at % 3]!);
  for (const [most, counts] of [
    [4, true],
    [5, false]
  ] as const) {
    assert.equal(isCommitted(RULES, { ...committed, votes: padded(committed.votes, most) }), counts);
    assert.equal(isViewChange(RULES, wishAfter({ ...committed, votes: padded(committed.votes, most) })), counts);
    const place = { ...prepared, votes: padded(prepared.votes, most) };
    assert.equal(isViewChange(RULES, wishAfter(committed, place)), counts);
    const votes = [...'bcd'].map((hub) =>
      KEYS.sign(hub, { kind: 'checkpoint', seq: 100, digest: 'd', state: 's' } as const)
    );
    assert.equal(isStable(RULES, { seq: 100, digest: 'd', state: 's', votes: padded(votes, most) }), counts);
  }
});
