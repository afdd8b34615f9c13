import { randomBytes } from 'node:crypto';
import { link, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { PlatformError } from '../errors.ts';

/** What a private file holds. */
export interface SecretForm {
  readonly bytes: number;
  /** In a sentence: "must hold a ...". */
  readonly what: string;
  /** What to do where the file holds something else. */
  readonly remedy: string;
}

/**
 * A secret that is made at the first start and kept in a private file.
 *
 * @returns hex digits, two for each byte  @throws {PlatformError} STATE_UNUSABLE
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

/** @returns an empty text where there is no file, or one that a full disk left empty; what is no text is no secret either */
async function readKept(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (caught) {
    return (caught as NodeJS.ErrnoException).code === 'ENOENT' ? '' : 'unreadable';
  }
}

/** The file appears whole or not at all. Of processes that begin at once, all get the secret of one. */
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
