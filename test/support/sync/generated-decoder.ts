import { growthOf } from '../tables-in-use/growth.ts';

/** Makes and grows a decoder's database of the tables in use. */
export const { create: createDecoder, appendBlocks, appendBacklog, reorg } = growthOf('decoder');
