import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Keys } from '../../../lab/federation/keys.ts';
import { EMPTY_LOG, type Stable } from '../../../src/hub/federation/consensus/messages.ts';
import { StateFetch } from '../../../src/hub/federation/node/state-fetch.ts';
import { chunksOf, hashOf, manifestText, readManifest, rowsOf } from '../../../src/hub/federation/transfer/manifest.ts';
import {
  CHUNK_TIMEOUT_MS,
  DOUBT_MS,
  NOTHING_FETCHED,
  type Offer,
  SLOW_CHUNK_MS,
  stepTransfer,
  type TransferEffect,
  type TransferEvent,
  type TransferState
} from '../../../src/hub/federation/transfer/transfer.ts';

const PARTS = ['first\n', 'second\n', 'third\n'];
const HASHES = PARTS.map(hashOf);

function offerAt(seq: number): Offer {
  const manifest = { time: 5, next: new Map([['c', 7]]), chunks: HASHES };
  return { stable: { ...EMPTY_LOG, seq }, manifest, text: manifestText(manifest) };
}

/** A hub that fetches. */
class Fetching {
  state: TransferState = { ...NOTHING_FETCHED, now: 1_000 };

  /** @returns what it does, as texts such as `ask b 0` */
  take(event: TransferEvent): readonly string[] {
    const { state, effects } = stepTransfer(this.state, event);
    this.state = state;
    return effects.map(nameOf);
  }

  chunk(from: string, part: number, text: string | null = PARTS[part]!): readonly string[] {
    return this.take({ type: 'chunk.received', from, hash: HASHES[part]!, text });
  }

  wait(ms: number, applied = 0, peers: readonly string[] = ['b', 'c']): readonly string[] {
    return this.take({ type: 'clock.ticked', now: this.state.now + ms, applied, peers });
  }
}

function nameOf(effect: TransferEffect): string {
  if (effect.type === 'replace') return `replace ${effect.offer.stable.seq}`;
  const part = HASHES.indexOf(effect.hash);
  return effect.type === 'askChunk' ? `ask ${effect.to} ${part}` : `keep ${part} ${effect.text.trim()}`;
}

function begin(missing: readonly string[] = HASHES): Fetching {
  const hub = new Fetching();
  const asked = hub.take({ type: 'state.offered', from: 'b', offer: offerAt(100), missing });
  assert.deepEqual(asked, [missing.length > 0 ? `ask b ${HASHES.indexOf(missing[0]!)}` : 'replace 100']);
  return hub;
}

test('parts are fetched one after the other, kept, and the state is taken when the last one is there', () => {
  const hub = begin();
  assert.deepEqual(hub.chunk('b', 0), ['keep 0 first', 'ask b 1']);
  assert.deepEqual(hub.chunk('b', 1), ['keep 1 second', 'ask b 2']);
  assert.deepEqual(hub.chunk('b', 2), ['keep 2 third', 'replace 100']);
  assert.equal(hub.state.transfer, null);
});

test('parts that are in the database are not fetched again', () => {
  const hub = begin([HASHES[2]!]);
  assert.deepEqual(hub.chunk('b', 2), ['keep 2 third', 'replace 100']);
  begin([]);
});

test('a part that nobody asked for, or from who was not asked, changes nothing', () => {
  const hub = begin();
  const before = hub.state;
  for (const [from, part] of [
    ['c', 0],
    ['b', 1]
  ] as const)
    assert.deepEqual(hub.chunk(from, part), []);
  assert.deepEqual(hub.take({ type: 'state.offered', from: 'c', offer: offerAt(200), missing: [] }), []);
  assert.equal(hub.state, before);
});

test('a hub that sends another text, or none, is asked no more; the next one is', () => {
  for (const text of ['wrong\n', '', null]) {
    const hub = begin();
    assert.deepEqual(hub.chunk('b', 0, text), []);
    assert.deepEqual(hub.wait(1), ['ask c 0']);
    assert.deepEqual(hub.chunk('c', 0), ['keep 0 first', 'ask c 1']);
  }
});

test('a hub that is slow is passed over, and who comes late with the part is not heard', () => {
  const hub = begin();
  assert.deepEqual(hub.wait(CHUNK_TIMEOUT_MS - 1), []);
  assert.deepEqual(hub.wait(1), ['ask c 0']);
  assert.deepEqual(hub.chunk('b', 0), []);
});

test('a hub that takes long for a part is asked for no other one, unless the others fail', () => {
  const hub = begin();
  hub.wait(SLOW_CHUNK_MS);
  assert.deepEqual(hub.chunk('b', 0), ['keep 0 first']);
  assert.deepEqual(hub.wait(1), ['ask c 1']);
  assert.deepEqual(hub.chunk('c', 1, null), []);
  assert.deepEqual(hub.wait(1), ['ask b 1']);
  hub.wait(SLOW_CHUNK_MS);
  assert.deepEqual(hub.chunk('b', 1), ['keep 1 second']);
  assert.deepEqual(hub.wait(1, 0, ['b']), ['ask b 2']);
  hub.wait(SLOW_CHUNK_MS);
  assert.deepEqual(hub.chunk('b', 2), ['keep 2 third', 'replace 100']);
});

test('a state that nobody has any more is given up, and the next offer begins', () => {
  const hub = begin();
  hub.chunk('b', 0, null);
  hub.wait(1);
  hub.chunk('c', 0, null);
  assert.deepEqual(hub.wait(1), []);
  assert.equal(hub.state.transfer, null);
  // One that lies offers an old state again at once, each time before all others.
  const offeredBy = (from: string) =>
    hub.take({ type: 'state.offered', from, offer: offerAt(200), missing: HASHES.slice(1) });
  assert.deepEqual([offeredBy('b'), offeredBy('c')], [[], ['ask c 1']]);
  hub.wait(1, 200);
  hub.wait(DOUBT_MS - 2);
  assert.deepEqual(offeredBy('b'), []);
  hub.wait(1);
  assert.deepEqual(offeredBy('b'), ['ask b 1']);
});

test('a state that is far ahead takes the place of an old one, which a liar could offer for ever', () => {
  const hub = begin();
  const offered = (seq: number) =>
    hub.take({ type: 'state.offered', from: 'c', offer: offerAt(seq), missing: HASHES.slice(1) });
  assert.deepEqual(offered(1_100), []);
  hub.wait(SLOW_CHUNK_MS);
  assert.deepEqual(hub.chunk('b', 0), ['keep 0 first']);
  assert.deepEqual(offered(1_101), ['ask c 1']);
  assert.deepEqual(hub.take({ type: 'state.offered', from: 'b', offer: offerAt(200), missing: HASHES }), []);
  assert.deepEqual(hub.chunk('c', 1, null), []);
  assert.deepEqual(hub.wait(1, 0, ['b', 'd']), ['ask d 1'], 'who was slow stays so');
  assert.deepEqual(hub.chunk('d', 1), ['keep 1 second', 'ask d 2']);
  assert.deepEqual(hub.chunk('d', 2), ['keep 2 third', 'replace 1101']);
});

test('a hub that hands a state out slowly, which others have no more, keeps nobody from the state of others', () => {
  const hub = begin();
  const offered = (from: string, seq: number) =>
    hub.take({ type: 'state.offered', from, offer: offerAt(seq), missing: HASHES.slice(1) });
  assert.deepEqual(offered('b', 9_000), [], 'it puts a newer one of its own in the place of the first');
  assert.deepEqual(offered('c', 80), []);
  hub.wait(SLOW_CHUNK_MS);
  hub.chunk('b', 0);
  assert.deepEqual(hub.wait(1), ['ask c 1']);
  hub.chunk('c', 1, null);
  assert.deepEqual(hub.wait(1), ['ask b 1']);
  assert.deepEqual(offered('c', 100), [], 'the same state goes on');
  assert.deepEqual(offered('c', 80), ['ask c 1']);
  assert.deepEqual(offered('b', 9_000), [], 'not at once again');
  assert.deepEqual(hub.chunk('c', 1), ['keep 1 second', 'ask c 2']);
  assert.deepEqual(hub.chunk('c', 2), ['keep 2 third', 'replace 80']);
});

test('a state that this hub has passed by the log is given up', () => {
  const hub = begin();
  assert.deepEqual(hub.wait(1, 99), []);
  assert.ok(hub.state.transfer);
  assert.deepEqual(hub.wait(1, 100), []);
  assert.equal(hub.state.transfer, null);
});

test('a manifest is read in the one form that is signed alone', () => {
  const { manifest, text } = offerAt(1);
  assert.deepEqual(readManifest(text), manifest);
  const wrong = [
    '',
    'null',
    ` ${text}`,
    text.replace('"time":5', '"time":5,"more":1'),
    text.replace('"time":5', '"time":-5'),
    text.replace('["c",7]', '["c",7],["a",1]'),
    text.replace('["c",7]', '["c",7],["c",7]'),
    text.replace('["c",7]', '["c"]'),
    text.replace(HASHES[0]!, HASHES[0]!.toUpperCase())
  ];
  for (const each of wrong) assert.equal(readManifest(each), null, each);
});

test('rows are packed into parts of a length, in their order, a long one alone', () => {
  const rows = ['ab', 'c', 'x'.repeat(20), 'd', 'e'];
  const chunks = chunksOf(rows, 6);
  assert.deepEqual(chunks, ['ab\nc\n', `${'x'.repeat(20)}\n`, 'd\ne\n']);
  assert.deepEqual(chunks.flatMap(rowsOf), rows);
  assert.deepEqual(chunksOf([]), []);
});

const SET = new Keys(4);
const CHECKPOINT = { kind: 'checkpoint', seq: 100, digest: 'd', state: hashOf(offerAt(100).text) } as const;
const stableBy = (senders: string): Stable => ({
  seq: 100,
  digest: 'd',
  state: CHECKPOINT.state,
  votes: [...senders].map((sender) => SET.sign(sender, CHECKPOINT))
});

/** A hub at a place of the log that is offered a state. @returns what it did */
async function offered(seq: number, stable: Stable, text = offerAt(100).text, isApplying = false) {
  const done: string[] = [];
  let written = Promise.resolve();
  const applied = { seq: 100, digest: 'd', time: 5, next: new Map() };
  const fetching = new StateFetch({
    journal: {
      missingChunks: async () => [],
      keepChunk: async () => undefined,
      replaceState: async () => applied
    },
    rules: SET.rulesOf('a'),
    ask: (to, hash) => done.push(`ask ${to} ${hash}`),
    onFalse: (from) => done.push(`false ${from}`),
    write: (work) => {
      written = written.then(work);
    },
    position: () => ({ seq, isApplying }),
    now: () => 0,
    onReplaced: async (taken) => void done.push(`replaced ${taken.seq}`)
  });
  fetching.offer('b', stable, text);
  for (let turn = 0; turn < 3; turn++) await written;
  return done;
}

test('a state is taken that a quorum signed and that is further than this hub, while it applies nothing', async () => {
  assert.deepEqual(await offered(0, stableBy('bcd')), ['replaced 100']);
  assert.deepEqual(await offered(99, stableBy('bcd')), ['replaced 100']);
  const text = manifestText({ ...offerAt(100).manifest, time: 6 });
  for (const [what, refused] of Object.entries({
    'signed by two': offered(0, stableBy('bc')),
    'signed by strangers': offered(0, stableBy('xyz')),
    'not what was signed': offered(0, stableBy('bcd'), text),
    'no manifest': offered(0, { ...stableBy('bcd'), state: hashOf('') }, '')
  }))
    assert.deepEqual(await refused, ['false b'], what);
  for (const [what, refused] of Object.entries({
    'not further': offered(100, stableBy('bcd')),
    'applies a batch': offered(0, stableBy('bcd'), offerAt(100).text, true)
  }))
    assert.deepEqual(await refused, [], what);
});

test('a part that comes soon is not slow, though the clock was looked at long before it was asked for, and meanwhile', async () => {
  const asked: string[] = [];
  let [written, now] = [Promise.resolve(), 10_000];
  const fetching = new StateFetch({
    journal: {
      missingChunks: async () => HASHES,
      keepChunk: async () => undefined,
      replaceState: async () => assert.fail('it lacks parts')
    },
    rules: SET.rulesOf('a'),
    ask: (to, hash) => asked.push(`${to} ${HASHES.indexOf(hash)}`),
    onFalse: () => assert.fail('no hub lies'),
    write: (work) => {
      written = written.then(work);
    },
    position: () => ({ seq: 0, isApplying: false }),
    now: () => now,
    onReplaced: async () => undefined
  });
  const look = () => fetching.take({ type: 'clock.ticked', now, applied: 0, peers: ['b', 'c'] });
  look();
  now += 990;
  assert.deepEqual([fetching.isFetching, fetching.parts], [false, []]);
  fetching.offer('b', stableBy('bcd'), offerAt(100).text);
  for (let turn = 0; turn < 3; turn++) await written;
  assert.deepEqual([asked, fetching.isFetching], [['b 0'], true]);
  assert.deepEqual(fetching.parts, HASHES, 'a checkpoint of its own leaves them');
  now += 10;
  look();
  now += 10;
  fetching.take({ type: 'chunk.received', from: 'b', hash: HASHES[0]!, text: PARTS[0]! });
  assert.deepEqual(asked, ['b 0', 'b 1'], 'it is asked for the next one at once');
});
