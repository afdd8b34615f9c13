import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import { silentLogger } from '../../../../src/log.ts';
import { ReplicaBootstrap } from '../../../../src/replication/replica/bootstrap/bootstrap.ts';
import { readReplicaState } from '../../../../src/replication/replica/database/state.ts';
import { SourceQuorum } from '../../../../src/replication/replica/quorum/source-quorum.ts';
import { readTopology } from '../../../../src/replication/tables/topology.ts';
import type { WireRows } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { testReplica } from '../../../support/sync/test-replica.ts';
import { startToldSource, type Told } from '../../../support/sync/told-source.ts';

const TABLES = [
  'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_hash VARCHAR(64) NOT NULL)',
  'CREATE TABLE index_addresses (id INT AUTO_INCREMENT PRIMARY KEY, address VARCHAR(20) NOT NULL)',
  'CREATE TABLE balances (id INT AUTO_INCREMENT PRIMARY KEY, address_id INT NOT NULL, tick_id INT NOT NULL, amount DECIMAL(30,8) NOT NULL)',
  ...['credits', 'debits'].map(
    (name) =>
      `CREATE TABLE ${name} (block_index INT NOT NULL, address_id INT NOT NULL REFERENCES index_addresses (id), tick_id INT NOT NULL, amount DECIMAL(30,8) NOT NULL)`
  )
];
const pair = { address_id: 1, tick_id: 7 };
const GOOD: WireRows = {
  index_addresses: [{ id: 1, address: 'one' }],
  blocks: [5, 6, 7].map((height) => ({ block_index: height, block_hash: `h${height}` })),
  credits: [{ block_index: 5, ...pair, amount: '3.00000000' }],
  debits: [{ block_index: 6, ...pair, amount: '1.00000000' }],
  balances: [{ id: 1, ...pair, amount: '2.00000000' }]
};

interface Attempt {
  /** Hash in the headers; null: none. */
  readonly blockHash?: string | null;
  readonly again?: boolean;
  /** Changes by hand between loading and checking. */
  readonly meddle?: (own: Connection) => Promise<unknown>;
  /** Status of the source while the rows are loaded, and when they are checked. */
  readonly stands?: readonly [Told['status'], Told['status']];
}

/** Loads a snapshot of block 7 and checks it. */
async function bootstrap(
  tables: WireRows,
  { blockHash = 'h7', again = false, meddle = async () => null, stands = [undefined, undefined] }: Attempt = {}
) {
  const source = await createDatabase('told');
  const control = await connect(source);
  for (const statement of TABLES) await control.query(statement);
  const { tables: typed } = await readTopology(control);
  const [loading, checking] = stands.map((status) => (status ? { status } : {}));
  const announced: Told = { typed, fingerprint: null, height: 7, blockHash, tables, ...loading };
  const { url } = await startToldSource(announced);
  const warnings: string[] = [];
  const log = Object.assign(Object.create(silentLogger), {
    warn: (_: unknown, text: string) => void warnings.push(text)
  });
  const to = await createDatabase('checked');
  const replica = testReplica(to, url, { log });
  const loader = new ReplicaBootstrap(replica, new SourceQuorum(replica, () => () => undefined));
  const { signal } = new AbortController();
  await replica.open();
  const attempt = async () => {
    await loader.fetchSchema(signal);
    await loader.download(signal);
    await loader.load(signal);
  };
  await attempt();
  const own = await connect(to);
  if (again) await attempt();
  await meddle(own);
  Object.assign(announced, checking);
  const outcome = await loader.check(signal).then(
    () => 'complete',
    (fault: Error) => fault.message
  );
  const { complete, height } = await readReplicaState(own);
  await Promise.all([own.end(), control.end(), replica.close()]);
  return { outcome, complete, height, warnings: warnings.filter((text) => !text.includes('flush each commit')) };
}

async function refused(tables: WireRows, reason: RegExp, options: Attempt = {}) {
  const { outcome, complete, height } = await bootstrap(tables, options);
  assert.match(outcome, reason);
  assert.deepEqual([complete, height], [false, null]);
}

test('a snapshot that holds what it says makes a complete replica, and nothing is told', async () => {
  assert.deepEqual(await bootstrap(GOOD), { outcome: 'complete', complete: true, height: 7, warnings: [] });
});

test('rows of an attempt that never came to its check are emptied by the next one', async () => {
  assert.deepEqual(await bootstrap(GOOD, { again: true }), {
    outcome: 'complete',
    complete: true,
    height: 7,
    warnings: []
  });
});

test('SOURCE_INVALID: a table has fewer rows than were received', () =>
  refused(GOOD, /table credits has 0 rows, 1 were received/, {
    meddle: (own) => own.query('DELETE FROM credits')
  }));

test('SOURCE_INVALID: a block is missing between two others', () =>
  refused({ ...GOOD, blocks: GOOD['blocks']!.toSpliced(1, 1) }, /blocks 5 to 7 have a gap/));

test('SOURCE_INVALID: the highest block is not the one that the headers name', () =>
  refused({ ...GOOD, blocks: GOOD['blocks']!.slice(0, 2) }, /the highest block is 6, the source said 7/));

test('SOURCE_INVALID: the last block has another hash than the headers name', () =>
  refused(GOOD, /the hashes of block 7 differ from the source's/, { blockHash: 'other' }));

const at = (block_height: number, block_hash = `h${block_height}`) => ({ block_height, block_hash });

test('a snapshot whose headers name no block is the block of its rows: its source says so, or has gone on', async () => {
  const complete = { outcome: 'complete', complete: true, height: 7, warnings: [] };
  assert.deepEqual(await bootstrap(GOOD, { blockHash: null, stands: [at(7), at(9)] }), complete);
  assert.deepEqual(await bootstrap(GOOD, { blockHash: null, stands: [at(6), at(7)] }), complete);
  assert.deepEqual(await bootstrap(GOOD, { blockHash: null, stands: [at(8), at(9)] }), complete);
});

test('SOURCE_INVALID: the rows of a snapshot whose headers name no block are not the block of its source', async () => {
  const stands = (first: Told['status'], second: Told['status']): Attempt => ({
    blockHash: null,
    stands: [first, second]
  });
  await refused(GOOD, /the hashes of block 7 differ from the source's/, stands(at(7, 'other'), at(8)));
  await refused(GOOD, /the hashes of block 7 differ from the source's status/, stands(at(6), at(7, 'other')));
});

test("balances that are not credits - debits are told; they are the source's", async () => {
  const { outcome, warnings } = await bootstrap({ ...GOOD, debits: [] });
  assert.equal(outcome, 'complete');
  assert.match(warnings.join(), /^balances of the source differ from its credits - debits/);
});

test("ids that no row has which they refer to are told; they are the source's", async () => {
  const { outcome, warnings } = await bootstrap({ ...GOOD, index_addresses: [{ id: 2, address: 'two' }] });
  assert.equal(outcome, 'complete');
  assert.deepEqual(warnings, [
    '1 rows of credits refer to missing rows of index_addresses',
    '1 rows of debits refer to missing rows of index_addresses',
    '1 rows of balances refer to missing rows of index_addresses'
  ]);
});
