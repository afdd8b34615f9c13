import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Batch,
  EMPTY_LOG,
  type Prepared,
  type ViewChange
} from '../../../src/hub/federation/consensus/messages.ts';
import { MOST_AHEAD, MOST_BATCH_LENGTH, MOST_IN_FLIGHT } from '../../../src/hub/federation/consensus/rules.ts';
import { OneHub } from '../../federation/one-hub.ts';

const wish = (view: number, ...places: Prepared[]): ViewChange => ({
  kind: 'viewChange',
  view,
  stable: EMPTY_LOG,
  last: null,
  places
});

/** A follower at which an operation waits. */
function waiting(self = 'c'): OneHub {
  const hub = new OneHub(self);
  hub.take({ type: 'operation.submitted', operation: hub.operation('d', 0) });
  return hub;
}

/** Proof that `a` proposed a batch in view 0 and two others prepared it. */
function prepared(hub: OneHub, batch: Batch): Prepared {
  return {
    proposal: hub.signed('a', hub.proposal(0, batch)),
    votes: ['c', 'd'].map((sender) => hub.signed(sender, hub.vote('prepare', 0, batch)))
  };
}

/** A hub in view 1, which began with a prepared batch. */
function inSecondView(self: string): { hub: OneHub; batch: Batch } {
  const hub = new OneHub(self);
  const batch = hub.batch(1, null);
  const changes = [hub.signed('b', wish(1)), hub.signed('c', wish(1, prepared(hub, batch))), hub.signed('d', wish(1))];
  hub.receive('b', { kind: 'newView', view: 1, changes });
  assert.deepEqual([hub.state.view, hub.state.isChanging], [1, false]);
  hub.effects();
  return { hub, batch };
}

test('a hub asks for the next view when an operation waits for two seconds, and not before', () => {
  const hub = waiting();
  hub.wait(1);
  assert.deepEqual(hub.cast(), []);
  hub.wait(1);
  assert.deepEqual(hub.cast(), ['viewChange 1']);
  const idle = new OneHub('c');
  idle.wait(100);
  assert.deepEqual(idle.cast(), []);
});

test('a hub that stood still gives the leader its time anew, and asks for the next view when that is over too', () => {
  const hub = waiting();
  hub.take({ type: 'clock.ticked', now: hub.state.now + 5_000 });
  hub.wait(1);
  assert.deepEqual(hub.cast(), []);
  hub.wait(1);
  assert.deepEqual(hub.cast(), ['viewChange 1']);
});

test('a hub that is far behind blames no leader, and gives it its time when it has caught up', () => {
  const hub = waiting();
  const hear = (seq: number) => {
    for (const from of ['a', 'b']) hub.take({ type: 'peer.heard', from, view: 0, seq });
  };
  hear(20);
  hub.wait(10);
  assert.deepEqual(hub.cast(), []);
  hear(1);
  hub.wait(1);
  assert.deepEqual(hub.cast(), []);
  hub.wait(1);
  assert.deepEqual(hub.cast(), ['viewChange 1']);
});

test('a leader of a long view keeps it while batches are decided', () => {
  const hub = new OneHub('c');
  hub.wait(3_600);
  let last: Batch | null = null;
  for (let seq = 1; seq <= 20; seq++) {
    const batch: Batch = hub.batch(seq, last);
    hub.receive('a', hub.proposal(0, batch));
    hub.wait(1);
    hub.decide(batch);
    last = batch;
  }
  assert.deepEqual([hub.state.view, hub.state.isChanging, hub.state.applied.seq], [0, false, 20]);
  hub.receive('a', hub.proposal(0, hub.batch(21, last)));
  hub.wait(2);
  assert.equal(hub.state.isChanging, true);
});

test('a hub that asks alone asks for no further view; with a quorum it asks for the next after twice the time', () => {
  const hub = waiting();
  hub.wait(60);
  assert.equal(hub.state.view, 1);
  hub.receiveAll('bd', wish(1));
  hub.wait(1);
  assert.equal(hub.state.view, 2);
  hub.receiveAll('bd', wish(2));
  hub.wait(7);
  assert.equal(hub.state.view, 2);
  hub.wait(1);
  assert.equal(hub.state.view, 3);
});

test('hubs that ask for different views come together, though none of these views has a quorum', () => {
  const hub = waiting();
  hub.receive('d', wish(6));
  hub.wait(2);
  hub.receive('b', wish(1));
  assert.equal(hub.state.view, 1);
  hub.wait(60);
  assert.equal(hub.state.view > 1, true);
});

test('a hub that restarts while it asks for a view goes on asking for that one', () => {
  const before = waiting();
  const votes = [{ signed: before.signed('c', wish(3)), prepared: null }];
  const hub = new OneHub('c', { votes, pending: [before.operation('d', 0)] });
  hub.wait(100);
  assert.equal(hub.state.view, 3);
});

test('a hub joins a later view for which two ask, and none for which one does', () => {
  const hub = new OneHub('c');
  hub.receive('d', wish(5));
  assert.deepEqual(hub.cast(), []);
  hub.receive('b', wish(2));
  assert.deepEqual(hub.cast(), ['viewChange 2']);
});

test('a hub asks for the next view at once where the leader of its own has left it', () => {
  const hub = new OneHub('c');
  hub.receive('a', wish(5));
  assert.deepEqual(hub.cast(), ['viewChange 1']);
  hub.receive('b', wish(1));
  assert.deepEqual(hub.cast(), []);
});

test('votes of a view that it left do not count, and it casts none while it asks', () => {
  const hub = waiting();
  const batch = hub.batch(1, null);
  hub.wait(2);
  hub.effects();
  hub.receive('a', hub.proposal(0, batch));
  hub.receiveAll('abd', hub.vote('prepare', 0, batch));
  hub.receiveAll('abd', hub.vote('commit', 0, batch));
  assert.deepEqual(hub.effects(), []);
});

test('a view begins by its leader with proved wishes of three hubs', () => {
  const hub = new OneHub('c');
  const signed = (senders: string, view = 1) => [...senders].map((sender) => hub.signed(sender, wish(view)));
  const begin = (sender: string, changes: ReturnType<typeof signed>, view = 1) => {
    hub.receive(sender, { kind: 'newView', view, changes });
    return hub.state.view === view && !hub.state.isChanging;
  };
  const forged = ['a', 'b', 'd'].map((sender) => hub.keys.forge(sender, wish(1)));
  const unproved = hub.signed('d', { ...wish(1), stable: { ...EMPTY_LOG, seq: 100 } });
  assert.equal(begin('d', signed('abd')), false, 'by another hub');
  assert.equal(begin('b', signed('ab')), false, 'two wishes');
  assert.equal(begin('b', signed('abb')), false, 'one wish twice');
  assert.equal(begin('b', signed('abz')), false, 'a wish of a stranger');
  assert.equal(begin('b', signed('abd', 2)), false, 'wishes for another view');
  assert.equal(begin('b', forged), false, 'forged wishes');
  assert.equal(begin('b', [...signed('ab'), unproved]), false, 'a wish without its proof');
  assert.equal(begin('b', signed('abd')), true);
  assert.equal(begin('a', signed('abd', 0), 0), false, 'a view that is over');
});

test('a leader begins its view once, with the wishes of three hubs, and proposes what was prepared', () => {
  const hub = new OneHub('b');
  const batch = hub.batch(1, null);
  hub.receive('c', wish(1, prepared(hub, batch)));
  hub.receive('d', wish(1));
  assert.deepEqual(hub.cast(), ['viewChange 1', 'newView 1', 'prePrepare 1/1']);
  assert.equal(hub.state.slots.get(1)!.accepted, hub.keys.digestOf(batch));
});

test('a leader begins no view with wishes that no hub would take: it waits for those of others', () => {
  const hub = new OneHub('b');
  const places: Prepared[] = [];
  for (let seq = 1, before: Batch | null = null; seq <= MOST_AHEAD; seq++) {
    const operations = [hub.operation('c', seq - 1, '\n'.repeat(MOST_BATCH_LENGTH))];
    const batch: Batch = hub.batch(seq, before, { operations });
    places.push(prepared(hub, batch));
    before = batch;
  }
  hub.receive('d', wish(1, ...places));
  hub.receive('a', wish(1));
  assert.deepEqual(hub.cast(), ['viewChange 1'], 'three ask for it');
  hub.receive('c', wish(1));
  const cast = hub.effects().flatMap((effect) => (effect.type === 'vote' ? [effect.message] : []));
  const [begun] = cast.filter((message) => message.kind === 'newView');
  assert.deepEqual(begun?.changes.map(({ sender }) => sender).toSorted(), ['a', 'b', 'c']);
});

test('a follower prepares what its view began with, and nothing else in its place', () => {
  for (const isOther of [false, true]) {
    const { hub, batch } = inSecondView('d');
    const proposed = isOther ? hub.batch(1, null, { time: hub.state.now + 50 }) : batch;
    hub.receive('b', hub.proposal(1, proposed));
    assert.deepEqual(hub.cast(), isOther ? [] : ['prepare 1/1']);
  }
});

test('a hub that asks for a view says up to where it has all, and what it has prepared above', () => {
  const hub = new OneHub('c');
  const first = hub.batch(1, null);
  hub.decide(first);
  const second = hub.batch(2, first);
  hub.decide(second);
  const third = hub.batch(3, second);
  hub.receive('a', hub.proposal(0, third));
  hub.receive('b', hub.vote('prepare', 0, third));
  hub.effects();
  hub.wait(2);
  const wishes = hub
    .effects()
    .flatMap((effect) => (effect.type === 'vote' && effect.message.kind === 'viewChange' ? [effect.message] : []));
  const { last, places } = wishes[0]!;
  assert.deepEqual([last?.batch, places.map(({ proposal }) => proposal.message.batch)], [second, [third]]);
});

test('the time for an answer doubles up to a minute, and is halved after each ten batches', () => {
  const { hub, batch } = inSecondView('d');
  hub.receive('b', hub.proposal(1, batch));
  hub.wait(2);
  assert.equal(hub.state.timeoutMs, 4_000);
  for (let view = 2; view < 12; view++) {
    hub.receiveAll('abc', wish(view));
    hub.wait(61);
  }
  assert.equal(hub.state.timeoutMs, 60_000);
  const changes = ['a', 'b', 'c'].map((sender) => hub.signed(sender, wish(20)));
  hub.receive('a', { kind: 'newView', view: 20, changes });
  let last: Batch | null = null;
  for (let seq = 1; seq <= 10; seq++) {
    const next: Batch = hub.batch(seq, last);
    hub.decide(next, null, 20);
    last = next;
  }
  assert.equal(hub.state.timeoutMs, 30_000);
});

test('a hub that is behind is sent the message that began the view', () => {
  const { hub } = inSecondView('c');
  hub.take({ type: 'peer.heard', from: 'd', view: 0, seq: 0 });
  assert.deepEqual(
    hub.effects().map((effect) => effect.type),
    ['send']
  );
});

test('an operation that may not have arrived is sent again before its time is over', () => {
  const hub = waiting();
  hub.wait(1);
  assert.ok(hub.effects().some(({ type }) => type === 'sendAgain'));
});

test('votes for what is applied are not sent again, nor any while batches are decided', () => {
  const hub = new OneHub('c');
  const first = hub.batch(1, null);
  hub.decide(first);
  hub.receive('a', hub.proposal(0, hub.batch(2, first)));
  hub.effects();
  hub.take({ type: 'clock.ticked', now: hub.state.appliedAt + 400 });
  assert.deepEqual(hub.effects(), []);
  hub.wait(1);
  const again = hub.effects().flatMap((effect) => (effect.type === 'sendAgain' ? effect.messages : []));
  assert.deepEqual(
    again.map(({ message }) => `${message.kind} ${'seq' in message ? message.seq : ''}`),
    ['prepare 2']
  );
});

test('messages are sent again while nothing moves', () => {
  const hub = waiting();
  hub.wait(3);
  const again = hub
    .effects()
    .flatMap((effect) => (effect.type === 'sendAgain' ? effect.messages.map(({ message }) => message.kind) : []));
  assert.deepEqual(again, ['viewChange']);
});

test('a hub that lacks what was decided before its view asks for it, and blames no leader', () => {
  const hub = new OneHub('d');
  const first = hub.batch(1, null);
  const second = hub.batch(2, first);
  const digest = hub.keys.digestOf(second);
  const votes = ['a', 'b', 'c'].map((sender) =>
    hub.signed(sender, { kind: 'commit' as const, view: 0, seq: 2, digest })
  );
  const ahead = { ...wish(1), last: { batch: second, votes } };
  hub.receive('b', { kind: 'newView', view: 1, changes: ['a', 'b', 'c'].map((sender) => hub.signed(sender, ahead)) });
  hub.effects();
  hub.wait(20);
  assert.ok(hub.effects().some((effect) => effect.type === 'tellStanding' && effect.to === null));
  assert.deepEqual([hub.state.view, hub.state.isChanging], [1, false]);
});

test('a hub blames a silent leader whose view, and the one before, began with the commits of places that only a hub that lies has', () => {
  const hub = waiting('d');
  const batches: Batch[] = [];
  for (let seq = 1; seq <= MOST_IN_FLIGHT + 1; seq++) batches.push(hub.batch(seq, batches.at(-1) ?? null));
  const begin = (view: number, leader: string, batch: Batch) => {
    const votes = [...'abc'].map((sender) => hub.signed(sender, hub.vote('commit', 0, batch)));
    const wishes = [
      hub.signed('a', { ...wish(view), last: { batch, votes } }),
      hub.signed('b', wish(view)),
      hub.signed('c', wish(view))
    ];
    hub.receive(leader, { kind: 'newView', view, changes: wishes });
    hub.effects();
  };
  begin(1, 'b', batches.at(-1)!);
  begin(2, 'c', batches.at(-2)!);
  assert.equal(hub.state.view, 2);
  hub.wait(2);
  assert.deepEqual(hub.cast(), ['viewChange 3']);
});

test('an operation that waits for half a second is handed on to all, once in a view: its submitter may have sent it to one hub alone', () => {
  const hub = new OneHub('c');
  for (const submitter of ['c', 'd'])
    for (const number of [0, 1]) hub.take({ type: 'operation.submitted', operation: hub.operation(submitter, number) });
  const handedOn = () =>
    hub
      .effects()
      .flatMap((effect) => (effect.type === 'handOn' ? effect.operations : []))
      .map(({ submitter, number }) => `${submitter}/${number}`);
  hub.take({ type: 'clock.ticked', now: hub.state.now + 450 });
  assert.deepEqual(handedOn(), []);
  hub.take({ type: 'clock.ticked', now: hub.state.now + 50 });
  assert.deepEqual(handedOn(), ['c/0', 'd/0'], 'the next one of each submitter');
  assert.deepEqual([hub.state.view, hub.state.isChanging], [0, false], 'before it blames the leader');
  hub.take({ type: 'clock.ticked', now: hub.state.now + 1_000 });
  assert.deepEqual(handedOn(), []);
  hub.take({ type: 'clock.ticked', now: hub.state.now + 500 });
  hub.effects();
  assert.equal(hub.state.view, 1);
  hub.wait(1);
  assert.deepEqual(handedOn(), ['c/0', 'd/0'], 'another leader may not have them either');
});
