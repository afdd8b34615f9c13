import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActorRecord } from '../../../../actors/runtime/supervision/actor-record.ts';

const LOCKED = 'another client writes to it';

function bornAgain(): ActorRecord {
  const record = new ActorRecord(8, 1, () => undefined);
  record.startGeneration();
  record.keepWaiting({ on: 'the source', since: 1 });
  record.died('REPLICA_LOCKED', LOCKED);
  record.keepTransition({ machine: 'restart', event: 'time', from: 'backoff', to: 'running', at: 2 });
  record.startGeneration();
  return record;
}

const waitOf = (record: ActorRecord) => record.view(0, 10).waiting?.on ?? null;

test('an actor waits for the cause of its death until its next thread gets further than its start', () => {
  const record = bornAgain();
  assert.equal(waitOf(record), LOCKED);
  record.keepTransition({ machine: 'replica', event: 'xstate.init', from: null, to: 'inspecting', at: 3 });
  assert.equal(waitOf(record), LOCKED);
  record.keepTransition({ machine: 'replica', event: 'done', from: 'inspecting', to: 'live', at: 4 });
  assert.equal(waitOf(record), null);
});

test("a new thread's own wait replaces a death, and stays through its transitions", () => {
  const record = bornAgain();
  record.keepWaiting({ on: 'the lock', since: 3 });
  record.keepTransition({ machine: 'replica', event: 'done', from: 'inspecting', to: 'live', at: 4 });
  assert.equal(waitOf(record), 'the lock');
  record.keepWaiting({ on: null, since: 5 });
  assert.equal(waitOf(record), null);
});
