import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SigningKey } from '../../../src/consensus/auth-signature.ts';
import { rows } from '../../../src/db/core/connection.ts';
import type { Mesh } from '../../../src/hub/federation/gossip/mesh.ts';
import { type HubSet, rulesOf, setIdOf } from '../../../src/hub/federation/gossip/signatures.ts';
import { readChanges } from '../../../src/hub/federation/journal/config-state.ts';
import { ValidatorHub } from '../../../src/hub/federation/node/validator-hub.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { type JournalDatabase, openJournal } from '../../federation/database.ts';
import { KEYS, startHub, until } from '../../federation/mesh-hub.ts';

const MEMBERS = KEYS.slice(0, 4);
const SET: HubSet = { keys: MEMBERS.map(({ pubkey }) => pubkey), quorum: 'byzantine' };

interface Node {
  readonly key: SigningKey;
  readonly mesh: Mesh;
  readonly hub: ValidatorHub;
  readonly store: JournalDatabase;
  readonly halts: unknown[];
  stop(): Promise<void>;
}

async function startNode(key: SigningKey, seeds: readonly string[], database?: DatabaseCoordinates): Promise<Node> {
  const store = await openJournal(database);
  const halts: unknown[] = [];
  let hub: ValidatorHub | null = null;
  const { mesh } = await startHub(key, {
    ...{ seeds, set: setIdOf(SET), members: () => new Set(SET.keys) },
    standing: () => hub?.standing ?? { view: 0, seq: 0 },
    onMessage: (envelope) => hub?.receive(envelope)
  });
  hub = new ValidatorHub({
    ...{ key, set: setIdOf(SET), journal: store.journal, gossip: mesh, now: Date.now, writeTimeoutMs: 15_000 },
    rules: rulesOf(SET, key.pubkey, (body) => readChanges(body) !== null),
    onEvidence: () => assert.fail('no hub here signs two things'),
    onHalt: (reason) => halts.push(reason)
  });
  await hub.start();
  const own = hub;
  const stop = async () => {
    await own.stop();
    await mesh.stop();
    store.connection.destroy();
  };
  return { key, mesh, hub, store, halts, stop };
}

const change = (param: string, value: string) =>
  JSON.stringify({ config: [{ coin: 'BTC', network: 'mainnet', module: 'm', param, value }] });

async function tableOf({ store }: Node): Promise<unknown> {
  return rows(store.connection, 'SELECT param_name, param_value, updated_at FROM configs ORDER BY param_name');
}

test('four hubs with a database each have one configuration, with a hub lost, and when it is back', async () => {
  const nodes: Node[] = [await startNode(MEMBERS[0]!, [])];
  for (const key of MEMBERS.slice(1)) nodes.push(await startNode(key, [nodes[0]!.mesh.addr]));
  try {
    await until('each sees three', () => nodes.every(({ mesh }) => mesh.peers.length === 3));
    const places = await Promise.all(nodes.map(({ hub }, at) => hub.submit(change(`p${at}`, 'first'))));
    assert.ok(places.every((seq) => seq >= 1));

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
