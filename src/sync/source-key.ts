import { join } from 'node:path';
import { type SigningKey, signingKey } from '../consensus/auth-signature.ts';
import { keptSecret } from '../process/kept-secret.ts';

/** File in SYNC_STATE_DIR. */
const FILE = 'source.seed';

/**
 * Opens the key by which clients tell this server from their other sources, whatever name they reach it by.
 *
 * @throws {PlatformError} STATE_UNUSABLE
 */
export async function openSourceKey(stateDirectory: string): Promise<SigningKey> {
  const remedy = 'delete it, and another is made at the next start';
  return signingKey(await keptSecret(join(stateDirectory, FILE), { bytes: 32, what: 'seed', remedy }));
}
