import { access, chmod, constants, mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { PlatformError } from '../errors.ts';

/**
 * Makes the state directory with its missing parents, private (0700).
 *
 * One directory at a time: the recursive form never ends where a file system refuses new directories, as /proc does.
 *
 * @throws {PlatformError} STATE_UNUSABLE
 */
export async function openStateDirectory(path: string): Promise<void> {
  const missing: string[] = [];
  try {
    for (let at = resolve(path); !(await isThere(at)); at = dirname(at)) missing.push(at);
    for (const directory of missing.reverse()) await mkdir(directory, { mode: 0o700 });
    await chmod(path, 0o700);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (caught) {
    const { code = 'error' } = caught as NodeJS.ErrnoException;
    throw new PlatformError(
      'STATE_UNUSABLE',
      { reason: `SYNC_STATE_DIR=${path} cannot be used: ${code}` },
      { cause: caught }
    );
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw caught;
  }
}
