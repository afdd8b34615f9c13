import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { atEnd } from '../test/support/cleanup.ts';

/** A build is refused below 512 MiB of free disk. */
const DISK_MB = 640;

/** A disk of its own in memory, which can be filled. @returns null where nothing may be mounted */
export function mountSmallDisk(directory: string): string | null {
  const path = join(directory, 'small-disk');
  mkdirSync(path);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    return null;
  }
  atEnd(async () => void execFileSync('umount', [path]));
  return path;
}

/** Fills a disk to the last byte. @returns what makes room again */
export function fillDisk(disk: string): () => void {
  const filler = join(disk, 'filler');
  const file = openSync(filler, 'w');
  try {
    for (const block = Buffer.alloc(1 << 20, 1); ; ) writeSync(file, block);
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code !== 'ENOSPC') throw caught;
  } finally {
    closeSync(file);
  }
  return () => rmSync(filler, { force: true });
}
