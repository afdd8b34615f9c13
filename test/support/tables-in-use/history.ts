import type { DbType } from '../../../src/wire/data/database.ts';
import type { Setting } from './block-context.ts';
import { addDecoderHistory, type DecoderSize } from './decoder-history.ts';
import { addIndexerHistory, type IndexerSize } from './indexer-history.ts';

/**
 * Content of a database before its first block is written here. `none`: no block. `short`: 500 blocks, for what happens near the
 * tip alone; a comparison of it takes a fifth of one of `small`. `small`: 12,000 blocks of an indexer, so that rows are 10,080
 * blocks deep, 3,000 of a decoder; 20,000 credits, or transactions. `1M` and `10M`: 50,000 blocks; a tenth of, or all of, 5M
 * credits, 1M actions, 1M balances and 100k tokens of an indexer; 10M transactions and 10M outputs of a decoder.
 */
export type Size = 'none' | NamedSize | RowsAndBlocks;
type NamedSize = 'short' | 'small' | '1M' | '10M';

/** Number of blocks, and of rows over all tables, roughly. */
export interface RowsAndBlocks {
  readonly blocks: number;
  readonly rows: number;
}

const INDEXERS: Readonly<Record<NamedSize, IndexerSize>> = {
  short: { blocks: 500, actions: 600, tickers: 20, addresses: 100, pairs: 200 },
  small: { blocks: 12_000, actions: 14_000, tickers: 200, addresses: 2_000, pairs: 4_000 },
  '1M': { blocks: 50_000, actions: 100_000, tickers: 10_000, addresses: 50_000, pairs: 100_000 },
  '10M': { blocks: 50_000, actions: 1_000_000, tickers: 100_000, addresses: 500_000, pairs: 1_000_000 }
};

const DECODERS: Readonly<Record<NamedSize, DecoderSize>> = {
  short: { blocks: 500, transactions: 1_500, addresses: 500 },
  small: { blocks: 3_000, transactions: 20_000, addresses: 5_000 },
  '1M': { blocks: 50_000, transactions: 1_000_000, addresses: 100_000 },
  '10M': { blocks: 50_000, transactions: 10_000_000, addresses: 1_000_000 }
};

/** Adds blocks up to a tip without writing them one by one. */
export async function addHistory(setting: Setting, dbType: DbType, size: Size): Promise<void> {
  if (size === 'none') return;
  if (dbType === 'indexer')
    await addIndexerHistory(setting, typeof size === 'string' ? INDEXERS[size] : indexerOf(size));
  else await addDecoderHistory(setting, typeof size === 'string' ? DECODERS[size] : decoderOf(size));
}

const ROWS_PER_ACTION = 8.5;
const FEWEST_ACTIONS = 20;
const ROWS_PER_TRANSACTION = 3.6;

function indexerOf({ blocks, rows }: RowsAndBlocks): IndexerSize {
  const actions = Math.max(blocks, FEWEST_ACTIONS, Math.floor((rows - 5 * blocks) / ROWS_PER_ACTION));
  const addresses = Math.max(20, Math.floor(actions / 7));
  return { blocks, actions, addresses, pairs: 2 * addresses, tickers: Math.max(5, Math.floor(actions / 70)) };
}

function decoderOf({ blocks, rows }: RowsAndBlocks): DecoderSize {
  const transactions = Math.max(blocks, Math.floor((rows - 2 * blocks) / ROWS_PER_TRANSACTION));
  return { blocks, transactions, addresses: Math.max(20, Math.floor(transactions * 0.7)) };
}
