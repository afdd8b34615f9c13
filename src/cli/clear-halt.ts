import type { Halts } from '../db/core/halts.ts';

/**
 * Runs `--clear-halt`: allows the refused rollback, prints its reason, and closes the database. @returns the exit code
 */
export async function clearHalt(database: { readonly halts: Halts; close(): Promise<void> | void }): Promise<number> {
  try {
    const halt = await database.halts.clear();
    console.log(halt ? `cleared: ${halt.reason}` : 'there is no halt');
    return 0;
  } finally {
    await database.close();
  }
}
