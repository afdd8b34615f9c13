import { join } from 'node:path';

/** Top directory of the source. */
export const ROOT = join(import.meta.dirname, '..');
