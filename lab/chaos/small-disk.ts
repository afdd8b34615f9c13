import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { atEnd } from '../../test/support/cleanup.ts';

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
