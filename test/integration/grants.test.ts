import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { connect } from '../../src/db/connection.ts';
import { openDecoderStore } from '../../src/decoder/store.ts';
import type { PrivateMariaDb } from '../../src/devnet/processes/mariadb.ts';
import { readTopology } from '../../src/replication/tables/topology.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { startOwnServer } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { appendBlocks, createIndexer, reorg } from '../support/sync/generated-indexer.ts';
import { ReplicaThread } from '../support/sync/replica-thread.ts';
import { differences, openTestHub, PAIR_KEY, type TestHub } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess, startSyncProcess } from '../support/sync/sync-process.ts';

const DOCUMENT = new URL('../../docs/operating/grants.md', import.meta.url);
const INDEXER = 'Platform_LTC_Mainnet_Indexer';
const DECODER = 'Platform_LTC_Mainnet_Decoder';
const STATUS = '/status/indexer/litecoin/regtest';
const LATEST = '/transparency/indexer/litecoin/regtest/root/latest';
const PASSWORD = 'password-of-the-accounts';
const WRITES = /^(\/\*.*?\*\/)?\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP|TRUNCATE|RENAME|LOAD|LOCK|GRANT)\b/i;

let mariadb: PrivateMariaDb;
let hub: TestHub;
let origin: SyncProcess;
let tip = 124;

/** One account of the documentation, at one database. */
const as = (user: string, name: string): DatabaseCoordinates => ({ ...mariadb.root, user, pass: PASSWORD, name });
const asRoot = (name: string): DatabaseCoordinates => ({ ...mariadb.root, name });

/** Returns the writing statements that an account has sent so far. */
async function writesOf(user: string): Promise<string[]> {
  const found = await sql(
    asRoot('mysql'),
    `SELECT CONVERT(argument USING utf8mb4) AS text FROM general_log
     WHERE user_host LIKE '%[${user}]%' AND command_type IN ('Query', 'Prepare', 'Execute')`
  );
  assert.ok(found.length > 0, `${user} said nothing`);
  return found.map(({ text }) => String(text)).filter((text) => WRITES.test(text));
}

const startServer = async (env: Readonly<Record<string, string | number>> = {}): Promise<SyncProcess> => {
  const server = await startSyncProcess({
    SYNC_MODE: 'server',
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hub.port,
    SYNC_API_KEY: PAIR_KEY,
    BLOCK_POLL_INTERVAL: 30,
    MERKLE_EPOCH_SIZE: 10,
    CATALOG_CACHE_MS: 100,
    ...env
  });
  await reaches(server, tip);
  return server;
};

const reaches = (server: SyncProcess, height: number) =>
  eventually(`the server is at block ${height}`, async () => {
    const { body } = await server.get(STATUS);
    return body['block_height'] === height && body['phase'] === 'polling.caughtUp';
  });

before(async () => {
  mariadb = await startOwnServer(['--general-log', '--log-output=TABLE']);
  const statements = [...readFileSync(DOCUMENT, 'utf8').matchAll(/^```sql\n(.*?)^```/gms)]
    .flatMap(([, block = '']) => block.split(';\n'))
    .map((text) =>
      text.trim().replace(/;$/, '').replaceAll('10.0.0.%', '127.0.0.1').replaceAll("'...'", `'${PASSWORD}'`)
    )
    // A replica beside its source has a prefix.
    .map((text) => text.replace('`Platform\\_%`', '`replica\\_%`'))
    .filter((text) => text !== '');
  assert.equal(statements.length, 26);
  await sql(asRoot('mysql'), `CREATE DATABASE ${INDEXER}`, ...statements);
  await createIndexer(asRoot(INDEXER), { seed: 'grants', blocks: 25, rows: 600 });
});

test('hub: it makes its database and table, and takes what it is told', async () => {
  hub = await openTestHub(as('hub', 'Platform_Hub'));
  await hub.name([
    ['indexer', as('sync', INDEXER)],
    ['decoder', as('sync', DECODER)]
  ]);
});

test('decoder: it makes its database and tables, writes blocks and takes them back', async () => {
  const store = await openDecoderStore(as('decoder', DECODER));
  const findings = [{ code: 'PARSE_ERROR', hash: 'bad', reason: 'x' }] as const;
  const block = { time: 1, transactions: [], findings };
  for (const height of [0, 1, 2])
    await store.writeBlocks([{ ...block, height, hash: `h${height}`, previousHash: `h${height - 1}` }]);
  assert.equal((await store.rollBackTip())?.height, 1);
  await store.database.close();
});

test('server: it sees the schema as root does, keeps the log over a reorg, and writes to its control tables alone', async () => {
  origin = await startServer();
  const [own, roots] = await Promise.all([as('sync', INDEXER), asRoot(INDEXER)].map((to) => connect(to)));
  assert.deepEqual(await readTopology(own!), await readTopology(roots!));
  for (const connection of [own!, roots!]) connection.destroy();
  await appendBlocks(asRoot(INDEXER), 12, 'grants');
  tip = await reorg(asRoot(INDEXER), 5, 6, 'other');
  await reaches(origin, tip);
  const [log] = await sql(asRoot(INDEXER), 'SELECT COUNT(*) AS n, MAX(block_index) AS top FROM sync_meta');
  assert.deepEqual({ ...log }, { n: tip - 99, top: tip });
  assert.equal((await origin.get(LATEST)).body['epoch'], Math.floor(tip / 10));
  assert.equal(await origin.post('/debug/actors/indexer/litecoin/regtest/kill'), 202);
  await reaches(origin, tip);
  await eventually('the catalog has the sizes', async () => {
    const list = (await origin.get('/catalog')).body['databases'] as { db_name: string; table_count: number }[];
    return list.some((entry) => entry.db_name === INDEXER && entry.table_count > 10);
  });
  const writes = await writesOf('sync');
  assert.ok(writes.length > 0);
  for (const text of writes) assert.match(text, /\b(sync_meta|merkle_epochs|sync_halt)\b/);
  assert.equal((await origin.get(STATUS)).body['poll_error_count'], 0);
});

test('client: bootstrap, blocks, a reorg and a new schema end equal', async () => {
  const to = as('replica', `replica_${INDEXER}`);
  const replica = new ReplicaThread(to, 'indexer', [origin.url], { verifyHashes: false, epochSize: 10 });
  await replica.isLiveAt(tip);
  await sql(asRoot(INDEXER), 'ALTER TABLE tokens ADD COLUMN note VARCHAR(20) NULL, ADD KEY note (note)');
  await appendBlocks(asRoot(INDEXER), 4, 'grants');
  tip = await reorg(asRoot(INDEXER), 3, 4, 'third');
  await reaches(origin, tip);
  await replica.isLiveAt(tip);
  assert.equal(replica.report?.replica?.verification, 'verified');
  await replica.end();
  const verdict = await compareDatabases(asRoot(INDEXER), to);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
});

/** An answer without what each server draws a key of its own for. */
function withoutKey(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body, (name, value) => (name === 'key' || name === 'digest' ? undefined : value)));
}

test('read-only server: REPLICA_DB_* in place of what the hub says, equal answers, and not one writing statement', async () => {
  const reader = await startServer({
    REPLICA_DB_READONLY: 1,
    REPLICA_DB_HOST: '127.0.0.1',
    REPLICA_DB_PORT: mariadb.port,
    REPLICA_DB_USER: 'sync_reader',
    REPLICA_DB_PASS: PASSWORD
  });
  tip = await appendBlocks(asRoot(INDEXER), 11, 'grants');
  for (const server of [origin, reader]) await reaches(server, tip);
  for (const path of [
    LATEST,
    '/transparency/indexer/litecoin/regtest/roots?limit=5',
    `/transparency/indexer/litecoin/regtest/proof/${tip - 15}`,
    '/schema/indexer/litecoin/regtest',
    '/digest/indexer/litecoin/regtest'
  ]) {
    const [fromOrigin, fromReader] = [await origin.get(path), await reader.get(path)];
    assert.equal(fromReader.status, 200, path);
    assert.deepEqual(withoutKey(fromReader.body), withoutKey(fromOrigin.body), path);
  }
  const [fromOrigin, fromReader] = [await origin.get(STATUS), await reader.get(STATUS)];
  assert.equal(fromReader.body['ledger_hash'], fromOrigin.body['ledger_hash']);
  assert.deepEqual([fromReader.body['lag_blocks'], fromReader.body['poll_error_count']], [0, 0]);
  assert.deepEqual(await writesOf('sync_reader'), []);
});
