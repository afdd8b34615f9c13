import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNetwork } from '../../src/coin/find-network.ts';
import { openDecoderStore } from '../../src/decoder/store.ts';
import { DecoderSource } from '../../src/indexer/loop/decoder-source.ts';
import { IndexerStore } from '../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { atEnd } from '../support/cleanup.ts';
import { TEST_RULES } from '../support/indexer-ledger.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { copyToOthers } from './made-elsewhere.ts';

const NETWORK = findNetwork('bitcoin-regtest')!;
const TIME = 1_700_000_000;
/** Of one block each: who acts, what, and who is paid how many satoshis. */
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
    ...{ height, time: TIME + 600 * height, hash: hashOf(height), findings: [] },
    previousHash: height === 0 ? '' : hashOf(height - 1),
    transactions: acts.map(([source, data, paid], place) => ({
      ...{ source, data, rawData: null, pubkey: null, dispensers: { opened: [], extendedTo: null } },
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
  await store.addBlocks((await source.readBlocks(0, 100))!.blocks);
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
  const [ours, theirs] = [await indexed(own), await indexed(others)];
  assert.deepEqual(theirs, ours);
  assert.equal(ours['payments']?.length, 1, JSON.stringify(ours));
  assert.equal(ours['dispenses']?.length, 1, JSON.stringify(ours));
  const [paid] = await sql(others, 'SELECT amount FROM transaction_outputs ORDER BY tx_index LIMIT 1');
  assert.equal(paid!['amount'], '0.40000000');
});
