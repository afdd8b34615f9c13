import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { connect, quoteName, rows } from '../../../../src/db/connection.ts';
import type { ChainBlock } from '../../../../src/indexer/block/block.ts';
import { IndexerStore } from '../../../../src/indexer/store/store.ts';
import { isTheirs } from '../../../../src/replication/replica/verifying/digest-quorum.ts';
import { UNSEEN } from '../../../../src/replication/tables/classify.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import fc from '../../../support/fast-check.ts';
import { anyBlocks } from '../../../support/indexer-actions.ts';
import { addAllBlocks } from '../../../support/indexer-database.ts';
import { TEST_RULES } from '../../../support/indexer-ledger.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { startIndexerServer } from '../../../support/sync/one-server.ts';
import { ReplicaThread } from '../../../support/sync/replica-thread.ts';

/** Blocks that follow each other from a height on, of a branch. */
function chainOf(seed: number, first: number, branch: string): ChainBlock[] {
  const blocks = fc.sample(anyBlocks, { numRuns: 2, seed }).flat();
  return blocks.map((block, place) => ({
    height: first + place,
    time: 1_700_000_000 + 600 * (first + place),
    hash: `${branch}${first + place}`.padStart(64, '0'),
    transactions: block.transactions.map((own, position) => ({
      ...own,
      hash: `${branch}${first + place}e${position}`.padStart(64, '0')
    }))
  }));
}

const [BEGINNING, LEFT] = [chainOf(5, 1, 'a'), chainOf(6, 1, 'b')];

/** An indexer that writes blocks in groups, and starts again after each. @param size blocks of a group */
async function write(database: DatabaseCoordinates, blocks: readonly ChainBlock[], size: number): Promise<void> {
  for (let at = 0; at < blocks.length; at += size) {
    const store = await IndexerStore.open(database, TEST_RULES, 30);
    await addAllBlocks(store, blocks.slice(at, at + size), blocks.at(-1)!.height);
    store.close();
  }
}

async function rollBack(database: DatabaseCoordinates, height: number): Promise<void> {
  const store = await IndexerStore.open(database, TEST_RULES, 30);
  await store.rollBack(height);
  store.close();
}

/** Returns the rows of every table that a replica takes, as they are, by table. */
async function travelling(database: DatabaseCoordinates): Promise<Map<string, string[]>> {
  const connection = await connect(database);
  try {
    const { plans } = await readLayout(connection, 'indexer');
    const found = new Map<string, string[]>();
    for (const { name, class: of } of plans) {
      if (UNSEEN.has(of)) continue;
      const all = await rows(connection, `SELECT * FROM ${quoteName(name)}`);
      found.set(name, all.map((row) => JSON.stringify(row)).sort());
    }
    return found;
  } finally {
    connection.destroy();
  }
}

/** Returns the tables of which two databases have different rows. */
async function differing(one: DatabaseCoordinates, two: DatabaseCoordinates): Promise<string[]> {
  const [first, second] = [await travelling(one), await travelling(two)];
  assert.deepEqual([...first.keys()].sort(), [...second.keys()].sort());
  assert.ok(first.size > 60, `${first.size} tables`);
  return [...first].flatMap(([name, own]) => (isDeepStrictEqual(own, second.get(name)) ? [] : [name])).sort();
}

/** Two databases that were written by themselves. */
async function writeTwo(): Promise<readonly [DatabaseCoordinates, DatabaseCoordinates]> {
  const [one, two] = [await createDatabase('indexer'), await createDatabase('indexer')];
  await write(one, BEGINNING, 1);
  // The other has been on a branch that the first never saw.
  await write(two, LEFT.slice(0, 4), 2);
  await rollBack(two, 1);
  await write(two, BEGINNING, 5);
  return [one, two];
}

test('two independent indexers have the same rows in every table that VERIFY_HASHES compares, also where one went through a reorg', async () => {
  const [one, two] = await writeTwo();
  const differ = await differing(one, two);
  assert.deepEqual(differ, ['events', 'push_generations'], 'what one indexer went through');
  assert.deepEqual(differ.filter(isTheirs), []);
});

test('a VERIFY_HASHES replica of two independent indexers is verified, and is not where one has another row', async () => {
  const both = await writeTwo();
  const sources = [await startIndexerServer(both[0]), await startIndexerServer(both[1])];
  const tip = BEGINNING.at(-1)!.height;
  const follow = async (urls: readonly string[]) =>
    new ReplicaThread(await createDatabase('independent'), 'indexer', urls, { epochSize: 5 });
  const replica = await follow(sources);
  await replica.until('verified', ({ replica: standing }) => standing!.verification === 'verified');
  const { verifiedHeight, unconfirmed } = replica.report!.replica!;
  assert.deepEqual([verifiedHeight, unconfirmed], [tip, []]);
  await replica.end();
  await sql(both[1], 'UPDATE tokens SET supply = supply + 1 ORDER BY id LIMIT 1');
  const other = await follow([sources[0]!, await startIndexerServer(both[1])]);
  await other.until('compared', ({ replica: standing }) => standing!.verification !== 'pending');
  assert.deepEqual(
    [other.report!.replica!.verification, other.report!.replica!.unconfirmed],
    ['unverified', ['tokens']]
  );
  await other.end();
});
