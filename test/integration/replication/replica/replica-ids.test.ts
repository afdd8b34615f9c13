import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, rows } from '../../../../src/db/connection.ts';
import { applySince } from '../../../../src/replication/replica/apply/block-writer.ts';
import { planRollback, rollBack } from '../../../../src/replication/replica/apply/rollback.ts';
import type { SnapshotBatch } from '../../../../src/replication/replica/database/snapshot-batch.ts';
import { readReplicaState, writeReplicaState } from '../../../../src/replication/replica/database/state.ts';
import type { BlockMessage, WireRow } from '../../../../src/wire/data/messages.ts';
import { apply, batch, block, context, createReplica } from '../../../support/sync/small-replica.ts';

const TABLES = [
  'CREATE TABLE contract_state (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NOT NULL, state_key VARCHAR(9) NOT NULL, value VARCHAR(9) NULL, KEY (block_index))',
  'CREATE TABLE validator_rewards (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NOT NULL, validator INT NOT NULL, UNIQUE KEY (validator, block_index))',
  'CREATE TABLE holdings (id INT AUTO_INCREMENT PRIMARY KEY, address_id INT NULL, tick_id INT NULL, amount VARCHAR(20) NULL, UNIQUE KEY (address_id, tick_id))',
  'CREATE TABLE emissions (id INT AUTO_INCREMENT PRIMARY KEY, execution INT NOT NULL)'
];

async function replica(): Promise<Connection> {
  const { writer } = await createReplica();
  for (const statement of TABLES) await writer.query(statement);
  return writer;
}

const read = async (from: Connection, table: string) =>
  (await rows(from, `SELECT * FROM ${table} ORDER BY id`)).map((row) => Object.values(row).join(' '));
const newest = async (from: Connection, key: string) =>
  (await rows(from, 'SELECT value FROM contract_state WHERE state_key = ? ORDER BY id DESC LIMIT 1', [key]))[0]?.[
    'value'
  ];
const state = (id: number, height: number, key: string, value: string): WireRow => ({
  id,
  block_index: height,
  state_key: key,
  value
});

/** Applies blocks 2 to 3 of a source's since-snapshot. */
async function applySnapshot(
  writer: Connection,
  source: string,
  batches: readonly SnapshotBatch[],
  whole: readonly string[] = []
): Promise<void> {
  const target = {
    first: 2,
    last: 3,
    hashes: { block_hash: 'h3' },
    source,
    complete: true,
    phase: 'following'
  } as const;
  async function* all() {
    yield batch(
      'blocks',
      [2, 3].map((height) => ({ block_index: height, block_hash: `h${height}` }))
    );
    yield* batches;
  }
  const content = { batches: all(), whole: new Set(whole), from: 2 };
  await applySince(writer, await context(writer), await readReplicaState(writer), target, content);
}

test('the newest value by id stays the newest when rows of an older block are sent again', async () => {
  const writer = await replica();
  await apply(writer, [block(1, { contract_state: [state(11, 1, 'k', 'old'), state(12, 1, 'other', 'x')] })]);
  await apply(writer, [block(2, { contract_state: [state(13, 2, 'k', 'new')] })]);
  const again = { column: 'block_index', spans: [[1, 1] as [number, number]], rows: [state(11, 1, 'k', 'older')] };
  await apply(writer, [block(3, {}, { ranges: { contract_state: again } })]);
  assert.deepEqual(await read(writer, 'contract_state'), ['11 1 k older', '13 2 k new']);
  assert.equal(await newest(writer, 'k'), 'new');
  await writer.end();
});

test('after a reorg the replica has the ids of the new branch, whether they were dealt before or not', async () => {
  const writer = await replica();
  const rewards = (id: number, height: number, validator: number) => ({ id, block_index: height, validator });
  await apply(writer, [block(1, { contract_state: [state(1, 1, 'k', 'a')], validator_rewards: [rewards(1, 1, 1)] })]);
  await apply(writer, [
    block(2, { contract_state: [state(2, 2, 'k', 'b')], validator_rewards: [rewards(2, 2, 1), rewards(3, 1, 2)] })
  ]);
  await rollBack(writer, await context(writer), await readReplicaState(writer), (await planRollback(writer, 2, 1))!);
  // The ids of the branch that was left are not dealt again by a counter, but by an indexer that takes MAX(id) + 1 they are.
  await applySnapshot(writer, 'test', [
    batch('contract_state', [state(2, 2, 'k', 'c'), state(7, 3, 'k', 'd')]),
    batch('validator_rewards', [rewards(9, 2, 2), rewards(8, 3, 1)])
  ]);
  assert.deepEqual(await read(writer, 'contract_state'), ['1 1 k a', '2 2 k c', '7 3 k d']);
  assert.deepEqual(await read(writer, 'validator_rewards'), ['1 1 1', '8 3 1', '9 2 2']);
  assert.deepEqual((await readReplicaState(writer)).ids.own, []);
  await writer.end();
});

test('rows are replaced by a unique key whose columns may be NULL, and those with NULL in it are counted', async () => {
  const writer = await replica();
  const holding = (id: number, address: number | null, tick: number | null, amount: string): WireRow => ({
    id,
    address_id: address,
    tick_id: tick,
    amount
  });
  const ranges = (list: WireRow[]) => ({
    ranges: { holdings: { column: 'address_id', spans: [[1, 9] as [number, number], null], rows: list } }
  });
  const first = [holding(1, 1, 1, '5'), holding(2, 1, 2, '7'), holding(3, null, 1, '9'), holding(4, null, 1, '9')];
  await apply(writer, [block(1, {}, ranges(first))]);
  assert.deepEqual(await read(writer, 'holdings'), ['1 1 1 5', '2 1 2 7', '3  1 9', '4  1 9']);
  // Pair (1, 1) has a new id, pair (1, 2) is gone, and so is one of two rows that are equal but for their ids.
  await apply(writer, [block(2, {}, ranges([holding(8, 1, 1, '6'), holding(4, null, 1, '9')]))]);
  assert.deepEqual(await read(writer, 'holdings'), ['4  1 9', '8 1 1 6']);
  await apply(writer, [block(3, {}, { deleted_rows: { holdings: [{ id: 8 }] } })]);
  assert.deepEqual(await read(writer, 'holdings'), ['4  1 9']);
  await rollBack(writer, await context(writer), await readReplicaState(writer), (await planRollback(writer, 3, 1))!);
  assert.deepEqual(await read(writer, 'holdings'), ['1 1 1 5', '2 1 2 7', '3  1 9', '4  1 9']);
  await writer.end();
});

test('a row that came from where nobody looked is found by its identity and by its id, and goes back there', async () => {
  const writer = await replica();
  await apply(writer, [
    block(1, {
      validator_rewards: [
        { id: 1, block_index: 1, validator: 1 },
        { id: 2, block_index: 1, validator: 2 }
      ],
      transactions: [{ tx_index: 10, block_index: 1 }]
    })
  ]);
  await apply(writer, [block(2, {})]);
  const before = await read(writer, 'validator_rewards');
  const rewards = [{ id: 2, block_index: 2, validator: 1 }];
  await apply(writer, [
    block(
      3,
      {},
      {
        ranges: {
          validator_rewards: { column: 'block_index', spans: [[2, 2]], rows: rewards },
          transactions: { column: 'block_index', spans: [[2, 2]], rows: [{ tx_index: 10, block_index: 2 }] }
        }
      }
    )
  ]);
  assert.deepEqual(await read(writer, 'validator_rewards'), ['1 1 1', '2 2 1']);
  assert.deepEqual(await rows(writer, 'SELECT * FROM transactions'), [{ tx_index: 10, block_index: 2 }]);
  await rollBack(writer, await context(writer), await readReplicaState(writer), (await planRollback(writer, 3, 2))!);
  assert.deepEqual(await read(writer, 'validator_rewards'), before);
  await writer.end();
});

test('a source with other ids: tables with a key of their own keep the replica’s, in the source’s order', async () => {
  const writer = await replica();
  const token = (id: number, tick: string, supply = '1.00000000') => ({ id, tick, supply });
  await apply(writer, [
    block(
      1,
      { contract_state: [state(1, 1, 'k', 'a')] },
      { updated_rows: { tokens: [token(5, 'AAA'), token(6, 'BBB')] } }
    )
  ]);
  await writeReplicaState(writer, { ids: { source: 'test', own: [] } });
  // The other source has CCC under the id that BBB has here, and its state under the id of a row that it does not send.
  await applySnapshot(writer, 'other', [
    batch('contract_state', [state(1, 2, 'k', 'b')]),
    batch('tokens', [token(2, 'AAA', '9.00000000'), token(6, 'CCC'), token(7, 'DDD')], 'updated_rows')
  ]);
  const after = await readReplicaState(writer);
  assert.deepEqual(after.ids, { source: 'test', own: ['tokens'] });
  assert.deepEqual(await read(writer, 'contract_state'), ['1 2 k b'], 'its only identity is the id');
  const held = await rows(writer, 'SELECT tick, supply FROM tokens ORDER BY id');
  assert.deepEqual(
    held.map((row) => Object.values(row).join(' ')),
    ['BBB 1.00000000', 'AAA 9.00000000', 'CCC 1.00000000', 'DDD 1.00000000']
  );
  const ids = await read(writer, 'tokens');
  await apply(writer, [
    block(
      4,
      {},
      {
        updated_rows: { tokens: [token(9, 'EEE'), token(6, 'CCC', '2.00000000')] },
        deleted_rows: { tokens: [{ tick: 'AAA' }] }
      }
    )
  ]);
  const then = await rows(writer, 'SELECT tick FROM tokens ORDER BY id');
  assert.deepEqual(
    then.map(({ tick }) => tick),
    ['BBB', 'CCC', 'DDD', 'EEE'],
    'a row that changes keeps its place'
  );
  await rollBack(writer, await context(writer), await readReplicaState(writer), (await planRollback(writer, 4, 3))!);
  assert.deepEqual(await read(writer, 'tokens'), ids);
  await writer.end();
});

test('a row in the way of one of the source whose ids the replica has is not the source’s: it goes', async () => {
  const writer = await replica();
  const token = (id: number, tick: string) => ({ id, tick, supply: '1.00000000' });
  await apply(writer, [block(1, {}, { updated_rows: { tokens: [token(5, 'AAA'), token(6, 'BBB')] } })]);
  await writeReplicaState(writer, { ids: { source: 'test', own: [] } });
  await applySnapshot(writer, 'test', [batch('tokens', [token(6, 'CCC')], 'updated_rows')]);
  assert.deepEqual(await read(writer, 'tokens'), ['5 AAA 1.00000000', '6 CCC 1.00000000']);
  await rollBack(writer, await context(writer), await readReplicaState(writer), (await planRollback(writer, 3, 1))!);
  assert.deepEqual(await read(writer, 'tokens'), ['5 AAA 1.00000000', '6 BBB 1.00000000']);
  await writer.end();
});

test('ids may trade places, in live blocks and in tables that come whole', async () => {
  const writer = await replica();
  const token = (id: number, tick: string) => ({ id, tick, supply: '1.00000000' });
  const emission = (id: number, execution: number) => ({ id, execution });
  const updated = (tokens: WireRow[], emissions: WireRow[]): Partial<BlockMessage> => ({
    updated_rows: { tokens, emissions }
  });
  await apply(writer, [block(1, {}, updated([token(1, 'A'), token(2, 'B')], [emission(1, 1), emission(2, 1)]))]);
  await apply(writer, [block(2, {}, updated([token(2, 'A'), token(1, 'B')], [emission(2, 7)]))]);
  assert.deepEqual(await read(writer, 'tokens'), ['1 B 1.00000000', '2 A 1.00000000']);
  assert.deepEqual(await read(writer, 'emissions'), ['1 1', '2 7']);
  await rollBack(writer, await context(writer), await readReplicaState(writer), (await planRollback(writer, 2, 1))!);
  await applySnapshot(
    writer,
    'test',
    [
      batch('tokens', [token(1, 'B')], 'updated_rows'),
      batch('tokens', [token(2, 'A'), token(3, 'C')], 'updated_rows'),
      batch('emissions', [emission(2, 1)], 'updated_rows')
    ],
    ['tokens', 'emissions']
  );
  assert.deepEqual(await read(writer, 'tokens'), ['1 B 1.00000000', '2 A 1.00000000', '3 C 1.00000000']);
  assert.deepEqual(await read(writer, 'emissions'), ['2 1']);
  assert.deepEqual((await readReplicaState(writer)).ids.own, []);
  await writer.end();
});

test('an id of a lookup that is dealt again in the group that gives it up is no contradiction', async () => {
  const writer = await replica();
  await apply(writer, [block(1, { index_names: [{ id: 5, name: 'five' }] })]);
  const gone = { deleted_rows: { index_names: [{ id: 5 }] } };
  await apply(writer, [block(2, { index_names: [{ id: 5, name: 'other' }] }, gone)]);
  assert.deepEqual(await read(writer, 'index_names'), ['5 other']);
  await rollBack(writer, await context(writer), await readReplicaState(writer), (await planRollback(writer, 2, 1))!);
  assert.deepEqual(await read(writer, 'index_names'), ['5 five']);
  await assert.rejects(apply(writer, [block(2, { index_names: [{ id: 5, name: 'third' }] })]), {
    code: 'ROW_CONTRADICTION'
  });
});

test('SOURCE_INVALID: rows that go are named by a key, and ranges by an integer column', async () => {
  const wrong: Partial<BlockMessage>[] = [
    { deleted_rows: { tokens: [{ supply: '1' }] } },
    { deleted_rows: { settings: [{ text: 'x' }] } },
    { ranges: { tokens: { column: 'tick', spans: [], rows: [] } } },
    { ranges: { tokens: { column: 'nothing', spans: [], rows: [] } } }
  ];
  for (const more of wrong) {
    const writer = await replica();
    await assert.rejects(apply(writer, [block(1, {}, more)]), { code: 'SOURCE_INVALID' });
  }
});
