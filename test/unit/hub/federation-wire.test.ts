import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { MOST_BATCH_LENGTH } from '../../../src/hub/federation/consensus/rules.ts';
import { type Envelope, MOST_ENVELOPE_BYTES } from '../../../src/hub/federation/gossip/envelope.ts';
import { signMessage, signOperation } from '../../../src/hub/federation/gossip/signatures.ts';
import { packed, readHeard } from '../../../src/hub/federation/node/wire.ts';

const KEY = signingKey('01'.repeat(32));
const SET = 'ab'.repeat(32);
const VOTE = signMessage(SET, { kind: 'prepare', view: 0, seq: 1, digest: 'cd'.repeat(32) }, KEY);
const HASH = 'ef'.repeat(32);
const OPERATION = signOperation(SET, 0, '{}', KEY);

function read(type: string, data: Record<string, unknown>, set = SET): unknown {
  const envelope: Envelope = { type, id: 'a', sender: KEY.pubkey, timestamp: 0, data: { set, ...data }, sig: '' };
  return readHeard(envelope, SET);
}

test('each kind of message about the log is read, and of no other set', () => {
  assert.deepEqual(read('CONSENSUS_MESSAGES', { messages: [VOTE] }), { kind: 'messages', messages: [VOTE] });
  assert.deepEqual(read('CONSENSUS_SUBMIT', { operations: [OPERATION] }), {
    kind: 'operations',
    operations: [OPERATION]
  });
  assert.deepEqual(read('CONSENSUS_STANDING', { view: 1, seq: 2 }), { kind: 'standing', view: 1, seq: 2 });
  assert.deepEqual(read('HEARTBEAT', { view: 1, seq: 2, addr: '' }), { kind: 'standing', view: 1, seq: 2 });
  assert.deepEqual(read('STATE_REQUEST', { seq: 2 }), { kind: 'ask', seq: 2 });
  assert.deepEqual(read('STATE_LOG', { entries: [] }), { kind: 'log', entries: [] });
  const stable = { seq: 100, digest: '', state: '', votes: [] };
  assert.deepEqual(read('STATE_MANIFEST', { stable, manifest: 'm' }), { kind: 'state', stable, manifest: 'm' });
  assert.deepEqual(read('STATE_CHUNK_REQUEST', { hash: HASH }), { kind: 'askChunk', hash: HASH });
  for (const text of ['t', null])
    assert.deepEqual(read('STATE_CHUNK', { hash: HASH, text }), { kind: 'chunk', hash: HASH, text });
  assert.equal(read('CONSENSUS_MESSAGES', { messages: [VOTE] }, 'cd'.repeat(32)), null);
});

test('nothing is read of a message with one wrong item, too many, or another type', () => {
  const operations = [OPERATION, signOperation(SET, 1, 'x'.repeat(MOST_BATCH_LENGTH - 1), KEY)];
  const batch = { seq: 1, time: 1, previous: '', operations };
  const longer = signMessage(SET, { kind: 'prePrepare', view: 0, seq: 1, digest: HASH, batch }, KEY);
  const wrong: [string, Record<string, unknown>][] = [
    ['CONSENSUS_MESSAGES', { messages: [VOTE, { ...VOTE, sig: 'x' }] }],
    ['CONSENSUS_MESSAGES', { messages: Array(1_001).fill(VOTE) }],
    ['CONSENSUS_MESSAGES', { messages: VOTE }],
    ['CONSENSUS_SUBMIT', { operations: [VOTE] }],
    ['CONSENSUS_STANDING', { view: -1, seq: 2 }],
    ['STATE_REQUEST', { seq: '2' }],
    ['STATE_LOG', { entries: [VOTE] }],
    ['STATE_MANIFEST', { stable: { seq: 100 }, manifest: 'm' }],
    ['STATE_CHUNK', { hash: HASH }],
    ['STATE_CHUNK', { hash: `${HASH}0`, text: 't' }],
    ['STATE_CHUNK_REQUEST', { hash: "'".repeat(1_000_000) }],
    ['CONSENSUS_MESSAGES', { messages: [longer] }],
    ['OTHER', { messages: [VOTE] }]
  ];
  for (const [type, data] of wrong) assert.equal(read(type, data), null, JSON.stringify(data).slice(0, 80));
});

test('items are packed in their order into lists that fit into envelopes', () => {
  const items = Array.from({ length: 3_000 }, (_, at) => ({ at, text: 'é'.repeat(at % 1_000) }));
  const lists = packed(items);
  assert.deepEqual(lists.flat(), items);
  assert.ok(
    lists.every((list) => list.length <= 1_000 && Buffer.byteLength(JSON.stringify(list)) < MOST_ENVELOPE_BYTES)
  );
  assert.deepEqual(packed([]), []);
});
