import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/db/connection.ts';
import type { DatabaseCoordinates, DbType } from '../../src/wire/data/database.ts';
import { atEnd } from '../support/cleanup.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { StandInClient } from '../support/stand-in/client.ts';
import { contentOf, type Row } from '../support/stand-in/database.ts';
import { SourceDatabase } from '../support/stand-in/source-database.ts';
import { PAIR_KEY, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';
import { type BlockRequest, createLedger } from '../support/tables-in-use/ledger.ts';

const FIRST_BLOCKS = 30;
/**
 * Rows of these vanish: balances at zero, the others with a reorg, which takes back more than rows of its blocks. Emissions are told
 * of by their own action, which those that stay inside of a contract do not have.
 */
const BEYOND = {
  indexer: new Set(['balances', 'credits', 'escrows', 'markets', 'pubkeys', 'contract_emissions']),
  decoder: new Set(['dispensers'])
} as const;
/** A block without credits that come late to an action of an older block: a client that knows no `updated_rows` misses those. */
const PLAIN: BlockRequest = {
  actions: ['ISSUE', 'MINT', 'MINT', 'SEND', 'SEND', 'SEND', 'SEND', 'ORDER', 'ORDER_CANCEL']
};

/** Starts our server over a database of the tables in use, and a client of another make. */
export async function serve(
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
export async function differing(
  dbType: DbType,
  source: DatabaseCoordinates,
  replica: DatabaseCoordinates
): Promise<string[]> {
  const [expected, own] = await Promise.all([contentOf(source), contentOf(replica)]);
  return [...own.keys()].filter(
    (table) => !BEYOND[dbType].has(table) && !table.startsWith('sync_') && own.get(table) !== expected.get(table)
  );
}

/** Rows as text, in one order. */
export const texts = (list: readonly Row[] = []): string[] => list.map((row) => JSON.stringify(row)).sort();

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

/** Test of a client that inserts plainly. @param compatible whether the server is told of such clients */
export function plainClientTest(compatible: boolean): void {
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
      const logged = () =>
        `${move}: it is at ${client.height} of ${ledger.height}, and differs in ${left}; ${client.faults.join()}`;
      const isOver = async () => (await isEqual()) || client.dropped.at(-1) === ledger.height;
      await eventually('the block comes', isOver).catch(() => assert.fail(logged()));
      if (left.length === 0) continue;
      late.push(move);
      await ledger.writeBlock(PLAIN);
      await eventually('the next block comes', isEqual).catch(() => assert.fail(logged()));
    }
    if (compatible) assert.deepEqual([late, client.dropped], [[], []]);
    else assert.ok(late.length > 0, 'no balance was in the way: this test proves nothing');
    await client.close();
    await pair.server.end();
  });
}

const BALANCES = 'SELECT address_id, tick_id, amount FROM balances ORDER BY address_id, tick_id';

/** Returns the tables, balances among them, in which the client does not hold what the source holds. */
async function withBalances(source: DatabaseCoordinates, replica: DatabaseCoordinates): Promise<string[]> {
  const [expected, own] = await Promise.all([source, replica].map(async (at) => texts(await sql(at, BALANCES))));
  const isEqual = expected!.length > 0 && expected!.join() === own!.join();
  return [...(await differing('indexer', source, replica)), ...(isEqual ? [] : ['balances'])];
}
