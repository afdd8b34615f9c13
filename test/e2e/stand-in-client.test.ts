import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/db/connection.ts';
import type { DatabaseCoordinates, DbType } from '../../src/wire/data/database.ts';
import { atEnd } from '../support/cleanup.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { type Body, StandInClient } from '../support/stand-in/client.ts';
import { contentOf, type Row, type RowsByTable } from '../support/stand-in/database.ts';
import { SourceDatabase } from '../support/stand-in/source-database.ts';
import { mannerOf } from '../support/stand-in/tables.ts';
import { PAIR_KEY, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';
import { type BlockRequest, createLedger } from '../support/tables-in-use/ledger.ts';

const FIRST_BLOCKS = 30;
const DEADLINE_MS = 40_000;
const VERSION = { indexer: 7, decoder: 3 } as const;
const HASHES = { indexer: ['ledger_hash', 'actions_hash', 'contract_hash'], decoder: ['block_hash'] } as const;
const SPECIFIED = ['type', 'chain', 'network', 'block_index', 'block_time', 'data'];
/** Fields that a client of another make passes over. */
const ADDED = new Set(
  `dbType schema_version group previous_hash state_hash balances_root block_merkle_root state_root updated_rows
   deleted_rows whole rescoped ranges schema_fingerprint amended_before settling unsettled`.split(/\s+/)
);
/**
 * Rows of these vanish: balances at zero, the others with a reorg, which takes back more than rows of its blocks. Emissions are told
 * of by their own action, which those that stay inside of a contract do not have.
 */
const BEYOND = {
  indexer: new Set(['balances', 'credits', 'escrows', 'markets', 'pubkeys', 'contract_emissions']),
  decoder: new Set(['dispensers'])
} as const;
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

/** A block without credits that come late to an action of an older block: a client that knows no `updated_rows` misses those. */
const PLAIN: BlockRequest = {
  actions: ['ISSUE', 'MINT', 'MINT', 'SEND', 'SEND', 'SEND', 'SEND', 'ORDER', 'ORDER_CANCEL']
};

/** Starts our server over a database of the tables in use, and a client of another make. */
async function serve(
  dbType: DbType,
  { env, insertsPlainly = false }: Readonly<{ env: object; insertsPlainly?: boolean }>
) {
  const source = await createDatabase('served');
  const connection = await connect(source);
  atEnd(() => connection.end());
  const ledger = await createLedger(connection, { dbType, seed: 'served' });
  if (dbType === 'indexer') await connection.query('DROP TABLE sync_meta, merkle_epochs');
  await (insertsPlainly ? ledger.writeBlocks(6, PLAIN) : ledger.writeBlocks(FIRST_BLOCKS, { actions: 30 }));
  const pair = await startPair(dbType, source, { ...env });
  const replica = await createDatabase('stranger');
  const openClient = () =>
    StandInClient.open({ url: pair.server.url, kind: dbType, replica, key: PAIR_KEY, insertsPlainly });
  const client = await openClient();
  const truth = await SourceDatabase.open(dbType, source);
  atEnd(() => truth.end());
  const isAt = async (of: 'server' | 'client') =>
    (of === 'client' ? client.height : (await pair.status(pair.server))['block_height']) === ledger.height;
  return { source, replica, ledger, pair, client, openClient, truth, isAt };
}

/** Tables in which the client does not hold what the source holds. */
async function differing(dbType: DbType, source: DatabaseCoordinates, replica: DatabaseCoordinates): Promise<string[]> {
  const [theirs, own] = await Promise.all([contentOf(source), contentOf(replica)]);
  return [...own.keys()].filter(
    (table) => !BEYOND[dbType].has(table) && !table.startsWith('sync_') && own.get(table) !== theirs.get(table)
  );
}

const texts = (list: readonly Row[] = []): string[] => list.map((row) => JSON.stringify(row)).sort();

for (const dbType of ['indexer', 'decoder'] as const) {
  test(`${dbType}: a client that knows only the specification is served: bodies, blocks >= N, 404 above the tip, live`, async (t) => {
    const { source, replica, ledger, pair, client, truth, isAt } = await serve(dbType, {
      env: { SYNC_SINCE_INCLUSIVE: 1 }
    });
    const settled = async () => {
      let left: string[] = [];
      await eventually(`the client is equal at ${ledger.height}`, DEADLINE_MS, async () => {
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
      await eventually('the server has seen them', DEADLINE_MS, () => isAt('server'));
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
        await eventually('its message came', DEADLINE_MS, () => isAt('client'));
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

/** Moves of a chain and of its processes, in which a client must end with what the source has. */
const MOVES = [
  'its first load',
  'a block',
  'four blocks at once',
  'a reorg to a longer branch',
  'a reorg to the same height',
  'a reorg to a lower height',
  'a cut, and blocks meanwhile',
  'a restart of the client, and blocks meanwhile',
  'a restart of the server, and blocks meanwhile'
] as const;

for (const compatible of [true, false])
  test(`a client that inserts plainly and keeps balances itself is equal after each of ${MOVES.length} moves${compatible ? '' : ', or one block later, without SYNC_COMPATIBLE_CLIENTS'}`, async () => {
    const env = compatible ? { SYNC_COMPATIBLE_CLIENTS: 1 } : { SYNC_SINCE_INCLUSIVE: 1 };
    const served = await serve('indexer', { env, insertsPlainly: true });
    const { ledger, pair, source, replica, openClient } = served;
    let { client } = served;
    const reorg = async (depth: number, count: number) => {
      await ledger.undo(depth);
      await ledger.writeBlocks(count, PLAIN, true);
    };
    const restarted = async () => {
      await client.close();
      await ledger.writeBlocks(2, PLAIN);
      client = await openClient();
      await client.subscribe();
    };
    const moves: Record<(typeof MOVES)[number], () => Promise<unknown>> = {
      'its first load': async () => {
        await client.bootstrap();
        await client.subscribe();
      },
      'a block': () => ledger.writeBlock(PLAIN),
      'four blocks at once': () => ledger.writeBlocks(4, PLAIN, true),
      'a reorg to a longer branch': () => reorg(3, 4),
      'a reorg to the same height': () => reorg(2, 2),
      'a reorg to a lower height': () => reorg(4, 2),
      'a cut, and blocks meanwhile': async () => {
        client.cut();
        await ledger.writeBlocks(2, PLAIN);
      },
      'a restart of the client, and blocks meanwhile': restarted,
      'a restart of the server, and blocks meanwhile': async () => {
        await pair.server.end();
        await ledger.writeBlocks(2, PLAIN);
        await pair.restartServer();
      }
    };
    let left: string[] = [];
    const isEqual = async () => {
      left = client.height === ledger.height ? await withBalances(source, replica) : ['blocks'];
      return left.length === 0;
    };
    const late: string[] = [];
    for (const move of MOVES) {
      await moves[move]();
      const told = () =>
        `${move}: it is at ${client.height} of ${ledger.height}, and differs in ${left}; ${client.faults.join()}`;
      const isOver = async () => (await isEqual()) || client.dropped.at(-1) === ledger.height;
      await eventually('the block comes', DEADLINE_MS, isOver).catch(() => assert.fail(told()));
      if (left.length === 0) continue;
      late.push(move);
      await ledger.writeBlock(PLAIN);
      await eventually('the next block comes', DEADLINE_MS, isEqual).catch(() => assert.fail(told()));
    }
    if (compatible) assert.deepEqual([late, client.dropped], [[], []]);
    else assert.ok(late.length > 0, 'no balance was in the way: this test proves nothing');
    await client.close();
    await pair.server.end();
  });

const BALANCES = 'SELECT address_id, tick_id, amount FROM balances ORDER BY address_id, tick_id';

/** Returns the tables, balances among them, in which the client does not hold what the source holds. */
async function withBalances(source: DatabaseCoordinates, replica: DatabaseCoordinates): Promise<string[]> {
  const [theirs, own] = await Promise.all([source, replica].map(async (at) => texts(await sql(at, BALANCES))));
  const isEqual = theirs!.length > 0 && theirs!.join() === own!.join();
  return [...(await differing('indexer', source, replica)), ...(isEqual ? [] : ['balances'])];
}
