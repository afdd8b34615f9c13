import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../../src/db/connection.ts';
import type { Signed, Vote } from '../../../src/hub/federation/consensus/messages.ts';
import { CHECKPOINT_INTERVAL, MOST_PENDING } from '../../../src/hub/federation/consensus/rules.ts';
import {
  digestOf,
  rulesOf,
  setIdOf,
  signMessage,
  signOperation
} from '../../../src/hub/federation/gossip/signatures.ts';
import { openJournal } from '../../support/federation/database.ts';
import { Intruder, startHub, until } from '../../support/federation/mesh-hub.ts';
import { MEMBERS, type Node, SET, startNode } from '../../support/federation/node.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const change = (module: string, value: string) =>
  JSON.stringify({ config: [{ coin: 'BTC', network: 'mainnet', module, param: 'user', value }] });

async function tableOf({ store }: Node): Promise<unknown> {
  return rows(store.connection, 'SELECT module, param_value, updated_at FROM configs ORDER BY module');
}

test('four hubs with a database each have one configuration, with a hub lost, and when it is back', async () => {
  const nodes: Node[] = [await startNode(MEMBERS[0]!, [])];
  for (const key of MEMBERS.slice(1)) nodes.push(await startNode(key, [nodes[0]!.mesh.addr]));
  try {
    await until('each sees three', () => nodes.every(({ mesh }) => mesh.peers.length === 3));
    const places = await Promise.all(nodes.map(({ hub }, at) => hub.submit(change(`p${at}`, 'first'))));
    assert.ok(places.every((seq) => seq >= 1));
    await until('each has all', () => nodes.every(({ hub }) => hub.standing.seq >= Math.max(...places)));

    // What no hub can carry out takes no number: later writes of this hub are not held up.
    const tooLong = change('p', 'x'.repeat(1_025));
    const unknown = change('p', 'x').replace('"user"', '"usr"');
    for (const body of ['', '{}', '{"config":[]}', tooLong, unknown])
      await assert.rejects(nodes[1]!.hub.submit(body), { code: 'REQUEST_INVALID' });

    // What the table does not take is a place of the log that changes nothing at any hub, and holds up no later write.
    const before = await tableOf(nodes[1]!);
    await assert.rejects(nodes[1]!.hub.submit(change('P1', 'differs in case')), { code: 'REQUEST_INVALID' });
    await nodes[1]!.hub.submit(change('p1', 'first'));
    assert.deepEqual(await tableOf(nodes[1]!), before);

    // The leader of view 0 is lost: the others take the next view.
    const [lost, ...rest] = nodes as [Node, ...Node[]];
    await lost.stop();
    await Promise.all(rest.map(({ hub }, at) => hub.submit(change(`q${at}`, 'second'))));
    assert.ok(rest.every(({ hub }) => hub.standing.view >= 1));

    nodes[0] = await startNode(
      lost.key,
      rest.map(({ mesh }) => mesh.addr),
      lost.store.database
    );
    await until('it is up to date', () => nodes[0]!.hub.standing.seq === rest[0]!.hub.standing.seq);
    await nodes[0]!.hub.submit(change('r', 'third'));
    const seq = Math.max(...nodes.map(({ hub }) => hub.standing.seq));
    await until('all are', () => nodes.every(({ hub }) => hub.standing.seq === seq));
    const [first, ...others] = await Promise.all(nodes.map(tableOf));
    assert.equal((first as unknown[]).length, 8);
    for (const other of others) assert.deepEqual(other, first);
    assert.deepEqual(
      nodes.flatMap(({ halts }) => halts),
      []
    );
  } finally {
    await Promise.all(nodes.map(({ stop }) => stop()));
  }
});

test('a hub whose writes waited in vain takes no more than are kept, and new ones when the set goes on', async () => {
  const nodes: Node[] = [await startNode(MEMBERS[0]!, [], undefined, { writeTimeoutMs: 1_000 })];
  const { hub } = nodes[0]!;
  try {
    const waited = await Promise.allSettled(
      Array.from({ length: MOST_PENDING }, (_, at) => hub.submit(change('p', `${at}`)))
    );
    assert.ok(waited.every(({ status }) => status === 'rejected'));
    await assert.rejects(hub.submit(change('p', 'one more')), /too many writes wait/);
    for (const key of MEMBERS.slice(1)) nodes.push(await startNode(key, [nodes[0]!.mesh.addr]));
    await eventually('what waited is applied', async () =>
      nodes.every(({ hub: { isWaiting, standing } }) => !isWaiting && standing.seq > 0)
    );
    await eventually('it takes writes', () =>
      hub.submit(change('p', 'last')).then(
        () => true,
        () => false
      )
    );
  } finally {
    await Promise.all(nodes.map(({ stop }) => stop()));
  }
});

test('a hub whose database does not answer votes no more, instead of waiting for it', async () => {
  const node = await startNode(MEMBERS[0]!, [], undefined, { longestWriteMs: 1_000 });
  const other = await connect(node.store.database);
  try {
    await other.query('LOCK TABLES consensus_pending WRITE');
    await assert.rejects(node.hub.submit(change('p', 'held up')), { code: 'HUB_HALTED' });
    assert.deepEqual(
      node.halts.map((halt) => (halt as { code: string }).code),
      ['DATABASE_UNAVAILABLE']
    );
  } finally {
    other.destroy();
    await node.stop();
  }
});

test('a hub whose table was changed by hand halts at the next checkpoint, and after a restart; others go on', async () => {
  const nodes: Node[] = [await startNode(MEMBERS[0]!, [])];
  for (const key of MEMBERS.slice(1)) nodes.push(await startNode(key, [nodes[0]!.mesh.addr]));
  const changed = nodes[3]!;
  try {
    await until('each sees three', () => nodes.every(({ mesh }) => mesh.peers.length === 3));
    await nodes[0]!.hub.submit(change('p', 'first'));
    await until('it has it', () => changed.hub.standing.seq === 1);
    await changed.store.connection.query(
      "INSERT INTO configs (coin, network, module, param_name, param_value) VALUES ('LTC', 'mainnet', 'm', 'p', 'slipped in')"
    );
    const write = async () => {
      while (nodes[0]!.hub.standing.seq < CHECKPOINT_INTERVAL)
        await nodes[0]!.hub.submit(change('p', String(Math.random())));
    };
    await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(write));
    await until('it halts', () => changed.halts.length > 0);
    assert.deepEqual(
      changed.halts.map((halt) => (halt as { code: string }).code),
      ['HUB_HALTED']
    );
    await nodes[1]!.hub.submit(change('q', 'without it'));
    await changed.stop();
    await assert.rejects(startNode(changed.key, [], changed.store.database), { code: 'HUB_HALTED' });
    assert.deepEqual(
      nodes.slice(0, 3).flatMap(({ halts }) => halts),
      []
    );
  } finally {
    await Promise.all(nodes.map(({ stop }) => stop()));
  }
});

test('a hub that lost its database takes the state of a checkpoint where the log is pruned, and votes again', async () => {
  const options = { logKeep: 0 };
  const nodes: Node[] = [await startNode(MEMBERS[0]!, [], undefined, options)];
  for (const key of MEMBERS.slice(1)) nodes.push(await startNode(key, [nodes[0]!.mesh.addr], undefined, options));
  try {
    await until('each sees three', () => nodes.every(({ mesh }) => mesh.peers.length === 3));
    const lost = nodes.pop()!;
    await lost.stop();
    const write = async (module: string) => {
      while (nodes[0]!.hub.standing.seq < CHECKPOINT_INTERVAL + 3)
        await nodes[0]!.hub.submit(change(module, String(Math.random())));
    };
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(write));
    await eventually('the log is pruned', async () => {
      const first = await Promise.all(nodes.map(({ store }) => store.journal.firstKept()));
      return first.every((seq) => seq! > CHECKPOINT_INTERVAL);
    });
    const seeds = nodes.map(({ mesh }) => mesh.addr);
    const back = await startNode(lost.key, seeds, undefined, options);
    nodes.push(back);
    await until('it is up to date', () => nodes.every(({ hub }) => hub.standing.seq === back.hub.standing.seq));
    await nodes[1]!.stop(); // the others need its vote
    await back.hub.submit(change('z', 'after'));
    const first = await back.store.journal.firstKept();
    assert.ok(first !== null && first > CHECKPOINT_INTERVAL, `the log begins at ${first}`);
    await until('the others have it', () => nodes[0]!.hub.standing.seq === back.hub.standing.seq);
    assert.deepEqual(await tableOf(back), await tableOf(nodes[0]!));
    assert.deepEqual(
      nodes.flatMap(({ halts }) => halts),
      []
    );
  } finally {
    await Promise.all(nodes.map(({ stop }) => stop()));
  }
});

test('a leader whose database refuses its vote sends nothing, and says why', async () => {
  const leader = await startNode(MEMBERS[0]!, []);
  const peer = await Intruder.dial(leader.mesh.addr);
  await peer.join(MEMBERS[1]!, setIdOf(SET));
  await until('it is a peer', () => leader.mesh.peers.length === 1);
  const { connection } = leader.store;
  await connection.query("CREATE TRIGGER full BEFORE INSERT ON consensus_votes FOR EACH ROW SIGNAL SQLSTATE '45000'");
  await assert.rejects(leader.hub.submit(change('p', 'first')), { code: 'HUB_HALTED' });
  assert.equal(leader.halts.length, 1);
  await until('the write is passed on', () => peer.received.some(({ type }) => type === 'CONSENSUS_SUBMIT'));
  assert.deepEqual(
    peer.received.filter(({ type }) => type === 'CONSENSUS_MESSAGES'),
    []
  );
  await assert.rejects(leader.hub.submit(change('p', 'second')), { code: 'HUB_HALTED' });
  peer.socket.terminate();
  await leader.stop();
});

test('a hub that signs two votes for one place is in the table of the others with both, a bounded number of times', async () => {
  let named = 0;
  const onEvidence = () => {
    named += 1;
  };
  const hub = await startNode(MEMBERS[0]!, [], undefined, { onEvidence });
  const liar = await Intruder.dial(hub.mesh.addr);
  await liar.join(MEMBERS[1]!, setIdOf(SET));
  await until('it is a peer', () => hub.mesh.peers.length === 1);
  const set = setIdOf(SET);
  const votes = ['aa', 'bb', 'cc', 'dd', 'ee'].map((digits) => {
    const messages = Array.from({ length: 150 }, (_, at) =>
      signMessage(set, { kind: 'prepare', view: 0, seq: at + 1, digest: digits.repeat(32) }, MEMBERS[1]!)
    );
    return { set, messages };
  });
  for (const data of votes) liar.send('CONSENSUS_MESSAGES', data, MEMBERS[1]!);
  await until('it is named', () => named >= 100);
  const evidence = () => rows(hub.store.connection, 'SELECT against, place, first, second FROM consensus_evidence');
  await eventually('it is kept', async () => (await evidence()).length >= 100);
  liar.send('CAPABILITY_SELF_TEST', { set, pubkey: MEMBERS[1]!.pubkey, capability: 'price', ok: true }, MEMBERS[1]!);
  await until('all is heard', () => hub.hub.capabilities.tests.length === 1);
  await hub.hub.stop();
  const found = await evidence();
  assert.deepEqual([found.length, named], [100, 100], 'once for each place');
  const rules = rulesOf(SET, MEMBERS[2]!.pubkey, () => false);
  for (const { against, place, first, second } of found) {
    const pair = [first, second].map((text) => JSON.parse(String(text)) as Signed<Vote>);
    assert.equal(against, MEMBERS[1]!.pubkey);
    for (const vote of pair) {
      assert.ok(rules.isSigned(vote));
      assert.equal(`${vote.message.view}/${vote.message.seq}/${vote.message.kind}`, place);
    }
    assert.notEqual(pair[0]!.message.digest, pair[1]!.message.digest);
  }
  liar.socket.terminate();
  await hub.stop();
});

test('a write that a silent member sends to one hub alone takes that hub out of no view: it is written', async () => {
  const nodes: Node[] = [await startNode(MEMBERS[0]!, [])];
  for (const key of MEMBERS.slice(1, 3)) nodes.push(await startNode(key, [nodes[0]!.mesh.addr]));
  const [set, silent] = [setIdOf(SET), MEMBERS[3]!];
  const seeds = nodes.map(({ mesh }) => mesh.addr);
  const liar = await startHub(silent, { seeds, set, members: () => new Set(SET.keys) });
  try {
    await until('each sees three', () => nodes.every(({ mesh }) => mesh.peers.length === 3));
    const operations = [signOperation(set, 0, change('p', 'of the silent one'), silent)];
    liar.mesh.sendTo(MEMBERS[2]!.pubkey, 'CONSENSUS_SUBMIT', { set, operations });
    await until('it is written', () => nodes.every(({ hub }) => hub.standing.seq === 1));
    assert.deepEqual(
      nodes.map(({ hub }) => [hub.phase, hub.standing.view]),
      ['leading', 'following', 'following'].map((phase) => [phase, 0])
    );
  } finally {
    await liar.mesh.stop();
    await Promise.all(nodes.map(({ stop }) => stop()));
  }
});

test('a hub that was killed between the batch of a checkpoint and its vote signs that when it starts', async () => {
  const { database, connection, journal } = await openJournal(undefined, SET);
  let previous = '';
  for (let seq = 1; seq <= CHECKPOINT_INTERVAL; seq++) {
    const operations = [signOperation(setIdOf(SET), seq - 1, change('p', String(seq)), MEMBERS[1]!)];
    const batch = { seq, time: 1_700_000_000_000 + seq, previous, operations };
    previous = digestOf(batch);
    await journal.apply({ batch, votes: [] }, previous);
  }
  connection.destroy();
  const { store, stop } = await startNode(MEMBERS[0]!, [], database);
  try {
    const find = () => rows(store.connection, "SELECT seq FROM consensus_votes WHERE kind = 'checkpoint'");
    await eventually('it has signed it', async () => (await find()).length === 1);
  } finally {
    await stop();
  }
});

test('NO_QUORUM: a hub that has seen too few others for ten seconds takes no write, and takes them when they are back', async () => {
  let aheadMs = 0;
  const { hub, mesh, stop } = await startNode(MEMBERS[0]!, [], undefined, { now: () => Date.now() + aheadMs });
  const refusal = () => hub.submit('').catch(({ code }: { code: string }) => code);
  assert.equal(await refusal(), 'REQUEST_INVALID');
  await eventually('it notices', async () => {
    aheadMs += 1_000;
    return (await refusal()) === 'NO_QUORUM';
  });
  assert.ok(aheadMs >= 9_000, String(aheadMs));
  const others = await Promise.all([1, 2].map(() => Intruder.dial(mesh.addr)));
  await others[0]!.join(MEMBERS[1]!, setIdOf(SET));
  await until('one is there', () => mesh.peers.length === 1);
  assert.equal(await refusal(), 'NO_QUORUM');
  await others[1]!.join(MEMBERS[2]!, setIdOf(SET));
  await eventually('a quorum is there', async () => (await refusal()) === 'REQUEST_INVALID');
  for (const { socket } of others) socket.terminate();
  await stop();
});

test('a hub whose clock was ahead and is set right ends, to be started anew: until then it would vote for nothing', async () => {
  let aheadMs = 3_600_000;
  const { store, halts, stop } = await startNode(MEMBERS[0]!, [], undefined, { now: () => Date.now() + aheadMs });
  const codes = () => halts.map((halt) => (halt as { code: string }).code);
  await sleep(1_500); // one look at the clock
  aheadMs -= 20_000;
  await sleep(1_500);
  assert.deepEqual(codes(), [], 'a step that others would not notice');
  aheadMs = 0;
  await until('it ends', () => codes().length > 0);
  assert.deepEqual(codes(), ['CLOCK_STEPPED_BACK']);
  await stop();
  const again = await startNode(MEMBERS[0]!, [], store.database);
  assert.deepEqual([again.hub.phase, again.halts], ['leading', []]);
  await again.stop();
});
