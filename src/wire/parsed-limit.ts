import { getHeapStatistics } from 'node:v8';
import { resourceLimits } from 'node:worker_threads';

const MEBIBYTE = 2 ** 20;
/** Share of the thread's memory; the rest is for work on the parsed value. */
const SHARE = 0.6;
const memoryMb = resourceLimits.maxOldGenerationSizeMb ?? getHeapStatistics().heap_size_limit / MEBIBYTE;

/** Limit for one JSON text and its parsed value in this thread: six tenths of its memory (ACTOR_MEMORY_MB), and 1.25 GiB at most. */
export const MAX_PARSED_BYTES = Math.min(1_280, SHARE * memoryMb) * MEBIBYTE;

/** The longest text within that: it takes its length once as it is, and once in its values. */
export const MAX_TEXT_BYTES = Math.floor(MAX_PARSED_BYTES / 2);
