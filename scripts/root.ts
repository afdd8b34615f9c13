import { join } from 'node:path';

/** The top directory of the source. */
export const ROOT = join(import.meta.dirname, '..');
