import { openDecoderStore } from '../../src/decoder/store.ts';
import type { ChainBlock } from '../../src/indexer/block/block.ts';
import { IndexerStore } from '../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import fc from './fast-check.ts';
import { anyBlocks } from './indexer-actions.ts';
import { addAllBlocks } from './indexer-database.ts';
import { TEST_RULES } from './indexer-ledger.ts';
import { createDatabase } from './mariadb.ts';
import { sql } from './sql.ts';

const CHAINS = 5;
const HASH_LETTERS = 64;

/** Height at which somebody sells and others buy: of random payments nearly all buy nothing. */
const SALE_HEIGHT = 30;
const payment = (source: string, coins: bigint) => ({
  source,
  data: '',
  outputs: [{ vout: 0, address: 'E', amount: coins * 10n ** 18n }]
});
const SALE = [
  { source: 'E', data: 'ISSUE|0|SOLD|||||10' },
  { source: 'E', data: 'DISPENSER|0|BTC|SOLD|2|0|10|BTC||1' },
  payment('C', 1n),
  payment('C', 2n),
  payment('B', 1n)
].map((transaction) => ({ fee: null, ...transaction }));

/** Blocks of several made-up chains, one after the other, so that a ledger has everything that an indexer writes. */
function manyBlocks(): ChainBlock[] {
  return fc
    .sample(anyBlocks, { numRuns: CHAINS, seed: 7 })
    .flat()
    .map(({ transactions }, place) => ({
      height: place + 1,
      time: 1_700_000_000 + 1_800 * place,
      hash: `${place + 1}`.padStart(HASH_LETTERS, 'b'),
      transactions: [...transactions, ...(place + 1 === SALE_HEIGHT ? SALE : [])].map((transaction, position) => ({
        ...transaction,
        hash: `${place + 1}f${position}`.padStart(HASH_LETTERS, 'c')
      }))
    }));
}

/**
 * Makes the databases that an explorer reads, by a real indexer; `blocks` are those that it was given. The decoder is two blocks
 * ahead.
 */
export async function createExplored(): Promise<{
  readonly indexer: DatabaseCoordinates;
  readonly decoder: DatabaseCoordinates;
  readonly store: IndexerStore;
  readonly blocks: readonly ChainBlock[];
}> {
  const [indexer, decoder] = [await createDatabase('indexer'), await createDatabase('decoder')];
  await (await openDecoderStore(decoder)).database.close();
  const store = await IndexerStore.open(indexer, TEST_RULES, 30);
  const blocks = manyBlocks();
  await addAllBlocks(store, blocks);
  await sql(
    decoder,
    `INSERT INTO blocks (block_index, block_time, block_hash_id, previous_block_hash_id) VALUES (${blocks.length + 2}, 1, 1, 1)`,
    "INSERT INTO index_addresses (id, address) VALUES (2, 'A')",
    "INSERT INTO pubkeys (address_id, pubkey) VALUES (2, '02ab')",
    "INSERT INTO mempool_transactions (tx_hash, source, data) VALUES ('aa', 'A', 'SEND|0|TOKA|1|B'), ('bb', 'B', 'MINT|0|TOKB|1')"
  );
  return { indexer, decoder, store, blocks };
}
