import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, rows } from '../../../../src/db/connection.ts';
import { hasCode } from '../../../../src/errors.ts';
import { applyBlocks } from '../../../../src/replication/replica/apply/block-writer.ts';
import { planRollback, rollBack } from '../../../../src/replication/replica/apply/rollback.ts';
import { readReplicaSchema } from '../../../../src/replication/replica/database/schema.ts';
import type { SnapshotBatch } from '../../../../src/replication/replica/database/snapshot-batch.ts';
import {
  openReplicaState,
  readReplicaState,
  writeReplicaState
} from '../../../../src/replication/replica/database/state.ts';
import { openWriter } from '../../../../src/replication/replica/database/writer-connection.ts';
import type { BlockMessage } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import {
  apply,
  applySnapshot,
  applyTogether,
  batch,
  block,
  content,
  context,
  createReplica,
  FIRST,
  follow,
  laterSource,
  ofBlocks,
  SECOND
} from '../../../support/sync/small-replica.ts';

test('a group is applied whole: equal rows, and every id the source has', async () => {
  const { writer } = await createReplica();
  await apply(writer, [FIRST]);
  const { sends, notes, index_names } = await content(writer);
  assert.equal(sends!.length, 2);
  assert.deepEqual(notes, ['{"id":70,"block_index":1,"text":"zero"}', '{"id":71,"block_index":1,"text":"one"}']);
  assert.deepEqual(index_names, ['{"id":5,"name":"five"}']);
  const state = await readReplicaState(writer);
  assert.deepEqual([state.height, state.complete, state.hashes], [1, true, { block_hash: 'h1' }]);
  await writer.end();
});

test('undoing a group restores every row and every surrogate, whatever the group did', async () => {
  const { writer } = await createReplica();
  await apply(writer, [FIRST]);
  const before = await content(writer);
  await apply(writer, SECOND);
  const during = await content(writer);
  assert.deepEqual(during['sends'], [
    '{"tx_index":10,"memo":"late"}',
    '{"tx_index":10,"memo":"same"}',
    '{"tx_index":30,"memo":"new"}'
  ]);
  assert.deepEqual(during['tokens'], ['{"id":900,"tick":"AAA","supply":"9.00000000"}']);
  assert.equal(during['transactions']!.length, 4);
  assert.equal(during['settings']!.length, 2);

  const plan = await planRollback(writer, 3, 2);
  assert.equal(plan?.height, 1, 'a fork within a group undoes all of it');
  await rollBack(writer, await context(writer), await readReplicaState(writer), plan!);
  assert.deepEqual(await content(writer), before);
  const state = await readReplicaState(writer);
  assert.deepEqual(
    [state.height, state.complete, state.phase, state.hashes],
    [1, false, 'reconciling', { block_hash: 'h1' }]
  );
  await writer.end();
});

test('rows that came before their block are replaced when it comes, however many blocks later, and come back with its undoing', async () => {
  const { writer } = await createReplica();
  const early = { notes: [{ id: 7, block_index: 4, text: 'early' }] };
  await follow(writer, [block(1, {}), block(2, early), block(3, {})]);
  const before = await content(writer);
  assert.deepEqual(before['notes'], ['{"id":7,"block_index":4,"text":"early"}']);
  const due = block(4, { notes: [{ id: 8, block_index: 4, text: 'due' }] });
  await follow(writer, [due]);
  const { notes } = await content(writer);
  assert.deepEqual(notes, ['{"id":8,"block_index":4,"text":"due"}']);
  const undone = await planRollback(writer, 4, 3);
  await rollBack(writer, await context(writer), await readReplicaState(writer), undone!);
  assert.deepEqual(await content(writer), before);

  const { writer: another } = await createReplica();
  await follow(another, [block(1, {}), block(2, early), block(3, {}), due]);
  assert.deepEqual((await content(another))['notes'], notes);
  await writer.end();
  await another.end();
});

test('rows that came before the row which says their block are replaced when it comes, and wait again after its undoing', async () => {
  const { writer } = await createReplica();
  const waiting = {
    sends: { column: 'tx_index', spans: [[40, 40] as [number, number]], rows: [{ tx_index: 40, memo: 'early' }] }
  };
  await follow(writer, [block(1, {}), block(2, {}, { ranges: waiting })]);
  const before = await content(writer);
  const due = block(3, {
    transactions: [{ tx_index: 40, block_index: 3 }],
    sends: [
      { tx_index: 40, memo: 'early' },
      { tx_index: 40, memo: 'due' }
    ]
  });
  await follow(writer, [due]);
  assert.deepEqual((await content(writer))['sends'], [
    '{"tx_index":40,"memo":"due"}',
    '{"tx_index":40,"memo":"early"}'
  ]);
  await rollBack(writer, await context(writer), await readReplicaState(writer), (await planRollback(writer, 3, 2))!);
  assert.deepEqual(await content(writer), before);
  await writer.end();
});

test('a row of an older block that a message tells twice, for clients that know no ranges too, comes once', async () => {
  const { writer } = await createReplica();
  const first = block(1, { transactions: [{ tx_index: 10, block_index: 1 }], sends: [{ tx_index: 10, memo: 'paid' }] });
  const refund = { tx_index: 10, memo: 'refund' };
  const ranges = {
    sends: { column: 'tx_index', spans: [[10, 10] as [number, number]], rows: [{ tx_index: 10, memo: 'paid' }, refund] }
  };
  await follow(writer, [first, block(2, {}, { ranges, updated_rows: { sends: [refund] } })]);
  assert.deepEqual((await content(writer))['sends'], [
    '{"tx_index":10,"memo":"paid"}',
    '{"tx_index":10,"memo":"refund"}'
  ]);
  await writer.end();
});

test('several groups are undone newest first, also where a later one changed rows of an earlier one', async () => {
  const { writer } = await createReplica();
  await apply(writer, [FIRST]);
  const before = await content(writer);
  await apply(writer, [block(2, { notes: [{ id: 80, block_index: 2, text: 'a' }] })]);
  await apply(writer, [
    block(
      3,
      {},
      {
        ranges: { notes: ofBlocks([2], [{ id: 81, block_index: 2, text: 'b' }]) },
        updated_rows: { tokens: [{ id: 900, tick: 'AAA', supply: '5.00000000' }] }
      }
    )
  ]);
  await apply(writer, [block(4, {}, { updated_rows: { tokens: [{ id: 900, tick: 'AAA', supply: '6.00000000' }] } })]);
  const plan = await planRollback(writer, 4, 1);
  await rollBack(writer, await context(writer), await readReplicaState(writer), plan!);
  assert.deepEqual(await content(writer), before);
  assert.equal(await planRollback(writer, 1, -1), null, 'below the journal there is nothing to undo');
  await writer.end();
});

test('a group is undone although the tables changed since: columns and keys that are gone are left out', async () => {
  const { writer } = await createReplica();
  await apply(writer, [FIRST]);
  await apply(writer, SECOND);
  for (const change of [
    'ALTER TABLE tokens DROP COLUMN supply, DROP COLUMN id, ADD COLUMN note VARCHAR(9) NULL',
    'ALTER TABLE notes DROP COLUMN id, ADD COLUMN more INT NOT NULL DEFAULT 7',
    'DROP TABLE settings'
  ])
    await writer.query(change);
  const plan = await planRollback(writer, 3, 1);
  await rollBack(writer, await context(writer), await readReplicaState(writer), plan!);
  const read = async (table: string) =>
    (await rows(writer, `SELECT * FROM ${table}`)).map((row) => JSON.stringify(row)).sort();
  assert.deepEqual(await read('tokens'), ['{"tick":"AAA","note":null}', '{"tick":"BBB","note":null}']);
  assert.deepEqual(await read('notes'), [
    '{"block_index":1,"text":"one","more":7}',
    '{"block_index":1,"text":"zero","more":7}'
  ]);
  await writer.end();
});

test('balances of a source without groups are derived from credits and debits, not taken as sent', async () => {
  const to = await createDatabase('ungrouped');
  const writer = await openWriter(to, { generation: 1 });
  await openReplicaState(writer, 'indexer');
  await writer.query('CREATE TABLE blocks (block_index INT PRIMARY KEY, ledger_hash CHAR(2) NOT NULL)');
  for (const name of ['credits', 'debits'])
    await writer.query(
      `CREATE TABLE ${name} (block_index INT NOT NULL, address_id INT NOT NULL, tick_id INT NOT NULL, amount VARCHAR(80) NOT NULL)`
    );
  await writer.query(
    'CREATE TABLE balances (id INT AUTO_INCREMENT PRIMARY KEY, address_id INT NULL, tick_id INT NULL, amount VARCHAR(80) NULL, UNIQUE KEY pair (address_id, tick_id))'
  );
  await writeReplicaState(writer, { complete: true, phase: 'following', height: 0 });
  const ofBlock = (height: number, credits: string[], debits: string[]): BlockMessage => {
    const row = (amount: string) => ({ block_index: height, address_id: 1, tick_id: 2, amount });
    const blocks = [{ block_index: height, ledger_hash: 'aa' }];
    const later = { balances: [1, 8].map((id) => ({ id: 9 + id, address_id: id, tick_id: 2, amount: '777' })) };
    const {
      group: _group,
      block_hash: _hash,
      ...message
    } = block(height, {}, { dbType: 'indexer', ledger_hash: 'aa' });
    return {
      ...message,
      data: { blocks, credits: credits.map(row), debits: debits.map(row), ...later },
      updated_rows: later
    };
  };
  const schema = await readReplicaSchema(writer, 'indexer', []);
  const amounts: unknown[] = [];
  for (const message of [ofBlock(1, ['1.50', '2'], []), ofBlock(2, [], ['0.5']), ofBlock(3, [], ['3'])]) {
    const at = message.block_index;
    const target = {
      first: at,
      last: at,
      hashes: { ledger_hash: 'aa', actions_hash: null, contract_hash: null },
      source: 't',
      complete: true,
      phase: 'following'
    } as const;
    const context = { schema, maxRollbackDepth: 10, epochSize: 10 };
    await applyBlocks(writer, context, await readReplicaState(writer), [{ target, messages: [message] }]);
    amounts.push((await rows(writer, 'SELECT amount FROM balances')).map(({ amount }) => amount).join());
  }
  assert.deepEqual(amounts, ['3.5', '3', '']);
  await rollBack(
    writer,
    { schema, epochSize: 10 },
    await readReplicaState(writer),
    (await planRollback(writer, 3, 1))!
  );
  assert.deepEqual(await rows(writer, 'SELECT id, amount FROM balances'), [{ id: 1, amount: '3.5' }]);
  assert.deepEqual((await readReplicaState(writer)).ids.own, ['balances'], 'nobody said this id');
  await writer.end();
});

test('balances are replaced and deleted by their pair, which may be NULL by definition, with the ids of the source', async () => {
  const to = await createDatabase('pairs');
  const writer = await openWriter(to, { generation: 1 });
  await openReplicaState(writer, 'indexer');
  await writer.query('CREATE TABLE blocks (block_index INT NULL, ledger_hash CHAR(2) NOT NULL, KEY (block_index))');
  await writer.query(
    'CREATE TABLE balances (id INT AUTO_INCREMENT PRIMARY KEY, address_id INT NULL, tick_id INT NULL, amount VARCHAR(80) NULL, UNIQUE KEY pair (address_id, tick_id))'
  );
  await writeReplicaState(writer, { complete: true, phase: 'following', height: 0 });
  const known = { schema: await readReplicaSchema(writer, 'indexer', []), maxRollbackDepth: 10, epochSize: 10 };
  const hashes = { ledger_hash: 'aa', actions_hash: null, contract_hash: null };
  const read = async () =>
    (await rows(writer, 'SELECT * FROM balances ORDER BY id')).map((row) => Object.values(row).join(' '));
  const take = async (at: number, more: Partial<BlockMessage>) => {
    const message = { ...block(at, {}, { dbType: 'indexer', ledger_hash: 'aa', ...more }) };
    message.data = { blocks: [{ block_index: at, ledger_hash: 'aa' }] };
    const target = { first: at, last: at, hashes, source: 't', complete: true, phase: 'following' } as const;
    await applyBlocks(writer, known, await readReplicaState(writer), [{ target, messages: [message] }]);
  };
  const of = (id: number, tick: number, amount: string) => ({ id, address_id: 1, tick_id: tick, amount });
  await take(1, { updated_rows: { balances: [of(4, 1, '5'), of(9, 2, '7')] } });
  await take(2, {
    updated_rows: { balances: [of(4, 1, '6'), of(12, 3, '1')] },
    deleted_rows: { balances: [{ address_id: 1, tick_id: 2 }] }
  });
  assert.deepEqual(await read(), ['4 1 1 6', '12 1 3 1']);
  await rollBack(writer, known, await readReplicaState(writer), (await planRollback(writer, 2, 1))!);
  assert.deepEqual(await read(), ['4 1 1 5', '9 1 2 7']);
  await writer.end();
});

test('a rollback below a change of the schema keeps the rows that the journal has, as the change would have made them', async () => {
  const { writer } = await createReplica();
  await apply(writer, [FIRST]);
  await apply(writer, [
    block(
      2,
      {},
      {
        updated_rows: { tokens: [{ id: 900, tick: 'AAA', supply: '5.00000000' }] },
        deleted_rows: { tokens: [{ tick: 'BBB' }] }
      }
    )
  ]);
  await writer.query('ALTER TABLE tokens ADD COLUMN holders INT NOT NULL, ADD COLUMN name VARCHAR(9) NOT NULL');
  await rollBack(writer, await context(writer), await readReplicaState(writer), (await planRollback(writer, 2, 1))!);
  const found = await rows(writer, 'SELECT id, tick, supply, holders, name FROM tokens ORDER BY id');
  assert.deepEqual(
    found.map((row) => Object.values(row).join(' ')),
    ['900 AAA 1.00000000 0 ', '901 BBB 2.00000000 0 ']
  );
  await writer.end();
});

test('a since-snapshot makes whole tables and the blocks that it repeats equal to the source, and can be undone', async () => {
  const { writer } = await createReplica();
  await apply(writer, [FIRST]);
  const before = await content(writer);
  await applySnapshot(writer, 3, laterSource());
  assert.deepEqual(await content(writer), {
    blocks: [0, 1, 2, 3].map((height) => `{"block_index":${height},"block_hash":"h${height}"}`),
    transactions: [
      '{"tx_index":10,"block_index":1}',
      '{"tx_index":12,"block_index":1}',
      '{"tx_index":30,"block_index":3}'
    ],
    sends: [
      '{"tx_index":10,"memo":"same"}',
      '{"tx_index":12,"memo":"late"}',
      '{"tx_index":30,"memo":"new"}',
      '{"tx_index":30,"memo":"new"}'
    ],
    notes: ['{"id":70,"block_index":1,"text":"zero"}'],
    index_names: ['{"id":5,"name":"six"}', '{"id":6,"name":"five"}'],
    tokens: ['{"id":901,"tick":"BBB","supply":"7.00000000"}'],
    settings: []
  });
  await rollBack(writer, await context(writer), await readReplicaState(writer), (await planRollback(writer, 3, 2))!);
  assert.deepEqual(await content(writer), before);
  await writer.end();
});

/** Block 3 takes over a key of block 1, which gives the other one to block 2. */
const MOVED = [
  { id: 90, block_index: 3, text: 'zero' },
  { id: 91, block_index: 1, text: 'two' },
  { id: 92, block_index: 2, text: 'one' }
];
const MOVED_TEXTS = [1, 2, 3].map((at) => `${at} ${['two', 'one', 'zero'][at - 1]}`);

async function replicaOfUniqueNotes(messages: BlockMessage[][]): Promise<Connection> {
  const { writer } = await createReplica();
  await writer.query('ALTER TABLE notes ADD UNIQUE KEY (text)');
  for (const group of messages) await apply(writer, group);
  return writer;
}

async function notesOf(writer: Connection): Promise<unknown[]> {
  const found = await rows(writer, "SELECT CONCAT(block_index, ' ', text) AS note FROM notes ORDER BY 1");
  return found.map(({ note }) => note);
}

test('a key that moves between blocks, also to a new one earlier in the group, is given up before it is taken', async () => {
  const second = block(2, { notes: [{ id: 80, block_index: 2, text: 'two' }] });
  const writer = await replicaOfUniqueNotes([[FIRST], [second]]);
  const group = { first: 3, last: 4 };
  await apply(writer, [
    block(3, { notes: MOVED.slice(0, 1) }, { group }),
    block(4, {}, { group, ranges: { notes: ofBlocks([1, 2], MOVED.slice(1)) } })
  ]);
  assert.deepEqual(await notesOf(writer), MOVED_TEXTS);
  await writer.end();
});

test('a since-snapshot may bring a new row before the older block that gives up its key', async () => {
  const writer = await replicaOfUniqueNotes([[FIRST]]);
  async function* moved(): AsyncGenerator<SnapshotBatch> {
    const heights = [1, 2, 3].map((height) => ({ block_index: height, block_hash: `h${height}` }));
    yield batch('blocks', heights);
    for (const row of MOVED) yield batch('notes', [row]);
  }
  await applySnapshot(writer, 3, moved());
  assert.deepEqual(await notesOf(writer), MOVED_TEXTS);
  await writer.end();
});

test('undo images of a group are forgotten once all of it is beyond the rollback depth, and not before', async () => {
  const { writer } = await createReplica();
  const group = { first: 6, last: 7 };
  await apply(writer, [FIRST]);
  for (const height of [2, 3, 4, 5]) await apply(writer, [block(height, {})]);
  await apply(writer, [block(6, {}, { group }), block(7, {}, { group })]);
  for (let height = 8; height <= 16; height++) await apply(writer, [block(height, {})]);
  assert.equal(await planRollback(writer, 16, 4), null);
  assert.equal((await planRollback(writer, 16, 6))?.height, 5);
  await writer.end();
});

/** The third takes back what the second did, and changes rows of its blocks. */
const THIRD = [
  block(
    4,
    { transactions: [{ tx_index: 40, block_index: 4 }], index_names: [{ id: 7, name: 'seven' }] },
    {
      ranges: {
        notes: ofBlocks([1, 3], [{ id: 99, block_index: 3, text: 'moved' }]),
        settings: { column: null, spans: [[0, 4095]], rows: [{ text: 'x' }] }
      },
      updated_rows: { tokens: [{ id: 902, tick: 'BBB', supply: '3.00000000' }] },
      deleted_rows: { tokens: [{ tick: 'AAA' }] }
    }
  )
];

test('groups in one transaction leave what they leave one by one, and are undone one by one', async () => {
  const [together, alone] = [(await createReplica()).writer, (await createReplica()).writer];
  const groups = [[FIRST], SECOND, THIRD, [block(5, {})]];
  await applyTogether(together, groups);
  for (const messages of groups) await apply(alone, [...messages]);
  assert.deepEqual(await content(together), await content(alone));
  for (const height of [4, 2, 0]) {
    for (const writer of [together, alone]) {
      const { height: from } = await readReplicaState(writer);
      const plan = (await planRollback(writer, from!, height))!;
      await rollBack(writer, await context(writer), await readReplicaState(writer), plan);
    }
    assert.deepEqual(await content(together), await content(alone));
    assert.deepEqual(await readReplicaState(together), await readReplicaState(alone));
  }
  await Promise.all([together.end(), alone.end()]);
});

const BROKEN: readonly [what: string, third: readonly BlockMessage[], code: string][] = [
  ['does not follow', [block(4, {}, { previous_hash: 'elsewhere' })], 'CHAIN_BROKEN'],
  ['is not the block that it says', [{ ...block(4, {}), block_hash: 'another' }], 'SOURCE_INVALID'],
  ['contradicts', [block(4, { index_names: [{ id: 5, name: 'other' }] })], 'ROW_CONTRADICTION'],
  ['has no block', [{ ...block(4, {}), data: {} }], 'SOURCE_INVALID']
];

for (const [what, third, code] of BROKEN) {
  test(`no group of a transaction is applied when one of them ${what}`, async () => {
    const { to, writer } = await createReplica();
    await assert.rejects(applyTogether(writer, [[FIRST], SECOND, third, [block(5, {})]]), { code });
    const next = await openWriter(to, { generation: 2 });
    assert.equal((await readReplicaState(next)).height, 0);
    assert.deepEqual((await content(next))['transactions'], []);
    await next.end();
  });
}

test('an undo that its server does not write is no contradiction of the replica', async () => {
  const { writer } = await createReplica();
  await apply(writer, [FIRST]);
  await apply(writer, SECOND);
  const [state, plan] = [await readReplicaState(writer), await planRollback(writer, 3, 1)];
  const at = await context(writer);
  await writer.query('SET SESSION TRANSACTION READ ONLY');
  await assert.rejects(rollBack(writer, at, state, plan!), (caught) => hasCode(caught, 'DATABASE_UNAVAILABLE'));
});
