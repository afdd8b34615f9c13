import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isViewChange } from '../../../src/hub/federation/consensus/certificates.ts';
import { type Batch, type Checkpoint, EMPTY_LOG, type Stable } from '../../../src/hub/federation/consensus/messages.ts';
import { lostPlaceOf, phaseOf, splitOf } from '../../../src/hub/federation/consensus/phase.ts';
import { CHECKPOINT_INTERVAL, MOST_AHEAD, WINDOW } from '../../../src/hub/federation/consensus/rules.ts';
import { type Restored, type StoredVote, unsignedOf } from '../../../src/hub/federation/consensus/state.ts';
import { OneHub } from '../../federation/one-hub.ts';

/** A follower that prepares a proposal for the first place. */
function preparing(): { hub: OneHub; batch: Batch } {
  const hub = new OneHub('b');
  const batch = hub.batch(1, null);
  hub.receive('a', hub.proposal(0, batch));
  assert.deepEqual(hub.cast(), ['prepare 0/1']);
  return { hub, batch };
}

/** A follower that has applied batches up to a checkpoint, in the state `own`. */
function atCheckpoint(own = 'own', restored: Partial<Restored> = {}): { hub: OneHub; last: Batch } {
  const hub = new OneHub('b', restored);
  let last: Batch | null = null;
  for (let seq = 1; seq <= CHECKPOINT_INTERVAL; seq++) {
    const batch: Batch = hub.batch(seq, last);
    hub.decide(batch, seq === CHECKPOINT_INTERVAL ? own : null);
    last = batch;
  }
  return { hub, last: last! };
}

function checkpointOf(hub: OneHub, last: Batch, state: string): Checkpoint {
  return { kind: 'checkpoint', seq: last.seq, digest: hub.keys.digestOf(last), state };
}

test('a place is committed when the leader, this hub and one more have prepared it', () => {
  const { hub, batch } = preparing();
  const prepare = hub.vote('prepare', 0, batch);
  hub.receiveAll('abz', prepare);
  hub.receive('c', { ...prepare, digest: 'another' });
  hub.receive('d', { ...prepare, view: 4 });
  assert.deepEqual(hub.cast(), [], 'the leader twice, itself, a stranger, another digest, another view');
  hub.receive('d', prepare);
  assert.deepEqual(hub.cast(), ['commit 0/1']);
});

test('a batch is written when three hubs have committed it, one at a time, in order', () => {
  const { hub, batch } = preparing();
  const second = hub.batch(2, batch);
  hub.receive('a', hub.proposal(0, second));
  hub.receiveAll('cd', hub.vote('prepare', 0, second));
  hub.receiveAll('acd', hub.vote('commit', 0, second));
  const writes = () => hub.effects().flatMap((effect) => (effect.type === 'apply' ? [effect.batch.seq] : []));
  assert.deepEqual(writes(), []);
  hub.receiveAll('cdz', hub.vote('commit', 0, batch));
  hub.receive('a', { ...hub.vote('commit', 0, batch), digest: 'another' });
  assert.deepEqual(writes(), []);
  hub.receiveAll('cd', hub.vote('prepare', 0, batch));
  assert.deepEqual(writes(), [1]);
  hub.write();
  assert.deepEqual(writes(), [2]);
});

test('a place is not committed before the one that it follows', () => {
  const { hub, batch } = preparing();
  const second = hub.batch(2, batch);
  hub.receive('a', hub.proposal(0, second));
  hub.receiveAll('cd', hub.vote('prepare', 0, second));
  assert.deepEqual(hub.cast(), ['prepare 0/2']);
  hub.receiveAll('cd', hub.vote('prepare', 0, batch));
  assert.deepEqual(hub.cast(), ['commit 0/1', 'commit 0/2']);
});

test('a hub commits nothing above a log that it has fetched and not written: its wish after a restart would not tell of it', () => {
  const hub = new OneHub('b');
  const first = hub.batch(1, null);
  const second = hub.batch(2, first);
  const votes = [...'acd'].map((sender) => hub.signed(sender, hub.vote('commit', 0, first)));
  hub.take({ type: 'log.fetched', entries: [{ batch: first, votes }] });
  hub.receive('a', hub.proposal(0, second));
  hub.receiveAll('cd', hub.vote('prepare', 0, second));
  assert.deepEqual(hub.cast(), ['prepare 0/2']);
  hub.write();
  assert.deepEqual(hub.cast(), ['commit 0/2']);
});

test('a hub that is killed before it has written what it committed has a wish that all take, with each place in it', () => {
  const hub = new OneHub('b');
  const batches: Batch[] = [];
  for (let seq = 1; seq <= MOST_AHEAD + 3; seq++) batches.push(hub.batch(seq, batches.at(-1) ?? null));
  for (const batch of batches) {
    hub.receive('a', hub.proposal(0, batch));
    hub.receiveAll('cd', hub.vote('prepare', 0, batch));
    hub.receiveAll('acd', hub.vote('commit', 0, batch));
  }
  const stored = hub.effects().flatMap((effect): StoredVote[] => {
    if (effect.type !== 'vote') return [];
    return [{ signed: hub.signed('b', effect.message), prepared: effect.prepared }];
  });
  const committed = stored.flatMap(({ signed: { message } }) => (message.kind === 'commit' ? [message.seq] : []));
  assert.equal(committed.length, MOST_AHEAD);
  const again = new OneHub('b', { votes: stored });
  again.receiveAll('cd', { kind: 'viewChange', view: 1, stable: EMPTY_LOG, last: null, places: [] });
  const [wish] = again.effects().flatMap((effect) => (effect.type === 'vote' ? [effect.message] : []));
  assert.ok(wish?.kind === 'viewChange' && isViewChange(hub.keys.rulesOf('c'), wish));
  assert.deepEqual(
    wish.places.map(({ proposal }) => proposal.message.seq),
    committed
  );
  hub.write();
  assert.deepEqual(hub.cast(), [`commit 0/${MOST_AHEAD + 1}`], 'with one batch written it goes on');
});

test('two votes of one hub for one place are evidence, and the first counts', () => {
  for (const kind of ['prepare', 'commit'] as const) {
    const { hub, batch } = preparing();
    hub.receive('c', { ...hub.vote(kind, 0, batch), digest: 'another' });
    hub.receive('c', hub.vote(kind, 0, batch));
    assert.deepEqual(
      hub.effects().map(({ type }) => type),
      ['evidence'],
      kind
    );
  }
});

test('a hub that restarts votes for nothing else than before', () => {
  const { hub, batch } = preparing();
  const signed = hub.signed('b', hub.vote('prepare', 0, batch));
  const again = new OneHub('b', { votes: [{ signed, prepared: null }] });
  again.receive('a', again.proposal(0, again.batch(1, null, { time: again.state.now + 50 })));
  assert.deepEqual(again.cast(), []);
  const same = new OneHub('b', { votes: [{ signed, prepared: null }] });
  same.receive('a', same.proposal(0, batch));
  assert.deepEqual(same.cast(), ['prepare 0/1']);
});

test('a hub votes for no place of a log that was set aside, and does so again above it', () => {
  const hub = new OneHub('b', { floor: 1 });
  const first = hub.batch(1, null);
  hub.receive('a', hub.proposal(0, first));
  hub.receiveAll('cd', hub.vote('prepare', 0, first));
  assert.deepEqual(hub.cast(), [], 'it may have voted for another batch there');
  assert.equal(phaseOf(hub.state, hub.keys.rulesOf('b')), 'catchingUp');
  const lost = (laterMs = 0) => lostPlaceOf({ ...hub.state, now: hub.state.now + laterMs }, hub.keys.rulesOf('b'));
  assert.equal(lost(), 1, 'nobody is heard to have it');
  hub.take({ type: 'peer.heard', from: 'c', view: 0, seq: Number.MAX_SAFE_INTEGER });
  assert.equal(lost(), null);
  assert.equal(lost(60_000), 1, 'one that lies says to have it, and hands nothing out');
  hub.take({ type: 'peer.heard', from: 'd', view: 0, seq: 1 });
  assert.equal(lost(60_000), null);
  hub.receiveAll('acd', hub.vote('commit', 0, first));
  hub.write();
  const second = hub.batch(2, first);
  hub.receive('a', hub.proposal(0, second));
  assert.deepEqual(hub.cast(), ['prepare 0/2']);
});

test('a hub that set its log aside asks for no view until it has what it had committed, and then tells what it prepared above', () => {
  const before = new OneHub('b');
  const [first, second] = [before.batch(1, null), before.batch(2, before.batch(1, null))];
  before.receive('a', before.proposal(0, first));
  before.receive('a', before.proposal(0, second));
  for (const batch of [first, second]) before.receiveAll('cd', before.vote('prepare', 0, batch));
  const votes = before.effects().flatMap((effect): StoredVote[] => {
    if (effect.type !== 'vote') return [];
    return [{ signed: before.signed('b', effect.message), prepared: effect.prepared }];
  });
  assert.equal(votes.length, 4);

  const hub = new OneHub('b', { floor: 1, votes });
  const empty = { kind: 'viewChange', view: 1, stable: EMPTY_LOG, last: null, places: [] } as const;
  hub.receiveAll('ad', empty);
  hub.wait(20);
  assert.deepEqual(hub.cast(), [], 'its wish would say that nobody had prepared the second batch');
  assert.equal(hub.state.view, 1, 'it follows the others there, and no further alone');
  const commits = [...'acd'].map((from) => hub.signed(from, hub.vote('commit', 0, first)));
  hub.take({ type: 'log.fetched', entries: [{ batch: first, votes: commits }] });
  hub.write();
  hub.wait(5);
  const [wish] = hub.effects().flatMap((effect) => (effect.type === 'vote' ? [effect.message] : []));
  assert.ok(wish?.kind === 'viewChange');
  assert.deepEqual(
    wish.places.map(({ proposal }) => proposal.message.seq),
    [2]
  );
});

test('a hub signs its state at a checkpoint, and three equal states are stable', () => {
  const { hub, last } = atCheckpoint();
  assert.equal(hub.cast().at(-1), `checkpoint ${CHECKPOINT_INTERVAL}`);
  hub.receiveAll('cz', checkpointOf(hub, last, 'own'));
  hub.receive('d', checkpointOf(hub, last, 'other'));
  assert.equal(hub.state.stable.seq, 0);
  hub.receive('a', checkpointOf(hub, last, 'own'));
  assert.deepEqual([hub.state.stable.seq, hub.state.stable.votes.length], [CHECKPOINT_INTERVAL, 3]);
  assert.equal(hub.state.isHalted, false);
});

test('a hub that set its log aside signs no second state of a place that was in it', () => {
  const wrong = { kind: 'checkpoint', seq: CHECKPOINT_INTERVAL, digest: 'aa', state: 'wrong' } as const;
  const votes = [{ signed: new OneHub('b').signed('b', wrong), prepared: null }];
  const { hub } = atCheckpoint('right', { floor: CHECKPOINT_INTERVAL, votes });
  assert.deepEqual(hub.cast(), []);
});

test('different states that hubs signed after one place are told with their signers, until one of them is stable', () => {
  const { hub, last } = atCheckpoint();
  assert.equal(splitOf(hub.state), null);
  hub.receiveAll('cz', checkpointOf(hub, last, 'own'));
  hub.receive('d', checkpointOf(hub, last, 'other'));
  assert.deepEqual(splitOf(hub.state), { seq: last.seq, signers: [['b', 'c'], ['d']] });
  hub.receive('a', checkpointOf(hub, last, 'own'));
  assert.equal(splitOf(hub.state), null);
});

/** A hub that has fetched and written six checkpoints of the log, without the signatures of any. */
function withoutCheckpoints(): { hub: OneHub; last: Batch } {
  const hub = new OneHub('b');
  let last: Batch | null = null;
  for (let seq = 1; seq <= 6 * CHECKPOINT_INTERVAL; seq++) {
    const batch: Batch = hub.batch(seq, last);
    const votes = [...'acd'].map((sender) => hub.signed(sender, hub.vote('commit', 0, batch)));
    hub.take({ type: 'log.fetched', entries: [{ batch, votes }] });
    hub.write(seq % CHECKPOINT_INTERVAL === 0 ? 'own' : null);
    last = batch;
  }
  hub.effects();
  return { hub, last: last! };
}

test('a hub that was away for many checkpoints takes the newest one that the others signed, and votes above it', () => {
  const { hub, last } = withoutCheckpoints();
  hub.receiveAll('acd', checkpointOf(hub, last, 'own'));
  assert.deepEqual([hub.state.stable.seq, hub.state.slots.size], [last.seq, 0]);
  hub.receive('a', hub.proposal(0, hub.batch(last.seq + 1, last)));
  assert.deepEqual(hub.cast(), [`prepare 0/${last.seq + 1}`]);
});

test('a hub whose window is over asks for the signatures of a checkpoint also hubs that are no further: it could never vote again', () => {
  const { hub, last } = withoutCheckpoints();
  hub.wait(1);
  hub.take({ type: 'peer.heard', from: 'c', view: 0, seq: last.seq });
  const asked = hub.effects().filter(({ type }) => type === 'fetch');
  assert.deepEqual(asked, [{ type: 'fetch', from: 'c', seq: last.seq }]);
  hub.receiveAll('acd', checkpointOf(hub, last, 'own'));
  hub.take({ type: 'peer.heard', from: 'c', view: 0, seq: last.seq });
  assert.deepEqual(hub.effects(), []);
});

test('a hub tells of each other one whose state is not its own, whichever of the two it has first', () => {
  const { hub, last } = atCheckpoint();
  const differing = (of: OneHub) =>
    of.effects().flatMap((effect) => (effect.type === 'differs' ? [effect.signed.sender] : []));
  hub.effects();
  hub.receive('c', checkpointOf(hub, last, 'own'));
  hub.receive('d', checkpointOf(hub, last, 'other'));
  assert.deepEqual(differing(hub), ['d']);
  const late = new OneHub('b');
  late.receive('d', checkpointOf(hub, last, 'other'));
  assert.deepEqual(differing(late), []);
  late.take({ type: 'vote.stored', signed: late.signed('b', checkpointOf(hub, last, 'own')) });
  assert.deepEqual(differing(late), ['d']);
});

test('a hub whose state is not the one that three others signed halts, and does nothing more', () => {
  const { hub, last } = atCheckpoint();
  hub.effects();
  hub.receiveAll('acd', checkpointOf(hub, last, 'theirs'));
  const [halt] = hub.effects().filter(({ type }) => type === 'halt');
  assert.deepEqual(halt, { type: 'halt', seq: CHECKPOINT_INTERVAL, state: 'own', signed: 'theirs' });
  hub.receive('a', hub.proposal(0, hub.batch(CHECKPOINT_INTERVAL + 1, last)));
  hub.wait(10);
  assert.deepEqual(hub.effects(), []);
});

test('a hub that reaches a checkpoint after the others halts in another state as well', () => {
  const { hub, last } = atCheckpoint('own');
  const late = new OneHub('b');
  const stable = checkpointOf(hub, last, 'theirs');
  late.receiveAll('acd', stable);
  assert.equal(late.state.stable.seq, CHECKPOINT_INTERVAL);
  let before: Batch | null = null;
  for (let seq = 1; seq <= CHECKPOINT_INTERVAL; seq++) {
    const batch: Batch = late.batch(seq, before);
    const votes = ['a', 'c', 'd'].map((sender) => late.signed(sender, late.vote('commit', 0, batch)));
    late.take({ type: 'log.fetched', entries: [{ batch, votes }] });
    if (late.state.applying === null) break;
    late.write(seq === CHECKPOINT_INTERVAL ? 'own' : null);
    before = batch;
  }
  assert.equal(late.state.isHalted, true);
});

test('a batch of another log is taken with its commits alone, behind the last one', () => {
  const hub = new OneHub('b');
  const [first, other] = [hub.batch(1, null), hub.batch(1, null, { time: hub.state.now + 7 })];
  const second = hub.batch(2, first);
  const by = (senders: string, batch: Batch) => ({
    batch,
    votes: [...senders].map((sender) => hub.signed(sender, hub.vote('commit', 0, batch)))
  });
  const wrong = {
    'too few commits': [by('ac', first)],
    'one commit twice': [by('aac', first)],
    'a commit of a stranger': [by('acz', first)],
    'commits of another batch': [{ ...by('acd', other), batch: first }],
    'forged commits': [
      { batch: first, votes: ['a', 'c', 'd'].map((k) => hub.keys.forge(k, hub.vote('commit', 0, first))) }
    ],
    prepares: [{ batch: first, votes: ['a', 'c', 'd'].map((k) => hub.signed(k, hub.vote('prepare', 0, first))) }],
    'a gap': [by('acd', second)]
  };
  for (const [what, entries] of Object.entries(wrong)) {
    hub.take({ type: 'log.fetched', entries });
    assert.equal(hub.state.applying, null, what);
  }
  hub.take({ type: 'log.fetched', entries: [by('acd', first), by('acd', second)] });
  hub.write();
  hub.write();
  assert.equal(hub.state.applied.seq, 2);
});

test('a hub takes no more of a log than its window above what it has written', () => {
  const hub = new OneHub('b');
  let last: Batch | null = null;
  const entries = Array.from({ length: WINDOW + 1 }, (_, at) => {
    const batch = hub.batch(at + 1, last);
    last = batch;
    return { batch, votes: [...'acd'].map((sender) => hub.signed(sender, hub.vote('commit', 0, batch))) };
  });
  hub.take({ type: 'log.fetched', entries });
  assert.deepEqual(Math.max(...hub.state.slots.keys()), WINDOW);
  hub.write();
  hub.take({ type: 'log.fetched', entries });
  assert.deepEqual(Math.max(...hub.state.slots.keys()), WINDOW + 1);
});

test('a hub finds its own commit in a fetched log where its database has none: an old copy of that was put back', () => {
  const { hub, batch } = preparing();
  hub.receiveAll('cd', hub.vote('prepare', 0, batch));
  const votes = hub.effects().flatMap((effect): StoredVote[] => {
    if (effect.type !== 'vote') return [];
    return [{ signed: hub.signed('b', effect.message), prepared: effect.prepared }];
  });
  const commit = hub.vote('commit', 0, batch);
  const by = (...others: string[]) => others.map((sender) => hub.signed(sender, commit));
  const forgotten = (restored: Partial<Restored>, of = by('a', 'b', 'c')) => {
    const again = new OneHub('b', restored);
    again.take({ type: 'log.fetched', entries: [{ batch, votes: of }] });
    return again.effects().filter(({ type }) => type === 'forgotten');
  };
  assert.deepEqual(forgotten({}), [{ type: 'forgotten', seq: 1 }]);
  assert.deepEqual(forgotten({ votes }), []);
  assert.deepEqual(forgotten({ floor: 1 }), [], 'its log was set aside');
  assert.deepEqual(forgotten({}, [...by('a', 'c', 'd'), hub.keys.forge('b', commit)]), [], 'that is not its own');
});

test('a hub fetches the log where it is far behind, or behind while nothing moves', () => {
  const hub = new OneHub('b');
  const fetched = (seq: number) => {
    hub.take({ type: 'peer.heard', from: 'c', view: 0, seq });
    return hub.effects().filter(({ type }) => type === 'fetch');
  };
  hub.decide(hub.batch(1, null));
  hub.effects();
  assert.deepEqual(fetched(3), []);
  assert.deepEqual(fetched(10), [{ type: 'fetch', from: 'c', seq: 2 }]);
  hub.wait(1);
  assert.deepEqual(fetched(3), [{ type: 'fetch', from: 'c', seq: 2 }]);
  assert.deepEqual(fetched(1), []);
});

test('a hub that has written a fetched log asks two further hubs in turn for what follows, until none is further: one may be silent', () => {
  const hub = new OneHub('b');
  const batches: Batch[] = [];
  for (let seq = 1; seq <= 4; seq++) batches.push(hub.batch(seq, batches.at(-1) ?? null));
  const entries = batches.map((batch) => ({
    batch,
    votes: ['a', 'c', 'd'].map((sender) => hub.signed(sender, hub.vote('commit', 0, batch)))
  }));
  const asked = () =>
    hub.effects().flatMap((effect) => (effect.type === 'fetch' ? [`${effect.from} ${effect.seq}`] : []));
  for (const from of ['a', 'c', 'd']) hub.take({ type: 'peer.heard', from, view: 0, seq: from === 'a' ? 3 : 4 });
  assert.deepEqual(asked(), ['a 1', 'c 1', 'd 1']);
  hub.take({ type: 'log.fetched', entries: entries.slice(0, 2) });
  hub.write();
  assert.deepEqual(asked(), []);
  hub.write();
  assert.deepEqual(asked(), ['d 3', 'a 3']);
  hub.take({ type: 'log.fetched', entries: entries.slice(2, 3) });
  hub.write();
  assert.deepEqual(asked(), ['d 4', 'c 4']);
  hub.take({ type: 'log.fetched', entries: entries.slice(3) });
  hub.write();
  assert.deepEqual(asked(), []);
});

test('a state is taken from a checkpoint that three hubs signed, at its own place', () => {
  const { hub, last } = atCheckpoint();
  const checkpoint = checkpointOf(hub, last, 's');
  const { seq, digest, state } = checkpoint;
  const stableBy = (senders: string): Stable => ({
    seq,
    digest,
    state,
    votes: [...senders].map((sender) => fresh.signed(sender, checkpoint))
  });
  const fresh = new OneHub('b');
  const applied = { seq, digest, time: 5, next: new Map([['c', 100]]) };
  const wrong = {
    'signed by two': { stable: stableBy('ac'), applied },
    'signed by one twice': { stable: stableBy('acc'), applied },
    'of another state': { stable: { ...stableBy('acd'), state: 'mine' }, applied },
    'at another place': { stable: stableBy('acd'), applied: { ...applied, seq: 200 } },
    'behind another batch': { stable: stableBy('acd'), applied: { ...applied, digest: 'mine' } },
    'of the empty log': { stable: { ...EMPTY_LOG, seq }, applied }
  };
  for (const [what, taken] of Object.entries(wrong)) {
    fresh.take({ type: 'state.replaced', ...taken });
    assert.equal(fresh.state.applied.seq, 0, what);
  }
  for (const number of [99, 100]) fresh.take({ type: 'operation.submitted', operation: fresh.operation('c', number) });
  fresh.take({ type: 'state.replaced', stable: stableBy('acd'), applied });
  assert.deepEqual([fresh.state.applied.seq, fresh.state.stable.seq], [seq, seq]);
  // What the state has carried out waits no more.
  assert.deepEqual([...fresh.state.pending.keys()], ['c/100']);
});

test('a hub that restarts counts its own vote on a checkpoint, signs what it has not, and halts where a quorum signed another', () => {
  const checkpoint = { kind: 'checkpoint', seq: CHECKPOINT_INTERVAL, digest: 'aa', state: 'bb' } as const;
  const applied = { seq: CHECKPOINT_INTERVAL, digest: 'aa', time: 1, next: new Map() };
  const votes = [{ signed: new OneHub('c').signed('c', checkpoint), prepared: null }];
  const restarted = () => new OneHub('c', { applied, votes, checkpoints: [checkpoint] });
  const hub = restarted();
  hub.receive('a', checkpoint);
  assert.equal(hub.state.stable.seq, 0);
  hub.receive('b', checkpoint);
  assert.equal(hub.state.stable.seq, CHECKPOINT_INTERVAL, 'with two others it is a quorum');
  const changed = restarted();
  changed.receiveAll('abd', { ...checkpoint, state: 'cc' });
  assert.equal(changed.state.isHalted, true);
  assert.deepEqual(unsignedOf({ checkpoints: [checkpoint], votes: [] }), [checkpoint]);
  assert.deepEqual(unsignedOf({ checkpoints: [checkpoint], votes }), []);
});
