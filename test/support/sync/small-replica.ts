import assert from 'node:assert/strict';
import { type Connection, rows } from '../../../src/db/connection.ts';
import {
  applyBlocks,
  applySince,
  type GroupTarget,
  type WriterContext
} from '../../../src/replication/replica/apply/block-writer.ts';
import { readReplicaSchema } from '../../../src/replication/replica/database/schema.ts';
import type { SnapshotBatch } from '../../../src/replication/replica/database/snapshot-batch.ts';
import {
  openReplicaState,
  type ReplicaState,
  readReplicaState,
  writeReplicaState
} from '../../../src/replication/replica/database/state.ts';
import { openWriter } from '../../../src/replication/replica/database/writer-connection.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import type { BlockMessage, TableSpans, WireRow } from '../../../src/wire/data/messages.ts';
import { createDatabase } from '../mariadb.ts';

const TABLES = [
  'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_hash VARCHAR(64) NOT NULL)',
  'CREATE TABLE transactions (tx_index INT PRIMARY KEY, block_index INT NOT NULL, KEY (block_index))',
  'CREATE TABLE sends (tx_index INT NOT NULL, memo VARCHAR(20) NULL, KEY (tx_index))',
  'CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NOT NULL, text VARCHAR(20) NOT NULL)',
  'CREATE TABLE index_names (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL, UNIQUE KEY (name))',
  'CREATE TABLE tokens (id INT AUTO_INCREMENT PRIMARY KEY, tick VARCHAR(20) NOT NULL, supply DECIMAL(30,8) NOT NULL, UNIQUE KEY (tick))',
  'CREATE TABLE settings (text VARCHAR(20) NULL)'
];
const NAMES = ['blocks', 'transactions', 'sends', 'notes', 'index_names', 'tokens', 'settings'];

/** A complete replica of nothing but block 0. */
export async function createReplica(
  at?: DatabaseCoordinates
): Promise<{ to: DatabaseCoordinates; writer: Connection }> {
  const to = at ?? (await createDatabase('groups'));
  const writer = await openWriter(to, { generation: 1 });
  await openReplicaState(writer, 'decoder');
  for (const statement of TABLES) await writer.query(statement);
  await writer.query("INSERT INTO blocks VALUES (0, 'h0')");
  await writeReplicaState(writer, { complete: true, phase: 'following', height: 0, hashes: { block_hash: 'h0' } });
  return { to, writer };
}

export async function context(writer: Connection): Promise<WriterContext> {
  return { schema: await readReplicaSchema(writer, 'decoder', []), maxRollbackDepth: 10, epochSize: 10 };
}

export function block(height: number, data: Record<string, WireRow[]>, more: Partial<BlockMessage> = {}): BlockMessage {
  return {
    type: 'block',
    chain: 'litecoin',
    network: 'regtest',
    dbType: 'decoder',
    schema_version: 3,
    block_index: height,
    block_time: null,
    block_hash: `h${height}`,
    group: { first: height, last: height },
    ...more,
    data: { blocks: [{ block_index: height, block_hash: `h${height}` }], ...data }
  };
}

export async function apply(writer: Connection, messages: BlockMessage[]): Promise<void> {
  const state = await (await readyToApply(writer, messages))();
  assert.deepEqual(state, await readReplicaState(writer));
}

/** Each a group of its own; the marker is read once, as a follower does. */
export async function follow(writer: Connection, messages: readonly BlockMessage[]): Promise<void> {
  const own = await context(writer);
  let state = await readReplicaState(writer);
  for (const message of messages)
    state = await applyBlocks(writer, own, state, [{ target: targetOf([message]), messages: [message] }]);
}

/** Some groups in one transaction. */
export async function applyTogether(writer: Connection, groups: readonly (readonly BlockMessage[])[]): Promise<void> {
  const list = groups.map((messages) => ({ target: targetOf(messages), messages }));
  const state = await applyBlocks(writer, await context(writer), await readReplicaState(writer), list);
  assert.deepEqual(state, await readReplicaState(writer));
}

/** Reads what a group needs before it is read; the group itself begins with the call. */
export async function readyToApply(
  writer: Connection,
  messages: BlockMessage[],
  known?: WriterContext
): Promise<() => Promise<ReplicaState>> {
  const [own, state] = [known ?? (await context(writer)), await readReplicaState(writer)];
  return () => applyBlocks(writer, own, state, [{ target: targetOf(messages), messages }]);
}

function targetOf(messages: readonly BlockMessage[]): GroupTarget {
  const last = messages.at(-1)!;
  return {
    first: messages[0]!.block_index,
    last: last.block_index,
    hashes: { block_hash: last.block_hash ?? null },
    source: 'test',
    complete: true,
    phase: 'following'
  };
}

/** Every row of every table, surrogates included. */
export async function content(connection: Connection): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const name of NAMES)
    found[name] = (await rows(connection, `SELECT * FROM ${name}`)).map((row) => JSON.stringify(row)).sort();
  return found;
}

/** The whole of some blocks of a table. */
export const ofBlocks = (heights: readonly number[], list: WireRow[]): TableSpans => ({
  column: 'block_index',
  spans: heights.map((height) => [height, height]),
  rows: list
});

export const FIRST = block(
  1,
  {
    transactions: [{ tx_index: 10, block_index: 1 }],
    sends: [
      { tx_index: 10, memo: 'same' },
      { tx_index: 10, memo: 'same' }
    ],
    notes: [
      { id: 71, block_index: 1, text: 'one' },
      { id: 70, block_index: 1, text: 'zero' }
    ],
    index_names: [{ id: 5, name: 'five' }]
  },
  {
    updated_rows: {
      tokens: [
        { id: 900, tick: 'AAA', supply: '1.00000000' },
        { id: 901, tick: 'BBB', supply: '2.00000000' }
      ]
    },
    ranges: { settings: { column: null, spans: [[0, 4095]], rows: [] } }
  }
);

/** One group of two blocks that changes a bit of everything. */
export const SECOND = [
  block(
    2,
    { transactions: [{ tx_index: 20, block_index: 2 }], index_names: [{ id: 6, name: 'six' }] },
    { group: { first: 2, last: 3 } }
  ),
  block(
    3,
    {
      transactions: [
        { tx_index: 30, block_index: 3 },
        { tx_index: 11, block_index: 1 }
      ],
      sends: [{ tx_index: 30, memo: 'new' }]
    },
    {
      group: { first: 2, last: 3 },
      ranges: {
        sends: {
          column: 'tx_index',
          spans: [[10, 11]],
          rows: [
            { tx_index: 10, memo: 'late' },
            { tx_index: 10, memo: 'same' }
          ]
        },
        notes: ofBlocks([1], [{ id: 99, block_index: 1, text: 'changed' }]),
        settings: { column: null, spans: [[0, 4095]], rows: [{ text: null }, { text: 'x' }] }
      },
      updated_rows: { tokens: [{ id: 900, tick: 'AAA', supply: '9.00000000' }] },
      deleted_rows: { tokens: [{ tick: 'BBB' }] }
    }
  )
];

/** Applies blocks 2 to `last` of a since-snapshot that also holds block 1 again. @param inParts tables without blocks were asked for in parts */
export async function applySnapshot(
  writer: Connection,
  last: number,
  batches: AsyncIterable<SnapshotBatch>,
  inParts = false
): Promise<void> {
  const state = await (await readyForSnapshot(writer, last, batches, undefined, inParts))();
  assert.deepEqual(state, await readReplicaState(writer));
}

/** As `readyToApply`. */
export async function readyForSnapshot(
  writer: Connection,
  last: number,
  batches: AsyncIterable<SnapshotBatch>,
  known?: WriterContext,
  inParts = false
): Promise<() => Promise<ReplicaState>> {
  const target = {
    first: 2,
    last,
    hashes: { block_hash: `h${last}` },
    source: 'test',
    complete: true,
    phase: 'following'
  } as const;
  const whole = new Set(['index_names', 'settings', ...(inParts ? [] : ['tokens'])]);
  const [own, state] = [known ?? (await context(writer)), await readReplicaState(writer)];
  return () => applySince(writer, own, state, target, { batches, whole, from: 1, derives: false, inParts });
}

export const batch = (table: string, list: WireRow[], section: SnapshotBatch['section'] = 'tables'): SnapshotBatch => ({
  section,
  table,
  rows: list,
  last: true
});

/** Returns the content of a source at block 3 after ids were assigned again and older blocks changed. */
export async function* laterSource(): AsyncGenerator<SnapshotBatch> {
  yield batch('index_names', [
    { id: 5, name: 'six' },
    { id: 6, name: 'five' }
  ]);
  yield batch(
    'blocks',
    [1, 2, 3].map((height) => ({ block_index: height, block_hash: `h${height}` }))
  );
  yield batch('transactions', [
    { tx_index: 10, block_index: 1 },
    { tx_index: 12, block_index: 1 },
    { tx_index: 30, block_index: 3 }
  ]);
  yield batch('notes', [{ id: 70, block_index: 1, text: 'zero' }]);
  yield batch('sends', [
    { tx_index: 10, memo: 'same' },
    { tx_index: 12, memo: 'late' },
    { tx_index: 30, memo: 'new' },
    { tx_index: 30, memo: 'new' }
  ]);
  yield batch('tokens', [{ id: 901, tick: 'BBB', supply: '7.00000000' }], 'updated_rows');
}
