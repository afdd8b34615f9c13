import type { Environment } from './variables.ts';

/** The process's environment, for the command line to hand down. */
export const environment: Environment = process.env;
