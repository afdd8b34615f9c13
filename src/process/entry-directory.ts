import { createHash } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isMainThread, threadId } from 'node:worker_threads';
import { environment } from '../config/environment.ts';
import { PlatformError } from '../errors.ts';

/** Variable that names the directory which a process shares with its children. */
export const SHARED_DIRECTORY = 'PLATFORM_NODE_ENTRIES';

const OWNER = process.getuid?.() ?? 0;
const PREFIX = `platform-node-${OWNER}-`;
/** Interval at which files are touched: programs that clean /tmp delete files that were not touched for days. */
const TOUCH_INTERVAL_MS = 3_600_000;
/** Age from which an untouched directory counts as abandoned. */
const FORGOTTEN_MS = 24 * TOUCH_INTERVAL_MS;

/**
 * Makes a private directory (0700) in the system's temporary one. It is removed when the process ends. When process and
 * guardian were killed together, a start a day later removes it.
 *
 * @throws {PlatformError} TEMP_UNUSABLE
 */
export function makePrivateDirectory(): string {
  try {
    removeForgotten();
    const directory = mkdtempSync(join(tmpdir(), PREFIX));
    process.once('exit', () => remove(directory)); // in a thread: when the thread ends
    setInterval(() => touch(directory), TOUCH_INTERVAL_MS).unref();
    return directory;
  } catch (caught) {
    throw unusable(`no directory can be made in ${tmpdir()}: ${(caught as Error).message}`, caught);
  }
}

/** A file from which a thread starts, or that such a file loads. */
export interface Entry {
  /** SHA-256 of the file, hex. */
  readonly sha256: string;
  /** Entries that it imports. */
  readonly loads: readonly string[];
}

/** The private directory from which threads start: the parent process's if it shares one, else an own one. */
export class EntryDirectory {
  readonly #entries: Readonly<Record<string, Entry>>;
  readonly #read: (entry: string) => Uint8Array;
  readonly #placed = new Set<string>();
  #path: string | undefined;

  /** @param read returns the bytes of an entry */
  constructor(entries: Readonly<Record<string, Entry>>, read: (entry: string) => Uint8Array) {
    this.#entries = entries;
    this.#read = read;
  }

  /**
   * Writes an entry and all that it loads, unless they are there.
   *
   * @returns its path
   * @throws {PlatformError} TEMP_UNUSABLE
   */
  place(entry: string): string {
    const shared = environment[SHARED_DIRECTORY];
    this.#path ??= shared === undefined ? makePrivateDirectory() : adopt(shared);
    const wanted = new Set([entry]);
    for (const each of wanted) for (const loaded of this.#entries[each]!.loads) wanted.add(loaded); // those too
    try {
      for (const each of wanted.difference(this.#placed)) {
        place(join(this.#path, each), this.#entries[each]!.sha256, () => this.#read(each));
        this.#placed.add(each);
      }
    } catch (caught) {
      if (caught instanceof PlatformError) throw caught;
      throw unusable(`${this.#path} cannot be written to: ${(caught as Error).message}`, caught);
    }
    return join(this.#path, entry);
  }
}

/** Uses the parent's directory. The parent removes it, unless it ends first. */
function adopt(directory: string): string {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (!found?.isDirectory() || found.uid !== OWNER || (found.mode & 0o077) !== 0)
    throw unusable(`${SHARED_DIRECTORY}=${directory} is not a private directory of this user`);
  // A thread ends before its process does.
  if (isMainThread)
    process.once('exit', () => {
      if (!process.connected) remove(directory);
    });
  return directory;
}

/** Writes a file under its name as a whole: another process may write the same file. */
function place(path: string, digest: string, read: () => Uint8Array): void {
  if (digestOf(path) === digest) return;
  const draft = `${path}.${process.pid}-${threadId}`;
  rmSync(draft, { force: true });
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(draft, read(), { flag: 'wx', mode: 0o400 });
  if (digestOf(draft) !== digest) throw unusable(`${draft} does not hold what was written to it`);
  renameSync(draft, path);
}

function digestOf(path: string): string | undefined {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) return undefined;
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function removeForgotten(): void {
  const oldest = Date.now() - FORGOTTEN_MS;
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const path = join(tmpdir(), name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() && found.uid === OWNER && found.mtimeMs < oldest) remove(path);
  }
}

function remove(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}

function touch(directory: string): void {
  const now = new Date();
  try {
    for (const path of ['', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })])
      utimesSync(join(directory, path), now, now);
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') throw caught; // a deleted file cannot be touched
  }
}

function unusable(reason: string, cause?: unknown): PlatformError {
  return new PlatformError('TEMP_UNUSABLE', { reason }, { cause });
}
