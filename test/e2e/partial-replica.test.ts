import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { INFRA_TABLES } from '../../src/wire/data/messages.ts';
import { createDatabase, dropAfterwards } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { appendBlocks, createIndexer, reorg } from '../support/sync/generated-indexer.ts';
import { type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync/sync-process.ts';

const DEPTH = 20;
const FIRST = 100;
const BLOCKS = 60;
/** Ids that the replica deals itself, and the time of logging. */
const OWN = new Set(['id', 'logged_at']);
let pair: SyncPair;
let tip = 0;
before(async () => {
  const source = await createDatabase('partial');
  await createIndexer(source, { seed: 'partial', blocks: BLOCKS, rows: 3_000 });
  tip = FIRST + BLOCKS - 1;
  pair = await startPair('indexer', source);
});

async function rowsOf(of: DatabaseCoordinates, table: string, floor: number): Promise<string[]> {
  const [column] = await sql(
    of,
    `SELECT GROUP_CONCAT(COLUMN_NAME) AS names FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '${table}'`
  );
  const names = String(column?.['names']).split(',');
  const blocks = names.includes('block_index') && !table.startsWith('index_');
  const actions = names.includes('action_index') && table !== 'tokens' && floor > 0;
  const where = blocks
    ? `block_index >= ${floor}`
    : actions
      ? `action_index IN (SELECT action_index FROM actions WHERE block_index >= ${floor})`
      : 'TRUE';
  const found = await sql(of, `SELECT * FROM ${table} WHERE ${where}`);
  const isLookup = table.startsWith('index_');
  return found.map((row) => JSON.stringify(Object.entries(row).filter(([name]) => isLookup || !OWN.has(name)))).sort();
}

async function assertSame(tables: Iterable<string>, replica: DatabaseCoordinates, floor = 0): Promise<void> {
  for (const table of tables)
    assert.deepEqual(await rowsOf(replica, table, floor), await rowsOf(pair.source, table, floor), table);
}

const TRUNCATED = [
  'blocks',
  'transactions',
  'actions',
  'credits',
  'sends',
  'index_addresses',
  'index_transactions',
  'tokens',
  'sync_meta'
];

async function liveAt(client: SyncProcess, height: number): Promise<Record<string, unknown>> {
  let last: Record<string, unknown> = {};
  await eventually(`live and verified at ${height}`, async () => {
    last = await pair.status(client);
    return last['phase'] === 'live' && last['block_height'] === height && last['verification'] === 'verified';
  }).catch((fault: Error) => {
    throw new Error(`${fault.message}: ${JSON.stringify(last)}\n${client.log().slice(-3000)}`);
  });
  return last;
}

test('a truncated replica holds the newest blocks, says so, is verified from its floor on, and follows reorgs', async () => {
  const env = { SYNC_BOOTSTRAP_DEPTH_ltc_REGTEST: DEPTH, VERIFY_STATE_COMMITMENT: 'false' };
  const client = await pair.startClient(env);
  const floor = tip - DEPTH + 1;
  const status = await liveAt(client, tip);
  assert.deepEqual([status['floor'], status['sync_mode']], [floor, 'full']);
  const lowest = async () => Number((await sql(pair.replica, 'SELECT MIN(block_index) AS h FROM blocks'))[0]?.['h']);
  assert.equal(await lowest(), floor);
  await assertSame(TRUNCATED, pair.replica, floor);
  tip = await appendBlocks(pair.source, 5, 'partial more');
  tip = await reorg(pair.source, 3, 5, 'partial fork');
  await liveAt(client, tip);
  await sql(pair.replica, `DELETE FROM actions WHERE block_index = ${floor + 4} ORDER BY action_index LIMIT 1`);
  await client.end();
  tip = await appendBlocks(pair.source, 1, 'partial while away');
  const again = await pair.startClient(env);
  const later = await liveAt(again, tip);
  assert.equal(later['floor'], floor, 'data that is there is not seeded again');
  await assertSame(TRUNCATED, pair.replica, floor);
  await again.end();
});

test('REPLICA_PARTIAL: a truncated replica with VERIFY_STATE_COMMITMENT, and a full one where infra-only is asked for', async () => {
  const client = await pair.startClient();
  await eventually('it is refused', async () => client.log().includes('set VERIFY_STATE_COMMITMENT=false'));
  await client.end();
  const other = await pair.startClient({
    SYNC_SUBSCRIBE_LITECOIN_REGTEST: 'infra-only',
    VERIFY_STATE_COMMITMENT: 'false'
  });
  await eventually('it is refused', async () =>
    other.log().includes('is a full replica, SYNC_SUBSCRIBE_LITECOIN_REGTEST asks for infra-only')
  );
  await other.end();
});

test('an infra-only replica has ten tables, equal to the source, through live blocks, reorgs and a restart', async () => {
  const env = {
    SYNC_SUBSCRIBE_LTC_REGTEST: 'infra-only',
    VERIFY_STATE_COMMITMENT: 'false',
    REPLICA_DB_PREFIX: 'infra_'
  };
  const replica = { ...pair.source, name: `infra_${pair.source.name}` };
  dropAfterwards(replica, replica.name);
  const client = await pair.startClient(env);
  const status = await liveAt(client, tip);
  assert.deepEqual([status['floor'], status['sync_mode']], [null, 'infra-only']);
  const tables = (await sql(replica, 'SHOW TABLES')).flatMap((row) => Object.values(row).map(String));
  const own = tables.filter((name) => !name.startsWith('sync_') && name !== 'merkle_epochs');
  assert.deepEqual(own.sort(), [...INFRA_TABLES].sort());
  await assertSame(INFRA_TABLES, replica);
  tip = await appendBlocks(pair.source, 6, 'infra more');
  tip = await reorg(pair.source, 4, 6, 'infra fork');
  await liveAt(client, tip);
  await assertSame(INFRA_TABLES, replica);
  await client.end();
  // Of an older block: what a client that was away asks for does not tell it, and in this replica no table says whose block it is.
  await sql(pair.source, 'UPDATE delegations SET deactivation_block = 7 ORDER BY action_index LIMIT 1');
  tip = await reorg(pair.source, 2, 4, 'infra away');
  const again = await pair.startClient(env);
  await liveAt(again, tip);
  await assertSame(INFRA_TABLES, replica);
  const errors = again
    .log()
    .split('\n')
    .filter((line) => line.includes('"level":50'));
  assert.deepEqual(errors, []);
  assert.match(again.log(), /table delegations differed from its source: repaired/);
  await again.end();
  await pair.server.end();
});
