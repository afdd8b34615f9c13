import type scanBlocks from './scan-blocks.ts';
import type scanMempool from './scan-mempool.ts';

/** The tasks of the decoder. */
export type DecoderTasks = {
  'decoder/scan-blocks': typeof scanBlocks;
  'decoder/scan-mempool': typeof scanMempool;
};
