import type { Halts } from '../db/core/halts.ts';

/** `--clear-halt`: allows the rollback that was refused, says which it was, and closes the database. @returns the exit code */
export async function clearHalt(database: { readonly halts: Halts; close(): Promise<void> | void }): Promise<number> {
  try {
    const halt = await database.halts.clear();
    console.log(halt ? `cleared: ${halt.reason}` : 'no halt stands');
    return 0;
  } finally {
    await database.close();
  }
}
