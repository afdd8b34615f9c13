import { availableParallelism } from 'node:os';
import type { Environment } from './variables.ts';

/**
 * Threads of libuv's pool, on which the snapshot encoder compresses. When the program runs from its source, Node has
 * created the pool before this line: then `scripts/platform-node` sets the variable.
 */
process.env['UV_THREADPOOL_SIZE'] ??= String(availableParallelism() + 4);

/** The process's environment, for the command line to pass on. */
export const environment: Environment = process.env;
