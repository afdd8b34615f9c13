import { access, constants, mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { PlatformError } from '../errors.ts';

const WRITABLE_BY_OTHERS = 0o022;
const ROOT = 0;

/**
 * Creates a directory and its missing parents, private (0700). Leaves an existing one as it is, but refuses it when
 * others can write to it: they could replace files that this process trusts.
 *
 * Creates one directory at a time: the recursive call never ends on a file system that refuses new directories, such as
 * /proc.
 *
 * @param variable the setting that names it, for the message
 * @throws {PlatformError} STATE_UNUSABLE
 */
export async function openPrivateDirectory(path: string, variable: string): Promise<void> {
  const unusable = (reason: string, cause?: unknown) =>
    new PlatformError('STATE_UNUSABLE', { reason: `${variable}=${path} ${reason}` }, { cause });
  const missing: string[] = [];
  try {
    for (let at = resolve(path); !(await isThere(at)); at = dirname(at)) missing.push(at);
    for (const directory of missing.reverse()) await mkdir(directory, { mode: 0o700 });
  } catch (caught) {
    throw unusable(`cannot be used: ${(caught as NodeJS.ErrnoException).code ?? 'error'}`, caught);
  }
  const fault = await findDirectoryFault(path);
  if (fault !== null) throw unusable(fault);
}

/** Returns why a directory that is there cannot be used, to follow its name; null when it can. Changes nothing. */
export async function findDirectoryFault(path: string): Promise<string | null> {
  try {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (caught) {
    return `cannot be used: ${(caught as NodeJS.ErrnoException).code ?? 'error'}`;
  }
  const { mode, uid } = await stat(path);
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    return `can be written to by other users (mode ${(mode & 0o7777).toString(8)})`;
  return uid !== ROOT && uid !== process.getuid?.() ? `belongs to another user (uid ${uid})` : null;
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
