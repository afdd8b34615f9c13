import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { rows } from '../../../src/db/connection.ts';
import { type Batch, type Committed, EMPTY_LOG, type Vote } from '../../../src/hub/federation/consensus/messages.ts';
import { CHECKPOINT_INTERVAL } from '../../../src/hub/federation/consensus/rules.ts';
import { digestOf, signMessage, signOperation } from '../../../src/hub/federation/gossip/signatures.ts';
import { type JournalDatabase, openJournal } from '../../federation/database.ts';

const KEY = signingKey('01'.repeat(32));
const SET = 'ab'.repeat(32);
const opened: JournalDatabase[] = [];
after(() => {
  for (const { connection } of opened) connection.destroy();
});
const open = async (...given: Parameters<typeof openJournal>): Promise<JournalDatabase> => {
  const one = await openJournal(...given);
  opened.push(one);
  return one;
};

const vote = (seq: number, digest: string, kind: Vote['kind'] = 'prepare', view = 0) => ({
  signed: signMessage(SET, { kind, view, seq, digest }, KEY),
  prepared: null
});

/** A batch that writes one value. */
function batchOf(seq: number, previous: string, value: string | null = String(seq)): Batch {
  const body = JSON.stringify({ config: [{ coin: 'BTC', network: 'mainnet', module: 'm', param: 'user', value }] });
  return { seq, previous, time: 1_700_000_000_000 + 1_000 * seq, operations: [signOperation(SET, seq - 1, body, KEY)] };
}

async function applyAll(
  { journal }: JournalDatabase,
  count: number
): Promise<{ states: (string | null)[]; last: string }> {
  const states: (string | null)[] = [];
  let last = '';
  for (let seq = 1; seq <= count; seq++) {
    const batch = batchOf(seq, last);
    last = digestOf(batch);
    states.push((await journal.apply({ batch, votes: [] }, last)).state);
  }
  return { states, last };
}

test('votes are in the database when they are kept, and come back after a restart', async () => {
  const one = await open();
  const votes = [vote(1, 'aa'), vote(1, 'aa', 'commit'), vote(2, 'bb')];
  await one.journal.keepVotes(votes);
  await one.journal.keepVotes([vote(1, 'aa')]);
  one.connection.destroy();
  const again = await open(one.database);
  const restored = await again.journal.load(5);
  assert.deepEqual(restored.votes.map(({ signed }) => signed.sig).sort(), votes.map(({ signed }) => signed.sig).sort());
  assert.deepEqual([restored.now, restored.applied.seq, restored.stable], [5, 0, EMPTY_LOG]);
});

test('EQUIVOCATION_PREVENTED: another vote for one place is not kept, nor are those beside it', async () => {
  const { journal } = await open();
  await journal.keepVotes([vote(1, 'aa')]);
  await assert.rejects(journal.keepVotes([vote(2, 'bb'), vote(1, 'cc')]), { code: 'EQUIVOCATION_PREVENTED' });
  const { votes } = await journal.load(0);
  assert.equal(votes.length, 1);
  await journal.keepVotes([vote(1, 'cc', 'prepare', 1)]);
});

test('a batch, its log entry and the numbers of submitters are written together', async () => {
  const one = await open();
  const operation = batchOf(1, '').operations[0]!;
  await one.journal.keepOperation(operation);
  assert.deepEqual((await one.journal.load(0)).pending, [operation]);
  const { last } = await applyAll(one, 3);
  const restored = await one.journal.load(0);
  assert.deepEqual(restored.pending, []);
  assert.deepEqual(restored.applied, {
    seq: 3,
    digest: last,
    time: 1_700_000_003_000,
    next: new Map([[KEY.pubkey, 3]])
  });
  assert.deepEqual(
    restored.log.map(({ batch }) => batch.seq),
    [1, 2, 3]
  );
  assert.deepEqual(
    (await one.journal.entries(2, 1, 1_000_000)).map(({ batch }) => batch.seq),
    [2]
  );
  const [row] = await rows(one.connection, 'SELECT param_value, UNIX_TIMESTAMP(updated_at) AS stamp FROM configs');
  assert.deepEqual([row!['param_value'], Number(row!['stamp'])], ['3', 1_700_000_003]);
});

test('LOG_OUT_OF_ORDER: a batch that does not follow changes nothing', async () => {
  const one = await open();
  const { last } = await applyAll(one, 1);
  for (const batch of [batchOf(3, last), batchOf(2, 'aa'), batchOf(1, '')])
    await assert.rejects(one.journal.apply({ batch, votes: [] } as Committed, digestOf(batch)), {
      code: 'LOG_OUT_OF_ORDER'
    });
  assert.equal((await one.journal.applied()).seq, 1);
});

test('a batch that fails on its way leaves nothing', async () => {
  const one = await open();
  const { last } = await applyAll(one, 1);
  await one.connection.query("CREATE TRIGGER full BEFORE INSERT ON consensus_log FOR EACH ROW SIGNAL SQLSTATE '45000'");
  const batch = batchOf(2, last);
  await assert.rejects(one.journal.apply({ batch, votes: [] }, digestOf(batch)));
  const { applied } = await one.journal.load(0);
  assert.deepEqual([applied.seq, applied.next.get(KEY.pubkey)], [1, 1]);
  const [row] = await rows(one.connection, 'SELECT param_value FROM configs');
  assert.equal(row!['param_value'], '1');
});

test('hubs that applied the same batches have one digest at a checkpoint, others have another', async () => {
  const [one, other, third] = [await open(), await open(), await open()];
  await third.connection.query(
    "INSERT INTO configs (coin, network, module, param_name, param_value) VALUES ('LTC', 'mainnet', 'm', 'p', 'slipped in')"
  );
  const ends = await Promise.all([one, other, third].map((each) => applyAll(each, CHECKPOINT_INTERVAL)));
  const [a, b, c] = ends.map(({ states }) => states.at(-1));
  assert.match(String(a), /^[0-9a-f]{64}$/);
  assert.deepEqual([a === b, a === c], [true, false]);
  assert.deepEqual(new Set(ends[0]!.states.slice(0, -1)), new Set([null]));
});

test('HUB_HALTED: why a hub votes no more outlives the process, and the first reason stays', async () => {
  const one = await open();
  assert.equal(await one.journal.halt(), null);
  await one.journal.keepHalt('first');
  await one.journal.keepHalt('second');
  one.connection.destroy();
  assert.equal(await (await open(one.database)).journal.halt(), 'first');
});

test('below a stable checkpoint no votes are kept, and the log is', async () => {
  const { journal } = await open();
  await journal.keepVotes([vote(99, 'aa'), vote(100, 'bb'), vote(101, 'cc')]);
  const stable = { seq: 100, digest: 'bb', state: 'ss', votes: [] };
  await journal.keepStable({ ...stable, seq: 0 });
  await journal.keepStable(stable);
  const restored = await journal.load(0);
  assert.deepEqual(
    [restored.stable, restored.votes.map(({ signed: { message } }) => (message as Vote).seq)],
    [stable, [101]]
  );
});

test('entries of the log are read up to so many bytes, and at least one', async () => {
  const one = await open();
  await applyAll(one, 5);
  const [first] = await one.journal.entries(1, 1, 0);
  const bytes = Buffer.byteLength(JSON.stringify(first));
  const placesOf = async (from: number, most: number, mostBytes: number) =>
    (await one.journal.entries(from, most, mostBytes)).map(({ batch }) => batch.seq);
  assert.deepEqual(await placesOf(1, 100, 0), [1]);
  assert.deepEqual(await placesOf(2, 100, 3.5 * bytes), [2, 3, 4]);
  assert.deepEqual(await placesOf(2, 2, 100 * bytes), [2, 3]);
  assert.deepEqual(await placesOf(6, 100, 100 * bytes), []);
});
