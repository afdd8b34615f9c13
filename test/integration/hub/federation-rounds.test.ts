import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SigningKey } from '../../../src/consensus/auth-signature.ts';
import { signersOf } from '../../../src/consensus/price-round.ts';
import { type Connection, rows } from '../../../src/db/connection.ts';
import {
  type Batch,
  EMPTY_LOG,
  type Message,
  type Signed,
  type Vote
} from '../../../src/hub/federation/consensus/messages.ts';
import {
  digestOf,
  type HubSet,
  isStatement,
  roundRulesOf,
  setIdOf,
  signMessage,
  signOperation,
  signSeen,
  signSubmission
} from '../../../src/hub/federation/gossip/signatures.ts';
import { RoundJournal } from '../../../src/hub/federation/journal/round-journal.ts';
import { capabilityBodyOf, roundBodyOf } from '../../../src/hub/federation/rounds/operations.ts';
import { statementOf } from '../../../src/hub/federation/rounds/statement-text.ts';
import type { Submission } from '../../../src/hub/federation/rounds/statements.ts';
import { priceRoundMethods } from '../../../src/hub/methods/price-rounds.ts';
import type { HubDatabase } from '../../../src/hub/store/database.ts';
import { insertSignedRound } from '../../../src/hub/store/prices/prices.ts';
import { retractPrices } from '../../../src/hub/store/prices/retraction.ts';
import { runStatement, type StatementName } from '../../../src/hub/store/statements.ts';
import { machineOf, openJournal } from '../../support/federation/database.ts';
import { until } from '../../support/federation/mesh-hub.ts';
import { MEMBERS, type Node, SET, startNode } from '../../support/federation/node.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const rounds = { epochStartMs: 1_767_225_600_000, intervalMs: 4_000, windowMs: 2_000, minSubmissions: 3 };
const PRICED: HubSet = { ...SET, rounds };

const roundsOf = ({ store }: Node) => rows(store.connection, 'SELECT * FROM consensus_rounds ORDER BY round');
const capabilitiesOf = ({ store }: Node) =>
  rows(
    store.connection,
    'SELECT signing_pubkey, capability, qualified, self_test_ok, enabled, self_test_msg FROM validator_capabilities ORDER BY signing_pubkey, capability'
  );

const isCommitOf =
  (seq: number) =>
  ({ message }: Signed<Message>) =>
    message.kind === 'commit' && message.seq === seq;

/** Tells a hub what was found about its capability for prices. */
function check({ hub }: Node, hasStake: boolean, reason: string | null = null): void {
  hub.capabilities.check([{ name: 'price', hasStake, passes: reason === null, reason }], 800_000);
}

test('four hubs, one without the stake, agree on the prices of rounds and sign them; who misses a round is named', async () => {
  const options = { set: PRICED };
  const nodes: Node[] = [await startNode(MEMBERS[0]!, [], undefined, options)];
  for (const key of MEMBERS.slice(1)) nodes.push(await startNode(key, [nodes[0]!.mesh.addr], undefined, options));
  const [poor, ...able] = nodes.toReversed() as [Node, ...Node[]];
  const finding = setInterval(() => {
    for (const [at, { hub }] of nodes.entries()) hub.rounds!.find(Date.now(), [['BTC/USD', `${60_000 + at}.00000000`]]);
  }, 100);
  try {
    await until('each sees three', () => nodes.every(({ mesh }) => mesh.peers.length === 3));
    for (const { store } of nodes)
      await store.connection.query(
        "INSERT INTO chain_tips (coin, network, block_height, block_time, trusted) VALUES ('bitcoin', 'mainnet', 800000, 1, 1)"
      );
    check(poor, false);
    for (const node of able) check(node, true);
    await eventually('three have the capability, at each hub', async () => {
      const found = await Promise.all(nodes.map(capabilitiesOf));
      return found.every(
        (all) => all.filter((row) => row['qualified'] === 1 && row['self_test_ok'] === 1).length === 3
      );
    });
    const lastOf = async (node: Node) => (await new RoundJournal(node.store.connection).last())!;
    await eventually('a round has a price of three', async () => {
      const last = await lastOf(nodes[0]!);
      return last?.counted.length === 3 && last.pairs[0]!.price !== null;
    });
    const { counted, qualified } = await lastOf(nodes[0]!);
    assert.ok(!qualified.includes(poor.key.pubkey) && !counted.includes(poor.key.pubkey));

    // More than two thirds of the hubs sign the prices, each when it has applied the round.
    const database = {
      read: (name: StatementName, ...given: readonly unknown[]) =>
        runStatement(nodes[1]!.store.connection, name, given as never)
    };
    const { getpricerounds, getslashevidence } = priceRoundMethods(database as unknown as HubDatabase, nodes.length);
    type Round = {
      readonly round: number;
      readonly timestamp: number;
      readonly btc_block_height: number;
      readonly pairs: readonly { readonly pair: string; readonly price: string | null }[];
      readonly signatures: readonly { readonly pubkey: string; readonly sig: string }[];
      readonly publishable: boolean;
      readonly action: string | null;
    };
    let signed: Round | undefined;
    await eventually('a round can be published', async () => {
      const all = (await getpricerounds!.run({}, {} as never)) as readonly Round[];
      signed = all.find(({ publishable }) => publishable);
      return signed !== undefined;
    });
    const { pairs, signatures, action, ...more } = signed!;
    const priced = pairs.flatMap(({ pair, price }) => (price === null ? [] : [{ pair, price }]));
    const signers = signersOf({ ...more, pairs: priced }, signatures, PRICED.keys);
    assert.ok(signers.length >= 3, `${signers.length} signers`);
    assert.equal(more.btc_block_height, 800_000);
    assert.match(action!, new RegExp(`^PRICE\\|0\\|${more.round}\\|${more.timestamp}\\|800000\\|1\\|BTC/USD\\|6000`));
    assert.deepEqual(await getslashevidence!.run({}, {} as never), []);
    // Readers of prices find them.
    const [snapshot] = await rows(
      nodes[2]!.store.connection,
      "SELECT price, reference_block FROM price_snapshots WHERE origin = 'validators' AND status = 'finalized' AND round_number = ?",
      [more.round]
    );
    assert.deepEqual([snapshot!['price'], snapshot!['reference_block']], [priced[0]!.price, 800_000]);

    // A hub whose self-test fails still counts among those whose prices are missed.
    check(able[0]!, true, 'no source answered');
    await eventually('it misses two rounds', async () => {
      const { before } = await new RoundJournal(nodes[1]!.store.connection).facts();
      return (before.missed[able[0]!.key.pubkey] ?? 0) >= 2;
    });
    // Without a hub that qualifies there are no more rounds.
    for (const node of able) check(node, false);
    await eventually('none qualifies, at each hub', async () => {
      const found = await Promise.all(nodes.map(capabilitiesOf));
      return found.every((all) => all.every((row) => row['qualified'] === 0));
    });
    const seq = () => Math.max(...nodes.map(({ hub }) => hub.standing.seq));
    await until('all are there', () => nodes.every(({ hub }) => hub.standing.seq === seq()));
    const dumps = () => Promise.all(nodes.map(({ store }) => machine.dump(store.connection)));
    const machine = machineOf(PRICED);
    await eventually(
      'all have the same',
      async () => new Set((await dumps()).map((rows) => rows.join('\n'))).size === 1
    );
    assert.deepEqual(
      nodes.flatMap(({ halts }) => halts),
      []
    );

    // A hub that takes the state of a checkpoint has all of it, the prices for their readers too.
    const [dumped = []] = await dumps();
    const taken = await openJournal();
    await machine.replace(taken.connection, dumped);
    assert.deepEqual(await machine.dump(taken.connection), dumped);
    const [prices] = await rows(
      taken.connection,
      "SELECT COUNT(DISTINCT round_number) AS count FROM price_snapshots WHERE origin = 'validators'"
    );
    assert.equal(Number(prices!['count']), (await roundsOf(nodes[0]!)).length);
    await machine.replace(taken.connection, []);
    assert.deepEqual(await machine.dump(taken.connection), []);
    taken.connection.destroy();
  } finally {
    clearInterval(finding);
    await Promise.all(nodes.map(({ stop }) => stop()));
  }
});

test('a hub that was to commit a round in a view that ended signs the prices of the one that is decided', async () => {
  const [round, id] = [10, setIdOf(PRICED)];
  const now = rounds.epochStartMs + round * rounds.intervalMs + rounds.windowMs + 500;
  const published: { type: string; data: Readonly<Record<string, unknown>> }[] = [];
  const publish = (type: string, data: Readonly<Record<string, unknown>>) => void published.push({ type, data });
  const [liar, next, self, other] = MEMBERS as [SigningKey, SigningKey, SigningKey, SigningKey];
  const node = await startNode(self, [], undefined, {
    set: PRICED,
    now: () => now,
    speak: () => ({ peers: [liar, next, other].map(({ pubkey }) => pubkey), publish, sendTo: () => undefined })
  });
  const say = (key: SigningKey, message: Message) => {
    const data = { set: id, messages: [signMessage(id, message, key)] };
    node.hub.receive({ type: 'CONSENSUS_MESSAGES', id: '', sender: key.pubkey, timestamp: now, data, sig: '' });
  };
  const voteOf = (kind: Vote['kind'], view: number, batch: Batch): Vote => ({
    kind,
    view,
    seq: batch.seq,
    digest: digestOf(batch)
  });
  const propose = (key: SigningKey, view: number, batch: Batch) => {
    say(key, { kind: 'prePrepare', view, seq: batch.seq, digest: digestOf(batch), batch });
    say(view === 0 ? next : other, voteOf('prepare', view, batch));
  };
  const commit = async (view: number, batch: Batch) => {
    for (const key of [liar, next, other]) say(key, voteOf('commit', view, batch));
    await until('it is applied', () => node.hub.standing.seq === batch.seq);
  };
  const submissions = MEMBERS.map((key, at) =>
    signSubmission(id, { round, height: 800_000, prices: [['BTC/USD', `${60_000 + at}.00000000`]] }, key)
  );
  const { hashOf } = roundRulesOf(PRICED)!;
  const listOf = (key: SigningKey, held: readonly Submission[]) =>
    signSeen(id, { round, held: held.map(hashOf).toSorted() }, key);
  /** A round with all submissions, or without that of the liar, which one honest hub alone had in time. */
  const roundBy = (key: SigningKey, hubs: readonly SigningKey[], of: readonly Submission[]) => {
    const seen = hubs.map((hub) => listOf(hub, hub === liar || hub === next ? submissions : submissions.slice(1)));
    return [signOperation(id, 1, roundBodyOf({ round, seen, submissions: of }), key)];
  };
  try {
    const claim = capabilityBodyOf({ name: 'price', phase: 'ready', height: 800_000, reason: null });
    const claims = MEMBERS.map((key) => signOperation(id, 0, claim, key));
    const first: Batch = { seq: 1, time: now - 1_000, previous: '', operations: claims };
    propose(liar, 0, first);
    await commit(0, first);
    const later = { seq: 2, time: now - 400, previous: digestOf(first) };
    propose(liar, 0, { ...later, operations: roundBy(liar, [liar, next, other], submissions) });
    const commits = () =>
      published.flatMap(({ data }) => (data['messages'] ?? []) as readonly Signed<Message>[]).filter(isCommitOf(2));
    await until('it commits that', () => commits().length === 1);

    // Hubs that have not prepared it ask for the next view.
    const votes = [liar, next, other].map((key) => signMessage(id, voteOf('commit', 0, first), key));
    const wish = { kind: 'viewChange', view: 1, stable: EMPTY_LOG, last: { batch: first, votes }, places: [] } as const;
    say(next, { kind: 'newView', view: 1, changes: [liar, next, other].map((key) => signMessage(id, wish, key)) });
    const decided: Batch = { ...later, operations: roundBy(next, [next, self, other], submissions.slice(1)) };
    propose(next, 1, decided);
    await commit(1, decided);
    const last = (await new RoundJournal(node.store.connection).last())!;
    assert.equal(last.pairs[0]!.price, '60002.00000000');
    const signatures = () => published.filter(({ type }) => type === 'ORACLE_STATEMENT').map(({ data }) => data['sig']);
    await until('it signs the prices', () => signatures().length > 0);
    assert.ok(isStatement(statementOf(last)!, self.pubkey, String(signatures()[0])));
  } finally {
    await node.stop();
  }
});

test('a hub that signed for a round sends that again after a restart, and nothing else', async () => {
  const { database, connection } = await openJournal(undefined, PRICED);
  assert.equal(await new RoundJournal(connection).keepOwn(7, 'statement', 'first'), 'first');
  connection.destroy();
  const again = await openJournal(database);
  const journal = new RoundJournal(again.connection);
  assert.equal(await journal.keepOwn(7, 'statement', 'second'), 'first');
  assert.equal(await journal.keepOwn(7, 'list', 'a list'), 'a list');
  assert.equal(await journal.keepOwn(8, 'statement', 'second'), 'second');
  again.connection.destroy();
});

test('a hub that misses rounds is named once, also where the set lowers the bound meanwhile', async () => {
  const { connection } = await openJournal(undefined, PRICED);
  const [id, { hashOf }] = [setIdOf(PRICED), roundRulesOf(PRICED)!];
  const [able, away] = [MEMBERS.slice(0, 3), MEMBERS[3]!];
  await connection.query(
    'INSERT INTO validator_capabilities (signing_pubkey, capability, qualified, self_test_ok, enabled) VALUES ?',
    [MEMBERS.map(({ pubkey }) => [pubkey, 'price', 1, 1, 1])]
  );
  const machine = machineOf(PRICED);
  const decide = async (round: number) => {
    const submissions = able.map((key) =>
      signSubmission(id, { round, height: 1, prices: [['BTC/USD', '60000.00000000']] }, key)
    );
    const held = submissions.map(hashOf).toSorted();
    const body = roundBodyOf({ round, seen: able.map((key) => signSeen(id, { round, held }, key)), submissions });
    const time = rounds.epochStartMs + round * rounds.intervalMs + rounds.windowMs;
    assert.equal(await machine.apply(connection, { submitter: able[0]!.pubkey, number: 0, body, sig: '' }, time), null);
  };
  const named = async () =>
    (await rows(connection, 'SELECT round, pubkey, detail FROM slash_evidence ORDER BY round')).map((row) => ({
      ...row
    }));
  for (let round = 0; round < 10; round++) await decide(round);
  assert.deepEqual(await named(), []);
  await connection.query(
    `INSERT INTO consensus_matters (kind, id, number, submitter, topic, status, begun_at, record)
     VALUES ('proposal', 'p', 1, 'a', 'SLASH_MISSED_ROUNDS_THRESHOLD', 'passed', 1, '{"kind":"proposal","proposedValue":"8"}')`
  );
  const expected = [{ round: 10, pubkey: away.pubkey, detail: '{"rounds":11}' }];
  for (let round = 10; round < 13; round++) {
    await decide(round);
    assert.deepEqual(await named(), expected);
  }
  connection.destroy();
});

test('a hub whose clock was far ahead for a while does not forget what binds it', async () => {
  const { connection } = await openJournal();
  const journal = new RoundJournal(connection);
  const decide = (round: number) =>
    connection.query("INSERT INTO consensus_rounds (round, decided, `after`) VALUES (?, '{}', '{}')", [round]);
  await decide(6);
  await journal.keepOwn(7, 'submission', 'first');
  await journal.keepOwn(900_000, 'submission', 'of a wrong clock');
  assert.equal(await journal.keepOwn(7, 'submission', 'second'), 'first');
  await decide(1_010);
  await journal.keepOwn(1_011, 'submission', 'later');
  assert.deepEqual(
    [await journal.own(7, 'submission'), await journal.own(900_000, 'submission')],
    [null, 'of a wrong clock']
  );
  connection.destroy();
});

test('a round that an indexer has pushed from its chain is no fault where the log has it later', async () => {
  const [behind, ahead] = [await openJournal(undefined, PRICED), await openJournal(undefined, PRICED)];
  const pairs = [{ pair: 'BTC/USD', price: '60000.00000000' }];
  const shared = { round_number: 7, block_timestamp: 1_767_225_630, reference_block: 800_000, validator_count: 3 };
  const onChain = { ...shared, consensus_proof: '[]', source_chain: 'BTC', source_action_index: 5, pairs };
  const shown = async ({ connection }: { readonly connection: Connection }) =>
    (await rows(connection, 'SELECT source_chain AS chain, price FROM price_snapshots')).map((row) => ({ ...row }));
  for (const push_generation of [0, 3]) {
    await behind.connection.query('DELETE FROM price_snapshots');
    await insertSignedRound(behind.connection, { ...onChain, push_generation }, true);
    const decided = { round: 7, timestamp: 1_767_225_630, height: 800_000, pairs: [{ ...pairs[0], submissions: 3 }] };
    const hubs = { qualified: [], counted: ['a', 'b', 'c'], far: [], split: [], publishers: [], decidedAt: 1 };
    const row = [
      'consensus_rounds',
      7,
      JSON.stringify({ ...decided, ...hubs }),
      JSON.stringify({ round: 7, prices: {}, missed: {} })
    ];
    const machine = machineOf(PRICED);
    await machine.replace(behind.connection, [`round ${JSON.stringify(row)}`]);
    const price = '60000.00000000';
    assert.deepEqual(await shown(behind), [{ chain: 'BTC', price }]);
    // A reorg takes the action away, and leaves what the set has decided.
    const taken = { chain: 'BTC', from: 5, to: null, generation: push_generation + 1 };
    await retractPrices(behind.connection, taken, true);
    assert.deepEqual(await shown(behind), [{ chain: null, price }]);
    // So does one at a hub that had the round from the log first.
    await ahead.connection.query('DELETE FROM price_snapshots');
    await machine.replace(ahead.connection, [`round ${JSON.stringify(row)}`]);
    await insertSignedRound(ahead.connection, { ...onChain, push_generation }, true);
    await retractPrices(ahead.connection, taken, true);
    assert.deepEqual(await shown(ahead), [{ chain: null, price }]);
  }
  for (const { connection } of [behind, ahead]) connection.destroy();
});

test('a hub that begins another set goes on with nothing that the former one had', async () => {
  const store = await openJournal(undefined, PRICED);
  const { connection, database } = store;
  const self = MEMBERS[2]!;
  const late = {
    round: 9_000_000,
    timestamp: 1,
    height: 800_000,
    pairs: [],
    qualified: [],
    counted: [],
    far: [],
    split: []
  };
  await connection.query('INSERT INTO consensus_rounds (round, decided, `after`) VALUES (?)', [
    [late.round, JSON.stringify({ ...late, publishers: [], decidedAt: 1 }), '{}']
  ]);
  await connection.query(
    `INSERT INTO validator_capabilities (signing_pubkey, capability, qualified, self_test_ok, enabled)
     VALUES (?, 'cross_chain', 1, 1, 1), (?, 'price', 1, 1, 1)`,
    [self.pubkey, self.pubkey]
  );
  connection.destroy();
  const published: { type: string; data: Readonly<Record<string, unknown>> }[] = [];
  const publish = (type: string, data: Readonly<Record<string, unknown>>) => void published.push({ type, data });
  const peers = MEMBERS.filter((key) => key !== self).map(({ pubkey }) => pubkey);
  const speak = () => ({ peers, publish, sendTo: () => undefined });
  const node = await startNode(self, [], database, { set: PRICED, speak });
  try {
    assert.equal(node.hub.rounds!.last, null);
    node.hub.capabilities.check([{ name: 'cross_chain', hasStake: true, passes: true, reason: null }], 800_000);
    await until('it tells the new set of its capability', () =>
      published.some(({ type, data }) => type === 'CONSENSUS_SUBMIT' && /cross_chain/.test(JSON.stringify(data)))
    );
  } finally {
    await node.stop();
  }
});

test('a hub that lost what it has signed skips the round that runs, for which it may have signed', async () => {
  const { connection } = await openJournal();
  const journal = new RoundJournal(connection);
  assert.equal(await journal.maySign(6), true, 'the first rounds of a set');
  await connection.query("INSERT INTO consensus_rounds (round, decided, `after`) VALUES (6, '{}', '{}')");
  for (const round of [7, 7, 8, 9]) assert.equal(await journal.maySign(round), round > 7, String(round));
  const other = await openJournal();
  const signed = new RoundJournal(other.connection);
  await signed.keepOwn(6, 'list', 'a list');
  await other.connection.query("INSERT INTO consensus_rounds (round, decided, `after`) VALUES (6, '{}', '{}')");
  assert.equal(await signed.maySign(7), true);
  for (const one of [connection, other.connection]) one.destroy();
});
