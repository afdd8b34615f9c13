import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PlatformError } from '../errors.ts';

const LOCK = 'lock';
const HOLDER = 'lock.json';
/** Names of the files of a lock: who empties a locked directory leaves them. */
export const LOCK_FILES: readonly string[] = [LOCK, HOLDER];
/** `SQLITE_BUSY`: another process holds the lock. */
const BUSY = 5;
/** Held locks. A lock whose object is garbage-collected would be released. */
const HELD = new Set<DatabaseSync>();

/**
 * Locks a directory for this process, until `release` or the process's end of any kind.
 *
 * The kernel holds the lock, through SQLite, on an empty file that is never removed. No process id is judged: a killed
 * predecessor, a reused id, a restarted machine or another container cannot lead to two owners or none. The file beside
 * it only names the holder.
 *
 * @param variable the setting that names the directory, for the message
 * @param what a name for this process, such as `the sync server of port 3006`
 * @throws {PlatformError} STATE_LOCKED that names the other process, with its `what` as `holder`; STATE_UNUSABLE when
 *   files cannot be locked
 */
export function lockDirectory(directory: string, variable: string, what: string): { release(): void } {
  const path = join(directory, LOCK);
  let lock: DatabaseSync | undefined;
  try {
    // Any user who can read a file can lock it, so the file is private.
    closeSync(openSync(path, 'a', 0o600));
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec('PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE');
  } catch (caught) {
    lock?.close();
    const { errcode, message } = caught as { errcode?: number; message: string };
    if (errcode !== BUSY)
      throw new PlatformError(
        'STATE_UNUSABLE',
        { reason: `${variable}=${directory} cannot be locked: ${message}` },
        { cause: caught }
      );
    const holder = readHolder(directory);
    const reason = `${variable}=${directory} is in use by ${holder.name}: set ${variable} to a directory of its own for each process`;
    throw new PlatformError('STATE_LOCKED', { reason, holder: holder.what });
  }
  HELD.add(lock);
  const holder = { pid: process.pid, host: hostname(), what, since: new Date().toISOString() };
  writeFileSync(join(directory, HOLDER), JSON.stringify(holder), { mode: 0o600 });
  return {
    release() {
      rmSync(join(directory, HOLDER), { force: true });
      lock.close();
      HELD.delete(lock);
    }
  };
}

function readHolder(directory: string): { readonly name: string; readonly what?: string } {
  try {
    const found = JSON.parse(readFileSync(join(directory, HOLDER), 'utf8')) as Record<string, unknown>;
    const [host, what] = [found['host'], found['what']].map((text) => String(text).slice(0, 100));
    return { name: `process ${Number(found['pid'])} on ${host}`, what: what! };
  } catch {
    return { name: 'another process' }; // it has not written its name yet
  }
}
