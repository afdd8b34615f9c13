import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlatformError } from '../errors.ts';
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
 * @throws {PlatformError} COMMAND_INVALID while another devnet runs in it
 */
export async function holdDirectory(path: string, { fresh }: { readonly fresh: boolean }): Promise<HeldDirectory> {
  const pidFile = join(path, 'devnet.pid');
  const holder = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0;
  if (holder > 0 && isAlive(holder)) {
    const reason = `another devnet, process ${holder}, runs in ${path}; stop it, or choose another place with --dir`;
    throw new PlatformError('COMMAND_INVALID', { reason });
  }
  await stopLeftovers(path);
  if (fresh) rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  writeFileSync(pidFile, String(process.pid));
  return { path, release: () => rmSync(pidFile, { force: true }) };
}

/** Creates a directory for this run only. */
export function makeTemporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'platform-devnet-'));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (caught) {
    return (caught as NodeJS.ErrnoException).code === 'EPERM';
  }
}
