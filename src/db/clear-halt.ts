import type { Halts } from './halts.ts';

/** Allows the rollback that a halted service refused, and closes the database. @returns what to tell the operator */
export async function clearHalt(database: {
  readonly halts: Halts;
  close(): Promise<void> | void;
}): Promise<{ readonly text: string }> {
  try {
    const halt = await database.halts.clear();
    return { text: halt ? `cleared: ${halt.reason}` : 'there is no halt' };
  } finally {
    await database.close();
  }
}
