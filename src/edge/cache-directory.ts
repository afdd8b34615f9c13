import { lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../errors.ts';
import type { Logger } from '../log.ts';
import { lockDirectory } from '../process/directory-lock.ts';

const PREFIX = 'platform-edge-';
/** Age of a directory whose edge has locked it, if that edge lives: each does so when it makes it. */
const LOCKED_AFTER_MS = 60_000;

/** A directory of one edge's own. */
export interface CacheDirectory {
  readonly path: string;
  /** Removes it, once. */
  release(): Promise<void>;
}

/**
 * Makes a directory for the snapshots of this process, and removes those that killed edges left beside it.
 *
 * @throws {PlatformError} STATE_UNUSABLE when files cannot be locked there; and what the file system throws
 */
export async function openCacheDirectory(parent: string, log: Pick<Logger, 'info' | 'warn'>): Promise<CacheDirectory> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await removeLeft(parent, log);
  const path = await mkdtemp(join(parent, PREFIX));
  const lock = lockDirectory(path, 'SNAPSHOT_CACHE_DIR', 'an edge');
  const release = async () => {
    await rm(path, { recursive: true, force: true });
    lock.release();
  };
  let released: Promise<void> | undefined;
  return {
    path,
    release: () => {
      released ??= release();
      return released;
    }
  };
}

/** Removes the directories of edges that live no more: the kernel holds the lock of one that does. */
async function removeLeft(parent: string, log: Pick<Logger, 'info' | 'warn'>): Promise<void> {
  for (const name of await readdir(parent)) {
    const path = join(parent, name);
    if (!name.startsWith(PREFIX) || !(await isOwnAndOld(path))) continue;
    try {
      const lock = lockDirectory(path, 'SNAPSHOT_CACHE_DIR', 'an edge that removes what another one left');
      await rm(path, { recursive: true, force: true });
      lock.release();
      log.info({ directory: path }, 'removed the snapshots of an edge that was killed');
    } catch (caught) {
      if (!hasCode(caught, 'STATE_LOCKED'))
        log.warn({ err: caught, directory: path }, 'the snapshots of an edge that was killed cannot be removed');
    }
  }
}

/** Returns whether a directory is this user's and old. Another edge may remove it at the same time. */
async function isOwnAndOld(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  const isOwn = found?.isDirectory() === true && found.uid === process.getuid?.();
  return isOwn && Date.now() - found.mtimeMs > LOCKED_AFTER_MS;
}
