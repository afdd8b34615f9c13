import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { above, type Block, blockRow, extend } from '../../lab/simulation/chain.ts';
import { SIMULATED_KEY as KEY } from '../../lab/simulation/database/dialect.ts';
import { MemoryServer } from '../../lab/simulation/database/memory-server.ts';
import { answerDigest } from '../../lab/simulation/digests.ts';
import { installDoubles } from '../../lab/simulation/doubles/install.ts';
import { blockMessage } from '../../lab/simulation/source.ts';
import { createRandom } from '../../src/devnet/random.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import type { BlockMessage } from '../../src/wire/data/messages.ts';

/*
 * The in-memory database of the simulation is one of the two doubles of this project. What is done here with the production code
 * goes the same way on it and on MariaDB.
 */
installDoubles(['mysql2/promise']);
const { createDatabase } = await import('../support/mariadb.ts');
const { openWriter } = await import('../../src/replication/replica/database/writer-connection.ts');
const { connect, rows } = await import('../../src/db/connection.ts');
const { makeReplica } = await import('../../lab/simulation/database/replica-database.ts');
const { reap } = await import('../../actors/runtime/supervision/reaper.ts');
const { applyBlocks, applySince } = await import('../../src/replication/replica/apply/block-writer.ts');
const { readBlockHeads } = await import('../../src/replication/tables/block-hashes.ts');
const { planRollback, rollBack } = await import('../../src/replication/replica/apply/rollback.ts');
const { readGroupsAbove } = await import('../../src/replication/replica/apply/undo-journal.ts');
const { readReplicaSchema, canonicalRow } = await import('../../src/replication/replica/database/schema.ts');
const state = await import('../../src/replication/replica/database/state.ts');
const { readLayout } = await import('../../src/replication/tables/source-layout.ts');
const { digestPlans, readDigests, readRangeRows, readRanges, wholeTable } = await import(
  '../../src/replication/tables/digest.ts'
);
const { readGroup } = await import('../../src/replication/source/reading/group-reader.ts');
const { readTip } = await import('../../src/replication/tables/block-hashes.ts');
const { memoryAtTip, resumeMemory } = await import('../../src/replication/source/reading/memory-start.ts');
const { readOpenEpochs } = await import('../../src/replication/tables/epochs.ts');
const { pruneFrom } = await import('../../src/replication/tables/transparency-log.ts');

type Connection = Awaited<ReturnType<typeof openWriter>>;

const EPOCH_SIZE = 3;
const memoryName = 'contract';
new MemoryServer('contract-memory', memoryName);
const memory: DatabaseCoordinates = { host: 'contract-memory', port: 0, user: 'u', pass: '', name: memoryName };
const databases = [memory, await createDatabase('contract')] as const;
const writers = await Promise.all(databases.map((to) => openWriter(to, { generation: 7 })));
after(() => {
  for (const writer of writers) writer.destroy();
});

const random = createRandom('contract');
const chain: Block[] = [];
for (let height = 1; height <= 9; height++) chain.push(extend(chain.at(-1) ?? null, random, 'busy'));
const branch = [4, 5, 6].reduce<Block[]>((list) => [...list, extend(list.at(-1) ?? chain[2]!, random, 'busy')], []);

const contextOf = async (writer: Connection) => ({
  schema: await readReplicaSchema(writer, 'indexer', []),
  maxRollbackDepth: 5,
  epochSize: EPOCH_SIZE
});

/** Applies blocks of one branch as one group. */
async function apply(writer: Connection, blocks: readonly Block[]): Promise<void> {
  const [first, last] = [blocks[0]!, blocks.at(-1)!];
  const messages = blocks.map(
    (block) => JSON.parse(blockMessage(block, blocks, first.parent ? [first.parent] : [])) as BlockMessage
  );
  const target = { first: first.height, last: last.height, hashes: last.hashes, source: 'test', complete: true };
  const before = await state.readReplicaState(writer);
  const group = { target: { ...target, phase: 'following' }, messages } as const;
  await applyBlocks(writer, await contextOf(writer), before, [group]);
}

/** All that is there, but for times of the clock and ids that a database deals by itself. */
async function content(writer: Connection): Promise<unknown> {
  const found: Record<string, unknown> = {
    state: await state.readReplicaState(writer),
    halt: await state.readHalt(writer)
  };
  for (const query of [
    'SELECT id, address FROM index_addresses ORDER BY id',
    'SELECT block_index, block_time, ledger_hash, actions_hash, contract_hash FROM blocks ORDER BY block_index',
    'SELECT block_index, address_id, amount FROM transfers ORDER BY block_index, address_id, amount',
    'SELECT tick, supply FROM tokens ORDER BY tick',
    'SELECT block_index, block_time, ledger_hash, actions_hash, contract_hash FROM sync_meta ORDER BY block_index',
    'SELECT epoch, start_block, end_block, merkle_root, leaf_count FROM merkle_epochs ORDER BY epoch',
    'SELECT group_first, group_last, kind, table_name FROM sync_undo ORDER BY seq'
  ])
    found[query] = (await rows(writer, query)).map((row) => ({ ...row }));
  return JSON.parse(JSON.stringify(found));
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (caught: unknown) => (caught as { code: unknown }).code
  );

/** Does the same with both, one after the other. @returns what the one and the other gave */
async function both<T>(work: (writer: Connection, to: DatabaseCoordinates) => Promise<T>): Promise<readonly [T, T]> {
  return [await work(writers[0]!, databases[0]), await work(writers[1]!, databases[1])];
}

async function same(work: (writer: Connection, to: DatabaseCoordinates) => Promise<unknown>): Promise<unknown> {
  const [inMemory, inMariaDb] = await both(work);
  assert.deepEqual(inMemory, inMariaDb);
  return inMemory;
}

/** A new writer in the place of one that was destroyed. */
async function reopen(index: number): Promise<Connection> {
  writers[index]!.destroy();
  const writer = await openWriter(databases[index]!, { generation: 8 });
  writers[index] = writer;
  return writer;
}

test('a replica is made, and made again without a change; its schema reads the same', async () => {
  const found = await same(async (writer) => {
    await makeReplica(writer);
    await state.openReplicaState(writer, 'indexer');
    const { tables } = await readReplicaSchema(writer, 'indexer', []);
    return [tables.filter(({ plan }) => plan.class !== 'local' && plan.class !== 'control'), await content(writer)];
  });
  const [tables] = found as [{ name: string }[]];
  assert.deepEqual(tables.map(({ name }) => name).sort(), ['blocks', 'index_addresses', 'tokens', 'transfers']);
});

test('a group is applied with its journal, log and epochs; one that does not begin at the marker moves nothing', async () => {
  await same(async (writer) => {
    const { schema } = await contextOf(writer);
    await state.writeReplicaState(writer, { height: 0, hashes: null, complete: true, phase: 'following' });
    await apply(writer, chain.slice(0, 2));
    await apply(writer, chain.slice(2, 7));
    const head = await readBlockHeads(writer, schema.heads!, 4, 6);
    return [
      await content(writer),
      head,
      await readGroupsAbove(writer, 1),
      canonicalRow(schema.byName.get('blocks')!, blockRow(chain[0]!))
    ];
  });
  const codes = await same(async (writer) => {
    const before = await state.readReplicaState(writer);
    const messages = [JSON.parse(blockMessage(chain[7]!, [chain[7]!], [chain[6]!])) as BlockMessage];
    const target = {
      first: 8,
      last: 8,
      hashes: chain[7]!.hashes,
      source: 'test',
      complete: true,
      phase: 'following'
    } as const;
    return codeOf(applyBlocks(writer, await contextOf(writer), { ...before, height: 5 }, [{ target, messages }]));
  });
  assert.equal(codes, 'REPLICA_MOVED');
});

test('a failed group leaves nothing, and its connection is of no more use', async () => {
  const [one, other] = await both((writer) => codeOf(writer.query('SELECT 1')));
  assert.notEqual(one, 'done');
  assert.notEqual(other, 'done');
  for (const index of [0, 1]) await reopen(index);
  await same(content);
});

test('a row that contradicts a unique key is refused as such', async () => {
  const codes = await same(async (writer) => {
    const copy = {
      ...chain[7]!,
      addresses: [{ id: 900, address: chain.find(({ addresses }) => addresses.length > 0)!.addresses[0]!['address'] }]
    };
    return codeOf(apply(writer, [copy]));
  });
  assert.equal(codes, 'ROW_CONTRADICTION');
  for (const index of [0, 1]) await reopen(index);
  await same(content);
});

test('a rollback restores what was before the groups above a fork, and another branch goes on from there', async () => {
  await same(async (writer) => {
    const before = await state.readReplicaState(writer);
    const plan = await planRollback(writer, 7, 3);
    await rollBack(writer, await contextOf(writer), before, plan!);
    return [plan, await content(writer)];
  });
  await same(async (writer) => {
    await apply(writer, chain.slice(2, 3));
    await apply(writer, branch);
    return content(writer);
  });
});

const end = extend(branch.at(-1)!, createRandom('since'), 'busy');

test('a since-snapshot replaces whole tables and older blocks', async () => {
  await same(async (writer) => {
    const blocks = above(end, 3);
    async function* batches() {
      const batch = (table: string, list: readonly object[], section: 'tables' | 'updated_rows' = 'tables') => ({
        section,
        table,
        rows: list as Record<string, unknown>[],
        last: true
      });
      yield batch(
        'index_addresses',
        above(end, 0).flatMap(({ addresses }) => addresses)
      );
      yield batch('blocks', blocks.map(blockRow));
      yield batch(
        'transfers',
        blocks.flatMap(({ transfers }) => transfers)
      );
      yield batch('tokens', [...end.tokens.values()], 'updated_rows');
    }
    const target = {
      first: 7,
      last: 7,
      hashes: end.hashes,
      source: 'test',
      complete: true,
      phase: 'following'
    } as const;
    const whole = new Set(['index_addresses', 'tokens']);
    const since = { batches: batches(), whole, from: 4, derives: false };
    await applySince(writer, await contextOf(writer), await state.readReplicaState(writer), target, since);
    return content(writer);
  });
});

const SNAPSHOT = 'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY';

/** Without the ids that a database deals by itself, in an order of its own. */
const unnumbered = (list: readonly object[]) =>
  list.map((row) => JSON.stringify({ ...row, id: undefined })).toSorted((a, b) => (a < b ? -1 : 1));

test('digests, ranges and their rows are the same, and those that simulated sources tell', async () => {
  const found = await same(async (writer) => {
    const layout = await readLayout(writer, 'indexer');
    await writer.query(SNAPSHOT);
    const figures = await readDigests(writer, layout, end.height, KEY);
    const parts = [];
    for (const plan of digestPlans(layout, end.height)) {
      const { rows: all, digest } = await readRangeRows(writer, layout.tables, plan, wholeTable(plan), KEY);
      const block = { from: 0, to: 2 ** 32 - 1, block: 2 };
      const within = plan.class === 'scoped' ? await readRanges(writer, layout.tables, plan, block, KEY) : [];
      parts.push([plan.name, unnumbered(all), digest, within]);
    }
    await writer.query('COMMIT');
    return { figures, parts };
  });
  const { figures, parts } = found as { figures: { table: string }[]; parts: [string, string[], string, unknown[]][] };
  assert.equal(figures.length, 5);
  for (const { ranges, ...fields } of figures as ({ table: string; ranges: unknown } & Record<string, unknown>)[]) {
    const whole = answerDigest(end, { table: null, range: null, rows: false }, KEY, null) as {
      tables: { table: string }[];
    };
    assert.deepEqual(
      whole.tables.find(({ table }) => table === fields.table),
      fields
    );
    assert.deepEqual(answerDigest(end, { table: fields.table, range: null, rows: false }, KEY, null), {
      table: fields.table,
      rows: fields['rows'],
      digest: fields['digest'],
      ranges
    });
  }
  for (const [table, all, digest, within] of parts) {
    const range = { from: -1, to: 2 ** 32 - 1, block: null };
    const answer = answerDigest(end, { table, range, rows: true }, KEY, null) as { data: object[]; digest: string };
    assert.deepEqual([unnumbered(answer.data), answer.digest], [all, digest]);
    if (within.length === 0) continue;
    const ofBlock = { table, range: { ...range, from: 0, block: 2 }, rows: false };
    assert.deepEqual((answerDigest(end, ofBlock, KEY, null) as { ranges: unknown }).ranges, within);
  }
});

test('a consistent snapshot stays as it was while others write, and cannot be written in', async () => {
  await same(async (writer, to) => {
    const reader = await connect(to);
    const count = async () => Number((await rows(reader, 'SELECT COUNT(*) AS n FROM sync_halt'))[0]!['n']);
    await reader.query(SNAPSHOT);
    const halt = { block_index: 1, reason: 'x', mismatches: null, sources: null };
    await state.writeHalt(writer, { ...halt, detected_at: '2026-01-02T03:04:05.678Z' });
    const during = await count();
    await reader.query(SNAPSHOT);
    const refused = (await codeOf(reader.query('DELETE FROM sync_halt'))) !== 'done';
    const renewed = await count();
    await state.clearHalt(writer);
    reader.destroy();
    return [during, refused, renewed];
  });
});

test('a source reads the same blocks in one group, with what changed beside them, and its log', async () => {
  const next = extend(end, createRandom('next'), 'busy');
  const last = extend(next, createRandom('last'), 'busy');
  const found = await same(async (writer) => {
    const layout = await readLayout(writer, 'indexer');
    await writer.query(`SET @platform_key = '${KEY}'`);
    const memory = await memoryAtTip(writer, layout, await readTip(writer, layout.heads!));
    const before = memory.point(false);
    await apply(writer, [next, last]);
    const group = [];
    for await (const block of readGroup(writer, 'indexer', [], memory)) group.push(block);
    for (const block of group) memory.accept(block);
    const isTold = memory.watches.get('tokens')!.pending.length === 0;
    // Replicas undo what the group changed: a successor must say it again.
    memory.rollBack(next.height, layout);
    assert.deepEqual([isTold, memory.watches.get('tokens')!.pending.length > 0], [true, true]);
    const resumed = await resumeMemory(writer, layout, before, false);
    await writer.query('DELETE FROM merkle_epochs WHERE epoch = 2');
    const open = await readOpenEpochs(writer, EPOCH_SIZE, last.height);
    const point = resumed.point(false);
    const pruned = await pruneFrom(writer, last.height);
    const plain = (value: unknown) =>
      JSON.parse(
        JSON.stringify(value, (key, part) => {
          if (typeof part === 'bigint') return String(part);
          return ['id', 'times', 'blocksTime', 'isSettled'].includes(key) ? 0 : part instanceof Map ? [...part] : part;
        })
      );
    return plain({
      before,
      group: group.map(({ layout: _, ...block }) => block),
      open,
      point,
      pruned
    });
  });
  assert.equal((found as { group: unknown[] }).group.length, 2);
});

test('a halt is kept, and cleared', async () => {
  await same(async (writer) => {
    const halt = { block_index: 7, reason: "it's so", mismatches: { 'a\\b': ['"', '\n'] }, sources: ['x'] };
    await state.writeHalt(writer, { ...halt, detected_at: '2026-01-02T03:04:05.678Z' });
    const kept = await state.readHalt(writer);
    await state.clearHalt(writer);
    return [kept, await state.readHalt(writer)];
  });
});

test('a second writer is refused by the lock, and let in when the first has ended', async () => {
  const codes = await same((_, to) => codeOf(openWriter(to, { generation: 9, lockPatienceS: 0 })));
  assert.equal(codes, 'REPLICA_LOCKED');
  await same(async (writer, to) => {
    const waiting = openWriter(to, { generation: 9, lockPatienceS: 5 });
    setTimeout(() => writer.destroy(), 50);
    const next = await waiting;
    next.destroy();
    return codeOf(writer.query('SELECT 1')).then((code) => code !== 'done');
  });
  for (const index of [0, 1]) await reopen(index);
});

test('uncommitted changes of a connection are undone with it, and nobody else saw them', async () => {
  await same(async (writer, to) => {
    const other = await connect(to);
    await writer.query('BEGIN');
    await writer.query('DELETE FROM tokens');
    const seen = rows(other, 'SELECT COUNT(*) AS n FROM tokens');
    writer.destroy();
    const [row] = await seen;
    other.destroy();
    return Number(row!['n']);
  });
  for (const index of [0, 1]) await reopen(index);
  await same(content);
});

test('the reaper ends the statements of a dead actor, and no others', async () => {
  const killed = await same(async (writer, to) => {
    const waiting = codeOf(openWriter(to, { generation: 55, lockPatienceS: 20 }));
    while ((await rows(writer, "SELECT IS_USED_LOCK('x') AS n")).length === 0);
    let count = 0;
    for (const until = Date.now() + 5_000; count === 0 && Date.now() < until; ) count = await reap(to, to.name, 55);
    return [count, await reap(to, to.name, 56), await waiting];
  });
  assert.deepEqual(killed, [1, 0, 'DATABASE_UNAVAILABLE']);
});
