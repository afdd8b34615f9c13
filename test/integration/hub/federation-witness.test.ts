import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSigned } from '../../../src/consensus/ed25519.ts';
import { rows } from '../../../src/db/connection.ts';
import { type Envelope, isGenuine } from '../../../src/hub/federation/gossip/envelope.ts';
import { matterRulesOf } from '../../../src/hub/federation/gossip/signatures.ts';
import { type MatterStep, matterBodyOf } from '../../../src/hub/federation/matters/operations.ts';
import { machineOf } from '../../support/federation/database.ts';
import { until } from '../../support/federation/mesh-hub.ts';
import { MEMBERS, type Node, SET, startNode } from '../../support/federation/node.ts';
import { eventually } from '../../support/sync/sync-process.ts';

/** A round whose window is open while these tests run. */
const rounds = { epochStartMs: Date.now() - 1_000, intervalMs: 3_600_000, windowMs: 1_800_000, minSubmissions: 3 };
const OF_ROUNDS = { ...SET, rounds };
const PLACE = { action: 'SEND', height: 800, hash: 'ab'.repeat(32) };
const ATTEST = { type: 'attest', chain: 'BTC', index: 5, destination: 'LTC' } as const;

const submit = ({ hub }: Node, step: MatterStep) => hub.submit(matterBodyOf(step));
const attestationOf = async ({ store }: Node) =>
  (await rows(store.connection, "SELECT * FROM attestations WHERE attestation_id = 'BTC:5:LTC'"))[0]!;

async function startSet(watch: (envelope: Envelope) => void = () => undefined): Promise<Node[]> {
  const options = { set: OF_ROUNDS, watch };
  const nodes: Node[] = [await startNode(MEMBERS[0]!, [], undefined, options)];
  for (const key of MEMBERS.slice(1)) nodes.push(await startNode(key, [nodes[0]!.mesh.addr], undefined, options));
  await until('each sees three', () => nodes.every(({ mesh }) => mesh.peers.length === 3));
  for (const { hub } of nodes)
    hub.capabilities.check(
      (['cross_chain', 'price'] as const).map((name) => ({ name, hasStake: true, passes: true, reason: null })),
      800_000
    );
  await eventually('all qualify, at each hub', async () => {
    const found = await Promise.all(
      nodes.map(({ store }) => rows(store.connection, 'SELECT 1 FROM validator_capabilities WHERE qualified'))
    );
    return found.every(({ length }) => length === 8);
  });
  return nodes;
}

async function agreed(nodes: readonly Node[]): Promise<void> {
  const machine = machineOf(OF_ROUNDS);
  await eventually('all have the same', async () => {
    const dumps = await Promise.all(nodes.map(({ store }) => machine.dump(store.connection)));
    return new Set(dumps.map((dump) => dump.join('\n'))).size === 1;
  });
  assert.deepEqual(
    nodes.flatMap(({ halts }) => halts),
    []
  );
}

test('four hubs attest an action and take it back after a reorg, though one of them lies; each says its word once', async () => {
  const heard = new Map<string, Envelope>();
  const nodes = await startSet((envelope) => heard.set(envelope.type, envelope));
  const [first, second, third, liar] = nodes as [Node, Node, Node, Node];
  try {
    await submit(first, { type: 'swap', chain: 'BTC', index: 5, destination: 'LTC', destinationIndex: null });
    await submit(first, ATTEST);
    assert.equal((await attestationOf(first))['status'], 'pending');
    await until('each is asked', () => nodes.every(({ hub }) => hub.witness.questions.length === 1));
    const word = { kind: 'attestation', id: 'BTC:5:LTC', turn: 1 } as const;
    liar.hub.witness.answer({ ...word, place: { ...PLACE, hash: 'ff'.repeat(32) } });
    first.hub.witness.answer({ ...word, place: PLACE });
    first.hub.witness.answer({ ...word, place: null });
    assert.deepEqual(first.hub.witness.questions, [], 'it has answered');
    second.hub.witness.answer({ ...word, place: PLACE });
    third.hub.witness.answer({ ...word, turn: 2, place: PLACE });
    await eventually('three have said something', async () => {
      const { consensus_proof } = await attestationOf(first);
      const { signatures, others } = JSON.parse(String(consensus_proof));
      return signatures.length === 2 && others.length === 1;
    });
    third.hub.witness.answer({ ...word, place: PLACE });
    await eventually('it is attested at each hub', async () =>
      (await Promise.all(nodes.map(attestationOf))).every(({ status }) => status === 'attested')
    );

    // The proof stands without the hubs: three signed just this.
    const { consensus_proof, validator_count, confirmations } = await attestationOf(liar);
    const { statement, signatures, others } = JSON.parse(String(consensus_proof));
    const { isSigned: isOfSet } = matterRulesOf(OF_ROUNDS);
    assert.deepEqual(statement, {
      attestation: 'BTC:5:LTC',
      chain: 'BTC',
      index: 5,
      destination: 'LTC',
      ...PLACE
    });
    assert.deepEqual([validator_count, confirmations, signatures.length], [3, 3, 3]);
    for (const { pubkey, sig } of signatures) {
      assert.ok(isOfSet(statement, pubkey, sig));
      assert.ok(!isOfSet({ ...statement, destination: 'DOGE' }, pubkey, sig));
      assert.ok(!matterRulesOf(SET).isSigned(statement, pubkey, sig), 'it counts in its set alone');
      assert.ok(!isSigned(Buffer.from(JSON.stringify(statement)), pubkey, sig));
    }
    assert.deepEqual(
      others.map(({ pubkey }: { pubkey: string }) => pubkey),
      [liar.key.pubkey]
    );
    const [swap] = await rows(second.store.connection, 'SELECT status, attestation_id FROM swap_records');
    assert.deepEqual([swap!['status'], swap!['attestation_id']], ['attested', 'BTC:5:LTC']);

    // A report that the liar alone has seen changes nothing; one that three have seen does.
    const report = { type: 'reorg', chain: 'BTC', height: 800, timestamp: 7, newHash: 'cd'.repeat(32) } as const;
    await submit(liar, { ...report, oldHash: 'ff'.repeat(32) });
    await submit(second, { ...report, oldHash: PLACE.hash });
    await until('each is asked', () => nodes.every(({ hub }) => hub.witness.questions.length === 2));
    for (const { hub } of nodes)
      for (const question of hub.witness.questions)
        if (question.kind === 'reorg')
          hub.witness.answer({
            kind: 'reorg',
            id: question.id,
            isSeen: hub === liar.hub ? question.oldHash !== PLACE.hash : question.oldHash === PLACE.hash
          });
    await eventually('it is taken back', async () => (await attestationOf(first))['status'] === 'pending');
    await eventually('both are decided', async () => {
      const found = await rows(
        first.store.connection,
        'SELECT status, affected_chains FROM reorg_attestations ORDER BY id'
      );
      return (
        found.map(({ status, affected_chains }) => `${status} ${affected_chains}`).join() === 'rejected ,confirmed LTC'
      );
    });
    await agreed(nodes);
    assert.deepEqual((await attestationOf(third))['validator_count'], 0);

    // All that they say goes in one envelope, whose type tells what it is about.
    const change = { parameter: 'FEE', currentValue: '1', proposedValue: '1.5', rationale: null };
    await submit(third, { type: 'propose', ...change });
    const ofPrices = 'ORACLE_PRICE_SUBMIT';
    await eventually('prices are told', async () => {
      first.hub.rounds!.find(Date.now(), [['BTC/USD', '60000.00000000']]);
      return heard.has(ofPrices);
    });
    const ofSteps = ['ATTESTATION_SUBMIT', 'CROSS_CHAIN_SUBMIT', 'GOVERNANCE_SUBMIT'];
    for (const type of ['HEARTBEAT', 'CONSENSUS_MESSAGES', 'CONSENSUS_SUBMIT', ofPrices, ...ofSteps]) {
      const envelope = heard.get(type);
      assert.ok(envelope, type);
      assert.deepEqual(Object.keys(envelope).toSorted(), ['data', 'id', 'sender', 'sig', 'timestamp', 'type']);
      assert.ok(isGenuine(envelope), type);
    }
  } finally {
    await Promise.all(nodes.map(({ stop }) => stop()));
  }
});

test('a hub that was killed between its word and the decision says nothing else afterwards', async () => {
  const nodes = await startSet();
  const [first, second, third, fourth] = nodes as [Node, Node, Node, Node];
  try {
    await submit(first, ATTEST);
    await until('it is asked', () => fourth.hub.witness.questions.length === 1);
    // It is alone when it speaks: its word waits.
    await Promise.all([first.stop(), second.stop(), third.stop()]);
    const word = { kind: 'attestation', id: 'BTC:5:LTC', turn: 1 } as const;
    fourth.hub.witness.answer({ ...word, place: PLACE });
    await eventually('its word is stored', async () => {
      const pending = await rows(fourth.store.connection, 'SELECT operation FROM consensus_pending');
      return pending.some((row) => String(row['operation']).includes('action-word'));
    });
    await fourth.stop();
    const again: Node[] = [];
    for (const { key, store } of [fourth, first, second, third]) {
      const seeds = again.slice(0, 1).map(({ mesh }) => mesh.addr);
      again.push(await startNode(key, seeds, store.database, { set: OF_ROUNDS }));
    }
    nodes.splice(0, nodes.length, ...again);
    assert.deepEqual(again[0]!.hub.witness.questions, [], 'its word is on its way');
    again[0]!.hub.witness.answer({ ...word, place: null });
    await eventually('its first word is there', async () => {
      const { signatures, others } = JSON.parse(String((await attestationOf(again[1]!))['consensus_proof']));
      return signatures.length === 1 && others.length === 0;
    });
    await agreed(again);
  } finally {
    await Promise.all(nodes.map(({ stop }) => stop()));
  }
});
