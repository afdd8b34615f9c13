import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNetwork } from '../../src/coin/find-network.ts';
import { readDispenser } from '../../src/decoder/dispensers/action.ts';
import { openDecoderStore } from '../../src/decoder/store.ts';
import { hasCode } from '../../src/errors.ts';
import { DecoderSource } from '../../src/indexer/loop/decoder-source.ts';
import { IndexerStore } from '../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { atEnd } from '../support/cleanup.ts';
import { addAllBlocks } from '../support/indexer-database.ts';
import { TEST_RULES } from '../support/indexer-ledger.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { copyToOthers } from './made-elsewhere.ts';

const NETWORK = findNetwork('bitcoin-regtest')!;
const TIME = 1_700_000_000;
/** Actions of one block each: their source, their text, and the payments in satoshis. */
const BLOCKS: readonly (readonly (readonly [source: string, data: string, paid?: readonly [string, bigint]])[])[] = [
  [['A', 'ISSUE|0|TOKA|||2||1000']],
  [
    ['A', 'ORDER|0|BTC|TOKA|4|0|BTC||0.4'],
    ['B', 'ORDER|0|BTC||0.4|0|BTC|TOKA|4'],
    ['A', 'DISPENSER|0|BTC|TOKA|1.5|0|30|BTC||0.00012']
  ],
  [
    ['B', 'COINPAY|0|4', ['A', 40_000_000n]],
    ['C', '', ['A', 24_000n]],
    ['C', 'SEND|0|TOKA|0.5|B|thanks']
  ]
];

/** Writes the blocks as our decoder does. */
async function writeOwn(database: DatabaseCoordinates): Promise<void> {
  const store = await openDecoderStore(database);
  const hashOf = (height: number) => (height === 0 ? NETWORK.genesisHash : String(height).padStart(64, 'b'));
  const blocks = [[], ...BLOCKS].map((acts, height) => ({
    height,
    time: TIME + 600 * height,
    hash: hashOf(height),
    findings: [],
    previousHash: height === 0 ? '' : hashOf(height - 1),
    transactions: acts.map(([source, data, paid], place) => ({
      source,
      data,
      rawData: null,
      pubkey: null,
      dispensers: readDispenser(data, ['BTC', 'RBTC'], NETWORK.addresses),
      hash: `${height}f${place}`.padStart(64, 'c'),
      outputs: paid ? [{ vout: 1, address: paid[0], amount: paid[1] }] : []
    }))
  }));
  await store.writeBlocks(blocks);
  await store.database.close();
}

/** Returns the rows of a ledger that hold what was decided and moved. */
async function indexed(database: DatabaseCoordinates): Promise<Record<string, readonly string[]>> {
  const source = await DecoderSource.open(database, NETWORK, 10);
  atEnd(async () => source.close());
  const indexer = await createDatabase('indexer');
  const store = await IndexerStore.open(indexer, TEST_RULES, 30);
  await addAllBlocks(store, (await source.readBlocks(0, 100))!.blocks);
  store.close();
  const texts = async (query: string) => (await sql(indexer, query)).map((row) => JSON.stringify(row));
  return {
    hashes: await texts(
      'SELECT b.block_index, l.hash AS ledger, a.hash AS actions FROM blocks b JOIN index_transactions l ON l.id = b.ledger_hash_id JOIN index_transactions a ON a.id = b.actions_hash_id ORDER BY 1'
    ),
    balances: await texts('SELECT address_id, tick_id, amount FROM balances ORDER BY 1, 2'),
    payments: await texts('SELECT obligation_action_index, coin_amount, vout FROM coinpays ORDER BY 1'),
    dispenses: await texts(
      'SELECT dispenser_action_index, give_amount, get_amount FROM dispenses ORDER BY action_index'
    )
  };
}

test('a decoder database that was made elsewhere gives the ledger that our own gives, hash for hash', async () => {
  const own = await createDatabase('own_decoder');
  await writeOwn(own);
  const others = await copyToOthers(own, 'decoder');
  const [ownRows, foreignRows] = [await indexed(own), await indexed(others)];
  assert.deepEqual(foreignRows, ownRows);
  assert.equal(ownRows['payments']?.length, 1, JSON.stringify(ownRows));
  assert.equal(ownRows['dispenses']?.length, 1, JSON.stringify(ownRows));
  const [paid] = await sql(others, 'SELECT amount FROM transaction_outputs ORDER BY tx_index LIMIT 1');
  assert.equal(paid!['amount'], '0.40000000');
});

/** Queries of a database of our decoder, with the results in databases in use. */
const COLUMNS: readonly (readonly [fact: string, query: string, expected: readonly string[]])[] = [
  [
    'transactions: fee 0, amount NULL without payment, destination the empty address',
    'SELECT DISTINCT fee, amount, destination_id FROM transactions',
    ['0 null 1']
  ],
  [
    'dispensers: no source, no oracle, not over',
    'SELECT source_address_id, oracle_address_id, expired_block_index FROM dispensers',
    ['null null null']
  ],
  [
    'index_transactions: the empty text, the hash of block 0, and 64 zeros',
    'SELECT id, hash FROM index_transactions WHERE id <= 3 ORDER BY id',
    ['1 ', `2 ${NETWORK.genesisHash}`, `3 ${'0'.repeat(64)}`]
  ],
  [
    'blocks: the previous hash of block 0 is that of zeros',
    'SELECT block_hash_id, previous_block_hash_id FROM blocks WHERE block_index = 0',
    ['2 3']
  ],
  ['index_addresses: id 1 is the empty text', 'SELECT address FROM index_addresses WHERE id = 1', ['']],
  [
    'whole numbers are bigint',
    `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND data_type = 'bigint'
       AND CONCAT(table_name, '.', column_name) IN ('transaction_outputs.vout', 'transactions.block_index',
         'dispensers.expired_block_index', 'mempool_transactions.amount', 'mempool_transactions.fee') ORDER BY 1, 2`,
    [
      'dispensers expired_block_index',
      'mempool_transactions amount',
      'mempool_transactions fee',
      'transactions block_index',
      'transaction_outputs vout'
    ]
  ],
  [
    'texts of the mempool, and the time of an event',
    `SELECT table_name, column_name, column_type FROM information_schema.columns WHERE table_schema = DATABASE()
       AND (table_name = 'mempool_transactions' AND column_name IN ('source', 'destination') OR table_name = 'events'
         AND column_name = 'time') ORDER BY 1, 2`,
    [
      'events time datetime',
      'mempool_transactions destination varchar(120)',
      'mempool_transactions source varchar(120)'
    ]
  ]
];

test('our decoder writes the rows of databases in use, column by column', async () => {
  const own = await createDatabase('own_decoder');
  await writeOwn(own);
  for (const [fact, query, expected] of COLUMNS) {
    const found = await sql(own, query);
    assert.deepEqual(
      found.map((row) => Object.values(row).map(String).join(' ')),
      expected,
      fact
    );
  }
});

test('ROWS_REFUSED: a column that a decoder database of others lacks is named, and MariaDB is not blamed', async () => {
  const own = await createDatabase('own_decoder');
  await writeOwn(own);
  const others = await copyToOthers(own, 'decoder');
  for (const [table, column] of [
    ['transactions', 'data'],
    ['transaction_outputs', 'amount'],
    ['blocks', 'previous_block_hash_id']
  ] as const) {
    await sql(others, `ALTER TABLE ${table} RENAME COLUMN ${column} TO kept`);
    const source = await DecoderSource.open(others, NETWORK, 10);
    await assert.rejects(source.readBlocks(0, 100), (caught) => {
      assert.ok(hasCode(caught, 'ROWS_REFUSED'));
      assert.match(caught.message, new RegExp(`decoder database.*[.']${column}'`));
      assert.doesNotMatch(caught.message, /check MariaDB/);
      return true;
    });
    await sql(others, `ALTER TABLE ${table} RENAME COLUMN kept TO ${column}`);
  }
});
