import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BucketBatch, computeTops } from '../../../../src/consensus/balance-tree.ts';
import { CommitmentHashes } from '../../../../src/consensus/commitment-hashes.ts';
import { type Connection, connect } from '../../../../src/db/connection.ts';
import { hasCode } from '../../../../src/errors.ts';
import { silentLogger } from '../../../../src/log.ts';
import { StateTracker } from '../../../../src/replication/commitment/state-tracker.ts';
import { readLeafPages, readLeaves } from '../../../../src/replication/tables/state-reader.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { PATIENCE_MS } from '../../../support/patience.ts';
import { sql } from '../../../support/sql.ts';
import { plainRoots } from '../../../support/sync/plain-roots.ts';

const NAMES = { chain: 'litecoin', network: 'regtest' };
const TABLES = [
  'CREATE TABLE blocks (block_index INT PRIMARY KEY)',
  'INSERT INTO blocks VALUES (10)',
  'CREATE TABLE actions (action_index INT, block_index INT, action_id INT, tx_index INT)',
  'CREATE TABLE index_actions (id INT PRIMARY KEY, action VARCHAR(20))',
  ...['credits', 'debits', 'escrows', 'contracts', 'contract_executions', 'deposits', 'withdrawals'].map(
    (name) => `CREATE TABLE ${name} (action_index INT, address_id INT, tick_id INT, amount VARCHAR(80))`
  ),
  'CREATE TABLE contract_state (block_index INT)',
  'CREATE TABLE index_addresses (id INT PRIMARY KEY, address VARCHAR(80) NOT NULL)',
  'CREATE TABLE index_tickers (id INT PRIMARY KEY, tick VARCHAR(80) NOT NULL)',
  'CREATE TABLE balances (address_id INT, tick_id INT, amount DECIMAL(40,18) NOT NULL, PRIMARY KEY (address_id, tick_id))',
  "INSERT INTO index_addresses SELECT seq, CONCAT('address ', seq) FROM seq_0_to_299",
  "INSERT INTO index_tickers VALUES (1, 'GOLD'), (2, 'LEAD')",
  'INSERT INTO balances SELECT seq, 1 + seq MOD 2, seq FROM seq_0_to_299'
];

/** A tracker whose first tree waits until it is told to go on, and a database that goes on by itself. */
class Bench {
  readonly tracker: StateTracker;
  readonly #to: DatabaseCoordinates;
  readonly #connection: Connection;
  #gate = Promise.withResolvers<void>();
  #height = 10;

  private constructor(to: DatabaseCoordinates, connection: Connection) {
    this.#to = to;
    this.#connection = connection;
    const hashes = new CommitmentHashes('PLATFORM');
    const onPool = async (batch: BucketBatch) => {
      await this.#gate.promise;
      computeTops(hashes, batch);
      return batch;
    };
    const options = {
      names: NAMES,
      domain: 'PLATFORM',
      log: silentLogger,
      inspect: () => undefined,
      changed: () => undefined
    };
    this.tracker = new StateTracker({ ...options, computeTops: onPool });
  }

  static async open(): Promise<Bench> {
    const to = await createDatabase('tracker');
    await sql(to, ...TABLES);
    return new Bench(to, await connect(to));
  }

  async begin(): Promise<void> {
    this.#gate = Promise.withResolvers();
    const connection = await connect(this.#to);
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
    this.tracker.begin(connection, this.#height);
  }

  async finishTree(): Promise<void> {
    this.#gate.resolve();
    const deadline = Date.now() + PATIENCE_MS;
    while (this.tracker.report.phase !== 'ready' && Date.now() < deadline) await new Promise(setImmediate);
    assert.equal(this.tracker.report.phase, 'ready');
  }

  /** One block that makes these balances so, and its true root. */
  async block(amounts: Readonly<Record<number, string | null>>, claimed?: string): Promise<string | null> {
    const base = this.#height++;
    const keys = Object.keys(amounts).map((id) => [id, String(1 + (Number(id) % 2))] as const);
    for (const [address, tick] of keys) {
      const amount = amounts[Number(address)];
      if (amount === null) await this.#connection.query(`DELETE FROM balances WHERE address_id = ${address}`);
      else await this.#connection.query(`REPLACE INTO balances VALUES (${address}, ${tick}, ${amount})`);
    }
    const leaves = await readLeaves(this.#connection, this.tracker.hashes, NAMES, keys);
    const root = await this.tracker.advance({ base, last: this.#height }, leaves, claimed ?? (await this.trueRoot()));
    await this.tracker.settle(true);
    return root;
  }

  async trueRoot(): Promise<string> {
    return (await plainRoots(this.#to)).balances_root;
  }

  get height(): number {
    return this.#height;
  }

  close(): void {
    this.#connection.destroy();
  }
}

test('groups that come while the first tree is made wait for it, and are compared when it is there', async () => {
  const bench = await Bench.open();
  await bench.begin();
  assert.equal(await bench.block({ 5: '7.5', 6: null, 250: '0' }), null);
  assert.equal(await bench.block({ 6: '1' }), null);
  await bench.finishTree();
  await bench.tracker.drain();
  assert.equal(bench.tracker.report.height, 12);
  assert.equal(await bench.block({ 7: '8' }), await bench.trueRoot());
  assert.equal(bench.tracker.report.balances, 298, 'those of 0 and 250 are zero');
  bench.close();
});

test('groups that waited are taken in for as long as there is time, and those behind them wait too', async () => {
  const bench = await Bench.open();
  await bench.begin();
  for (let block = 0; block < 8; block += 1) await bench.block({ [block]: '7', [block + 100]: '8' });
  await bench.finishTree();
  await bench.tracker.drain(0);
  assert.equal(await bench.block({ 1: '9' }), null);
  let slices = 0;
  for (; bench.tracker.report.height !== bench.height; slices += 1) await bench.tracker.drain(2);
  assert.ok(slices > 1, 'more than one slice');
  assert.equal(await bench.block({ 7: '8' }), await bench.trueRoot());
  bench.close();
});

test('STATE_ROOT_MISMATCH: a group that waited for the tree does not have the root that its source named', async () => {
  const bench = await Bench.open();
  await bench.begin();
  await bench.block({ 5: '7' });
  await bench.block({ 5: '8' }, 'ab'.repeat(32));
  await bench.finishTree();
  await assert.rejects(
    bench.tracker.drain(),
    (fault) => hasCode(fault, 'STATE_ROOT_MISMATCH') && fault.detail['height'] === 12
  );
  bench.close();
});

test('a rollback takes back what waits and what is in, and below the first tree makes it anew', async () => {
  const bench = await Bench.open();
  await bench.begin();
  const before = await bench.trueRoot();
  await bench.block({ 5: '7' });
  await bench.tracker.rollBack(10);
  await bench.finishTree();
  assert.equal(await bench.tracker.advance({ base: 10, last: 11 }, [], before), before);
  await bench.tracker.settle(true);
  await bench.tracker.rollBack(10);
  assert.equal(await bench.tracker.advance({ base: 10, last: 11 }, [], before), before);
  await bench.tracker.settle(false);
  await bench.tracker.rollBack(9);
  assert.equal(bench.tracker.report.phase, 'waiting');
  bench.close();
});

test('a group that is not kept leaves no trace, and a database that went on by itself makes the tree anew', async () => {
  const bench = await Bench.open();
  await bench.begin();
  await bench.finishTree();
  const root = await bench.trueRoot();
  const { hashes } = bench.tracker;
  const path = hashes.leaf('anywhere');
  await assert.rejects(bench.tracker.advance({ base: 10, last: 11 }, [{ path, value: path }], root), {
    code: 'STATE_ROOT_MISMATCH'
  });
  await bench.tracker.settle(false);
  assert.equal(await bench.tracker.advance({ base: 10, last: 11 }, [], root), root);
  await bench.tracker.settle(true);
  bench.tracker.align(11);
  assert.equal(bench.tracker.report.phase, 'ready');
  bench.tracker.align(12);
  assert.equal(bench.tracker.report.phase, 'waiting');
  bench.close();
});

test('every balance is read once, also where an address has more than a page of them', async () => {
  const to = await createDatabase('pages');
  await sql(to, ...TABLES.slice(0, -1));
  await sql(
    to,
    "INSERT INTO index_tickers SELECT seq, CONCAT('T', seq) FROM seq_3_to_7000",
    'INSERT INTO balances SELECT 7, seq, 1 FROM seq_1_to_7000',
    'INSERT INTO balances SELECT a.seq, t.seq, 1 FROM seq_0_to_299 a JOIN seq_1_to_30 t WHERE a.seq <> 7'
  );
  const connection = await connect(to);
  const paths = new Set<string>();
  let count = 0;
  for await (const page of readLeafPages(connection, new CommitmentHashes('PLATFORM'), NAMES)) {
    for (const { path } of page) paths.add(path);
    count += page.length;
  }
  assert.deepEqual([count, paths.size], [7000 + 299 * 30, 7000 + 299 * 30]);
  connection.destroy();
});
