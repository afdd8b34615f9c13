import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import {
  type Envelope,
  isGenuine,
  MOST_DEPTH,
  MOST_ENVELOPE_BYTES,
  readEnvelope,
  signEnvelope
} from '../../../src/hub/federation/gossip/envelope.ts';
import fc from '../../support/fast-check.ts';
import { secondForm } from '../../support/second-signature.ts';

const KEY = signingKey('07'.repeat(32));
const FIELDS = {
  type: 'HEARTBEAT',
  id: 'a1',
  timestamp: 1_700_000_000_000,
  data: { b: [1, 'é', null], a: { z: true } }
};
const SIGNED = signEnvelope(FIELDS, KEY);

function faultOf(changed: object): unknown {
  const read = readEnvelope(JSON.stringify({ ...SIGNED, ...changed }));
  return typeof read === 'string' ? read : 'none';
}

test('an envelope is read as it was signed, whatever the order of its fields and of those in its data', () => {
  const { sig, data, type, ...rest } = SIGNED;
  const text = JSON.stringify({ sig, ...rest, data: { a: data['a'], b: data['b'] }, type });
  const read = readEnvelope(text) as Envelope;
  assert.ok(isGenuine(read));
});

test('a change of any signed field is noticed, and of the form of the signature', () => {
  for (const changed of [
    { type: 'OTHER' },
    { id: 'a2' },
    { timestamp: 1 },
    { data: {} },
    { sender: signingKey('08'.repeat(32)).pubkey },
    { sig: secondForm(Buffer.from(SIGNED.sig, 'hex')).toString('hex') }
  ])
    assert.equal(isGenuine({ ...SIGNED, ...changed }), false, JSON.stringify(changed));
});

test('a text that is no envelope is refused by name: size, JSON, depth, shape', () => {
  assert.equal(readEnvelope('x'), 'no JSON');
  assert.equal(readEnvelope(`"${'x'.repeat(MOST_ENVELOPE_BYTES)}"`), 'too long');
  assert.equal(readEnvelope(`"${'é'.repeat(MOST_ENVELOPE_BYTES / 2)}"`), 'too long');
  assert.equal(readEnvelope('['.repeat(MOST_DEPTH + 1)), 'too deep');
  assert.equal(readEnvelope(`"${'['.repeat(MOST_DEPTH + 1)}"`), 'wrong shape');
  // Each value costs a hub as much as some hundred characters of a text.
  const many = (most: number) => faultOf({ data: { a: '', b: Array.from({ length: most }, () => 1) } });
  assert.deepEqual([many(900), many(1_100), many(400_000)], ['none', 'too many values', 'too many values']);
  assert.equal(faultOf({ data: { a: ','.repeat(400_000) } }), 'none');
  const wrong: Record<string, object> = {
    'a seventh field': { extra: 1 },
    'an upper-case key': { sender: SIGNED.sender.toUpperCase() },
    'a short signature': { sig: SIGNED.sig.slice(2) },
    'a type in small letters': { type: 'heartbeat' },
    'an id with a space': { id: 'a 1' },
    'a fraction of a millisecond': { timestamp: 1.5 },
    'a time as a text': { timestamp: '1' },
    'data that is a list': { data: [] },
    'half of a surrogate pair': { data: { a: '\ud800' } }
  };
  for (const [what, changed] of Object.entries(wrong)) assert.equal(faultOf(changed), 'wrong shape', what);
  assert.equal(readEnvelope(JSON.stringify(SIGNED).replace('"b":[1', '"b":[1e999')), 'wrong shape');
  const { sig: _, ...unsigned } = SIGNED;
  assert.equal(readEnvelope(JSON.stringify(unsigned)), 'wrong shape');
});

test('property: what is signed is genuine after its way as JSON', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (data) => {
      const signed = signEnvelope({ ...FIELDS, data: JSON.parse(JSON.stringify(data)) }, KEY);
      const read = readEnvelope(JSON.stringify(signed));
      return typeof read !== 'string' && isGenuine(read);
    })
  );
});
