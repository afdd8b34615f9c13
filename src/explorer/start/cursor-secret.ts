import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExplorerConfig } from '../../config/services/explorer.ts';
import { PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { keptSecret } from '../../process/kept-secret.ts';

const FILE = 'explorer-cursors.key';
const BYTES = 32;

/**
 * Returns the secret that signs an explorer's cursors: the one that is set, else the one that is kept, else, with a
 * warning, one for this run.
 */
export async function cursorSecretOf(
  { EXPLORER_CURSOR_KEY: set, EXPLORER_STATE_DIR: directory }: ExplorerConfig,
  log: Pick<Logger, 'warn'>
): Promise<string> {
  if (set !== undefined) return set;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const form = {
      bytes: BYTES,
      what: 'cursor secret',
      remedy: 'remove the file, and the explorer generates another secret'
    };
    return await keptSecret(join(directory, FILE), form);
  } catch (caught) {
    const reason = String(PlatformError.from(caught).detail['reason'] ?? (caught as Error).message);
    log.warn(
      { reason },
      'cursors become invalid when this process ends: set EXPLORER_CURSOR_KEY, or set EXPLORER_STATE_DIR to a writable directory'
    );
    return randomBytes(BYTES).toString('hex');
  }
}
