import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message, Signed } from '../../../src/hub/federation/consensus/messages.ts';
import { Accused } from '../../../src/hub/federation/node/accused.ts';

function vote(sender: string, seq: number): Signed<Message> {
  return { sender, message: { kind: 'prepare', view: 0, seq, digest: '' }, sig: '' };
}

test('a hub is accused once for a place, and for a hundred places', () => {
  const accused = new Accused();
  let found = 0;
  for (let time = 0; time < 1_000; time++) if (accused.isNew(vote('a', 1))) found += 1;
  assert.equal(found, 1);
  for (let seq = 1; seq < 1_000; seq++) if (accused.isNew(vote('a', seq))) found += 1;
  assert.equal(found, 100);
  assert.ok(accused.isNew(vote('b', 1)), 'another one');
});
