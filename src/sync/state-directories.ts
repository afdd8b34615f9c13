import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SyncConfig } from '../config/services/sync.ts';
import { hasCode } from '../errors.ts';
import type { Logger } from '../log.ts';
import { lockDirectory } from '../process/directory-lock.ts';
import { openPrivateDirectory } from '../process/private-directory.ts';

/** The directories that a process keeps things in, which are its own until `release`. */
interface StateDirectories {
  readonly state: string;
  /** SNAPSHOT_CACHE_DIR, by default below the other. */
  readonly snapshots: string;
  release(): void;
}

/** A service whose guardian was killed may take this long to end; its successor has the same mode and port. */
const PREDECESSOR_MS = 20_000;
const RETRY_MS = 100;

/** @throws {PlatformError} STATE_UNUSABLE, STATE_LOCKED */
export async function openStateDirectories(
  config: Pick<SyncConfig, 'SYNC_MODE' | 'SYNC_API_PORT' | 'SYNC_STATE_DIR' | 'SNAPSHOT_CACHE_DIR'>,
  log: Logger
): Promise<StateDirectories> {
  const { SYNC_STATE_DIR: state, SNAPSHOT_CACHE_DIR: snapshots = join(state, 'snapshots') } = config;
  const what = `the sync ${config.SYNC_MODE} with SYNC_API_PORT=${config.SYNC_API_PORT}`;
  const locks: { release(): void }[] = [];
  const lock = async (directory: string, variable: string) => {
    const deadline = performance.now() + PREDECESSOR_MS;
    for (let attempt = 0; ; attempt++) {
      try {
        return void locks.push(lockDirectory(directory, variable, what));
      } catch (caught) {
        // One that was killed before it wrote its name may be a predecessor too.
        const isPredecessor =
          hasCode(caught, 'STATE_LOCKED') && [what, undefined].includes(caught.detail['holder'] as string);
        if (!isPredecessor || performance.now() > deadline) throw caught;
        if (attempt === 0) log.warn(`waiting for the process that holds it to end: ${caught.message}`);
      }
      await sleep(RETRY_MS);
    }
  };
  const release = () => {
    for (const each of locks) each.release();
  };
  try {
    await openPrivateDirectory(state, 'SYNC_STATE_DIR');
    await lock(state, 'SYNC_STATE_DIR');
    if (config.SNAPSHOT_CACHE_DIR !== undefined) {
      await openPrivateDirectory(snapshots, 'SNAPSHOT_CACHE_DIR');
      const isOther = (await realpath(snapshots)) !== (await realpath(state));
      if (isOther) await lock(snapshots, 'SNAPSHOT_CACHE_DIR');
    }
  } catch (caught) {
    release();
    throw caught;
  }
  return { state, snapshots, release };
}
