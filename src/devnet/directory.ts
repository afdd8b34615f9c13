import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOCK_FILES, lockDirectory } from '../process/directory-lock.ts';
import { stopLeftovers } from './processes/leftovers.ts';

/** A devnet's directory, held by this process. */
interface HeldDirectory {
  readonly path: string;
  /** Frees it for another devnet. */
  release(): void;
}

/**
 * Takes a directory for one devnet and stops processes that a killed devnet left running in it.
 *
 * @param fresh whether to empty it first
 * @throws {PlatformError} STATE_LOCKED while another devnet runs in it; STATE_UNUSABLE when it cannot be locked
 */
export async function holdDirectory(path: string, { fresh }: { readonly fresh: boolean }): Promise<HeldDirectory> {
  mkdirSync(path, { recursive: true });
  const lock = lockDirectory(path, '--dir', 'the devnet');
  await stopLeftovers(path);
  const old = fresh ? readdirSync(path).filter((name) => !LOCK_FILES.includes(name)) : [];
  for (const name of old) rmSync(join(path, name), { recursive: true, force: true });
  return { path, release: () => lock.release() };
}

/** Creates a directory for this run only. */
export function makeTemporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'platform-devnet-'));
}
