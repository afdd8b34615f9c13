import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConditionInput, conditionOf, waitOf } from '../../../src/wire/state/condition.ts';
import { arrowOf, boxOf, PIPELINE_STATES } from '../../../src/wire/state/pipeline.ts';
import fc from '../../support/fast-check.ts';

const report = (phase: string, changes: Partial<NonNullable<ConditionInput['report']>> = {}) => ({
  state: 'running',
  reason: null,
  waiting: null,
  report: { phase, lagBlocks: 0, lastError: null, ...changes }
});

test('an actor is well at the tip, works towards it, waits for what mends, and fails until someone acts', () => {
  const found = [
    report('live'),
    report('polling.behind', { lagBlocks: 1 }),
    report('live', { lagBlocks: 40 }),
    report('bootstrapping.loading', { lagBlocks: null }),
    report('reconnecting'),
    report('live', { circuit: 'open' }),
    report('halted'),
    { ...report('live'), state: 'backoff' },
    { ...report('live'), state: 'parked' },
    { ...report('live'), report: null }
  ].map(conditionOf);
  assert.deepEqual(
    found.map(({ state, doing }) => `${state}: ${doing}`),
    [
      'well: live',
      'well: behind',
      'working: live',
      'working: bootstrapping: loading',
      'waiting: reconnecting',
      'waiting: live',
      'failed: halted',
      'waiting: died, is restarted soon',
      'failed: parked',
      'unknown: starting'
    ]
  );
});

test('a halt is told with its remedy; what is waited for only while that holds the actor up', () => {
  const halt = { block_index: 7, reason: 'hash-mismatch', mismatches: null, sources: null, detected_at: '' };
  assert.match(conditionOf(report('live', { replica: { halt } })).reason!, /^hash-mismatch; find out which sources/);
  const waiting = { on: 'the source' };
  assert.equal(conditionOf({ ...report('reconnecting'), waiting }).reason, 'waits for the source');
  assert.equal(conditionOf({ ...report('live'), waiting }).reason, null);
});

test('an actor that stays down is told with what to do', () => {
  const parked = { ...report('live'), state: 'parked', reason: { message: 'the account is refused' } };
  assert.equal(conditionOf(parked).reason, 'the account is refused; mend the cause, then press Resume on its page');
});

test('a wait is the error that an actor is down with, else what it names', () => {
  const [reason, waiting] = [{ message: 'the account is refused' }, { on: 'the circuit breaker' }];
  const found = [
    { state: 'running', reason: null, waiting },
    { state: 'running', reason: null, waiting: null },
    { state: 'parked', reason, waiting },
    { state: 'starting', reason: null, waiting },
    { state: 'starting', reason: null, waiting: null },
    { state: 'paused', reason: null, waiting: null }
  ].map(waitOf);
  assert.deepEqual(found, [
    'the circuit breaker',
    null,
    'the account is refused',
    'the circuit breaker',
    null,
    'paused'
  ]);
});

test('an actor has a state and a bounded reason, whatever it reports', () => {
  const input = fc.record({
    state: fc.oneof(fc.constant('running'), fc.string()),
    reason: fc.option(fc.record({ message: fc.string({ size: 'large' }) }), { nil: null }),
    waiting: fc.option(fc.record({ on: fc.option(fc.string(), { nil: null }) }), { nil: null }),
    report: fc.option(
      fc.record({
        phase: fc.string(),
        lagBlocks: fc.option(fc.integer(), { nil: null }),
        lastError: fc.option(fc.string({ minLength: 250, maxLength: 400 }), { nil: null })
      }),
      { nil: null }
    )
  });
  fc.assert(
    fc.property(input, (actor) => {
      const { state, reason } = conditionOf(actor);
      assert.ok(PIPELINE_STATES.includes(state));
      assert.ok(reason === null || (reason.length > 0 && reason.length <= 300));
    })
  );
});

test('an arrow tells how far its end is behind its beginning, and never less than nothing', () => {
  const [from, to] = [{ ...boxOf('a', 'source', 's'), height: 10 }, boxOf('a', 'replica', 'r')];
  assert.equal(arrowOf(from, to, to, 7).lag, 3);
  assert.equal(arrowOf(from, to, to, 12).lag, 0);
  assert.equal(arrowOf(from, to, to, null).lag, null);
});
