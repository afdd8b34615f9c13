import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { MOST_NEW_VIEW_BYTES } from '../../../src/hub/federation/consensus/rules.ts';
import { type Envelope, MOST_ENVELOPE_BYTES, signEnvelope } from '../../../src/hub/federation/gossip/envelope.ts';
import { LongMessages, MOST_PARTS } from '../../../src/hub/federation/gossip/long-messages.ts';

const KEY = signingKey('01'.repeat(32));
const SET = 'ab'.repeat(32);

/** Returns the envelopes in which one hub sends a message. */
function sent(type: string, data: Record<string, unknown>): { envelopes: Envelope[]; tooLong: number[] } {
  const envelopes: Envelope[] = [];
  const tooLong: number[] = [];
  const publish = (of: string, some: Readonly<Record<string, unknown>>) => {
    envelopes.push(signEnvelope({ type: of, id: `${envelopes.length}`, timestamp: 0, data: some }, KEY));
  };
  const gossip = { peers: [], publish, sendTo: (_to: string, of: string, some: object) => publish(of, { ...some }) };
  new LongMessages(gossip, (_type, bytes) => tooLong.push(bytes)).publish(type, { set: SET, ...data });
  return { envelopes, tooLong };
}

/** Another hub. */
function receiver(): LongMessages {
  return new LongMessages({ peers: [], publish: assert.fail, sendTo: assert.fail }, assert.fail);
}

test('a message of a few bytes is one envelope, one of five megabytes is put together of several, in any order', () => {
  const short = sent('CONSENSUS_MESSAGES', { messages: ['é'] });
  assert.deepEqual(
    short.envelopes.map(({ type, data }) => [type, data]),
    [['CONSENSUS_MESSAGES', { set: SET, messages: ['é'] }]]
  );
  assert.equal(receiver().receive(short.envelopes[0]!), short.envelopes[0]);
  const messages = ['é"\n'.repeat(1_000_000)];
  const { envelopes } = sent('CONSENSUS_MESSAGES', { messages });
  assert.ok(envelopes.length > 5);
  for (const envelope of envelopes) assert.ok(JSON.stringify(envelope).length < MOST_ENVELOPE_BYTES);
  const hub = receiver();
  const [last, ...rest] = envelopes.toReversed();
  for (const envelope of [...rest, ...rest]) assert.equal(hub.receive(envelope), null);
  const { type, data, sender } = hub.receive(last!)!;
  assert.deepEqual([type, data, sender], ['CONSENSUS_MESSAGES', { set: SET, messages }, KEY.pubkey]);
  for (const envelope of envelopes) assert.equal(hub.receive(envelope), null, 'it is not put together again');
});

test('a message in parts is no deeper than one in an envelope, and has no text that nobody can sign', () => {
  const filler = 'a'.repeat(1_000_000);
  for (const odd of [JSON.parse('['.repeat(40) + ']'.repeat(40)), '\ud800', { '\udc00': 1 }]) {
    const hub = receiver();
    const { envelopes } = sent('CONSENSUS_MESSAGES', { messages: [filler, odd] });
    assert.ok(envelopes.length > 1);
    for (const envelope of envelopes) assert.equal(hub.receive(envelope), null, JSON.stringify(odd));
  }
});

test('parts that are none, are of another message or too many are no message, and a longer message is told', () => {
  const { envelopes } = sent('CONSENSUS_MESSAGES', { messages: ['a'.repeat(1_000_000)] });
  const [first, second] = envelopes as [Envelope, Envelope];
  const wrong: Record<string, Record<string, unknown>> = {
    'no hash': { hash: 1 },
    'no place': { at: -1 },
    'a place behind the last': { at: 2 },
    'half a place': { at: 0.5 },
    'too many': { of: MOST_PARTS + 1 },
    'no text': { text: null },
    'another text': { text: 'AAAA' }
  };
  for (const [what, changed] of Object.entries(wrong)) {
    const hub = receiver();
    hub.receive(first);
    assert.equal(hub.receive({ ...second, data: { ...second.data, ...changed } }), null, what);
  }
  const nested = sent('CONSENSUS_PART', { messages: ['a'.repeat(1_000_000)] });
  const hub = receiver();
  for (const envelope of nested.envelopes) assert.equal(hub.receive(envelope), null, 'a part of a part');
  assert.deepEqual(sent('CONSENSUS_MESSAGES', { messages: ['a'.repeat(26_000_000)] }).tooLong.length, 1);
  // The wishes that prove a view stand in one message, with a little around them.
  const proof = sent('CONSENSUS_MESSAGES', { messages: ['a'.repeat(MOST_NEW_VIEW_BYTES + 10_000)] });
  assert.deepEqual(proof.tooLong, []);
});
