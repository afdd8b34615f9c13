import { growthOf } from '../tables-in-use/growth.ts';

/** Makes and grows an indexer's database of the tables in use. */
export const { create: createIndexer, appendBlocks, appendBacklog, reorg } = growthOf('indexer');
