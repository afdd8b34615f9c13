import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
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
  const fresh = randomBytes(bytes).toString('hex');
  try {
    await writeFile(path, `${fresh}\n`, { flag: 'wx', mode: 0o600, flush: true });
    return fresh;
  } catch (caught) {
    const { code = 'error' } = caught as NodeJS.ErrnoException;
    const kept = code === 'EEXIST' ? (await readFile(path, 'utf8').catch(() => '')).trim() : '';
    if (/^[0-9a-fA-F]+$/.test(kept) && kept.length === 2 * bytes) return kept;
    const reason =
      code === 'EEXIST'
        ? `${path} must hold a ${what} of ${2 * bytes} hex digits; ${remedy}`
        : `${path} cannot be written: ${code}`;
    throw new PlatformError('STATE_UNUSABLE', { reason }, { cause: caught });
  }
}
