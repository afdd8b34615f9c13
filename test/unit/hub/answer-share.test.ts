import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Checkpoint,
  EMPTY_LOG,
  type Message,
  type Signed
} from '../../../src/hub/federation/consensus/messages.ts';
import { AnswerShares } from '../../../src/hub/federation/node/answer-share.ts';
import { Answers } from '../../../src/hub/federation/node/answers.ts';

const MIB = 2 ** 20;

test('a hub is answered a whole state at once, and then two megabytes a second; each has its own share', () => {
  const shares = new AnswerShares();
  let [now, sent] = [0, 0];
  const answer = (hub: string) => {
    now += shares.waitMs(hub, now);
    shares.spend(hub, MIB, now);
    sent += 1;
  };
  while (sent < 32) answer('a');
  assert.deepEqual([now, shares.waitMs('a', now)], [0, 0]);
  answer('a');
  assert.equal(shares.waitMs('a', now), 500);
  assert.equal(shares.waitMs('b', now), 0);
  while (sent < 53) answer('a');
  assert.equal(now, 10_000, 'twenty more take ten seconds');
  now += 60_000;
  sent = 0;
  while (sent < 32) answer('a');
  assert.equal(now, 70_000, 'a minute later it has its whole share again, and no more');
  answer('a');
  assert.ok(shares.waitMs('a', now) > 0);
});

test('a hub that says all the time to be in an old view is sent the long beginning of the present one by its share', () => {
  const sent: string[] = [];
  const answers = new Answers({
    set: 'ab'.repeat(32),
    journal: null as never,
    gossip: { sendTo: (to) => sent.push(to) },
    seq: () => 0,
    stable: () => EMPTY_LOG,
    write: () => undefined
  });
  const wishes = { text: 'x'.repeat(4 * MIB) };
  const message = { kind: 'newView', view: 5, changes: [wishes] } as unknown as Message;
  const signed: Signed<Message> = { sender: 'b', message, sig: '' };
  for (let now = 1_000_000; now < 1_060_000; now += 50) answers.send('liar', signed, now);
  assert.ok(sent.length <= 10, `${sent.length} times four megabytes`);
  answers.send('honest', signed, 1_060_000);
  assert.equal(sent.at(-1), 'honest');
});

test('a hub that asks for the log gets the signatures of the newest checkpoint with it, where it asks from below that', async () => {
  const signed: Signed<Checkpoint> = {
    sender: 'b',
    message: { kind: 'checkpoint', seq: 100, digest: 'd', state: 's' },
    sig: ''
  };
  const typesFor = async (seq: number, first = 1) => {
    const sent: string[] = [];
    const answers = new Answers({
      set: 'ab'.repeat(32),
      journal: {
        firstKept: async () => first,
        stateFor: async () => ({ stable: EMPTY_LOG, text: '' }),
        entries: async () => [{ batch: { seq, time: 0, previous: '', operations: [] }, votes: [] }]
      } as never,
      gossip: { sendTo: (_, type) => sent.push(type) },
      seq: () => 150,
      stable: () => ({ seq: 100, digest: 'd', state: 's', votes: [signed] }),
      write: (work) => void work()
    });
    answers.sendLog('a', seq);
    await new Promise(setImmediate);
    return sent;
  };
  assert.deepEqual(await typesFor(100), ['STATE_LOG', 'CONSENSUS_MESSAGES']);
  assert.deepEqual(await typesFor(101), ['STATE_LOG']);
  assert.deepEqual(await typesFor(100, 101), ['STATE_MANIFEST', 'CONSENSUS_MESSAGES'], 'which has no log up to there');
});
