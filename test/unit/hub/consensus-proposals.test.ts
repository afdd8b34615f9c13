import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Batch, EMPTY_LOG, type PrePrepare } from '../../../src/hub/federation/consensus/messages.ts';
import {
  MOST_BATCH_LENGTH,
  MOST_IN_FLIGHT,
  MOST_OF_ONE,
  MOST_OPERATIONS,
  MOST_SKEW_MS,
  WINDOW
} from '../../../src/hub/federation/consensus/rules.ts';
import { NOTHING_RESTORED, restore } from '../../../src/hub/federation/consensus/state.ts';
import { step } from '../../../src/hub/federation/consensus/step.ts';
import { OneHub } from '../../federation/one-hub.ts';

/** A follower that has decided the first batch, and that batch. */
function follower(): { hub: OneHub; first: Batch } {
  const hub = new OneHub('b');
  const first = hub.batch(1, null);
  hub.decide(first);
  hub.effects();
  return { hub, first };
}

function isPrepared(
  change: (hub: OneHub, first: Batch) => Partial<Batch>,
  alter: (p: PrePrepare) => PrePrepare = (p) => p,
  sender = 'a'
): boolean {
  const { hub, first } = follower();
  hub.receive(sender, alter(hub.proposal(0, hub.batch(2, first, change(hub, first)))));
  return hub.cast().length > 0;
}

test('a follower prepares a proposal that follows the log', () => {
  assert.ok(isPrepared(() => ({})));
  assert.ok(isPrepared((hub) => ({ time: hub.state.now + MOST_SKEW_MS })));
  assert.ok(
    isPrepared((hub) => ({ operations: [hub.operation('c', 1), hub.operation('c', 2), hub.operation('a', 0)] }))
  );
});

test('a follower prepares no batch that all could not agree on', () => {
  const wrong: Record<string, (hub: OneHub, first: Batch) => Partial<Batch>> = {
    'that follows another batch': () => ({ previous: 'another' }),
    'at the time of the one before': (_, { time }) => ({ time }),
    'of a time to come': (hub) => ({ time: hub.state.now + MOST_SKEW_MS + 1 }),
    'without operations': () => ({ operations: [] }),
    'with too many operations': (hub) => ({
      operations: Array.from({ length: MOST_OPERATIONS + 1 }, (_, number) => hub.operation('d', number))
    }),
    'with too many operations of one hub': (hub) => ({
      operations: Array.from({ length: MOST_OF_ONE + 1 }, (_, number) => hub.operation('d', number))
    }),
    'that is too long': (hub) => ({
      operations: [...'abd'].flatMap((submitter) =>
        Array.from({ length: MOST_OF_ONE }, (_, number) => hub.operation(submitter, number, 'x'.repeat(900)))
      )
    }),
    'with an operation that is applied': (hub) => ({ operations: [hub.operation('c', 0)] }),
    'with a gap of numbers': (hub) => ({ operations: [hub.operation('c', 2)] }),
    'with a number twice': (hub) => ({ operations: [hub.operation('c', 1), hub.operation('c', 1)] }),
    'with an operation of a stranger': (hub) => ({ operations: [hub.operation('z', 0)] }),
    'with an operation that nobody signed': () => ({ operations: [{ submitter: 'c', number: 1, body: 'x', sig: '' }] }),
    'with an operation of no form': (hub) => ({ operations: [hub.operation('c', 1, '')] })
  };
  for (const [what, change] of Object.entries(wrong)) assert.equal(isPrepared(change), false, `a batch ${what}`);
});

test('a follower prepares no batch of an old time when its own clock is far ahead', () => {
  const { hub, first } = follower();
  const batch = hub.batch(2, first);
  hub.take({ type: 'clock.ticked', now: batch.time + MOST_SKEW_MS + 1 });
  hub.effects();
  hub.receive('a', hub.proposal(0, batch));
  assert.ok(!hub.cast().includes('prepare 0/2'));
});

test('a set whose clocks were ahead by hours and were set right goes on: its log stands nearly still until they have come up', () => {
  const present = new OneHub('b');
  const time = present.state.now + 2 * 3_600_000;
  const first = present.batch(1, null, { time });
  const applied = { seq: 1, digest: present.keys.digestOf(first), time, next: new Map([['c', 1]]) };
  const restored = { applied, log: [{ batch: first, votes: [] }] };
  const isPreparedAt = (at: number) => {
    const hub = new OneHub('b', restored);
    hub.receive('a', hub.proposal(0, hub.batch(2, first, { time: at })));
    return hub.cast().length > 0;
  };
  assert.deepEqual([isPreparedAt(time + 1), isPreparedAt(time + 2)], [true, false]);
  const leader = new OneHub('a', restored);
  leader.take({ type: 'operation.submitted', operation: leader.operation('c', 1) });
  const [proposal] = leader.effects().flatMap((effect) => (effect.type === 'vote' ? [effect.message] : []));
  assert.ok(proposal?.kind === 'prePrepare' && proposal.batch.time === time + 1);
});

test('a leader holds the clock of the log back no further than clocks differ', () => {
  const { hub, first } = follower();
  hub.take({ type: 'clock.ticked', now: first.time + MOST_SKEW_MS + 2 });
  hub.effects();
  hub.receive('a', hub.proposal(0, hub.batch(2, first, { time: first.time + 1 })));
  assert.ok(!hub.cast().includes('prepare 0/2'));
});

test('a proposal counts from the leader of its view alone, for an open place, under its digest', () => {
  const same = () => ({});
  assert.equal(isPrepared(same, undefined, 'c'), false, 'of a follower');
  assert.equal(isPrepared(same, undefined, 'z'), false, 'of a stranger');
  assert.equal(
    isPrepared(same, (proposal) => ({ ...proposal, view: 4 })),
    false,
    'of a later view with the same leader'
  );
  assert.equal(
    isPrepared(same, (proposal) => ({ ...proposal, digest: 'another' })),
    false,
    'another digest'
  );
  assert.equal(
    isPrepared(same, (proposal) => ({ ...proposal, seq: 3 })),
    false,
    'another place'
  );
  const { hub } = follower();
  hub.receive('a', hub.proposal(0, hub.batch(WINDOW + 1, null)));
  assert.equal(hub.state.slots.has(WINDOW + 1), false, 'above the window');
});

test('the first of two proposals for one place is prepared, and both are evidence', () => {
  const { hub, first } = follower();
  const [one, other] = [hub.batch(2, first), hub.batch(2, first, { time: hub.state.now + 9 })];
  hub.receive('a', hub.proposal(0, one));
  assert.deepEqual(hub.cast(), ['prepare 0/2']);
  hub.receive('a', hub.proposal(0, other));
  assert.deepEqual(
    hub.effects().map(({ type }) => type),
    ['evidence']
  );
  hub.receive('a', hub.proposal(0, one));
  assert.deepEqual(hub.effects(), []);
});

test('a proposal that came before the one it follows is prepared after it', () => {
  const { hub, first } = follower();
  const second = hub.batch(2, first);
  hub.receive('a', hub.proposal(0, hub.batch(3, second)));
  assert.deepEqual(hub.cast(), []);
  hub.receive('a', hub.proposal(0, second));
  assert.deepEqual(hub.cast(), ['prepare 0/2', 'prepare 0/3']);
});

test('a leader proposes what waits, each operation once, no more than eight batches ahead', () => {
  const hub = new OneHub('a');
  for (let number = 0; number < 12; number++)
    hub.take({ type: 'operation.submitted', operation: hub.operation('c', number) });
  assert.deepEqual(
    hub.cast(),
    Array.from({ length: 8 }, (_, at) => `prePrepare 0/${at + 1}`)
  );
});

test('a leader has a bounded number of operations of one hub on their way, and takes the others along', () => {
  const hub = new OneHub('a');
  const proposed = () =>
    hub.effects().flatMap((effect) => {
      const message = effect.type === 'vote' ? effect.message : null;
      return message?.kind === 'prePrepare' ? [message.batch] : [];
    });
  for (let number = MOST_OF_ONE + 49; number >= 0; number--)
    hub.take({ type: 'operation.submitted', operation: hub.operation('c', number) });
  const [first] = proposed();
  assert.equal(first?.operations.length, MOST_OF_ONE);
  hub.take({ type: 'operation.submitted', operation: hub.operation('d', 0) });
  assert.deepEqual(
    proposed().map(({ operations }) => operations.length),
    [1]
  );
  hub.decide(first!);
  assert.deepEqual(
    proposed().map(({ operations }) => operations.length),
    [50]
  );
});

test('an operation waits at a hub only when its submitter signed it, near the numbers that are applied', () => {
  const hub = new OneHub('b');
  const forged = { submitter: 'c', number: 0, body: 'x', sig: '' };
  for (const operation of [forged, hub.operation('c', 1_000), hub.operation('z', 0)])
    hub.take({ type: 'operation.submitted', operation });
  assert.equal(hub.state.pending.size, 0);
  hub.take({ type: 'operation.submitted', operation: hub.operation('c', 999) });
  assert.equal(hub.state.pending.size, 1);
});

test('a follower prepares no batch that would make a wish for another view longer than all hubs take', () => {
  const hub = new OneHub('b');
  const [most, body] = [Math.floor(MOST_BATCH_LENGTH / 3_600), 'x'.repeat(900)];
  const half = (seq: number, previous: Batch | null) => {
    const numbers = Array.from({ length: most }, (_, at) => (seq - 1) * most + at);
    const operations = [...'cd'].flatMap((submitter) => numbers.map((at) => hub.operation(submitter, at, body)));
    return hub.batch(seq, previous, { operations });
  };
  const first = half(1, null);
  const second = half(2, first);
  const third = half(3, second);
  for (const batch of [first, second, third]) hub.receive('a', hub.proposal(0, batch));
  assert.deepEqual(hub.cast(), ['prepare 0/1', 'prepare 0/2']);
  hub.receiveAll('cd', hub.vote('prepare', 0, first));
  hub.receiveAll('acd', hub.vote('commit', 0, first));
  assert.deepEqual(hub.cast(), ['commit 0/1'], 'a restart would leave it in its wish');
  hub.write();
  assert.deepEqual(hub.cast(), ['prepare 0/3'], 'what is in the database stands in no wish');
});

test('a hub keeps a bounded length of what waits behind a number that a submitter leaves out', () => {
  const rules = { ...new OneHub('b').keys.rulesOf('b'), isSubmitted: () => true };
  let state = new OneHub('b').state;
  const submit = (submitter: string, number: number) => {
    const operation = { submitter, number, body: 'x'.repeat(MOST_BATCH_LENGTH), sig: '' };
    state = step(state, { type: 'operation.submitted', operation }, rules).state;
  };
  for (let number = 1; number < 100; number++) submit('c', number);
  submit('d', 0);
  assert.equal(state.pending.size, 65);
  submit('c', 0);
  assert.ok(state.pending.has('c/0'), 'the next one is always kept');
});

test('a wish for another view is as short where a leader had many operations of few characters prepared', () => {
  const hub = new OneHub('b');
  const batches: Batch[] = [];
  for (let seq = 1; seq <= MOST_IN_FLIGHT; seq++) {
    const numbers = Array.from({ length: MOST_OF_ONE }, (_, at) => (seq - 1) * MOST_OF_ONE + at);
    const operations = [...'abcd'].flatMap((submitter) =>
      numbers.map((at) => hub.operation(submitter, at, '中'.repeat(30)))
    );
    batches.push(hub.batch(seq, batches.at(-1) ?? null, { operations }));
  }
  for (const batch of batches) {
    hub.receive('a', hub.proposal(0, batch));
    hub.receiveAll('cd', hub.vote('prepare', 0, batch));
  }
  hub.effects();
  hub.receiveAll('cd', { kind: 'viewChange', view: 1, stable: EMPTY_LOG, last: null, places: [] });
  const [wish] = hub.effects().flatMap((effect) => (effect.type === 'vote' ? [effect.message] : []));
  assert.ok(wish?.kind === 'viewChange' && wish.places.length > 0);
  // Each of them has some 250 characters beside its body.
  const count = wish.places.reduce((sum, { proposal }) => sum + proposal.message.batch.operations.length, 0);
  assert.ok(250 * count < 2 * MOST_BATCH_LENGTH, `${count} operations`);
});

test('a leader that proposes the longest batches for all places has a bounded number of them kept', () => {
  const { hub, first } = follower();
  const body = 'x'.repeat(MOST_BATCH_LENGTH);
  for (let seq = 3; seq <= WINDOW; seq++)
    hub.receive('a', hub.proposal(0, hub.batch(seq, first, { operations: [hub.operation('c', seq, body)] })));
  const kept = [...hub.state.slots.values()].filter(({ proposal, committed }) => proposal && !committed);
  assert.ok(kept.length >= 2 * MOST_IN_FLIGHT && kept.length < 40, `${kept.length} are kept`);
  // Once the log has decided them there is room again.
  const { hub: other, first: one } = follower();
  for (let [seq, before] = [2, one]; seq <= WINDOW; seq++) {
    const batch = other.batch(seq, before, { operations: [other.operation('c', seq - 1, body)] });
    other.decide(batch);
    before = batch;
  }
  assert.equal(other.state.applied.seq, WINDOW);
});

test('a leader takes what waits of each submitter in turn, however low the numbers of one are, or long its operations', () => {
  const rules = { ...new OneHub('a').keys.rulesOf('a'), isSubmitted: () => true };
  const next = new Map([['d', 5_000]]);
  const submittersOf = (body: string, seq: number) => {
    const ofOne = Array.from({ length: MOST_OPERATIONS }, (_, number) => ({ submitter: 'b', number, body, sig: '' }));
    const pending = [...ofOne, { submitter: 'd', number: 5_000, body: 'write', sig: '' }];
    const applied = { seq: seq - 1, digest: '', time: 0, next };
    const state = restore({ ...NOTHING_RESTORED, now: 1, applied, pending });
    const { effects } = step(state, { type: 'clock.ticked', now: 2 }, rules);
    const [first] = effects.flatMap((effect) =>
      effect.type === 'vote' && effect.message.kind === 'prePrepare' ? [effect.message.batch] : []
    );
    return new Set(first?.operations.map(({ submitter }) => submitter));
  };
  assert.deepEqual(submittersOf('x', 1), new Set(['b', 'd']));
  const withLong = [1, 2, 3, 4].map((seq) => submittersOf('x'.repeat(MOST_BATCH_LENGTH), seq));
  assert.ok(withLong.some((submitters) => submitters.has('d')));
  assert.ok(withLong.some((submitters) => submitters.has('b')));
});

test('an operation that waits at a hub is checked once, one that has its number and signature alone again', () => {
  const { hub, first } = follower();
  const rules = hub.keys.rulesOf('b');
  let checks = 0;
  const counting: typeof rules = {
    ...rules,
    isSubmitted: (operation) => {
      checks += 1;
      return rules.isSubmitted(operation);
    }
  };
  const waiting = hub.operation('c', 1);
  let { state } = hub;
  for (const operation of [waiting, structuredClone(waiting)])
    state = step(state, { type: 'operation.submitted', operation }, counting).state;
  const isPreparedOf = (operation: typeof waiting) => {
    const proposal = hub.keys.sign('a', hub.proposal(0, hub.batch(2, first, { operations: [operation] })));
    return step(state, { type: 'message.received', signed: proposal }, counting).effects.some(
      ({ type }) => type === 'vote'
    );
  };
  assert.ok(isPreparedOf(structuredClone(waiting)));
  assert.equal(checks, 1);
  assert.equal(isPreparedOf({ ...waiting, body: 'another write' }), false);
});
