import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import { inSnapshot } from '../../../../src/db/in-snapshot.ts';
import { hasCode } from '../../../../src/errors.ts';
import type { BinlogChanges } from '../../../../src/replication/source/binlog/changes.ts';
import { TouchedTables } from '../../../../src/replication/source/binlog/touched.ts';
import { type Span, withoutSpans } from '../../../../src/replication/source/changes/spans.ts';
import { inconsistentTables, readEngineState } from '../../../../src/replication/source/reading/engine-guard.ts';
import type { GroupBlock } from '../../../../src/replication/source/reading/group-block.ts';
import { readGroup } from '../../../../src/replication/source/reading/group-reader.ts';
import type { SourceMemory } from '../../../../src/replication/source/reading/memory.ts';
import { memoryAtTip } from '../../../../src/replication/source/reading/memory-start.ts';
import { Sweep } from '../../../../src/replication/source/reading/sweep.ts';
import { headLayout, readBlockHeads, readTip } from '../../../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import { blockMessage } from '../../../../src/wire/data/block.ts';
import type { DatabaseCoordinates, DbType } from '../../../../src/wire/data/database.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';

async function open(dbType: DbType, ...statements: string[]) {
  const database = await createDatabase('reader');
  const connection = await connect(database, { finderKey: TEST_KEY, several: true });
  for (const statement of statements) await connection.query(statement);
  return { database, connection, layout: await readLayout(connection, dbType) };
}

async function startAtTip(connection: Connection, dbType: DbType): Promise<SourceMemory> {
  return inSnapshot(connection, async () => {
    const layout = await readLayout(connection, dbType);
    return memoryAtTip(connection, layout, layout.heads && (await readTip(connection, layout.heads)));
  });
}

/** The tables of which a group sends more than its blocks' own rows. */
function sentOf(block: GroupBlock | undefined): string[] {
  return [...(block?.changes?.tables ?? [])].flatMap(([name, { ranges, updated }]) =>
    ranges || updated.length > 0 ? [name] : []
  );
}

/** Reads the new group and remembers it as broadcast. */
async function takeGroup(connection: Connection, dbType: DbType, memory: SourceMemory): Promise<GroupBlock[]> {
  const taken: GroupBlock[] = [];
  for await (const block of readGroup(connection, dbType, [], memory)) {
    taken.push(block);
    memory.accept(block);
  }
  return taken;
}

const HASHES = 'ledger_hash VARCHAR(64) NULL, actions_hash VARCHAR(64) NULL, contract_hash VARCHAR(64) NULL';
const INDEX_TRANSACTIONS =
  'CREATE TABLE index_transactions (id INT AUTO_INCREMENT PRIMARY KEY, hash VARCHAR(64) NOT NULL)';

test('new lookup rows of a group come with its first block, and again with its last for those who have a block in between', async (t) => {
  const { connection } = await open(
    'decoder',
    INDEX_TRANSACTIONS,
    'CREATE TABLE index_addresses (id INT AUTO_INCREMENT PRIMARY KEY, address VARCHAR(64) NOT NULL)',
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL, block_hash VARCHAR(64) NOT NULL)',
    "INSERT INTO blocks VALUES (1, 10, 'h1')"
  );
  t.after(() => connection.destroy());
  const memory = await startAtTip(connection, 'decoder');
  await connection.query("INSERT INTO index_addresses (address) VALUES ('one'), ('two')");
  await connection.query("INSERT INTO blocks VALUES (2, 20, 'h2'), (3, 30, 'h3'), (4, 40, 'h4')");
  const idsOf = ({ rows }: GroupBlock) => (rows['index_addresses'] ?? []).map(({ id }) => id);
  assert.deepEqual((await takeGroup(connection, 'decoder', memory)).map(idsOf), [[1, 2], [], [1, 2]]);
  await connection.query("INSERT INTO index_addresses (address) VALUES ('three')");
  await connection.query("INSERT INTO blocks VALUES (5, 50, 'h5')");
  assert.deepEqual((await takeGroup(connection, 'decoder', memory)).map(idsOf), [[3]]);
});

test('a block tells its new lookup rows also where a known one gets that block', async (t) => {
  const { connection } = await open(
    'decoder',
    INDEX_TRANSACTIONS,
    'CREATE TABLE index_addresses (id INT AUTO_INCREMENT PRIMARY KEY, address VARCHAR(64) NOT NULL, block_index INT NULL)',
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL, block_hash VARCHAR(64) NOT NULL)',
    "INSERT INTO index_addresses (address) VALUES ('known')",
    "INSERT INTO blocks VALUES (1, 10, 'h1')"
  );
  t.after(() => connection.destroy());
  const memory = await startAtTip(connection, 'decoder');
  await connection.query('UPDATE index_addresses SET block_index = 2 WHERE id = 1');
  await connection.query("INSERT INTO index_addresses (address, block_index) VALUES ('new', 2)");
  await connection.query("INSERT INTO blocks VALUES (2, 20, 'h2')");
  const [block] = await takeGroup(connection, 'decoder', memory);
  const { data } = blockMessage({ dbType: 'decoder', chain: 'litecoin', network: 'regtest' }, block!);
  assert.deepEqual(
    data['index_addresses']?.map(({ address }) => address),
    ['new', 'known']
  );
});

test('hashes are found as columns of blocks', async (t) => {
  const { connection, layout } = await open(
    'indexer',
    `CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL, ${HASHES}, state_root VARCHAR(64) NULL)`,
    "INSERT INTO blocks VALUES (5, 50, 'l5', 'a5', 'c5', 's5'), (6, 60, 'l6', 'a6', 'c6', NULL), (7, 70, 'l7', NULL, NULL, NULL)"
  );
  t.after(() => connection.destroy());
  const tip = await readTip(connection, layout.heads!);
  assert.equal(tip?.height, 6, 'a block whose hashes are not complete is not visible');
  const [five] = await readBlockHeads(connection, layout.heads!, 5, 5);
  assert.deepEqual(five?.hashes, { ledger_hash: 'l5', actions_hash: 'a5', contract_hash: 'c5' });
  assert.deepEqual(five?.commitments, {
    state_hash: null,
    balances_root: null,
    block_merkle_root: null,
    state_root: 's5'
  });
});

test('hashes are found through index_transactions, and the last of two rows of a height counts', async (t) => {
  const { connection, layout } = await open(
    'indexer',
    INDEX_TRANSACTIONS,
    "INSERT INTO index_transactions (hash) VALUES ('one'), ('two'), ('three')",
    `CREATE TABLE blocks (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NOT NULL, block_time INT NOT NULL,
      ledger_hash_id INT NULL, actions_hash_id INT NULL, contract_hash_id INT NULL, KEY (block_index))`,
    'INSERT INTO blocks VALUES (1, 5, 50, 1, 1, 1), (2, 5, 50, 3, 2, 1), (3, 6, 60, NULL, NULL, NULL)'
  );
  t.after(() => connection.destroy());
  const tip = await readTip(connection, layout.heads!);
  assert.equal(tip?.height, 5);
  assert.deepEqual(tip.hashes, { ledger_hash: 'three', actions_hash: 'two', contract_hash: 'one' });
});

test('a hash that a chain never fills in hides no block', async (t) => {
  const { connection, layout } = await open(
    'indexer',
    `CREATE TABLE blocks (block_index INT PRIMARY KEY, ${HASHES})`,
    "INSERT INTO blocks VALUES (1, 'l1', 'a1', NULL), (2, 'l2', 'a2', NULL), (3, NULL, NULL, NULL)"
  );
  t.after(() => connection.destroy());
  const tip = await readTip(connection, layout.heads!);
  assert.equal(tip?.height, 2);
  assert.equal(tip.blockTime, null);
});

test('a decoder block has one hash, in either layout', async (t) => {
  for (const [column, value] of [
    ['block_hash VARCHAR(64)', "'two'"],
    ['block_hash_id INT', '2']
  ] as const) {
    const { connection, layout } = await open(
      'decoder',
      INDEX_TRANSACTIONS,
      "INSERT INTO index_transactions (hash) VALUES ('one'), ('two')",
      `CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL, ${column} NULL)`,
      `INSERT INTO blocks VALUES (9, 90, ${value})`
    );
    t.after(() => connection.destroy());
    assert.deepEqual((await readTip(connection, layout.heads!))?.hashes, { block_hash: 'two' });
  }
});

test('DATABASE_UNUSABLE: a blocks table without any hash', async (t) => {
  const { connection, layout } = await open('indexer');
  t.after(() => connection.destroy());
  assert.equal(layout.heads, null, 'no blocks table yet is no error');
  await connection.query('CREATE TABLE blocks (block_index INT PRIMARY KEY)');
  await assert.rejects(readLayout(connection, 'indexer'), (error) => hasCode(error, 'DATABASE_UNUSABLE'));
  assert.throws(() => headLayout([{ name: 'blocks', engine: '', columns: [], keys: [], foreignKeys: [] }], 'decoder'));
});

const CHAIN = [
  `CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NULL, ${HASHES})`,
  'CREATE TABLE transactions (tx_index INT PRIMARY KEY, block_index INT NOT NULL, KEY (block_index))',
  'CREATE TABLE outputs (tx_index INT NOT NULL, vout INT NOT NULL, PRIMARY KEY (tx_index, vout))',
  'CREATE TABLE index_things (id INT AUTO_INCREMENT PRIMARY KEY, thing VARCHAR(20) NOT NULL)',
  'CREATE TABLE notes (note VARCHAR(20) NOT NULL)',
  "INSERT INTO blocks VALUES (1, 1, 'l1', 'a1', 'c1')",
  "INSERT INTO index_things VALUES (1, 'first'), (5, 'fifth')"
];
const block = (height: number) => `INSERT INTO blocks VALUES (${height}, 1, 'l${height}', 'a${height}', 'c${height}')`;

async function run(to: DatabaseCoordinates, ...statements: string[]): Promise<void> {
  const connection = await connect(to, { finderKey: TEST_KEY, several: true });
  for (const statement of statements) await connection.query(statement);
  connection.destroy();
}

test('a group is one snapshot: what is written while it is read comes with the next', async (t) => {
  const { database, connection } = await open('indexer', ...CHAIN);
  t.after(() => connection.destroy());
  const memory = await startAtTip(connection, 'indexer');
  await run(
    database,
    block(2),
    block(3),
    'INSERT INTO transactions VALUES (1, 2), (2, 3)',
    'INSERT INTO outputs VALUES (1, 0), (2, 0), (2, 1)'
  );
  const seen: GroupBlock[] = [];
  for await (const read of readGroup(connection, 'indexer', [], memory)) {
    if (seen.length === 0) {
      await run(database, block(4), "INSERT INTO notes VALUES ('late')", 'INSERT INTO outputs VALUES (1, 7)');
    }
    seen.push(read);
    memory.accept(read);
  }
  assert.deepEqual(
    seen.map(({ head }) => head.height),
    [2, 3]
  );
  assert.deepEqual(
    seen[1]?.rows['outputs']?.map((row) => row['vout']),
    [0, 1]
  );
  assert.deepEqual([seen[0]?.changes, sentOf(seen[1])], [null, []]);
  const [next] = await takeGroup(connection, 'indexer', memory);
  assert.equal(next?.head.height, 4);
  assert.deepEqual(sentOf(next), ['outputs', 'notes']);
  const outputs = next.changes?.tables.get('outputs')?.ranges;
  assert.deepEqual([outputs?.column, outputs?.spans, outputs?.rows.length], ['tx_index', [[1, 1]], 2]);
  assert.deepEqual(
    next.changes?.tables.get('notes')?.ranges?.rows.map(({ note }) => note),
    ['late']
  );
});

test('a lookup row that commits below the watermark is not lost', async (t) => {
  const { database, connection } = await open('indexer', ...CHAIN);
  t.after(() => connection.destroy());
  const memory = await startAtTip(connection, 'indexer');
  await run(database, block(2), "INSERT INTO index_things VALUES (3, 'third'), (9, 'ninth')");
  const [read] = await takeGroup(connection, 'indexer', memory);
  assert.deepEqual(
    read?.rows['index_things']?.map((row) => row['id']),
    [3, 9]
  );
  await run(database, block(3));
  const [next] = await takeGroup(connection, 'indexer', memory);
  assert.equal(next?.rows['index_things'], undefined);
});

test('a lookup row that commits thousands of ids below the watermark is not lost', async (t) => {
  const { database, connection } = await open('indexer', ...CHAIN);
  t.after(() => connection.destroy());
  const memory = await startAtTip(connection, 'indexer');
  await run(database, block(2), "INSERT INTO index_things SELECT 10 + seq, CONCAT('thing ', seq) FROM seq_1_to_3000");
  await takeGroup(connection, 'indexer', memory);
  await run(database, block(3), "INSERT INTO index_things VALUES (7, 'late')");
  const [read] = await takeGroup(connection, 'indexer', memory);
  assert.deepEqual(
    read?.rows['index_things']?.map((row) => row['id']),
    [7]
  );
  await run(database, block(4));
  const [next] = await takeGroup(connection, 'indexer', memory);
  assert.equal(next?.rows['index_things'], undefined, 'it is sent once');
});

test('a row that changes without its digest seeing it: two rows that swap a value', async (t) => {
  const { database, connection } = await open(
    'indexer',
    ...CHAIN,
    'CREATE TABLE pairs (k INT PRIMARY KEY, v INT NOT NULL)',
    'INSERT INTO pairs SELECT seq, seq FROM seq_1_to_200'
  );
  t.after(() => connection.destroy());
  const memory = await startAtTip(connection, 'indexer');
  for (let height = 2; height < 12; height += 1) {
    const [a, b] = [height, 200 - height];
    await run(database, block(height), `UPDATE pairs SET v = IF(k = ${a}, ${b}, ${a}) WHERE k IN (${a}, ${b})`);
    const [read] = await takeGroup(connection, 'indexer', memory);
    assert.equal(read?.changes?.tables.get('pairs')?.updated.length, 2, `swap of ${a} and ${b}`);
  }
});

test('a row that a block deleted is deleted again after its reorg, also beside one that the new branch deletes', async (t) => {
  const { connection, layout } = await open(
    'indexer',
    `CREATE TABLE blocks (block_index INT PRIMARY KEY, ${HASHES})`,
    'CREATE TABLE tokens (id INT AUTO_INCREMENT PRIMARY KEY, tick VARCHAR(20) NOT NULL, supply VARCHAR(40) NOT NULL)',
    "INSERT INTO tokens VALUES (1, 'AAA', '1'), (2, 'BBB', '1'), (9, 'CCC', '1')",
    "INSERT INTO blocks VALUES (1, 'l1', 'a1', 'c1')"
  );
  t.after(() => connection.destroy());
  const memory = await startAtTip(connection, 'indexer');
  await connection.query("DELETE FROM tokens WHERE id = 2; INSERT INTO blocks VALUES (2, 'l2', 'a2', 'c2')");
  const deletedOf = ([block]: GroupBlock[]) => block?.changes?.tables.get('tokens')?.deleted;
  assert.deepEqual(deletedOf(await takeGroup(connection, 'indexer', memory)), [{ id: 2 }]);
  memory.rollBack(2, layout);
  // A replica holds both again, and neither is there any more.
  await connection.query('DELETE FROM tokens WHERE id = 1; DELETE FROM blocks WHERE block_index = 2');
  await connection.query("INSERT INTO blocks VALUES (2, 'l2b', 'a2b', 'c2b')");
  assert.deepEqual(deletedOf(await takeGroup(connection, 'indexer', memory)), [{ id: 2 }, { id: 1 }]);
});

test('a row above the tip that the source deletes with a reorg is told to be gone, though no block of the reorg brought it', async (t) => {
  const { connection, layout } = await open(
    'indexer',
    `CREATE TABLE blocks (block_index INT PRIMARY KEY, ${HASHES})`,
    'CREATE TABLE plans (block_index INT NOT NULL, v INT NOT NULL, KEY (block_index))',
    "INSERT INTO plans VALUES (1, 0), (9, 0); INSERT INTO blocks VALUES (1, 'l1', 'a1', 'c1')"
  );
  t.after(() => connection.destroy());
  const memory = await startAtTip(connection, 'indexer');
  for (const height of [2, 3]) {
    await connection.query(`INSERT INTO plans VALUES (${height}, 0)`);
    await connection.query(`INSERT INTO blocks VALUES (${height}, 'l${height}', 'a${height}', 'c${height}')`);
    await takeGroup(connection, 'indexer', memory);
  }
  memory.rollBack(3, layout);
  await connection.query('DELETE FROM plans WHERE block_index >= 3; DELETE FROM blocks WHERE block_index = 3');
  await connection.query("INSERT INTO blocks VALUES (3, 'l3b', 'a3b', 'c3b')");
  const [block] = await takeGroup(connection, 'indexer', memory);
  assert.deepEqual(block?.changes?.tables.get('plans')?.ranges, { column: 'block_index', spans: [[9, 9]], rows: [] });
});

test('rows that a sweep no longer finds after TRUNCATE are told to be gone with the next block, as the binary log names their table', async (t) => {
  const { database, connection, layout } = await open(
    'indexer',
    ...CHAIN,
    'CREATE TABLE marks (id INT PRIMARY KEY, v INT NOT NULL)',
    'INSERT INTO marks SELECT seq, seq FROM seq_1_to_25000',
    'ANALYZE TABLE marks'
  );
  t.after(() => connection.destroy());
  const memory = await startAtTip(connection, 'indexer');
  await connection.query('TRUNCATE marks');
  const sweep = new Sweep();
  const step = () => inSnapshot(connection, () => sweep.step(connection, layout, memory.watches, memory.height));
  for (let table = ''; table !== 'marks'; ) table = (await step())!.table;
  await run(database, block(2));
  const touched = new TouchedTables();
  touched.addWhole('marks');
  const at = { file: 'binlog.000001', offset: 4, server: null };
  const log = { align: () => undefined, readForGroup: async () => ({ touched, at }), report: { used: true } };
  const gone: Span[] = [];
  for await (const { changes } of readGroup(connection, 'indexer', [], memory, log as unknown as BinlogChanges)) {
    const marks = changes?.tables.get('marks');
    for (const row of marks?.deleted ?? []) gone.push([Number(row['id']), Number(row['id'])]);
    gone.push(...(marks?.ranges?.spans ?? []));
    assert.deepEqual(marks?.updated, []);
  }
  assert.deepEqual(withoutSpans([[1, 25_000]], gone), []);
});

test('DATABASE_UNUSABLE: a missing block is named, not skipped', async (t) => {
  const { database, connection } = await open('indexer', ...CHAIN);
  t.after(() => connection.destroy());
  const memory = await startAtTip(connection, 'indexer');
  await run(database, block(3));
  await assert.rejects(
    takeGroup(connection, 'indexer', memory),
    (error) => hasCode(error, 'DATABASE_UNUSABLE') && /block 2/.test(error.message)
  );
});

test('inconsistent-engine: a MyISAM table that changes between two looks is seen', async (t) => {
  const { database, connection, layout } = await open(
    'indexer',
    ...CHAIN,
    'CREATE TABLE old (block_index INT NOT NULL, v INT NOT NULL, KEY (block_index)) ENGINE=MyISAM'
  );
  t.after(() => connection.destroy());
  assert.deepEqual(
    inconsistentTables(layout).map(({ name }) => name),
    ['old']
  );
  const before = await readEngineState(connection, 'indexer', []);
  assert.equal(await readEngineState(connection, 'indexer', []), before);
  await run(database, 'INSERT INTO old VALUES (2, 1)');
  assert.notEqual(await readEngineState(connection, 'indexer', []), before);
});

test('a change is found though its transaction began long before, in the second of one that was read', async (t) => {
  const { database, connection } = await open(
    'decoder',
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL, block_hash VARCHAR(64) NOT NULL)',
    'CREATE TABLE tokens (id INT PRIMARY KEY, supply INT NOT NULL)',
    "INSERT INTO blocks VALUES (1, 10, 'h1')",
    'INSERT INTO tokens VALUES (1, 0), (2, 0)'
  );
  const slow = await connect(database);
  t.after(() => {
    connection.destroy();
    slow.destroy();
  });
  const memory = await startAtTip(connection, 'decoder');
  // MariaDB says of a table the second in which the transaction began that changed it.
  await sleep(1_050 - (Date.now() % 1_000));
  await slow.query('START TRANSACTION');
  await slow.query('UPDATE tokens SET supply = 1 WHERE id = 2');
  await connection.query("INSERT INTO blocks VALUES (2, 20, 'h2')");
  await connection.query('UPDATE tokens SET supply = 1 WHERE id = 1');
  await sleep(11_500);
  const sent = async () =>
    (await takeGroup(connection, 'decoder', memory)).flatMap(({ changes }) => [
      ...(changes?.tables.get('tokens')?.updated.map(({ id }) => id) ?? [])
    ]);
  assert.deepEqual(await sent(), [1]);
  await slow.query("INSERT INTO blocks VALUES (3, 30, 'h3')");
  await slow.query('COMMIT');
  assert.deepEqual(await sent(), [2]);
});
