import { join } from 'node:path';
import { keptSecret } from '../process/kept-secret.ts';

/** File in SYNC_STATE_DIR. */
const FILE = 'finder.key';

/**
 * Opens the secret key of the checksums that find changes. A writer of rows that knows it can hide changes.
 *
 * @returns 32 hex digits  @throws {PlatformError} STATE_UNUSABLE
 */
export function openFinderKey(stateDirectory: string): Promise<string> {
  return keptSecret(join(stateDirectory, FILE), {
    bytes: 16,
    what: 'key',
    remedy: 'delete it, and another is made at the next start'
  });
}
