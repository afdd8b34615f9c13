import { join } from 'node:path';
import type { SyncConfig } from '../config/services/sync.ts';
import { keptSecret } from '../process/kept-secret.ts';
import { type ValidatorIdentity, validatorIdentity } from '../replication/client/validator-identity.ts';

/** File in SYNC_STATE_DIR. */
const FILE = 'validator.seed';
const REMEDY = 'restore it, or set SYNC_VALIDATOR_SEED; without it this client is another validator to its sources';

/**
 * Opens the key by which sources know this client: from SYNC_VALIDATOR_SEED, else from the seed that it keeps.
 *
 * @throws {PlatformError} STATE_UNUSABLE
 */
export async function openValidatorIdentity(
  config: Pick<SyncConfig, 'SYNC_VALIDATOR_ID' | 'SYNC_VALIDATOR_SEED' | 'SYNC_STATE_DIR'>
): Promise<ValidatorIdentity> {
  const kept = () => keptSecret(join(config.SYNC_STATE_DIR, FILE), { bytes: 32, what: 'seed', remedy: REMEDY });
  return validatorIdentity(config.SYNC_VALIDATOR_SEED ?? (await kept()), config.SYNC_VALIDATOR_ID);
}
