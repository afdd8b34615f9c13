import type { ChainDatabase } from '../chain/database.ts';

/** `--clear-halt`: allows the rollback that was refused, says which it was, and closes the database. @returns the exit code */
export async function clearHalt({ database }: { readonly database: ChainDatabase }): Promise<number> {
  try {
    const halt = await database.clearHalt();
    console.log(halt ? `cleared: ${halt.reason}` : 'no halt stands');
    return 0;
  } finally {
    await database.close();
  }
}
