import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuditEvent, auditMachine, MAX_MISSES } from '../../../machines/sync/audit.ts';
import fc from '../../support/fast-check.ts';
import { everyState, onSimulatedClock, reachedStates } from './reach.ts';

const input = { epochSize: 100 };
const rested = (height: number): AuditEvent => ({ type: 'replica.rested', height });
const begun = (height: number): AuditEvent => ({ type: 'comparison.begun', height });
const concluded = (height: number): AuditEvent => ({ type: 'comparison.concluded', height, tookMs: 20 });
const missed = (height: number): AuditEvent => ({ type: 'comparison.missed', height, tookMs: 20 });
const interrupted = (height: number): AuditEvent => ({ type: 'comparison.interrupted', height, tookMs: 20 });
const renewed: AuditEvent = { type: 'source.renewed' };
const requested: AuditEvent = { type: 'audit.requested' };
const refused: AuditEvent = { type: 'digests.refused' };
const OUTCOMES = [concluded, missed, interrupted];

test('every state is reached', () => {
  const events = [begun(103), concluded(103), missed(103), rested(104), rested(110), renewed, refused];
  assert.deepEqual(reachedStates(auditMachine, input, events), everyState(auditMachine));
});

test('after a comparison the next one is due at the end of the epoch', () => {
  const { actor, state } = onSimulatedClock(auditMachine, input);
  assert.equal(state(), 'due');
  for (const event of [begun(103), concluded(103), rested(199)]) actor.send(event);
  assert.equal(state(), 'scheduled.resting');
  actor.send(rested(200));
  assert.equal(state(), 'due');
});

test('between two epochs a tenth block is compared, once comparisons have rested for fifty times what the last one took', () => {
  const { actor, clock, state } = onSimulatedClock(auditMachine, input);
  for (const event of [begun(110), concluded(110)]) actor.send(event);
  clock.increment(999);
  actor.send(rested(120));
  assert.equal(state(), 'scheduled.resting');
  clock.increment(1);
  for (const height of [110, 119]) actor.send(rested(height));
  assert.equal(state(), 'scheduled.rested', 'neither the block of the last comparison nor an odd one');
  actor.send(rested(120));
  assert.equal(state(), 'due');
  for (const event of [begun(120), interrupted(120)]) actor.send(event);
  assert.equal(actor.getSnapshot().context.dueHeight, 200, 'an early comparison that is interrupted changes nothing');
});

test('a miss is tried again after the next block, or after a pause that doubles, until the epoch ends', () => {
  const { actor, clock, state } = onSimulatedClock(auditMachine, input);
  actor.send(missed(5));
  clock.increment(999);
  actor.send(rested(5));
  assert.equal(state(), 'missed');
  actor.send(rested(6));
  assert.equal(state(), 'due');
  actor.send(missed(6));
  clock.increment(2_000);
  assert.equal(state(), 'due');
  for (let miss = 3; miss <= MAX_MISSES; miss++) actor.send(missed(6));
  assert.equal(state(), 'scheduled.resting');
  assert.equal(actor.getSnapshot().context.dueHeight, 100);
});

test('a source without digests is asked again only after a reconnect', () => {
  const { actor, state } = onSimulatedClock(auditMachine, input);
  for (const event of [begun(5), refused, requested, rested(100), begun(100)]) actor.send(event);
  assert.equal(state(), 'unavailable');
  actor.send(renewed);
  assert.equal(state(), 'due');
});

test('property: whatever was before, a request is due at once, and any outcome is due again by the end of the epoch', () => {
  const outcome = fc.constantFrom(...OUTCOMES);
  const steps = fc.array(fc.tuple(fc.constantFrom(begun, rested, ...OUTCOMES), fc.nat({ max: 500 })));
  fc.assert(
    fc.property(steps, outcome, fc.nat({ max: 500 }), (before, end, height) => {
      const { actor, state } = onSimulatedClock(auditMachine, input);
      for (const [event, at] of before) actor.send(event(at));
      actor.send(requested);
      assert.equal(state(), 'due');
      for (const event of [begun(height), end(height)]) actor.send(event);
      assert.notEqual(state(), 'due');
      actor.send(rested((Math.floor(height / 100) + 1) * 100));
      assert.equal(state(), 'due');
    })
  );
});
