import type scanBlocks from './scan-blocks.ts';

/** The tasks of the decoder. */
export type DecoderTasks = { 'decoder/scan-blocks': typeof scanBlocks };
