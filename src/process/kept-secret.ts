import { randomBytes } from 'node:crypto';
import { link, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { PlatformError } from '../errors.ts';

/** The form of a secret in a private file. */
interface SecretForm {
  readonly bytes: number;
  /** Noun for the reason "must hold a ...". */
  readonly what: string;
  /** Remedy for a file that holds something else. */
  readonly remedy: string;
}

/**
 * Returns a secret from a private file, and creates it at the first start.
 *
 * @returns hex, two digits per byte
 * @throws {PlatformError} STATE_UNUSABLE
 */
export async function keptSecret(path: string, { bytes, what, remedy }: SecretForm): Promise<string> {
  try {
    const kept = (await readKept(path)) || (await makeSecret(path, bytes));
    if (/^[0-9a-fA-F]+$/.test(kept) && kept.length === 2 * bytes) return kept;
  } catch (caught) {
    const { code = 'error' } = caught as NodeJS.ErrnoException;
    throw new PlatformError('STATE_UNUSABLE', { reason: `${path} cannot be written: ${code}` }, { cause: caught });
  }
  const reason = `${path} must hold a ${what} of ${2 * bytes} hex digits; ${remedy}`;
  throw new PlatformError('STATE_UNUSABLE', { reason });
}

/**
 * Reads the file. @returns an empty text when it is missing, or empty because a disk was full; `unreadable` when it
 * cannot be read
 */
async function readKept(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (caught) {
    return (caught as NodeJS.ErrnoException).code === 'ENOENT' ? '' : 'unreadable';
  }
}

/** Creates the file as a whole. When several processes start at once, all get the secret of one. */
async function makeSecret(path: string, bytes: number): Promise<string> {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    await writeFile(temporary, `${randomBytes(bytes).toString('hex')}\n`, { flag: 'wx', mode: 0o600, flush: true });
    const found = await stat(path).catch(() => null);
    if (found?.isFile() && found.size === 0) await rm(path);
    await link(temporary, path).catch((caught: NodeJS.ErrnoException) => {
      if (caught.code !== 'EEXIST') throw caught;
    });
    return await readKept(path);
  } finally {
    await rm(temporary, { force: true });
  }
}
