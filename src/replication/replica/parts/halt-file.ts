import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Halt } from '../../../wire/state/report.ts';

/** Keeps a halt that the database did not take: it blocks the next start too. Durable when it returns. */
export async function writeHaltFile(path: string, halt: Halt): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, JSON.stringify(halt), { mode: 0o600, flush: true });
}

/** @returns null when there is no file; a damaged file counts as a halt */
export async function readHaltFile(path: string): Promise<Halt | null> {
  try {
    const found: unknown = JSON.parse(await readFile(path, 'utf8'));
    const { reason, detected_at } = Object(found) as Partial<Halt>;
    if (typeof reason !== 'string' || reason === '' || typeof detected_at !== 'string')
      throw new Error('it holds no halt');
    return found as Halt;
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return null;
    const reason = `the halt file ${path} cannot be read: ${(caught as Error).message}`;
    return { block_index: null, reason, mismatches: null, sources: null, detected_at: new Date().toISOString() };
  }
}

export async function removeHaltFile(path: string): Promise<void> {
  await rm(path, { force: true });
}
