import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SnapshotBatch } from '../../../../src/replication/replica/database/snapshot-batch.ts';
import { openWriter } from '../../../../src/replication/replica/database/writer-connection.ts';
import type { WireRow } from '../../../../src/wire/data/messages.ts';
import { apply, applySnapshot, batch, content, createReplica, FIRST } from '../../../support/sync/small-replica.ts';

const spans = (column: string | null, ...list: ([number, number] | null)[]): WireRow => ({ column, spans: list });
const blocks = (...heights: readonly number[]) =>
  batch(
    'blocks',
    heights.map((height) => ({ block_index: height, block_hash: `h${height}` }))
  );

async function* of(...batches: readonly SnapshotBatch[]): AsyncGenerator<SnapshotBatch> {
  yield* batches;
}

/** Returns the rows of the blocks of `FIRST`, as a since-snapshot repeats them. */
async function standing() {
  const { to, writer } = await createReplica();
  await apply(writer, [FIRST]);
  const before = await content(writer);
  const again = ['blocks', 'transactions', 'sends', 'notes'].map((name) =>
    batch(
      name,
      before[name]!.map((row) => JSON.parse(row) as WireRow).filter((row) => row['block_index'] !== 0)
    )
  );
  const whole = ['index_names', 'tokens', 'settings'].map((name) =>
    batch(
      name,
      before[name]!.map((row) => JSON.parse(row) as WireRow)
    )
  );
  return { to, writer, before, rest: [...whole, ...again, blocks(2)] };
}

test('parts of older blocks are made what the since-snapshot says they are: rows come, change and go', async (t) => {
  const { writer, before, rest } = await standing();
  t.after(() => writer.destroy());
  await writer.query("INSERT INTO sends VALUES (3, 'goes'), (4, 'stays'), (5, 'old')");
  const parts = [
    batch('sends', [spans('tx_index', [3, 3], [5, 5], [7, 9])], 'older_spans'),
    batch(
      'sends',
      [
        { tx_index: 5, memo: 'new' },
        { tx_index: 8, memo: 'comes' },
        { tx_index: 8, memo: 'comes' }
      ],
      'older_rows'
    )
  ];
  await applySnapshot(writer, 2, of(...parts, ...rest));
  const added = [
    '{"tx_index":4,"memo":"stays"}',
    '{"tx_index":5,"memo":"new"}',
    ...Array(2).fill('{"tx_index":8,"memo":"comes"}')
  ];
  assert.deepEqual((await content(writer))['sends'], [...before['sends']!, ...added].sort());
});

test('parts of tables without blocks, where they were asked for, are made what the since-snapshot says', async (t) => {
  const { writer, rest } = await standing();
  t.after(() => writer.destroy());
  await writer.query("INSERT INTO tokens VALUES (902, 'CCC', 3), (903, 'DDD', 4)");
  const parts = [
    batch('tokens', [spans('id', [900, 901], [903, 903], [905, 905])], 'older_spans'),
    batch(
      'tokens',
      [
        { id: 900, tick: 'AAA', supply: '77.00000000' },
        { id: 905, tick: 'DDD', supply: '4.00000000' }
      ],
      'older_rows'
    )
  ];
  const others = rest.filter(({ table }) => table !== 'tokens');
  await applySnapshot(writer, 2, of(...parts, ...others), true);
  assert.deepEqual((await content(writer))['tokens'], [
    '{"id":900,"tick":"AAA","supply":"77.00000000"}',
    '{"id":902,"tick":"CCC","supply":"3.00000000"}',
    '{"id":905,"tick":"DDD","supply":"4.00000000"}'
  ]);
});

test('a since-snapshot whose parts make no sense is refused, and changes nothing', async (t) => {
  const { to, writer, before, rest } = await standing();
  writer.destroy();
  const olderBatch = batch('sends', [spans('tx_index', [3, 3])], 'older_spans');
  const refused: [RegExp, SnapshotBatch[]][] = [
    [/rows of sends come without the parts/, [batch('sends', [{ tx_index: 3, memo: null }], 'older_rows'), ...rest]],
    [/the parts of sends are ill-formed/, [batch('sends', [], 'older_spans'), ...rest]],
    [
      /the parts of sends are ill-formed/,
      [batch('sends', [{ column: 'tx_index', spans: [[1]] }], 'older_spans'), ...rest]
    ],
    [/table tokens has no older blocks/, [batch('tokens', [spans('id', [1, 9])], 'older_spans'), ...rest]],
    [/unknown table nowhere/, [batch('nowhere', [spans('id', [1, 9])], 'older_spans'), ...rest]],
    [/not an integer column/, [batch('sends', [spans('memo', [1, 9])], 'older_spans'), ...rest]],
    [/come after the rows of the new ones/, [...rest, olderBatch]]
  ];
  for (const [reason, batches] of refused) {
    const refusing = await openWriter(to, { generation: 2 });
    await assert.rejects(applySnapshot(refusing, 2, of(...batches)), reason);
  }
  const after = await openWriter(to, { generation: 3 });
  t.after(() => after.destroy());
  assert.deepEqual(await content(after), before);
});
