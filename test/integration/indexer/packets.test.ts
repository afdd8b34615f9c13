import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase, startOwnServer } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

/** The smallest packet of a server that services take. */
const SMALLEST_PACKET = 4 * 2 ** 20;
/** Characters of the longest action. */
const LONGEST_ACTION = 8_192;
const PRICES_OF_BATCH = 250;
const BATCHES = 90;

const server = await startOwnServer([`--max-allowed-packet=${SMALLEST_PACKET}`]);

function block(height: number, texts: readonly string[]): ChainBlock {
  const hashOf = (place: number) => `${height}f${place}`.padStart(64, '0');
  const transactions = texts.map((data, place) => ({ hash: hashOf(place + 1), source: 'A', fee: 1, data }));
  return { height, time: 1_700_000_000 + height, hash: hashOf(0), transactions };
}

/** Writes a block with these texts. @returns the database */
async function index(texts: readonly string[]): Promise<DatabaseCoordinates> {
  const database = await createDatabase('indexer', server.root);
  const store = await IndexerStore.open(database, TEST_RULES, 60, {
    pushes: { network: 'regtest', onQueued: () => undefined }
  });
  await store.addBlocks([block(0, texts)]);
  store.close();
  return database;
}

test('a block of long tickers that nobody issued is written to a server with the smallest packet', async () => {
  const quotes = "'".repeat(LONGEST_ACTION - 30);
  const database = await index(Array.from({ length: 500 }, (_, place) => `DESTROY|0|${quotes}${1000 + place}|1`));
  // They all begin alike, so that the first one alone gets an id.
  assert.equal((await sql(database, 'SELECT id FROM index_tickers')).length, 1);
  assert.equal((await sql(database, 'SELECT action_index FROM destroys')).length, 500);
});

test('a block of very many prices is written, and told to a hub, by a server with the smallest packet', async () => {
  const prices = Array.from({ length: PRICES_OF_BATCH }, () => 'PRICE|1|BTC|X|USD|1').join(';');
  const database = await index(Array.from({ length: BATCHES }, () => `BATCH|0|${prices}`));
  const [found] = await sql(database, 'SELECT COUNT(*) AS n FROM prices WHERE status_id = 1');
  assert.equal(Number(found!['n']), BATCHES * PRICES_OF_BATCH);
  const [waiting] = await sql(
    database,
    "SELECT MAX(action_index) AS n FROM pending_hub_pushes WHERE push_type = 'pushoracleprice'"
  );
  assert.equal(Number(waiting!['n']), BATCHES * (1 + PRICES_OF_BATCH));
});
