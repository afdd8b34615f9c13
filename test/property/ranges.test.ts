import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect, quoteName, rows } from '../../src/db/connection.ts';
import { contentSlotSql } from '../../src/db/row-codec.ts';
import { applyBlocks, type WriterContext } from '../../src/replication/replica/apply/block-writer.ts';
import { planRollback, rollBack } from '../../src/replication/replica/apply/rollback.ts';
import { readReplicaSchema } from '../../src/replication/replica/database/schema.ts';
import { openReplicaState, readReplicaState, writeReplicaState } from '../../src/replication/replica/database/state.ts';
import { openWriter } from '../../src/replication/replica/database/writer-connection.ts';
import type { TableSpans, WireRow } from '../../src/wire/data/messages.ts';
import fc from '../support/fast-check.ts';
import { createDatabase } from '../support/mariadb.ts';
import { block } from '../support/sync/small-replica.ts';

const TIP = 5;
const NEXT = TIP + 1;
const [LOWEST, HIGHEST] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

const TABLES = [
  'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_hash VARCHAR(64) NOT NULL)',
  'CREATE TABLE transactions (tx_index INT PRIMARY KEY, block_index INT NULL, KEY (block_index))',
  'CREATE TABLE sends (tx_index INT NOT NULL, memo VARCHAR(20) NULL, KEY (tx_index))',
  'CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NULL, name VARCHAR(9) NULL, value INT, KEY (block_index), UNIQUE KEY (name))',
  'CREATE TABLE prices (id INT AUTO_INCREMENT PRIMARY KEY, code INT NOT NULL, value INT, UNIQUE KEY (code))',
  'CREATE TABLE settings (name INT NULL, value VARCHAR(9) NULL)'
];
/** Each table that ranges tell of, with the column that they go by. */
const BY = { transactions: 'tx_index', sends: 'tx_index', notes: 'block_index', prices: 'id', settings: null } as const;
type Name = keyof typeof BY;
const NAMES = Object.keys(BY) as Name[];
type State = Readonly<Record<Name, WireRow[]>>;

const orNull = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: null, freq: 4 });
const anyBlock = orNull(fc.integer({ min: -1, max: NEXT + 2 }));
const unique = <T extends WireRow>(made: fc.Arbitrary<T>, ...keys: string[]) =>
  fc
    .array(made, { maxLength: 12 })
    .map((list) =>
      keys.reduce(
        (left, key) => left.filter((row, at) => row[key] === null || left.findIndex((r) => r[key] === row[key]) === at),
        list as WireRow[]
      )
    );
const id = fc.integer({ min: 1, max: 14 });
const anyState: fc.Arbitrary<State> = fc.record({
  transactions: unique(fc.record({ tx_index: id, block_index: anyBlock }), 'tx_index'),
  sends: fc.array(fc.record({ tx_index: id, memo: orNull(fc.constantFrom('a', 'A', 'b')) }), { maxLength: 12 }),
  notes: unique(
    fc.record({ id, block_index: anyBlock, name: orNull(fc.constantFrom('x', 'y', 'z')), value: id }),
    'id',
    'name'
  ),
  prices: unique(fc.record({ id, code: id, value: id }), 'id', 'code'),
  settings: fc.array(fc.record({ name: orNull(id), value: orNull(fc.constantFrom('', 'a', 'A')) }), { maxLength: 12 })
});
const someSpans: fc.Arbitrary<TableSpans['spans']> = fc.array(
  fc.oneof(
    fc.constant(null),
    fc
      .tuple(fc.integer({ min: -2, max: 14 }), fc.nat(3))
      .map(([from, width]): [number, number] => [from, from + width]),
    fc.integer({ min: -2, max: 9 }).map((to): [number, number] => [LOWEST, to]),
    fc.integer({ min: 0, max: 14 }).map((from): [number, number] => [from, HIGHEST])
  ),
  { maxLength: 3 }
);
const furtherSpans = fc.record({
  transactions: someSpans,
  sends: someSpans,
  notes: someSpans,
  prices: someSpans,
  settings: fc.constant<TableSpans['spans']>([])
});

async function fill(to: Connection, state: State): Promise<void> {
  await to.query('BEGIN');
  await to.query('DELETE FROM blocks');
  for (const name of NAMES) {
    await to.query(`DELETE FROM ${name}`);
    for (const row of state[name]) await to.query(`INSERT INTO ${name} SET ?`, [row]);
  }
  for (let height = 1; height <= TIP; height++)
    await to.query('INSERT INTO blocks VALUES (?, ?)', [height, `h${height}`]);
  await to.query('COMMIT');
}

/** The rows of each table with the place that ranges find them at, and the block that they are of. */
async function placed(from: Connection, context: WriterContext): Promise<Record<string, Placed[]>> {
  const found: Record<string, Placed[]> = {};
  for (const name of NAMES) {
    const column = BY[name];
    const place =
      column === null
        ? contentSlotSql(context.schema.byName.get(name)!.plan.storedColumns, 't')
        : `t.${quoteName(column)}`;
    const height =
      name === 'sends' ? '(SELECT block_index FROM transactions p WHERE p.tx_index = t.tx_index)' : 't.block_index';
    const ofBlock = name === 'prices' || name === 'settings' ? 'NULL' : height;
    const list = await rows(from, `SELECT t.*, ${place} AS at_place, ${ofBlock} AS of_block FROM ${name} t`);
    found[name] = list.map(({ at_place: place, of_block: of, ...row }) => ({
      row,
      place: place === null ? null : Number(place),
      block: of === null ? null : Number(of)
    }));
  }
  return found;
}
interface Placed {
  readonly row: WireRow;
  readonly place: number | null;
  readonly block: number | null;
}

const isIn = (spans: TableSpans['spans'], place: number | null) =>
  spans.some((span) => (span === null ? place === null : place !== null && place >= span[0] && place <= span[1]));

/** Returns the ranges of a source that went from one state to the other: everything that changed, and more. */
function rangesOf(
  before: Record<string, Placed[]>,
  after: Record<string, Placed[]>,
  further: Readonly<Record<Name, TableSpans['spans']>>
): Record<string, TableSpans> {
  return Object.fromEntries(
    NAMES.map((name) => {
      const spans = [...further[name]];
      const left = after[name]!.map((each) => JSON.stringify(each));
      const changed = before[name]!.filter((each) => {
        const at = left.indexOf(JSON.stringify(each));
        if (at >= 0) left.splice(at, 1);
        return at < 0;
      });
      for (const { place } of [...changed, ...left.map((text) => JSON.parse(text) as Placed)])
        spans.push(place === null ? null : [place, place]);
      const list = after[name]!.filter(({ place, block: height }) => height !== NEXT && isIn(spans, place));
      return [name, { column: BY[name], spans, rows: list.map(({ row }) => row) }] as const;
    })
  );
}

const textOf = (state: Record<string, Placed[]>) =>
  Object.fromEntries(
    Object.entries(state).map(([name, list]) => [name, list.map(({ row }) => JSON.stringify(row)).sort()])
  );

test('ranges make the replica equal, ids included, for rows that change, move, get a block, lose theirs or wait for a parent, and undoing them restores it', async () => {
  const to = await createDatabase('ranges');
  const writer = await openWriter(to, { generation: 1 });
  const source = await connect(await createDatabase('ranges_source'));
  await openReplicaState(writer, 'decoder');
  for (const statement of TABLES) for (const each of [writer, source]) await each.query(statement);
  const context = { schema: await readReplicaSchema(writer, 'decoder', []), maxRollbackDepth: 10, epochSize: 10 };
  const property = fc.asyncProperty(anyState, anyState, furtherSpans, async (then, now, further) => {
    await fill(writer, then);
    await fill(source, now);
    await writer.query('DELETE FROM sync_undo');
    const hashes = { block_hash: `h${TIP}` };
    await writeReplicaState(writer, { complete: true, phase: 'following', height: TIP, hashes });
    const [before, after] = [await placed(writer, context), await placed(source, context)];
    const ofNext = Object.entries(after).map(
      ([name, list]) => [name, list.filter((each) => each.block === NEXT).map(({ row }) => row)] as const
    );
    const message = block(NEXT, Object.fromEntries(ofNext), { ranges: rangesOf(before, after, further) });
    const target = { first: NEXT, last: NEXT, hashes: { block_hash: `h${NEXT}` }, source: 'test' };
    const marks = { complete: true, phase: 'following' } as const;
    const group = { target: { ...target, ...marks }, messages: [message] };
    await applyBlocks(writer, context, await readReplicaState(writer), [group]);
    assert.deepEqual(textOf(await placed(writer, context)), textOf(after));
    await rollBack(writer, context, await readReplicaState(writer), (await planRollback(writer, NEXT, TIP))!);
    assert.deepEqual(textOf(await placed(writer, context)), textOf(before));
  });
  await fc.assert(property, { numRuns: 100 });
  await writer.end();
  await source.end();
});
