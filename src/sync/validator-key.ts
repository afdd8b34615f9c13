import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SyncConfig } from '../config/sync.ts';
import { PlatformError } from '../errors.ts';
import { type ValidatorIdentity, validatorIdentity } from '../source/validator-identity.ts';

/** In SYNC_STATE_DIR; private, made at the first start. */
const FILE = 'validator.seed';
const SEED_BYTES = 32;

/**
 * Who this client is to its sources: the owner of SYNC_VALIDATOR_SEED, else of the seed that it keeps.
 *
 * @throws {PlatformError} STATE_UNUSABLE
 */
export async function openValidatorIdentity(
  config: Pick<SyncConfig, 'SYNC_VALIDATOR_ID' | 'SYNC_VALIDATOR_SEED' | 'SYNC_STATE_DIR'>
): Promise<ValidatorIdentity> {
  const seed = config.SYNC_VALIDATOR_SEED ?? (await keptSeed(join(config.SYNC_STATE_DIR, FILE)));
  return validatorIdentity(seed, config.SYNC_VALIDATOR_ID);
}

async function keptSeed(path: string): Promise<string> {
  const fresh = randomBytes(SEED_BYTES).toString('hex');
  try {
    await writeFile(path, `${fresh}\n`, { flag: 'wx', mode: 0o600, flush: true });
    return fresh;
  } catch (caught) {
    const { code = 'error' } = caught as NodeJS.ErrnoException;
    const kept = code === 'EEXIST' ? (await readFile(path, 'utf8').catch(() => '')).trim() : '';
    if (/^[0-9a-fA-F]{64}$/.test(kept)) return kept;
    const reason =
      code === 'EEXIST' ? `${path} must hold a seed of 64 hex digits` : `${path} cannot be written: ${code}`;
    throw new PlatformError('STATE_UNUSABLE', { reason }, { cause: caught });
  }
}
