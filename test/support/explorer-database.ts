import { openDecoderStore } from '../../src/decoder/store.ts';
import type { ChainBlock } from '../../src/indexer/block/block.ts';
import { IndexerStore } from '../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import fc from './fast-check.ts';
import { anyBlocks } from './indexer-actions.ts';
import { TEST_RULES } from './indexer-ledger.ts';
import { createDatabase } from './mariadb.ts';

const CHAINS = 5;
const HASH_LETTERS = 64;

/** Blocks of several made-up chains, one after the other, so that a ledger has everything that an indexer writes. */
function manyBlocks(): ChainBlock[] {
  return fc
    .sample(anyBlocks, { numRuns: CHAINS, seed: 7 })
    .flat()
    .map(({ transactions }, place) => ({
      height: place + 1,
      time: 1_700_000_000 + 1_800 * place,
      hash: `${place + 1}`.padStart(HASH_LETTERS, 'b'),
      transactions: transactions.map((transaction, position) => ({
        ...transaction,
        hash: `${place + 1}f${position}`.padStart(HASH_LETTERS, 'c')
      }))
    }));
}

/** What an explorer reads, written by a real indexer; `blocks` are those that it was given. */
export async function createExplored(): Promise<{
  readonly indexer: DatabaseCoordinates;
  readonly decoder: DatabaseCoordinates;
  readonly store: IndexerStore;
  readonly blocks: readonly ChainBlock[];
}> {
  const [indexer, decoder] = [await createDatabase('indexer'), await createDatabase('decoder')];
  await (await openDecoderStore(decoder)).close();
  const store = await IndexerStore.open(indexer, TEST_RULES, 30);
  const blocks = manyBlocks();
  await store.addBlocks(blocks);
  return { indexer, decoder, store, blocks };
}
