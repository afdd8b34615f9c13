import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import type { Batch, PrePrepare, ViewChange, Vote } from '../../../src/hub/federation/consensus/messages.ts';
import { EMPTY_LOG } from '../../../src/hub/federation/consensus/messages.ts';
import { isCommittedBatch, isOperation, isSignedMessage } from '../../../src/hub/federation/consensus/reading.ts';
import {
  digestOf,
  rulesOf,
  setIdOf,
  signMessage,
  signOperation
} from '../../../src/hub/federation/gossip/signatures.ts';

const KEYS = ['01', '02', '03', '04', '05'].map((byte) => signingKey(byte.repeat(32)));
const SET = { keys: KEYS.slice(0, 4).map(({ pubkey }) => pubkey), quorum: 'byzantine' } as const;
const ID = setIdOf(SET);
const RULES = rulesOf(SET, KEYS[0]!.pubkey, (body) => body !== '');
const OTHER_SET = setIdOf({ ...SET, quorum: 'specified' });

const OPERATION = signOperation(ID, 3, '{"config":1}', KEYS[1]!);
const BATCH: Batch = { seq: 1, time: 5, previous: '', operations: [OPERATION] };
const VOTE: Vote = { kind: 'commit', view: 0, seq: 1, digest: digestOf(BATCH) };
const SIGNED = signMessage(ID, VOTE, KEYS[1]!);

test('a set has another id with another key, quorum or number of its log, and the same one in another order', () => {
  const reordered = setIdOf({ ...SET, keys: SET.keys.toReversed() });
  const more = setIdOf({ ...SET, keys: KEYS.map(({ pubkey }) => pubkey) });
  assert.equal(reordered, ID);
  assert.equal(new Set([ID, OTHER_SET, more, setIdOf({ ...SET, log: 2 })]).size, 4);
});

test('a message counts in the set that it was signed for, from its sender, unchanged', () => {
  assert.equal(RULES.isSigned(SIGNED), true);
  assert.equal(RULES.isSigned(signMessage(OTHER_SET, VOTE, KEYS[1]!)), false, 'replayed from another set');
  assert.equal(RULES.isSigned({ ...SIGNED, sender: KEYS[2]!.pubkey }), false);
  for (const changed of [{ kind: 'prepare' }, { view: 1 }, { seq: 2 }, { digest: '' }] as const)
    assert.equal(RULES.isSigned({ ...SIGNED, message: { ...VOTE, ...changed } }), false, JSON.stringify(changed));
});

test('an operation counts in the set that it was signed for, from its submitter, unchanged', () => {
  assert.equal(RULES.isSubmitted(OPERATION), true);
  assert.equal(RULES.isSubmitted(signOperation(OTHER_SET, 3, '{"config":1}', KEYS[1]!)), false);
  assert.equal(RULES.isSubmitted(signOperation(ID, 3, '', KEYS[1]!)), false, 'of no form');
  for (const changed of [{ number: 4 }, { body: '{}' }, { submitter: KEYS[2]!.pubkey }])
    assert.equal(RULES.isSubmitted({ ...OPERATION, ...changed }), false, JSON.stringify(changed));
});

test('a quorum is that of the set: three of four, and of five three or four', () => {
  const of = (count: number, quorum: 'specified' | 'byzantine') =>
    rulesOf({ keys: KEYS.slice(0, count).map(({ pubkey }) => pubkey), quorum }, '', () => true).quorum;
  assert.deepEqual([of(4, 'specified'), of(4, 'byzantine'), of(5, 'specified'), of(5, 'byzantine')], [3, 3, 3, 4]);
});

const PROPOSAL: PrePrepare = { kind: 'prePrepare', view: 0, seq: 1, digest: digestOf(BATCH), batch: BATCH };
const WISH: ViewChange = {
  kind: 'viewChange',
  view: 1,
  stable: EMPTY_LOG,
  last: { batch: BATCH, votes: [SIGNED] },
  places: [{ proposal: signMessage(ID, PROPOSAL, KEYS[0]!), votes: [SIGNED] }]
};

test('each kind of message is read after its way as JSON, with its digest and signature', () => {
  const messages = [
    VOTE,
    PROPOSAL,
    { kind: 'checkpoint', seq: 100, digest: digestOf(BATCH), state: digestOf(BATCH) } as const,
    WISH,
    { ...WISH, last: null },
    { kind: 'newView', view: 1, changes: [signMessage(ID, WISH, KEYS[2]!)] } as const
  ];
  for (const message of messages) {
    const read: unknown = JSON.parse(JSON.stringify(signMessage(ID, message, KEYS[1]!)));
    assert.ok(isSignedMessage(read) && RULES.isSigned(read), message.kind);
  }
  const read: unknown = JSON.parse(JSON.stringify({ batch: BATCH, votes: [SIGNED] }));
  assert.ok(isCommittedBatch(read) && RULES.digestOf(read.batch) === digestOf(BATCH));
});

test('no message is read that has another shape', () => {
  const wrong: Record<string, unknown> = {
    nothing: null,
    'a list': [SIGNED],
    'a field more': { ...SIGNED, extra: 1 },
    'a field more inside': { ...SIGNED, message: { ...VOTE, extra: 1 } },
    'no signature': { ...SIGNED, sig: undefined },
    'a key in capital letters': { ...SIGNED, sender: SIGNED.sender.toUpperCase() },
    'a negative view': { ...SIGNED, message: { ...VOTE, view: -1 } },
    'half a place': { ...SIGNED, message: { ...VOTE, seq: 1.5 } },
    'a place as a text': { ...SIGNED, message: { ...VOTE, seq: '1' } },
    'a huge place': { ...SIGNED, message: { ...VOTE, seq: 2 ** 53 } },
    'another kind': { ...SIGNED, message: { ...VOTE, kind: 'pray' } },
    'a short digest': { ...SIGNED, message: { ...VOTE, digest: 'ab' } },
    'a kind of the prototype': { ...SIGNED, message: { ...VOTE, kind: 'constructor' } },
    'operations that are none': { ...SIGNED, message: { ...PROPOSAL, batch: { ...BATCH, operations: [{}] } } },
    'too many operations': {
      ...SIGNED,
      message: { ...PROPOSAL, batch: { ...BATCH, operations: Array(1_001).fill(OPERATION) } }
    },
    'a last place that is none': { ...SIGNED, message: { ...WISH, last: {} } },
    'too many places': { ...SIGNED, message: { ...WISH, places: Array(17).fill(WISH.places[0]) } }
  };
  for (const [what, value] of Object.entries(wrong)) assert.equal(isSignedMessage(value), false, what);
  assert.equal(isOperation({ ...OPERATION, body: '\ud800' }), false);
});
