import { availableParallelism } from 'node:os';
import type { Environment } from './variables.ts';

/**
 * Threads of libuv's pool, on which the snapshot encoder compresses. Where the program is run from its source, Node has
 * made the pool by now: there `scripts/platform-node` says it.
 */
process.env['UV_THREADPOOL_SIZE'] ??= String(availableParallelism() + 4);

/** The process's environment, for the command line to hand down. */
export const environment: Environment = process.env;
