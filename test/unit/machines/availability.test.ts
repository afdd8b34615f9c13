import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createActor } from 'xstate';
import { availabilityMachine } from '../../../machines/explorer/availability.ts';

test('a network is stale from the fourth block on, and unavailable while its database does not answer', () => {
  const actor = createActor(availabilityMachine).start();
  const after = (event: Parameters<typeof actor.send>[0]) => {
    actor.send(event);
    return actor.getSnapshot().value;
  };
  assert.equal(actor.getSnapshot().value, 'unknown');
  assert.equal(after({ type: 'ledger.read', distanceBlocks: 3, isStopped: false }), 'available');
  assert.equal(after({ type: 'ledger.read', distanceBlocks: 4, isStopped: false }), 'stale');
  assert.equal(after({ type: 'ledger.failed' }), 'unavailable');
  assert.equal(after({ type: 'ledger.read', distanceBlocks: 0, isStopped: true }), 'stale');
  assert.equal(
    after({ type: 'ledger.read', distanceBlocks: null, isStopped: false }),
    'stale',
    'nobody knows how old it is'
  );
});
