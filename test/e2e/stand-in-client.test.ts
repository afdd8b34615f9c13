import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DbType } from '../../src/wire/data/database.ts';
import type { Body } from '../support/stand-in/client.ts';
import type { Row, RowsByTable } from '../support/stand-in/database.ts';
import { mannerOf } from '../support/stand-in/tables.ts';
import { eventually } from '../support/sync/sync-process.ts';
import type { BlockRequest } from '../support/tables-in-use/ledger.ts';
import { differing, plainClientTest, serve, texts } from './stand-in-client.ts';

const VERSION = { indexer: 7, decoder: 3 } as const;
const HASHES = { indexer: ['ledger_hash', 'actions_hash', 'contract_hash'], decoder: ['block_hash'] } as const;
const SPECIFIED = ['type', 'chain', 'network', 'block_index', 'block_time', 'data'];
/** Fields that a client of another make passes over. */
const ADDED = new Set(
  `dbType schema_version group previous_hash state_hash balances_root block_merkle_root state_root updated_rows
   deleted_rows whole rescoped ranges schema_fingerprint amended_before settling unsettled`.split(/\s+/)
);
/** Rows that know their block by other columns than those that the specification names: to our server they have none. */
const WITHOUT_BLOCK = new Set(['rollcalls', 'rollcall_absences', 'rollcall_gates', 'contract_emissions']);
/** A refund is a new row under the old action whose cooldown has ended: part of the block elsewhere, a row of an older block to us. */
const WITH_REFUNDS = new Set(['credits', 'escrows']);
/** Late changes that a client can take by its keys. */
const LATE: BlockRequest['late'] = (
  [
    'stakeDeactivated',
    'delegationDeactivated',
    'betSettled',
    'tokenPriced',
    'attestLinkedToBatch',
    'pollFinalized'
  ] as const
).map((kind) => ({ kind, depth: 2 }));

for (const dbType of ['indexer', 'decoder'] as const) {
  test(`${dbType}: a client that knows only the specification is served: bodies, blocks >= N, 404 above the tip, live`, async (t) => {
    const { source, replica, ledger, pair, client, truth, isAt } = await serve(dbType, {
      env: { SYNC_SINCE_INCLUSIVE: 1 }
    });
    const settled = async () => {
      let left: string[] = [];
      await eventually(`the client is equal at ${ledger.height}`, async () => {
        if (!(await isAt('client'))) return false;
        left = await differing(dbType, source, replica);
        return left.length === 0;
      }).catch((fault: Error) => {
        throw new Error(`${fault.message}; it is at ${client.height}, and differs in ${left}; ${client.faults.join()}`);
      });
    };
    await t.test('a full body has its keys in order, and all tables in theirs', async () => {
      const text = await client.bootstrap();
      const head = `{"schema_version":${VERSION[dbType]},"block_height":${ledger.height},"tables":{`;
      assert.ok(text.startsWith(head), text.slice(0, 90));
      const body = JSON.parse(text) as Body;
      assert.deepEqual(Object.keys(body), ['schema_version', 'block_height', 'tables']);
      await settled();
    });
    await t.test('above the tip it is told so by the words that it knows', async () => {
      const { status, text } = await client.get('snapshot', `/since/${ledger.height + 1}`);
      assert.equal(status, 404);
      const { error } = JSON.parse(text) as { error: string };
      assert.equal(error, `No data available after block ${ledger.height + 1}`);
    });
    await t.test('since N holds block N, every scoped table with `blocks` first, and all that changed', async () => {
      const from = ledger.height + 1;
      await ledger.writeBlocks(5, { actions: 12 });
      if (dbType === 'indexer') await ledger.writeBlock({ actions: 12, late: LATE });
      await eventually('the server has seen them', () => isAt('server'));
      const text = (await client.catchUp()) ?? '';
      const head = `{"schema_version":${VERSION[dbType]},"block_height":${ledger.height},"since_block":${from},"tables":{`;
      assert.ok(text.startsWith(head), text.slice(0, 110));
      const { tables, updated_rows } = JSON.parse(text) as Body;
      const expected = await truth.read(() => truth.snapshot(from));
      const known = await truth.read(() => truth.tables());
      for (const table of known.filter((each) => mannerOf(dbType, each) === 'block'))
        assert.deepEqual(texts(tables[table.name]), texts(expected.tables[table.name]), table.name);
      const names = Object.keys(tables).filter((name) => !name.startsWith('index_'));
      assert.deepEqual(names.slice(0, 2), ['blocks', 'transactions']);
      if (dbType === 'decoder') assert.equal(updated_rows, undefined);
      for (const name of ['blocks', 'transactions', 'actions']) assert.ok(!updated_rows?.[name], name);
      await settled();
    });
    await t.test('live: `data` has every row of the block, `updated_rows` what changed elsewhere', async () => {
      await client.subscribe();
      await settled();
      for (let block = 0; block < 12; block++) {
        const before = await truth.read(async () => truth.ids(await truth.tables()));
        const late = dbType === 'indexer' && block % 4 === 3 ? LATE : [];
        await ledger.writeBlock({ actions: 12, late });
        await eventually('its message came', () => isAt('client'));
        const expected = await truth.read(async () => truth.block(ledger.height, await truth.tables(), before));
        checkMessage(
          dbType,
          client.messages.findLast((text) => text.startsWith('{"type":"block"'))!,
          expected,
          ledger.height
        );
      }
      await settled();
    });
    await t.test('a backlog between two polls', async () => {
      await ledger.writeBlocks(8, { actions: 12 }, true);
      await settled();
    });
    await t.test('reorgs to a longer branch, to the same height, to a lower one', async () => {
      for (const [depth, count] of [
        [4, 6],
        [2, 2],
        [5, 2]
      ] as const) {
        await ledger.reorg(depth, { count });
        await settled();
      }
    });
    await t.test('a cut, and blocks meanwhile', async () => {
      client.cut();
      await ledger.writeBlocks(4, { actions: 12 });
      await settled();
    });
    assert.deepEqual(client.faults, []);
    await client.close();
    await pair.server.end();
  });
}

/** A live message against what its block holds at the source. */
function checkMessage(dbType: DbType, text: string, expected: RowsByTable, height: number): void {
  const message = JSON.parse(text) as Row & { data: RowsByTable; updated_rows?: RowsByTable };
  const specified = [...SPECIFIED, ...HASHES[dbType]];
  for (const name of specified) assert.ok(name in message, name);
  const further = Object.keys(message).filter((name) => !specified.includes(name) && !ADDED.has(name));
  assert.deepEqual(further, []);
  assert.deepEqual([message['schema_version'], message['block_index']], [VERSION[dbType], height]);
  const { data, updated_rows: updated } = message;
  if (dbType === 'decoder') assert.equal(updated, undefined);
  for (const [table, list] of Object.entries(expected)) {
    const beside = WITHOUT_BLOCK.has(table) || WITH_REFUNDS.has(table) ? updated?.[table] : [];
    const sent = new Set(texts([...(data[table] ?? []), ...(beside ?? [])]));
    for (const row of texts(list)) assert.ok(sent.has(row), `block ${height} lacks ${row} of ${table}`);
    assert.ok(!updated?.[table]?.some((row) => row['block_index'] === height), `${table} is also in updated_rows`);
  }
  for (const [table, list] of Object.entries(data)) {
    const older = list.filter((row) => !table.startsWith('index_') && Number(row['block_index'] ?? height) !== height);
    assert.deepEqual(table === 'anchor_actions' ? [] : older, [], `data has older rows of ${table}`);
  }
}

plainClientTest(true);
