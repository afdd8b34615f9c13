import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../../../src/db/connection.ts';
import { ReplicaChain } from '../../../../src/replication/replica/catch-up/chain.ts';
import { type ReplicaState, writeReplicaState } from '../../../../src/replication/replica/database/state.ts';
import { ReplicaDispensers } from '../../../../src/replication/replica/following/dispensers.ts';
import { ReplicaFollower } from '../../../../src/replication/replica/following/follower.ts';
import { markMissing } from '../../../../src/replication/replica/parts/doubt.ts';
import type { Replica } from '../../../../src/replication/replica/parts/replica.ts';
import { SourceQuorum } from '../../../../src/replication/replica/quorum/source-quorum.ts';
import { ReplicaAudit } from '../../../../src/replication/replica/verifying/audit.ts';
import { ReplicaCheckpoints } from '../../../../src/replication/replica/verifying/checkpoints.ts';
import { ReplicaIndexMap } from '../../../../src/replication/replica/verifying/index-map.ts';
import { readTopology } from '../../../../src/replication/tables/topology.ts';
import type { AmendmentMessage } from '../../../../src/wire/data/messages.ts';
import { block, createReplica, FIRST } from '../../../support/sync/small-replica.ts';
import { eventually } from '../../../support/sync/sync-process.ts';
import { testReplica } from '../../../support/sync/test-replica.ts';
import { startToldSource, type Told } from '../../../support/sync/told-source.ts';

const { chain, network, dbType } = FIRST;

/** A replica at height 0 that follows a source whose words are the test's. */
async function follow() {
  const { to, writer } = await createReplica();
  await writeReplicaState(writer, { schemaFingerprint: 'old' });
  const typed = (await readTopology(writer)).tables.filter(({ name }) => !name.startsWith('sync_'));
  await writer.end();
  const announced: Told = { typed, fingerprint: 'old', height: 0, blockHash: 'h0', tables: {} };
  const source = await startToldSource(announced);
  const replica = testReplica(to, source.url);
  await replica.open();
  const sourceQuorum = new SourceQuorum(replica, () => () => undefined);
  const audit = new ReplicaAudit(replica, () => undefined);
  const follower = new ReplicaFollower(replica, {
    audit,
    sourceQuorum,
    dispensers: new ReplicaDispensers(replica),
    checkpoints: new ReplicaCheckpoints(replica),
    indexMap: new ReplicaIndexMap(replica, () => connect(to))
  });
  const ending = new AbortController();
  const { signal } = ending;
  await audit.verify(signal); // the source has no digests: none is due again
  const ended = follower.follow(signal);
  const end = () => replica.close();
  const signalEnd = () => ending.abort();
  return { to, announced, source, replica, audit, ended, end, signalEnd };
}

const catchUp = (replica: Replica) =>
  new ReplicaChain(replica, new SourceQuorum(replica, () => () => undefined)).catchUp(
    false,
    new AbortController().signal
  );

test('a live block whose previous hash is not that of the block here is not applied: it leads to the fork check', async () => {
  const { source, replica, ended, end } = await follow();
  source.say({ ...FIRST, previous_hash: 'h0', schema_fingerprint: 'old' });
  source.say(block(2, {}, { previous_hash: 'another', schema_fingerprint: 'old' }));
  assert.deepEqual(await ended, { kind: 'behind' });
  assert.equal(replica.store.state.height, 1);
  await end();
});

test('CHAIN_BROKEN: a hand changed the stored hash of the tip: the next block is not applied, and the fork check follows', async () => {
  const { to, source, replica, ended, end } = await follow();
  const hand = await connect(to);
  await hand.query("UPDATE blocks SET block_hash = 'tampered'");
  source.say({ ...FIRST, previous_hash: 'h0', schema_fingerprint: 'old' });
  assert.deepEqual(await ended, { kind: 'behind' });
  assert.equal(replica.store.state.height, 0);
  assert.deepEqual(await rows(hand, 'SELECT block_index FROM blocks WHERE block_index > 0'), []);
  assert.deepEqual(await rows(replica.store.writer, 'SELECT 1 AS open'), [{ open: 1 }]);
  await hand.end();
  await end();
});

test('CHAIN_BROKEN: a source that names no previous hash is held to the parent in its own rows', async () => {
  const { to, announced, source, ended, end } = await follow();
  const hand = await connect(to);
  await hand.query('ALTER TABLE blocks ADD COLUMN previous_block_hash VARCHAR(64) NULL');
  const { data, ...message } = FIRST;
  const [row] = data['blocks']!;
  announced.typed = (await readTopology(hand)).tables.filter(({ name }) => !name.startsWith('sync_'));
  const blocks = [{ ...row!, previous_block_hash: 'another' }];
  source.say({ ...message, schema_fingerprint: 'new', data: { ...data, blocks } });
  assert.deepEqual(await ended, { kind: 'behind' });
  assert.deepEqual(await rows(hand, 'SELECT block_index FROM blocks'), [{ block_index: 0 }]);
  await hand.end();
  await end();
});

test('a status at the height of the replica that names another block leads to the fork check', async () => {
  const { source, ended, end } = await follow();
  const at = { chain: 'litecoin', network: 'regtest', dbType: 'decoder' } as const;
  source.say({ type: 'status', ...at, block_height: 0, block_time: null, block_hash: 'h0' });
  source.say({ type: 'status', ...at, block_height: 0, block_time: null, block_hash: 'another' });
  assert.deepEqual(await ended, { kind: 'behind' });
  await end();
});

test('a block within a group whose previous hash is not that of the block before it ends the group unapplied', async () => {
  const { source, replica, ended, end } = await follow();
  const group = { first: 1, last: 2 };
  source.say(block(1, {}, { group, previous_hash: 'h0', schema_fingerprint: 'old' }));
  source.say(block(2, {}, { group, previous_hash: 'another', schema_fingerprint: 'old' }));
  assert.deepEqual(await ended, { kind: 'behind' });
  assert.equal(replica.store.state.height, 0);
  await end();
});

test('tables altered to the newer schema of the source before the first block that is made for it is applied', async () => {
  const { to, announced, source, replica, ended, end } = await follow();
  source.say({ ...FIRST, previous_hash: 'h0', schema_fingerprint: 'old' });
  announced.fingerprint = 'new';
  announced.typed = announced.typed.map((table) => {
    if (table.name !== 'notes') return table;
    const [text] = table.columns.filter(({ name }) => name === 'text');
    return { ...table, columns: [...table.columns, { ...text!, name: 'more', default: "'none'" }] };
  });
  const notes = [{ id: 72, block_index: 2, text: 'two', more: 'and more' }];
  source.say(block(2, { notes }, { previous_hash: 'h1', schema_fingerprint: 'new' }));
  source.say(block(9, {}, { previous_hash: 'h8', schema_fingerprint: 'new' }));
  assert.deepEqual(await ended, { kind: 'behind' });
  assert.deepEqual([replica.store.state.height, replica.store.state.schemaFingerprint], [2, 'new']);
  const look = await connect(to);
  assert.deepEqual(
    (await rows(look, 'SELECT text, more FROM notes ORDER BY id')).map(({ text, more }) => [text, more]),
    [
      ['zero', 'none'],
      ['one', 'none'],
      ['two', 'and more']
    ]
  );
  await look.end();
  await end();
});

test('one word of a reorg below the undo journal leads to questions, and not to an empty replica', async () => {
  const { source, replica, ended, end } = await follow();
  source.say({ ...FIRST, previous_hash: 'h0', schema_fingerprint: 'old' });
  source.say({ type: 'reorg', chain, network, dbType, block_index: 0 });
  assert.deepEqual(await ended, { kind: 'behind' });
  const { height, complete, misses } = replica.store.state;
  assert.deepEqual([height, complete, misses], [1, false, true], 'until a comparison finds it equal');
  await end();
});

test('status and hashes that speak for the replica keep it; those that do not are asked for twice', async () => {
  const { announced, replica, ended, end, signalEnd } = await follow();
  signalEnd();
  await ended;
  announced.status = { block_height: 0, block_hash: 'h0' };
  assert.deepEqual(await catchUp(replica), { kind: 'done' });
  let asked = 0;
  Object.defineProperty(announced, 'status', {
    get: () => ({ block_height: 0, block_hash: ++asked === 1 ? 'another' : 'h0' })
  });
  assert.deepEqual(await catchUp(replica), { kind: 'done' });
  assert.ok(asked >= 2, 'one answer alone is not believed');
  await end();
});

test('a replica whose source has no digests says why it is unverified, and what to do', async () => {
  const { audit, ended, end, signalEnd } = await follow();
  assert.equal(audit.state, 'unverified');
  assert.match(String(audit.reason), /offers no digests; name a source that offers digests in SYNC_SOURCES/);
  signalEnd();
  await ended;
  await end();
});

const SETTLING = { ...FIRST, previous_hash: 'h0', schema_fingerprint: 'old', settling: true } as const;
const AT_FIRST = { chain, network, dbType, block_index: 1, block_hash: 'h1' } as const;
const amendmentOf = (number: number): AmendmentMessage => ({
  type: 'amendment',
  ...AT_FIRST,
  number,
  schema_fingerprint: 'old',
  updated_rows: { tokens: [{ id: 900, tick: 'AAA', supply: `${number}.00000000` }] }
});

/** Waits for what the marker says. */
async function until(replica: Replica, wanted: Partial<ReplicaState>): Promise<void> {
  await eventually(JSON.stringify(wanted), async () => {
    const { state } = replica.store;
    return Object.entries(wanted).every(([name, value]) => state[name as keyof ReplicaState] === value);
  });
}

test('a block that settles later is complete with all of its amendments, not before', async () => {
  const { source, replica, ended, end } = await follow();
  source.say(SETTLING);
  await until(replica, { height: 1, complete: false });
  for (const number of [1, 2, 2, 1, 3]) source.say(amendmentOf(number));
  await until(replica, { amendments: 3, complete: false });
  assert.deepEqual(await rows(replica.store.writer, "SELECT supply FROM tokens WHERE tick = 'AAA'"), [
    { supply: '3.00000000' }
  ]);
  source.say({ type: 'settled', ...AT_FIRST, amendments: 3 });
  await until(replica, { complete: true, settledHeight: 1, misses: false });
  source.say({ type: 'status', ...AT_FIRST, block_height: 2, block_time: null });
  await ended;
  await end();
});

test('a replica that has caught up while amendments are to come takes them before a comparison, and one that missed some is compared', async () => {
  const { announced, source, replica, ended, end, signalEnd } = await follow();
  source.say(SETTLING);
  await until(replica, { height: 1, complete: false });
  signalEnd();
  await ended;
  announced.status = { block_height: 1, block_hash: 'h1' };
  assert.deepEqual(await catchUp(replica), { kind: 'settling' });
  await markMissing(replica);
  assert.deepEqual(await catchUp(replica), { kind: 'done' });
  await writeReplicaState(replica.store.writer, { complete: true, misses: false });
  assert.deepEqual(await catchUp(replica), { kind: 'done' });
  await end();
});

test('a replica whose chain became shorter is compared, also where the status is of a moment before that', async () => {
  const { announced, source, replica, ended, end, signalEnd } = await follow();
  source.say({ ...FIRST, previous_hash: 'h0', schema_fingerprint: 'old' });
  source.say(block(2, {}, { previous_hash: 'h1', schema_fingerprint: 'old' }));
  await until(replica, { height: 2, complete: true });
  signalEnd();
  await ended;
  replica.sources.followed.offersDigests = true;
  const chain = new ReplicaChain(replica, new SourceQuorum(replica, () => () => undefined));
  await chain.rollBack(0, AbortSignal.timeout(60_000));
  await writeReplicaState(replica.store.writer, { source: source.url });
  announced.status = { block_height: 2, block_hash: 'h2' };
  Object.assign(announced, { height: 1, blockHash: 'h1', tables: { blocks: [{ block_index: 1, block_hash: 'h1' }] } });
  const caughtUp = chain.catchUp(true, new AbortController().signal);
  await until(replica, { height: 1, misses: true, complete: false });
  announced.status = { block_height: 1, block_hash: 'h1' };
  assert.deepEqual(await caughtUp, { kind: 'done' });
  await end();
});

test('a source that grows as fast as its snapshots are applied is followed by its stream; that the replica is behind again and again is told', async () => {
  const { announced, replica, ended, end, signalEnd } = await follow();
  signalEnd();
  await ended;
  const waits: (string | null)[] = [];
  Object.assign(replica.progress, { waiting: (on: string | null) => waits.push(on) });
  let tip = 0;
  const grow = () => {
    tip += 150;
    return { block_height: tip, block_hash: `h${tip}` };
  };
  const blocks = () => Array.from({ length: tip }, (_, at) => ({ block_index: at + 1, block_hash: `h${at + 1}` }));
  Object.defineProperties(announced, {
    height: { get: () => tip },
    blockHash: { get: () => `h${tip}` },
    tables: { get: () => ({ blocks: blocks() }) },
    status: { get: grow }
  });
  const chain = new ReplicaChain(replica, new SourceQuorum(replica, () => () => undefined));
  const caughtUp = () => chain.catchUp(false, AbortSignal.timeout(60_000));
  assert.deepEqual(await caughtUp(), { kind: 'done' });
  assert.ok(waits.every((wait) => !wait?.includes('ahead again')));
  for (let round = 0; round < 2; round++) await caughtUp();
  assert.match(String(waits.findLast(Boolean)), /after 3 in a row the source was ahead again, now by \d+ blocks/);
  await end();
});

test('a replica that missed an amendment, or of which nobody knows, is complete only after a comparison', async () => {
  const lost = [amendmentOf(1), { type: 'settled', ...AT_FIRST, amendments: 2 }] as const;
  const gap = [amendmentOf(2)];
  const unknown = [{ type: 'settled', ...AT_FIRST, amendments: 0, unknown: true }] as const;
  const passed = [amendmentOf(1), block(2, {}, { schema_fingerprint: 'old', previous_hash: 'h1', amended_before: 2 })];
  const late = [{ type: 'settled', ...AT_FIRST, amendments: 0 }, amendmentOf(2)] as const;
  for (const messages of [lost, gap, unknown, passed, late]) {
    const { source, replica, ended, end } = await follow();
    source.say(SETTLING);
    for (const message of messages) source.say(message);
    await until(replica, { misses: true, complete: false });
    const next = block(3, {}, { schema_fingerprint: 'old', group: { first: 9, last: 9 } });
    source.say(next);
    assert.deepEqual(await ended, { kind: 'behind' });
    await end();
  }
});

test('amendments of another source than the one that sent the block complete no replica', async () => {
  const { source, replica, ended, end } = await follow();
  source.say(SETTLING);
  await until(replica, { height: 1, misses: false, complete: false });
  await writeReplicaState(replica.store.writer, { source: 'http://another' });
  await replica.store.reloadState();
  source.say(amendmentOf(1));
  source.say({ type: 'settled', ...AT_FIRST, amendments: 1 });
  await until(replica, { amendments: 1, misses: true, complete: false });
  source.say(block(3, {}, { schema_fingerprint: 'old', group: { first: 9, last: 9 } }));
  assert.deepEqual(await ended, { kind: 'behind' });
  await end();
});
