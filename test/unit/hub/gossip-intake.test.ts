import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { type Envelope, signEnvelope } from '../../../src/hub/federation/gossip/envelope.ts';
import { GOSSIP_LIMITS, GossipIntake, type Link } from '../../../src/hub/federation/gossip/intake.ts';
import { SENT_AT_ONCE, SENT_PER_SECOND } from '../../../src/hub/federation/node/paced-gossip.ts';

const OWN = signingKey('01'.repeat(32));
const ALICE = signingKey('02'.repeat(32));
const BOB = signingKey('03'.repeat(32));
const STRANGER = signingKey('04'.repeat(32));
const NOW = 1_700_000_000_000;
const MEMBERS = new Set([OWN, ALICE, BOB].map(({ pubkey }) => pubkey));

function messageOf(key = ALICE, id = 'a', timestamp = NOW, data: Envelope['data'] = {}): Envelope {
  return signEnvelope({ type: 'HEARTBEAT', id, timestamp, data }, key);
}

function intake(limits: Partial<typeof GOSSIP_LIMITS> = {}): GossipIntake {
  return new GossipIntake(OWN.pubkey, () => MEMBERS, { ...GOSSIP_LIMITS, ...limits });
}

/** Sends a message through both halves. @returns why it goes no further; null: it does */
function pass(into: GossipIntake, message: Envelope, link: Link, now = NOW, isGenuine = true) {
  const admitted = into.admit(JSON.stringify(message), link, now);
  return typeof admitted === 'string' ? admitted : into.judge(admitted, link, isGenuine, now);
}

test('a genuine message of a member is handed on once, over whichever connection', () => {
  const into = intake();
  assert.equal(pass(into, messageOf(), { peer: BOB.pubkey }), null);
  assert.equal(pass(into, messageOf(), { peer: ALICE.pubkey }), 'seen before');
  assert.equal(pass(into, messageOf(ALICE, 'b'), { peer: BOB.pubkey }), null);
});

test('refused by name: another time, an own message, a wrong signature, no member', () => {
  const into = intake();
  const link = { peer: BOB.pubkey };
  assert.equal(pass(into, messageOf(ALICE, 'a', NOW - 30_001), link), 'another time');
  assert.equal(pass(into, messageOf(ALICE, 'a', NOW + 30_001), link), 'another time');
  assert.equal(pass(into, messageOf(OWN), link), 'own message');
  assert.equal(pass(into, messageOf(), link, NOW, false), 'wrong signature');
  assert.equal(pass(into, messageOf(STRANGER), link), 'no member');
});

test('a forged message with the id of a genuine one does not take its place', () => {
  const into = intake();
  const genuine = messageOf();
  const forged = { ...genuine, sig: '0'.repeat(128) };
  assert.equal(pass(into, forged, { peer: null }, NOW, false), 'wrong signature');
  assert.equal(pass(into, genuine, { peer: ALICE.pubkey }), null);
});

test('a stranger has a hundred messages a minute for each connection, and spends nothing of a member', () => {
  const into = intake();
  const stranger = { peer: null };
  const sent = Array.from({ length: 150 }, (_, number) => {
    const forged = { ...messageOf(ALICE, String(number)), sig: '0'.repeat(128) };
    return pass(into, forged, stranger, NOW, false);
  });
  assert.deepEqual([sent.filter((fault) => fault === 'wrong signature').length, sent.at(-1)], [100, 'too many']);
  assert.equal(pass(into, messageOf(), { peer: ALICE.pubkey }), null);
  assert.equal(pass(into, messageOf(ALICE, 'later', NOW + 60_000), stranger, NOW + 60_000), null);
});

test('a connection brings so much a minute, in few messages or many', () => {
  const into = intake({ perLink: 1_000 });
  const link = { peer: BOB.pubkey };
  const faults = ['a', 'b', 'c', 'd'].map((id) => pass(into, messageOf(ALICE, id), link));
  assert.deepEqual([faults[0], faults.at(-1)], [null, 'too many']);
  assert.equal(pass(into, messageOf(ALICE, 'd'), { peer: ALICE.pubkey }), null);
});

test('a member that hands on what another one floods it with is heard itself', () => {
  const into = intake({ perLink: 1_000 });
  const link = { peer: BOB.pubkey };
  const faults = ['a', 'b', 'c', 'd'].map((id) => pass(into, messageOf(ALICE, id), link));
  assert.equal(faults.at(-1), 'too many');
  assert.equal(pass(into, messageOf(BOB, 'e'), link), null);
  const own = ['f', 'g', 'h'].map((id) => pass(into, messageOf(BOB, id), link));
  assert.equal(own.at(-1), 'too many', 'it has no more for itself than before');
  const old = messageOf(OWN, 'i', NOW - 60_000);
  assert.equal(pass(into, old, link), 'too many', 'nor by the names of others, unless these have signed it');
});

test('a member that signs too much is bounded, whoever brings its messages', () => {
  const into = intake({ perMember: 3 });
  const faults = ['a', 'b', 'c', 'd'].map((id, place) =>
    pass(into, messageOf(ALICE, id), { peer: [ALICE, BOB][place % 2]!.pubkey })
  );
  assert.deepEqual(faults, [null, null, null, 'too many']);
  assert.equal(pass(into, messageOf(BOB, 'e'), { peer: BOB.pubkey }), null);
});

test('answers that a member sends over this hub spend nothing of what it says to all', () => {
  const into = intake({ perMember: 3, perLink: 2_000 });
  const link = { peer: ALICE.pubkey };
  const answer = (id: string) => pass(into, messageOf(ALICE, id, NOW, { to: BOB.pubkey }), link);
  const faults = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(answer);
  assert.deepEqual([faults[0], faults[3], faults.at(-1)], [null, 'too many', 'too many'], 'they have a bound');
  for (const id of ['vote', 'second', 'third']) assert.equal(pass(into, messageOf(ALICE, id), link), null);
  assert.equal(pass(into, messageOf(ALICE, 'tooMany'), link), 'too many');
});

test('a hub that has the log from another one hears the votes of that', () => {
  const into = intake({ perMember: 3, perLink: 2_000 });
  const link = { peer: ALICE.pubkey };
  const answer = (id: string) => pass(into, messageOf(ALICE, id, NOW, { to: OWN.pubkey }), link);
  const faults = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(answer);
  assert.deepEqual([faults[0], faults[3], faults.at(-1)], [null, 'too many', 'too many'], 'they have a bound');
  for (const id of ['vote', 'second', 'third']) assert.equal(pass(into, messageOf(ALICE, id), link), null);
});

test('a member that dials again has no more than by one connection', () => {
  const into = intake({ perLink: 1_000 });
  const faults = ['a', 'b', 'c', 'd'].map((id) => pass(into, messageOf(ALICE, id), { peer: ALICE.pubkey }));
  assert.deepEqual([faults[0], faults.at(-1)], [null, 'too many']);
});

test('the leader hands on what all members submit, and spends nothing of its own by that', () => {
  let leader = ALICE;
  const into = new GossipIntake(
    OWN.pubkey,
    () => MEMBERS,
    { ...GOSSIP_LIMITS, perLink: 30_000 },
    () => leader.pubkey
  );
  const link = { peer: ALICE.pubkey };
  const say = (type: string, id: string, key = ALICE, data: Envelope['data'] = {}) =>
    pass(into, signEnvelope({ type, id, timestamp: NOW, data }, key), link);
  const [digest, sig] = ['ab'.repeat(32), 'ab'.repeat(64)];
  const operations = [{ submitter: BOB.pubkey, number: 0, body: 'x'.repeat(9_000), sig }];
  const batch = { seq: 1, time: 1, previous: '', operations };
  const message = { kind: 'prePrepare', view: 0, seq: 1, digest, batch };
  const propose = (id: string, key = ALICE) =>
    say('CONSENSUS_MESSAGES', id, key, { messages: [{ sender: key.pubkey, message, sig }] });
  const proposals = Array.from({ length: 12 }, (_, at) => propose(`p${at}`));
  assert.deepEqual([proposals[9], proposals.at(-1)], [null, 'too many'], 'three times as much as a member');
  assert.equal(say('HEARTBEAT', 'h'), null);
  const others = Array.from({ length: 4 }, (_, at) => propose(`o${at}`, BOB));
  assert.equal(others.at(-1), 'too many', 'who does not lead has no more than before');
  leader = BOB;
  assert.equal(propose('v'), null, 'who led is heard as a member');
});

test('a leader has no more of anything else than another member, since signatures are checked for that', () => {
  const into = new GossipIntake(
    OWN.pubkey,
    () => MEMBERS,
    { ...GOSSIP_LIMITS, perLink: 50_000 },
    () => ALICE.pubkey
  );
  const link = { peer: ALICE.pubkey };
  const data = { messages: [{ sender: ALICE.pubkey, message: { kind: 'newView', changes: 'x'.repeat(9_000) } }] };
  const say = (at: number) =>
    pass(into, signEnvelope({ type: 'CONSENSUS_MESSAGES', id: `v${at}`, timestamp: NOW, data }, ALICE), link);
  const faults = Array.from({ length: 8 }, (_, at) => say(at));
  assert.deepEqual([faults[3], faults.at(-1)], [null, 'too many']);
});

test('a connection that brings more than all members may say is not read, whatever it brings', () => {
  const message = messageOf();
  const { length } = JSON.stringify(message);
  for (const more of [0, 13]) {
    const members = new Set([...MEMBERS, ...Array.from({ length: more }, (_, at) => `${at}`)]);
    const into = new GossipIntake(OWN.pubkey, () => members, { ...GOSSIP_LIMITS, perLink: length });
    const link = { peer: ALICE.pubkey };
    assert.equal(pass(into, message, link), null);
    const faults = Array.from({ length: 4 * members.size }, () => pass(into, message, link));
    assert.deepEqual([faults.at(-2), faults.at(-1)], ['seen before', 'too many']);
    assert.equal(pass(into, messageOf(BOB, 'b'), { peer: BOB.pubkey }), null);
    assert.equal(pass(into, messageOf(ALICE, 'c', NOW + 60_000), link, NOW + 60_000), null);
  }
});

test('all that an honest hub says to all is taken, also where a connection stood still for half a minute', () => {
  const seconds = (60_000 + GOSSIP_LIMITS.skewMs) / 1_000;
  assert.ok(GOSSIP_LIMITS.perMember >= SENT_AT_ONCE + seconds * SENT_PER_SECOND);
  assert.ok(GOSSIP_LIMITS.mostRemembered >= 16 * GOSSIP_LIMITS.perMember, 'of a set of sixteen');
});

test('a member that signs too much is refused before its signatures are checked', () => {
  const into = intake({ perMember: 3 });
  const link = { peer: ALICE.pubkey };
  const admitted = ['a', 'b', 'c', 'd'].map((id) => into.admit(JSON.stringify(messageOf(ALICE, id)), link, NOW));
  assert.deepEqual([typeof admitted[2], admitted[3]], ['object', 'too many']);
  assert.equal(pass(into, messageOf(BOB, 'e'), link), null);
});

test('a member whose connection brings wrong signatures is denied for ten minutes', () => {
  const into = intake({ mostForged: 3 });
  const link = { peer: BOB.pubkey };
  for (const id of ['a', 'b', 'c']) assert.equal(pass(into, messageOf(ALICE, id), link, NOW, false), 'wrong signature');
  assert.equal(pass(into, messageOf(ALICE, 'd'), link), 'denied');
  assert.equal(pass(into, messageOf(ALICE, 'd'), { peer: ALICE.pubkey }), null);
  const later = NOW + GOSSIP_LIMITS.denyMs;
  assert.equal(pass(into, messageOf(ALICE, 'e', later), link, later), null);
});

test('no more is remembered than the bound, and for no longer than a minute', () => {
  const into = intake({ mostRemembered: 2 });
  const link = { peer: ALICE.pubkey };
  for (const id of ['a', 'b', 'c']) assert.equal(pass(into, messageOf(ALICE, id), link), null);
  assert.equal(into.forgotten, 1);
  assert.equal(pass(into, messageOf(ALICE, 'c'), link), 'seen before');
  const later = NOW + 29_000;
  assert.equal(pass(into, messageOf(ALICE, 'c'), link, later), 'seen before');
});
