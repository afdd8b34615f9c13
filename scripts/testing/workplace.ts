import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Directory of Linux whose files are in memory. */
const MEMORY = '/dev/shm';
/** Memory that must be there for it, in bytes: a whole run writes less than a third. */
const ROOM_BYTES = 10 * 2 ** 30;

/**
 * Makes the directory of everything that the tests write. It is in memory where there is room, unless TMPDIR names
 * another place: MariaDB waits for a disk at each table, services at each file that they keep.
 */
export function makeWorkplace(): string {
  if (process.env['TMPDIR'] === undefined && hasRoom()) {
    const directory = mkdtempSync(join(MEMORY, 'platform-test-'));
    if (mayRunProgramsIn(directory)) return directory;
    rmSync(directory, { recursive: true });
  }
  return mkdtempSync(join(tmpdir(), 'platform-test-'));
}

/** Removes it with what failed tests left. A process that still writes there delays it, and a mount keeps it; the log says so. */
export function removeWorkplace(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  } catch (caught) {
    console.error(`${directory} could not be removed: ${String(caught)}`);
  }
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, process.availableMemory()) >= ROOM_BYTES;
  } catch {
    return false;
  }
}

/** Returns whether programs in a directory run: some tests start theirs there, and containers may forbid it. */
function mayRunProgramsIn(directory: string): boolean {
  const program = join(directory, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
  return spawnSync(program).status === 0;
}
