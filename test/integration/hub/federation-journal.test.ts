import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { connect, rows } from '../../../src/db/connection.ts';
import type { PlatformError } from '../../../src/errors.ts';
import { type Batch, type Committed, EMPTY_LOG, type Vote } from '../../../src/hub/federation/consensus/messages.ts';
import { CHECKPOINT_INTERVAL } from '../../../src/hub/federation/consensus/rules.ts';
import { digestOf, signMessage, signOperation } from '../../../src/hub/federation/gossip/signatures.ts';
import { CONFIG_STATE, firstBodiesOf, readWrite } from '../../../src/hub/federation/journal/config-state.ts';
import { openLog } from '../../../src/hub/federation/journal/opening.ts';
import { isWellFormed } from '../../../src/hub/federation/journal/set-state.ts';
import { hashOf, manifestText, readManifest } from '../../../src/hub/federation/transfer/manifest.ts';
import type { Offer } from '../../../src/hub/federation/transfer/transfer.ts';
import { selectConfigMark } from '../../../src/hub/store/configs.ts';
import { selectEvidence } from '../../../src/hub/store/evidence.ts';
import { type JournalDatabase, openJournal } from '../../support/federation/database.ts';
import { eventually } from '../../support/sync/sync-process.ts';

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
  count: number,
  afterFirst = async (): Promise<void> => undefined
): Promise<{ states: (string | null)[]; last: string }> {
  const states: (string | null)[] = [];
  let last = '';
  for (let seq = 1; seq <= count; seq++) {
    const batch = batchOf(seq, last);
    last = digestOf(batch);
    states.push((await journal.apply({ batch, votes: [] }, last)).state);
    if (seq === 1) await afterFirst();
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

test('votes with more proofs than one statement takes are kept together, one wish of a view that is over is not', async () => {
  const { journal } = await open();
  const body = "'".repeat(1_000_000);
  const votes = Array.from({ length: 12 }, (_, at) => {
    const batch = { seq: at + 1, time: 1, previous: '', operations: [signOperation(SET, at, body, KEY)] };
    const message = { kind: 'prePrepare', view: 0, seq: batch.seq, digest: 'aa', batch } as const;
    return { ...vote(batch.seq, 'aa', 'commit'), prepared: { proposal: signMessage(SET, message, KEY), votes: [] } };
  });
  await journal.keepVotes(votes);
  assert.equal((await journal.load(0)).votes.length, 12);
  const wishes = [1, 2].map((view) => {
    const message = { kind: 'viewChange', view, stable: EMPTY_LOG, last: null, places: [] } as const;
    return { signed: signMessage(SET, message, KEY), prepared: null };
  });
  await journal.keepVotes(wishes);
  await journal.keepStable({ seq: 12, digest: 'aa', state: 'ss', votes: [] }, 0);
  assert.deepEqual((await journal.load(0)).votes, wishes.slice(1));
});

test('the beginning of a view is kept without its proofs, which may be longer than MariaDB takes', async () => {
  const one = await open();
  const wish = { kind: 'viewChange', view: 3, stable: EMPTY_LOG, last: null, places: [] } as const;
  const signed = signMessage(SET, wish, KEY);
  const changes = Array.from({ length: 10_000 }, () => signed);
  await one.journal.keepVotes([
    { signed: signMessage(SET, { kind: 'newView', view: 3, changes }, KEY), prepared: null }
  ]);
  const [kept] = await rows(one.connection, 'SELECT LENGTH(stored) AS bytes FROM consensus_votes');
  assert.ok(Number(kept?.['bytes']) < 1_000, `${kept?.['bytes']} bytes`);
  const { votes } = await one.journal.load(0);
  assert.deepEqual(
    votes.map(({ signed: { message } }) => 'view' in message && [message.kind, message.view]),
    [['newView', 3]]
  );
});

test('EQUIVOCATION_PREVENTED: another vote for one place is not kept, nor are those beside it', async () => {
  const { journal } = await open();
  await journal.keepVotes([vote(1, 'aa')]);
  await assert.rejects(journal.keepVotes([vote(2, 'bb'), vote(1, 'cc')]), { code: 'EQUIVOCATION_PREVENTED' });
  const { votes } = await journal.load(0);
  assert.equal(votes.length, 1);
  await journal.keepVotes([vote(1, 'cc', 'prepare', 1)]);
});

test('a name that differs in case only is refused by what the log has written, refused and removed before', async () => {
  const one = await open();
  let [last, number] = ['', 0];
  const write = async (...edits: (readonly [coin: string, module: string, value: string | null])[]) => {
    const config = edits.map(([coin, module, value]) => ({ coin, network: 'mainnet', module, param: 'user', value }));
    const operations = [signOperation(SET, number, JSON.stringify({ config }), KEY)];
    const batch = { seq: ++number, previous: last, time: 1_700_000_000_000 + number, operations };
    last = digestOf(batch);
    const { refused } = await one.journal.apply({ batch, votes: [] }, last);
    return refused.get(0) ?? null;
  };
  assert.equal(await write(['BTC', 'm', 'a']), null);
  assert.match((await write(['LTC', 'm', 'a'], ['btc', 'm', 'a']))!, /^btc differs in case only from BTC/);
  assert.equal(await write(['ltc', 'm', 'a']), null, 'the one before has written nothing');
  assert.match((await write(['ltc', 'm', null], ['btc', 'm', 'a']))!, /^btc differs/, 'nor removed anything');
  assert.match((await write(['BTC', 'M', 'a']))!, /^BTC\/mainnet\/M differs in case only from BTC\/mainnet\/m/);
  assert.equal(await write(['BTC', 'm', null], ['BTC', 'M', 'a']), null);
  assert.match((await write(['BTC', 'm', 'a']))!, /differs in case only from BTC\/mainnet\/M/);
  assert.match((await write(['BTC', 'n', 'a'], ['BTC', 'N', 'a']))!, /differs in case only/);
  assert.equal(await write(['BTC', 'N', 'a']), null);
  const kept = await rows(one.connection, 'SELECT coin, module FROM configs ORDER BY coin, module');
  assert.deepEqual(kept.map((row) => `${row['coin']}/${row['module']}`).sort(), ['BTC/M', 'BTC/N', 'ltc/m']);
});

/** Applies operations one by one, each as a batch. @returns why each was refused, null where it was not */
function writerOf(given: () => JournalDatabase) {
  let [last, seq, number] = ['', 0, 0];
  return async (...bodies: readonly string[]): Promise<(string | null)[]> => {
    const operations = bodies.map((body) => signOperation(SET, number++, body, KEY));
    const batch = { seq: ++seq, previous: last, time: 1_700_000_000_000 + seq, operations };
    last = digestOf(batch);
    const { refused } = await given().journal.apply({ batch, votes: [] }, last);
    return bodies.map((_, at) => refused.get(at) ?? null);
  };
}

const configOf = (...edits: (readonly [module: string, value: string | null])[]) =>
  JSON.stringify({
    config: edits.map(([module, value]) => ({ coin: 'LTC', network: 'x', module, param: 'user', value }))
  });

/** Adds entries beside the log, and opens it as after a restart: what it knew of the configuration is read again. */
async function filled(one: JournalDatabase, entries: number, length: number): Promise<JournalDatabase> {
  await one.connection.query(
    `INSERT INTO configs (coin, network, module, param_name, param_value, updated_at)
       SELECT 'LTC', 'x', CONCAT('m', seq), 'user', REPEAT('n', ?), '2020-01-01' FROM seq_1_to_${entries}`,
    [length]
  );
  return await open(one.database);
}

test('a write that is refused, or removes nothing, costs no reading of the configuration', async () => {
  let one = await open();
  const write = writerOf(() => one);
  await write(configOf(['first', 'a']));
  one = await filled(one, 99_999, 1);
  await write(configOf(['first', 'b']));
  const statements: string[] = [];
  const query = one.connection.query.bind(one.connection) as (...given: unknown[]) => Promise<unknown>;
  Object.assign(one.connection, {
    query: async (...given: unknown[]) => {
      statements.push(JSON.stringify(given[0]));
      return await query(...given);
    }
  });
  const refusals = await write(
    configOf(['FIRST', 'a']),
    configOf(['one-more', 'a']),
    configOf(['unknown', null]),
    JSON.stringify({ config: JSON.parse(configOf(['first', 'c'])).config, first: true }),
    configOf(['first', null], ['FIRST', 'a'])
  );
  assert.deepEqual(
    refusals.map((reason) => reason?.slice(0, 31) ?? null),
    [
      'LTC/x/FIRST differs in case only',
      'the configuration has 100000 en',
      null,
      'the set has a configuration',
      null
    ].map((reason) => reason?.slice(0, 31) ?? null)
  );
  assert.deepEqual(
    statements.filter((sql) => /\bconfigs\b/.test(sql)).map((sql) => /[A-Z]+/.exec(sql)![0]),
    ['DELETE', 'INSERT']
  );
});

test('a hub that runs judges writes near the bounds of the configuration as one that was started again', async () => {
  let [one, again] = [await open(), await open()];
  const [write, writeAgain] = [writerOf(() => one), writerOf(() => again)];
  for (const each of [write, writeAgain]) await each(configOf(['first', 'a']));
  [one, again] = [await filled(one, 20_479, 1_024), await filled(again, 20_479, 1_024)];
  const long = 'n'.repeat(1_024);
  const batches = [
    [configOf(['m1', long]), configOf(['m2', long], ['m3', long])],
    [configOf(['m1', 'short']), configOf(['new', long])],
    [configOf(['m1', long]), configOf(['m2', null]), configOf(['m2', null], ['M2', long])],
    [configOf(['m3', null], ['m3', long]), configOf(['m4', 'a'], ['m4', long], ['m4', 'b'])],
    [configOf(['new', null], ['m4', long]), configOf(['New', 'x']), configOf(['new', 'x'])],
    [
      configOf(['m4', '\u00e9'.repeat(512)]),
      configOf(['m4', '\u00e9'.repeat(513)]),
      configOf(['m5', ''], ['m6', long])
    ],
    [configOf(['last', '']), configOf(['last', long.slice(0, 1_023)], ['m7', null]), configOf(['last', long])],
    [configOf(['y', long]), configOf(['z', long]), configOf(['zz', long])]
  ];
  const found: (string | null)[] = [];
  for (const batch of batches) {
    again = await open(again.database);
    const refusals = await write(...batch);
    assert.deepEqual(await writeAgain(...batch), refusals);
    found.push(...refusals);
  }
  assert.ok(found.filter((reason) => reason?.includes('bytes of values')).length >= 2, String(found));
  const dumps = await Promise.all([one, again].map(({ connection }) => CONFIG_STATE.dump(connection)));
  assert.deepEqual(dumps[1], dumps[0]);
});

test('an operation that the list of validators does not take leaves no part of it', async () => {
  const one = await open(undefined, { keys: [KEY.pubkey], quorum: 'byzantine' });
  const write = writerOf(() => one);
  const listOf = (count: number, from = 0) =>
    JSON.stringify({
      validators: Array.from({ length: count }, (_, at) => {
        const { pubkey } = signingKey((from + at + 1).toString(16).padStart(64, '0'));
        return { pubkey, addr: `h${from + at}:1` };
      })
    });
  assert.deepEqual(await write(listOf(1_000)), [null]);
  assert.match(String(await write(listOf(1, 1_000))), /the list has 1000 validators/);
  const [listed] = await rows(one.connection, 'SELECT COUNT(*) AS count FROM validators');
  assert.equal(listed!['count'], 1_000);
});

test('a batch, its log entry and the numbers of submitters are written together', async () => {
  const one = await open();
  const operation = batchOf(1, '').operations[0]!;
  await one.journal.keepOperations([operation]);
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

test('a batch that MariaDB undoes for another writer of the database is written when that one is done', async () => {
  const one = await open();
  const write = writerOf(() => one);
  await write(configOf(['m', 'a']));
  const other = await connect(one.database);
  await other.query('START TRANSACTION');
  await other.query("UPDATE consensus_state SET value = value + 0 WHERE key_name = 'last_seq'");
  // Of two in a deadlock the one that wrote less is undone.
  await other.query(
    "INSERT INTO chain_tips (coin, network, block_height, block_time) SELECT CONCAT('c', seq), 'x', 1, 1 FROM seq_1_to_1000"
  );
  const writing = write(configOf(['m', 'b']));
  await eventually('the batch waits for it', async () => {
    const running = await rows(other, 'SHOW PROCESSLIST');
    return running.some(({ Info }) => String(Info).startsWith('REPLACE INTO consensus_state'));
  });
  await other.query("UPDATE configs SET param_value = 'c' WHERE module = 'm'");
  await other.query('ROLLBACK');
  other.destroy();
  assert.deepEqual(await writing, [null]);
  const kept = await rows(one.connection, 'SELECT module, param_value FROM configs');
  assert.deepEqual(kept, [{ module: 'm', param_value: 'b' }]);
});

test('a batch whose rows another writer changes after its beginning is written, as newer versions of MariaDB refuse it', async () => {
  const one = await open();
  await one.connection.query('SET SESSION innodb_snapshot_isolation = 1');
  const write = writerOf(() => one);
  await write(configOf(['m', 'a']));
  const other = await connect(one.database);
  await other.query('START TRANSACTION');
  await other.query("UPDATE configs SET param_value = 'b' WHERE module = 'm'");
  const writing = write(configOf(['m', 'c']));
  await eventually('the batch waits for it', async () => {
    const running = await rows(other, 'SHOW PROCESSLIST');
    return running.some(({ Info }) => /INTO configs/.test(String(Info)));
  });
  await other.query('COMMIT');
  other.destroy();
  assert.deepEqual(await writing, [null]);
  const kept = await rows(one.connection, 'SELECT module, param_value FROM configs');
  assert.deepEqual(kept, [{ module: 'm', param_value: 'c' }]);
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
  const slipIn = async () => {
    await third.connection.query(
      "INSERT INTO configs (coin, network, module, param_name, param_value) VALUES ('LTC', 'mainnet', 'm', 'p', 'slipped in')"
    );
  };
  const ends = await Promise.all([
    applyAll(one, CHECKPOINT_INTERVAL),
    applyAll(other, CHECKPOINT_INTERVAL),
    applyAll(third, CHECKPOINT_INTERVAL, slipIn)
  ]);
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

test('below a stable checkpoint no votes are kept, and so many batches of the log', async () => {
  const { journal } = await open();
  await journal.keepVotes([vote(99, 'aa'), vote(100, 'bb'), vote(101, 'cc')]);
  const stable = { seq: 100, digest: 'bb', state: 'ss', votes: [] };
  await journal.keepStable({ ...stable, seq: 0 }, 0);
  await journal.keepStable(stable, 0);
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

/** A hub with a checkpoint that is taken for signed, and five batches above it. */
async function withCheckpoint(logKeep: number): Promise<JournalDatabase> {
  const one = await open();
  const { states } = await applyAll(one, CHECKPOINT_INTERVAL + 5);
  const { digest } = (
    await rows(one.connection, `SELECT digest FROM consensus_log WHERE seq = ${CHECKPOINT_INTERVAL}`)
  )[0]!;
  const state = states[CHECKPOINT_INTERVAL - 1]!;
  await one.journal.keepStable({ seq: CHECKPOINT_INTERVAL, digest: String(digest), state, votes: [] }, logKeep);
  return one;
}

async function offerOf({ journal }: JournalDatabase): Promise<Offer> {
  const { stable, text } = (await journal.stableState())!;
  assert.equal(hashOf(text), stable.state);
  return { stable, text, manifest: readManifest(text)! };
}

test('the log below a checkpoint is pruned, and its state goes to another hub in parts, which goes on from there', async () => {
  const one = await withCheckpoint(10);
  assert.equal(await one.journal.firstKept(), CHECKPOINT_INTERVAL - 9);
  const late = await open();
  await late.connection.query(
    "INSERT INTO configs (coin, network, module, param_name, param_value) VALUES ('LTC', 'mainnet', 'm', 'user', 'own')"
  );
  const offer = await offerOf(one);
  const missing = await late.journal.missingChunks(offer.manifest);
  assert.deepEqual(missing, offer.manifest.chunks);
  await assert.rejects(late.journal.replaceState(offer), { code: 'LOG_OUT_OF_ORDER' });
  for (const hash of missing) await late.journal.keepChunk(hash, (await one.journal.chunk(hash))!);
  assert.deepEqual(await late.journal.missingChunks(offer.manifest), []);
  await late.journal.keepOperations([batchOf(CHECKPOINT_INTERVAL, '').operations[0]!]);
  await late.journal.keepVotes([vote(1, 'aa'), vote(CHECKPOINT_INTERVAL + 1, 'bb')]);
  const applied = await late.journal.replaceState(offer);
  assert.deepEqual(await late.journal.applied(), applied);

  const restored = await late.journal.load(0);
  assert.deepEqual(
    [restored.applied, restored.stable, restored.log, restored.pending],
    [applied, offer.stable, [], []]
  );
  assert.deepEqual(
    restored.votes.map(({ signed: { message } }) => (message as Vote).seq),
    [CHECKPOINT_INTERVAL + 1]
  );
  for (const committed of await one.journal.entries(CHECKPOINT_INTERVAL + 1, 100, 1_000_000))
    await late.journal.apply(committed, digestOf(committed.batch));
  const dumps = await Promise.all([one, late].map(({ connection }) => CONFIG_STATE.dump(connection)));
  assert.deepEqual(dumps[0], dumps[1]);
  const kept = await rows(late.connection, 'SELECT coin, param_value FROM configs_before_set');
  assert.deepEqual(
    kept.map(({ coin, param_value }) => [coin, param_value]),
    [['LTC', 'own']]
  );
  await assert.rejects(late.journal.replaceState(offer), { code: 'LOG_OUT_OF_ORDER' });
});

test('a part of a state that was changed on its way into the tables changes nothing', async () => {
  const [one, late] = [await withCheckpoint(200), await open()];
  const offer = await offerOf(one);
  for (const hash of offer.manifest.chunks) await late.journal.keepChunk(hash, 'another');
  await assert.rejects(late.journal.replaceState(offer), { code: 'LOG_OUT_OF_ORDER' });
  assert.deepEqual([(await late.journal.applied()).seq, await late.journal.stableState()], [0, null]);
});

test('states of some checkpoints are kept, and parts that neither they have nor one that is being fetched are not', async () => {
  const { journal, connection } = await withCheckpoint(200);
  const { stable, text } = (await journal.stableState())!;
  const fetching = 'ff'.repeat(32);
  for (const hash of ['ab'.repeat(32), fetching]) await journal.keepChunk(hash, 'of no state that is here');
  const hashes = async () => (await rows(connection, 'SELECT hash FROM consensus_chunks')).map(({ hash }) => hash);
  await journal.keepStable(stable, 200, [fetching]);
  assert.deepEqual(await hashes(), [...readManifest(text)!.chunks, fetching], 'of one that is on its way');
  await journal.keepStable(stable, 200);
  assert.deepEqual(await hashes(), [...readManifest(text)!.chunks]);
  // Two times later nobody fetches it any more.
  for (const [at, time] of [1_700_000_600_000, 1_700_001_200_000].entries()) {
    assert.deepEqual(await hashes(), [...readManifest(text)!.chunks]);
    const seq = stable.seq + (4 + at) * CHECKPOINT_INTERVAL;
    const later = manifestText({ time, next: new Map(), chunks: [] });
    await connection.query('INSERT INTO consensus_manifests (seq, manifest) VALUES (?)', [[seq, later]]);
    await journal.keepStable({ ...stable, seq }, 200);
  }
  assert.deepEqual([await hashes(), (await journal.stableState())?.stable.seq], [[], 6 * CHECKPOINT_INTERVAL]);
});

test('a state that hubs fetch is kept for ten minutes of the log, however many checkpoints follow meanwhile', async () => {
  const one = await open();
  const { journal, connection } = one;
  const { states } = await applyAll(one, 6 * CHECKPOINT_INTERVAL);
  const sign = async (seq: number, logKeep: number) => {
    const [entry] = await rows(connection, 'SELECT digest FROM consensus_log WHERE seq = ?', [seq]);
    await journal.keepStable({ seq, digest: String(entry!['digest']), state: states[seq - 1]!, votes: [] }, logKeep);
  };
  const offered = async (from: number) => (await journal.stateFor(from))?.stable.seq ?? null;
  await sign(100, 1_000);
  const first = readManifest((await journal.stateFor(1))!.text)!;
  for (const seq of [200, 300]) await sign(seq, 1_000);
  assert.deepEqual([await offered(1), await offered(100), await offered(101)], [100, 100, null], 'the log leads on');
  // The clock of the log comes to the next ten minutes at 400.
  for (const seq of [400, 500]) await sign(seq, 1_000);
  assert.deepEqual([await offered(1), await offered(401)], [400, null]);
  assert.deepEqual(await journal.missingChunks(first), [], 'who has begun to fetch the one before ends it');
  await sign(600, 10);
  assert.deepEqual([await offered(1), await offered(600)], [600, 600], 'from the other one the log leads on no more');
});

test('the log below a checkpoint has a bound in bytes, since one that lies has long batches written', async () => {
  const one = await open();
  const { journal, connection } = one;
  const { states } = await applyAll(one, 3 * CHECKPOINT_INTERVAL);
  const bytesOf = async (from: number) => {
    const [sum] = await rows(connection, 'SELECT SUM(LENGTH(committed)) AS bytes FROM consensus_log WHERE seq > ?', [
      from
    ]);
    return Number(sum!['bytes']);
  };
  const bytes = await bytesOf(CHECKPOINT_INTERVAL);
  for (const place of [1, 2, 3]) {
    const seq = place * CHECKPOINT_INTERVAL;
    const [entry] = await rows(connection, 'SELECT digest FROM consensus_log WHERE seq = ?', [seq]);
    await journal.keepStable(
      { seq, digest: String(entry!['digest']), state: states[seq - 1]!, votes: [] },
      1_000,
      [],
      bytes
    );
    assert.equal(await journal.firstKept(), place < 3 ? 1 : CHECKPOINT_INTERVAL + 1);
  }
  assert.equal(await bytesOf(0), bytes);
  assert.equal((await journal.applied()).seq, 3 * CHECKPOINT_INTERVAL);
});

test('a hub that takes a state of its set keeps nothing aside of what it has from the log of that', async () => {
  const [one, behind] = [await withCheckpoint(10), await open()];
  await applyAll(behind, 3);
  const offer = await offerOf(one);
  for (const hash of offer.manifest.chunks) await behind.journal.keepChunk(hash, (await one.journal.chunk(hash))!);
  await behind.journal.replaceState(offer);
  assert.equal((await behind.journal.applied()).seq, CHECKPOINT_INTERVAL);
  assert.deepEqual(await rows(behind.connection, 'SELECT * FROM configs_before_set'), []);
});

const SETS = ['ab', 'cd'].map((digits) => digits.repeat(32)) as [string, string];
/** Opens a log by a connection of its own, which ends again. */
async function opening(
  database: JournalDatabase['database'],
  set: string,
  rejoin = false,
  { rounds = null, now = 0 }: Partial<Pick<Parameters<typeof openLog>[1], 'rounds' | 'now'>> = {}
) {
  const connection = await connect(database);
  try {
    const options = { set, rejoin, machine: CONFIG_STATE, rounds, now };
    const { brought, aside, journal } = await openLog(connection, options);
    const edits = brought ? brought.bodies.flatMap((body) => readWrite(body)!.edits) : [];
    return { brought: edits.map(({ value }) => value), aside, seq: (await journal.applied()).seq };
  } finally {
    connection.destroy();
  }
}

test('a standalone hub brings its configuration to a set that has none, and keeps it aside where the set has one', async () => {
  const one = await open();
  await one.connection.query(
    "INSERT INTO configs (coin, network, module, param_name, param_value) VALUES ('LTC', 'mainnet', 'm', 'user', 'own')"
  );
  await one.connection.query("INSERT INTO consensus_state (key_name, value) VALUES ('last_seq', '57')");
  assert.deepEqual((await opening(one.database, SETS[0])).brought, ['own']);
  const [body] = firstBodiesOf([{ coin: 'LTC', network: 'mainnet', module: 'm', param: 'user', value: 'own' }]);
  const waiting = async () => (await one.journal.load(0)).pending.length;
  await one.journal.keepOperations([signOperation(SET, 0, body!, KEY)]);
  await opening(one.database, SETS[0]);
  assert.equal(await waiting(), 1);
  // The set had not begun, and this hub was a standalone one again for a while.
  await one.connection.query("UPDATE consensus_state SET value = '58' WHERE key_name = 'last_seq'");
  assert.deepEqual((await opening(one.database, SETS[0])).brought, ['own']);
  assert.equal(await waiting(), 0, 'what it brought first is out of date');
  const batch = {
    ...batchOf(1, ''),
    operations: [signOperation(SET, 0, body!, KEY), signOperation(SET, 1, body!, KEY)]
  };
  const { refused } = await one.journal.apply({ batch, votes: [] }, digestOf(batch));
  assert.deepEqual([...refused], [[1, 'the set has a configuration']]);
  assert.equal((await CONFIG_STATE.dump(one.connection)).length, 1);
  assert.deepEqual(await opening(one.database, SETS[0]), { brought: [], aside: null, seq: 1 });
});

test('a standalone hub brings a configuration of any length in parts, and each hub that fetches the state between them goes on', async () => {
  const [one, other] = [await open(), await open()];
  const entry = (at: number) => ({
    coin: 'LTC',
    network: 'mainnet',
    module: `m${at}`,
    param: 'user',
    value: 'v'.repeat(1_000)
  });
  const bodies = firstBodiesOf(Array.from({ length: 600 }, (_, at) => entry(at)));
  assert.ok(bodies.length > 2 && bodies.every(isWellFormed));
  const apply = async ({ connection }: JournalDatabase, body: string, submitter = KEY.pubkey) =>
    await CONFIG_STATE.apply(connection, { submitter, number: 0, body, sig: '' }, 1_000);
  const refusal = 'it is not the next part of a configuration that the set takes';
  assert.equal(await apply(one, bodies[0]!), null);
  for (const [body, submitter] of [
    [bodies[2]!, KEY.pubkey],
    [bodies[1]!, 'another hub']
  ] as const)
    assert.equal(await apply(one, body, submitter), refusal);
  assert.equal(await apply(one, bodies[0]!, 'another hub'), 'the set has a configuration');
  const written = { ...entry(599), value: 'written meanwhile' };
  const spelled = { ...entry(598), module: 'M598', value: 'in another spelling' };
  assert.equal(await apply(one, JSON.stringify({ config: [written, spelled] })), null);
  await CONFIG_STATE.replace(other.connection, await CONFIG_STATE.dump(one.connection));
  for (const hub of [one, other]) for (const body of bodies.slice(1)) assert.equal(await apply(hub, body), null);
  const dumped = await CONFIG_STATE.dump(one.connection);
  assert.deepEqual(await CONFIG_STATE.dump(other.connection), dumped);
  assert.equal(dumped.length, 600);
  for (const { value } of [written, spelled]) assert.ok(dumped.some((row) => row.includes(value)));
  assert.equal(await apply(one, bodies[1]!), refusal, 'all were taken');
});

test('a part of a configuration has one form', () => {
  const config = [{ coin: 'LTC', network: 'mainnet', module: 'm', param: 'user', value: 'v' }];
  const read = (more: object) => readWrite(JSON.stringify({ config, ...more }));
  assert.deepEqual(read({ first: true })!.brought, { part: 0, parts: 1 });
  assert.deepEqual(read({ first: true, part: 1, parts: 2 })!.brought, { part: 1, parts: 2 });
  for (const wrong of [{ part: 0, parts: 2 }, { part: 2, parts: 2 }, { part: -1, parts: 2 }, { part: 0 }, { parts: 2 }])
    assert.equal(read({ first: !('part' in wrong && wrong.part === 0 && 'parts' in wrong), ...wrong }), null);
});

test('LOG_TAKEN: a log that another session has is waited for, and that session is named', async () => {
  const one = await open();
  const other = await connect(one.database);
  const [session] = await rows(
    other,
    "SELECT CONNECTION_ID() AS id, GET_LOCK(CONCAT('hub log ', DATABASE()), 0) AS taken"
  );
  await assert.rejects(opening(one.database, SETS[0]), (caught) => {
    const { code, policy, message } = caught as PlatformError;
    assert.deepEqual([code, policy], ['LOG_TAKEN', 'restart']);
    assert.match(message, new RegExp(`KILL ${session!['id']} ends it`));
    return true;
  });
  other.destroy();
  assert.equal((await opening(one.database, SETS[0])).seq, 0);
});

test('LOG_OUT_OF_ORDER: a hub written to in standalone mode, or of another set, begins anew by --rejoin alone, its log kept', async () => {
  const one = await open();
  await opening(one.database, SETS[0]);
  await applyAll(one, 3);
  await one.journal.keepVotes([vote(4, 'aa')]);
  await one.connection.query("UPDATE consensus_state SET value = 4 WHERE key_name = 'last_seq'");
  await assert.rejects(opening(one.database, SETS[0]), { code: 'LOG_OUT_OF_ORDER' });
  await one.connection.query("UPDATE consensus_state SET value = 3 WHERE key_name = 'last_seq'");
  assert.equal((await opening(one.database, SETS[0], true)).aside, null, 'one that can go on is left alone');
  await assert.rejects(opening(one.database, SETS[1]), {
    code: 'LOG_OUT_OF_ORDER',
    message: /ORACLE_.*as the other hubs/
  });

  await one.connection.query("UPDATE consensus_state SET value = 4 WHERE key_name = 'last_seq'");
  const rejoined = { brought: [], aside: '19700101000000', seq: 0 };
  assert.deepEqual(await opening(one.database, SETS[0], true), rejoined);
  const count = async (table: string) =>
    Number((await rows(one.connection, `SELECT COUNT(*) AS count FROM ${table}`))[0]!['count']);
  assert.deepEqual(
    await Promise.all(['consensus_log_19700101000000', 'consensus_votes', 'configs'].map(count)),
    [3, 1, 1]
  );
  assert.deepEqual(await opening(one.database, SETS[0]), { ...rejoined, aside: null });
  assert.equal(
    (await selectConfigMark(one.connection)).seq,
    0,
    'who waits for a write of the set does not find it in the old state'
  );

  assert.equal((await one.journal.load(0)).floor, 3, 'what it has decided is decided no second time');

  // Of another set neither its votes nor its log count, and that set may have the configuration.
  await one.journal.keepHalt('it halted');
  assert.deepEqual((await opening(one.database, SETS[1], true)).brought, ['3']);
  assert.deepEqual([await one.journal.halt(), await count('consensus_votes')], [null, 0]);
  assert.equal((await one.journal.load(0)).floor, 0);

  // All that was signed in the first log of a set would count in a second one.
  await assert.rejects(opening(one.database, SETS[0], true), { code: 'LOG_OUT_OF_ORDER', message: /"log": 2/ });
});

test('LOG_OUT_OF_ORDER: a set whose rounds of prices would have used numbers is told from which epoch on they have not', async () => {
  const one = await open();
  const [rounds, now] = [{ epochStartMs: 10_000_000, intervalMs: 60_000 }, 16_000_000];
  const show = (round: number, trusted: boolean) =>
    one.connection.query(
      `INSERT INTO price_snapshots (round_number, coin_pair, price, block_timestamp, validator_count, status, origin, trusted)
       VALUES (?, 'BTC/USD', 1, 1, 3, 'finalized', 'validators', ?)`,
      [round, trusted]
    );
  await show(9_000, false);
  await show(101, true);
  assert.equal(
    (await opening(one.database, SETS[0], false, { rounds, now })).seq,
    0,
    'the one that runs, and the next'
  );
  await show(250, true);
  await assert.rejects(opening(one.database, SETS[0], false, { rounds, now }), {
    code: 'LOG_OUT_OF_ORDER',
    message: /round 250 .*would be 100 now.*ORACLE_EPOCH_START=940000 or less/
  });
  const earlier = { ...rounds, epochStartMs: 940_000 };
  await opening(one.database, SETS[0], false, { rounds: earlier, now });
  await applyAll(one, 1);
  await opening(one.database, SETS[0], false, { rounds, now });
  await assert.rejects(opening(one.database, SETS[1], true, { rounds, now }), { code: 'LOG_OUT_OF_ORDER' });
  assert.equal((await opening(one.database, SETS[0])).seq, 1, 'what is refused changes nothing');
});

test('an answer with evidence has a few megabytes, however much one that lies has signed', async () => {
  const { journal, connection } = await open();
  const proposals = Array.from({ length: 20 }, (_, at) =>
    ['a', 'b'].map((letter) => {
      const operations = [signOperation(SET, at, letter.repeat(250_000), KEY)];
      const batch: Batch = { seq: at + 1, previous: '', time: 5, operations };
      return signMessage(SET, { kind: 'prePrepare', view: 0, seq: at + 1, digest: digestOf(batch), batch }, KEY);
    })
  );
  for (const [first, second] of proposals) await journal.keepEvidence(first!, second!);
  const lengthOf = (found: Awaited<ReturnType<typeof selectEvidence>>) =>
    found.reduce((sum, { first, second }) => sum + first.length + second.length, 0);
  const found = await selectEvidence(connection, 100);
  assert.ok(found.length >= 4 && lengthOf(found) <= 4 * 2 ** 20, `${found.length} pairs, ${lengthOf(found)} bytes`);
  assert.equal((await selectEvidence(connection, 2)).length, 2);
});

test('a hub that was killed before its vote on a checkpoint finds what it has to sign', async () => {
  const one = await open();
  const { states } = await applyAll(one, CHECKPOINT_INTERVAL + 1);
  const { checkpoints, log } = await one.journal.load(0);
  const digest = digestOf(log[CHECKPOINT_INTERVAL - 1]!.batch);
  const wanted = { kind: 'checkpoint', seq: CHECKPOINT_INTERVAL, digest, state: states[CHECKPOINT_INTERVAL - 1] };
  assert.deepEqual(checkpoints, [wanted]);
  const stable = { seq: CHECKPOINT_INTERVAL, digest, state: wanted.state!, votes: [] };
  await one.journal.keepStable(stable, 1_000);
  assert.deepEqual((await one.journal.load(0)).checkpoints, []);
});
