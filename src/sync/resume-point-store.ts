import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { DatabaseMark } from '../replication/source/reading/database-mark.ts';
import {
  advance,
  type Fork,
  isStep,
  type KeptWatch,
  type OlderChanges,
  type RecentBlock,
  type ResumePoint,
  type ResumeStep
} from '../replication/source/reading/resume-point.ts';
import { type DatabaseId, databaseKey } from '../wire/data/database.ts';
import { LivesSchema } from '../wire/data/messages.ts';
import { shapeOf } from '../wire/data/shape.ts';

const areLives = shapeOf(LivesSchema);

/** The first line of a file; the id says whose it is, because a file name cannot say it unambiguously. The other lines are steps. */
interface Entry {
  readonly id: DatabaseId;
  readonly point: ResumePoint;
}

/** End of each database's broadcasts, in memory and on disk: a successor continues there. */
export class ResumePointStore {
  readonly #directory: string;
  readonly #entries: Map<string, Entry>;
  /** By database, the steps that its file lacks; null: it must be written whole. */
  readonly #unwritten = new Map<string, ResumeStep[] | null>();
  #writing: Promise<void> = Promise.resolve();
  /** By database, how often a point could not be kept. */
  readonly #failures = new Map<string, number>();

  private constructor(directory: string, entries: Map<string, Entry>) {
    this.#directory = directory;
    this.#entries = entries;
  }

  /** Reads what an earlier process left. A file that cannot be read is named and counts as absent. */
  static async open(directory: string, log: Logger): Promise<ResumePointStore> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const entries = new Map<string, Entry>();
    for (const name of await readdir(directory)) {
      if (!name.endsWith('.json')) continue;
      try {
        const entry = readEntry(await readFile(join(directory, name), 'utf8'));
        entries.set(databaseKey(entry.id), entry);
      } catch (caught) {
        log.warn({ err: caught, file: name }, 'a resume point cannot be read; its database starts at the tip');
      }
    }
    return new ResumePointStore(directory, entries);
  }

  /** Returns the last resume point; null when nothing was ever broadcast, or the record of it is lost: then a source starts at the tip. */
  last(id: DatabaseId): ResumePoint | null {
    return this.#entries.get(databaseKey(id))?.point ?? null;
  }

  /**
   * Keeps a resume point: in memory at once, durable when the promise is fulfilled. A group that is broadcast only then
   * can never be broadcast again with later changes, which clients would skip.
   *
   * @param resume a point, or a step from the last kept one
   * @throws {PlatformError} STATE_UNWRITABLE when it could not be written: the last kept one stands
   */
  keep(id: DatabaseId, resume: ResumePoint | ResumeStep): Promise<void> {
    const key = databaseKey(id);
    const before = this.#entries.get(key);
    const steps = this.#unwritten.get(key);
    if (isStep(resume)) {
      const known = this.#entries.get(key);
      if (!known) throw new Error('a step needs a resume point before it');
      this.#entries.set(key, { id, point: advance(known.point, resume) });
      if (steps !== null) this.#unwritten.set(key, [...(steps ?? []), resume]);
    } else {
      this.#entries.set(key, { id, point: resume });
      this.#unwritten.set(key, null);
    }
    const failures = this.#failures.get(key) ?? 0;
    const written = this.#writing.then(async () => {
      // The point that this one follows could not be kept: this one went with it.
      if ((this.#failures.get(key) ?? 0) !== failures) throw this.#unwritable(key, 'the one before it was not kept');
      await this.#write(key, before);
    });
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** Waits until everything that was kept before is durable. */
  async close(): Promise<void> {
    await this.#writing;
  }

  /** Writes what waits of a database, with what was kept of it meanwhile, whose own turn then finds it written. */
  async #write(key: string, before: Entry | undefined): Promise<void> {
    const steps = this.#unwritten.get(key);
    if (steps === undefined) return;
    this.#unwritten.delete(key);
    try {
      // No line after a partial one could be read: rewrite the file.
      const isWritten = steps !== null && (await this.#append(key, steps));
      if (!isWritten) await this.#store(key, this.#entries.get(key)!);
    } catch (caught) {
      this.#unwritten.set(key, null);
      this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1);
      if (before) this.#entries.set(key, before);
      else this.#entries.delete(key);
      const { code, message } = caught as NodeJS.ErrnoException;
      throw this.#unwritable(key, code ?? message, caught);
    }
  }

  #unwritable(key: string, why: string, cause?: unknown): PlatformError {
    const reason = `the resume point of ${key} cannot be written to ${this.#directory}: ${why}`;
    return new PlatformError('STATE_UNWRITABLE', { reason }, { cause });
  }

  #path(key: string): string {
    return join(this.#directory, `${key.replaceAll('/', '.')}.json`);
  }

  /** Adds lines to a file that is there. @returns false when that failed */
  async #append(key: string, steps: readonly ResumeStep[]): Promise<boolean> {
    try {
      const file = await open(this.#path(key), constants.O_WRONLY | constants.O_APPEND);
      try {
        await file.writeFile(steps.map((step) => `${JSON.stringify(step)}\n`).join(''));
        await file.datasync();
      } finally {
        await file.close();
      }
      return true;
    } catch {
      return false;
    }
  }

  /** Stores an entry whole or not at all: the new file takes the old one's place when it is on disk. */
  async #store(key: string, entry: Entry): Promise<void> {
    const path = this.#path(key);
    const temporary = `${path}.new`;
    await rm(temporary, { force: true });
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(entry)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    const directory = await open(this.#directory, 'r');
    try {
      await directory.sync(); // the rename too must survive a power loss
    } finally {
      await directory.close();
    }
  }
}

/** Reads a point and the steps after it. A last line without an end was not durable, so nothing of it was broadcast. */
function readEntry(text: string): Entry {
  const lines = text.split('\n');
  // A file of an earlier version is one line without an end.
  const whole = lines.length === 1 ? lines : lines.slice(0, -1);
  const [entry, ...steps] = whole.map((line) => JSON.parse(line) as unknown) as [Entry, ...ResumeStep[]];
  const point = steps.reduce(advance, entry.point);
  if (!isPoint(point)) throw new Error('no resume point');
  return { id: entry.id, point };
}

/** Returns whether a value has the shape that this class writes; a file on disk may have been damaged since. */
function isPoint({
  of,
  height,
  hashes,
  recent,
  reorgs = 0,
  forks = [],
  lookupIds,
  watches = {},
  served = {},
  learned,
  lives = []
}: ResumePoint): boolean {
  const isRecord = (value: unknown) => typeof value === 'object' && value !== null;
  const isSpan = (span: unknown) => span === null || (Array.isArray(span) && span.every(Number.isSafeInteger));
  const areSpans = (spans: unknown) => Array.isArray(spans) && spans.every(isSpan);
  const isOlder = ({ spans, lastIdsBefore }: OlderChanges) =>
    isRecord(spans) && Object.values(spans).every(areSpans) && isRecord(lastIdsBefore);
  const isWatch = ({ from, lastId, shift, sums, pending }: KeptWatch) =>
    (from === null || Number.isSafeInteger(from)) &&
    [lastId, shift].every(Number.isSafeInteger) &&
    (sums === null || isRecord(sums)) &&
    areSpans(pending);
  const isId = (id: unknown) => Number.isInteger(id) || (typeof id === 'string' && /^-?\d{1,20}$/.test(id));
  const isBlock = ({ height: at, hashes: named, older, scoped = {}, within = 0, lookupsBefore = {} }: RecentBlock) =>
    [at, within].every(Number.isSafeInteger) &&
    [named, scoped, lookupsBefore].every(isRecord) &&
    Object.values(lookupsBefore).every(isId) &&
    Object.values(scoped).every(areSpans) &&
    (older === undefined || older === null || isOlder(older));
  const isFork = (reorg: Fork) => isRecord(reorg) && [reorg.fork, reorg.height].every(Number.isSafeInteger);
  const isMark = ({ place, samples }: DatabaseMark) =>
    typeof place === 'string' && samples.every(({ columns }) => Array.isArray(columns));
  return (
    (of === undefined || isMark(of)) &&
    [height, reorgs].every(Number.isSafeInteger) &&
    [hashes, lookupIds, watches, served].every(isRecord) &&
    Object.values(lookupIds).every(isId) &&
    Object.values(served).every(Array.isArray) &&
    Object.values(watches).every((watch) => isRecord(watch) && isWatch(watch)) &&
    (learned === undefined || (Number.isSafeInteger(learned.height) && typeof learned.id === 'string')) &&
    areLives.Check(lives) &&
    recent.every(isBlock) &&
    forks.every(isFork)
  );
}
