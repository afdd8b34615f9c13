import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classifyTables, comparedColumns } from '../../../../src/replication/tables/classify.ts';
import type { TypedColumn, TypedKey, TypedTable } from '../../../../src/wire/data/schema.ts';

interface Sketch {
  /** `name?` may be NULL, `name#` is AUTO_INCREMENT, `name=` is generated. */
  readonly columns: string;
  /** First is the primary key. */
  readonly keys?: readonly string[];
  /** Columns with an index that is not unique. */
  readonly indexes?: readonly string[];
  readonly refersTo?: { readonly table: string; readonly column: string };
}

function table(name: string, { columns, keys = [], indexes = [], refersTo }: Sketch): TypedTable {
  return {
    name,
    engine: 'InnoDB',
    columns: columns.split(' ').map(
      (text): TypedColumn => ({
        name: text.replace(/[?#=]$/, ''),
        type: 'int(11)',
        nullable: text.endsWith('?'),
        default: null,
        charset: null,
        collation: null,
        autoIncrement: text.endsWith('#'),
        onUpdate: null,
        generated: text.endsWith('=') ? { expression: 'a', stored: true } : null,
        json: false
      })
    ),
    keys: [...keys, ...indexes].map(
      (text, index): TypedKey => ({
        name: index === 0 && keys.length > 0 ? 'PRIMARY' : `key${index}`,
        unique: index < keys.length,
        kind: 'BTREE',
        columns: text.split(' ').map((column) => ({ name: column, prefix: null, descending: false }))
      })
    ),
    foreignKeys: refersTo
      ? [
          {
            name: 'fk',
            columns: ['parent_id'],
            referencedTable: refersTo.table,
            referencedColumns: [refersTo.column],
            onDelete: 'RESTRICT',
            onUpdate: 'RESTRICT'
          }
        ]
      : []
  };
}

const PARENTS = [
  table('blocks', { columns: 'id# block_index', keys: ['id'] }),
  table('transactions', { columns: 'tx_index block_index', keys: ['tx_index'] }),
  table('actions', { columns: 'action_index block_index tx_index', keys: ['action_index'] })
];

function plan(name: string, sketch: Sketch, dbType: 'indexer' | 'decoder' = 'indexer', local: readonly string[] = []) {
  return classifyTables([...PARENTS, table(name, sketch)], dbType, local).at(-1)!;
}

test('a table is scoped by the first of its scope columns that cannot be NULL', () => {
  assert.deepEqual(plan('a', { columns: 'block_index tx_index v' }).scope, { column: 'block_index', parent: null });
  assert.deepEqual(plan('a', { columns: 'block_index? tx_index' }).scope, {
    column: 'tx_index',
    parent: 'transactions'
  });
  assert.deepEqual(plan('a', { columns: 'action_index v' }).scope, { column: 'action_index', parent: 'actions' });
  assert.equal(plan('a', { columns: 'id# action_index?', keys: ['id'] }).class, 'mutable');
});

test('a scope column with an index comes before one without', () => {
  const both = { columns: 'action_index block_index v', keys: ['action_index'] };
  assert.equal(plan('a', both).scope?.column, 'action_index');
  assert.equal(plan('a', { ...both, indexes: ['block_index'] }).scope?.column, 'block_index');
  assert.equal(plan('a', { columns: 'block_index action_index' }).scope?.column, 'block_index');
});

test('an indexed block_index that may be NULL is a scope where there is no better one', () => {
  const block = { column: 'block_index', parent: null };
  assert.deepEqual(plan('a', { columns: 'id# block_index?', keys: ['id'], indexes: ['block_index'] }).scope, block);
  assert.equal(plan('a', { columns: 'id# block_index?', keys: ['id'] }).class, 'mutable');
  const foreign = { columns: 'block_index? action_index', keys: ['action_index'], indexes: ['block_index'] };
  assert.deepEqual(plan('a', foreign).scope, { column: 'action_index', parent: 'actions' });
  const transactions = table('transactions', {
    columns: 'tx_index block_index?',
    keys: ['tx_index'],
    indexes: ['block_index']
  });
  const outputs = table('transaction_outputs', { columns: 'tx_index vout', keys: ['tx_index vout'] });
  const plans = classifyTables([transactions, outputs], 'decoder');
  assert.deepEqual(
    plans.map(({ scope }) => scope),
    [block, { column: 'tx_index', parent: 'transactions' }]
  );
});

test('balances are named by a unique key whose columns may be NULL', () => {
  const balances = { columns: 'id# address_id? tick_id?', keys: ['id', 'address_id tick_id'] };
  assert.deepEqual(plan('balances', balances).identity, ['address_id', 'tick_id']);
});

test('a column whose parent table cannot say the block is no scope', () => {
  const [only] = classifyTables([table('a', { columns: 'tx_index v' })], 'indexer');
  assert.equal(only?.class, 'mutable');
});

test('columns that end in _block decide nothing', () => {
  assert.equal(plan('a', { columns: 'id# deactivation_block callback_block', keys: ['id'] }).class, 'mutable');
});

test('index_ tables with a counted id are lookups, whatever else they hold; without one they are mutable', () => {
  const lookup = plan('index_x', { columns: 'id# block_index v', keys: ['id'] });
  assert.deepEqual([lookup.class, lookup.identity, lookup.surrogate], ['lookup', ['id'], null]);
  assert.equal(plan('index_x', { columns: 'id v', keys: ['id'] }).class, 'mutable');
});

test('hints decide by database type', () => {
  const dispensers = { columns: 'action_index v', keys: ['action_index'] };
  assert.equal(plan('dispensers', dispensers, 'decoder').class, 'snapshotOnly');
  assert.equal(plan('dispensers', dispensers, 'indexer').class, 'scoped');
  assert.equal(plan('pubkeys', { columns: 'id# address_id', keys: ['address_id', 'id'] }, 'decoder').class, 'lookup');
  assert.equal(
    plan('balances', { columns: 'id# address_id tick_id', keys: ['id', 'address_id tick_id'] }).class,
    'derived'
  );
});

test('sync-owned tables and those named by the operator never travel', () => {
  assert.equal(plan('sync_anything', { columns: 'block_index' }).class, 'local');
  assert.equal(plan('mine', { columns: 'block_index' }, 'indexer', ['mine']).class, 'local');
});

test('a row is named by a unique key without the surrogate and without columns that may be NULL, else by all of it', () => {
  const keyed = plan('a', { columns: 'id# x y', keys: ['id', 'x y'] });
  assert.deepEqual([keyed.identity, keyed.surrogate], [['x', 'y'], 'id']);
  assert.deepEqual(
    comparedColumns(keyed).map(({ name }) => name),
    ['x', 'y']
  );
  assert.equal(plan('a', { columns: 'id# x y?', keys: ['id', 'x y'] }).identity, null);
  assert.equal(plan('a', { columns: 'x' }).identity, null);
});

test('a counted column to which another table refers is no surrogate', () => {
  const parent = table('parent', { columns: 'id# v', keys: ['id'] });
  const child = table('child', { columns: 'parent_id', refersTo: { table: 'parent', column: 'id' } });
  const [found] = classifyTables([parent, child], 'indexer');
  assert.deepEqual([found?.surrogate, found?.identity], [null, ['id']]);
});

test('a reference to a table that never travels is a surrogate all the same: the replica does not have that table', () => {
  const tokens = table('tokens', { columns: 'id# tick', keys: ['id', 'tick'] });
  const refersTo = { table: 'tokens', column: 'id' };
  const icons = table('icons', { columns: 'parent_id', refersTo });
  const notes = table('notes', { columns: 'parent_id', refersTo });
  const surrogate = (others: TypedTable[], local: string[] = []) =>
    classifyTables([tokens, ...others], 'indexer', local)[0]?.surrogate;
  assert.equal(surrogate([icons]), 'id');
  assert.equal(surrogate([notes], ['notes']), 'id');
  assert.equal(surrogate([icons, notes]), null);
});

test('a counted scope column says which block a row belongs to, so it is no surrogate', () => {
  const [actions] = classifyTables(
    [table('actions', { columns: 'action_index# v', keys: ['action_index'] })],
    'indexer'
  );
  assert.deepEqual([actions?.surrogate, actions?.identity], [null, ['action_index']]);
  assert.equal(plan('a', { columns: 'tx_index# v', keys: ['tx_index'] }).surrogate, null);
});

test('generated columns are neither written nor compared', () => {
  const generated = plan('a', { columns: 'x y=', keys: ['x'] });
  assert.deepEqual(
    generated.storedColumns.map(({ name }) => name),
    ['x']
  );
});
