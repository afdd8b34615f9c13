import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseMark } from '../../src/db/source/database-mark.ts';
import type { Fork, KeptWatch, OlderChanges, RecentBlock, ResumePoint } from '../../src/db/source/resume-point.ts';
import type { Logger } from '../../src/log.ts';
import { type DatabaseId, databaseKey } from '../../src/wire/database.ts';

/** What a file holds; the id says whose it is, because a file name cannot say it unambiguously. */
interface Entry {
  readonly id: DatabaseId;
  readonly point: ResumePoint;
}

/** Where each database's broadcasts ended, kept in memory and on disk: a successor continues there. */
export class ResumePointStore {
  readonly #directory: string;
  readonly #log: Logger;
  readonly #entries: Map<string, Entry>;
  readonly #unwritten = new Set<string>();
  #writing: Promise<void> = Promise.resolve();

  private constructor(directory: string, log: Logger, entries: Map<string, Entry>) {
    this.#directory = directory;
    this.#log = log;
    this.#entries = entries;
  }

  /** Reads what an earlier process left. A file that cannot be read is named and counts as absent. */
  static async open(directory: string, log: Logger): Promise<ResumePointStore> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const entries = new Map<string, Entry>();
    for (const name of await readdir(directory)) {
      if (!name.endsWith('.json')) continue;
      try {
        const entry = JSON.parse(await readFile(join(directory, name), 'utf8')) as Entry;
        if (!isPoint(entry.point)) throw new Error('no resume point');
        entries.set(databaseKey(entry.id), entry);
      } catch (caught) {
        log.warn({ err: caught, file: name }, 'a resume point cannot be read; its database starts at the tip');
      }
    }
    return new ResumePointStore(directory, log, entries);
  }

  /** Null when nothing was ever broadcast, or the record of it is lost: then a source starts at the tip. */
  last(id: DatabaseId): ResumePoint | null {
    return this.#entries.get(databaseKey(id))?.point ?? null;
  }

  /**
   * In memory at once; durable when it returns. What is broadcast only then can never be broadcast once more, with changes that
   * came since and that clients would pass over.
   */
  keep(id: DatabaseId, point: ResumePoint): Promise<void> {
    this.#entries.set(databaseKey(id), { id, point });
    this.#unwritten.add(databaseKey(id));
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** Everything kept before is durable when it returns. */
  async close(): Promise<void> {
    await this.#writing;
  }

  /** Points that were kept meanwhile go with it: their own turn finds them written. */
  async #write(): Promise<void> {
    for (const key of [...this.#unwritten]) {
      this.#unwritten.delete(key);
      try {
        await this.#store(key, this.#entries.get(key)!);
      } catch (caught) {
        this.#log.error({ err: caught }, `resume points cannot be written to ${this.#directory}`);
      }
    }
  }

  /** Whole or not at all: the new file takes the old one's place when it is on disk. */
  async #store(key: string, entry: Entry): Promise<void> {
    const path = join(this.#directory, `${key.replaceAll('/', '.')}.json`);
    const temporary = `${path}.new`;
    await rm(temporary, { force: true });
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(JSON.stringify(entry));
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

/** The shape of what this class wrote, whatever became of the file since. */
function isPoint({
  of,
  height,
  hashes,
  recent,
  reorgs = 0,
  forks = [],
  lookupIds,
  watches = {}
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
  const isBlock = ({ height: at, hashes: named, older, scoped = {}, within = 0 }: RecentBlock) =>
    [at, within].every(Number.isSafeInteger) &&
    [named, scoped].every(isRecord) &&
    Object.values(scoped).every(areSpans) &&
    (older === undefined || older === null || isOlder(older));
  const isFork = (reorg: Fork) => isRecord(reorg) && [reorg.fork, reorg.height].every(Number.isSafeInteger);
  const isMark = ({ place, samples }: DatabaseMark) =>
    typeof place === 'string' && samples.every(({ columns }) => Array.isArray(columns));
  return (
    (of === undefined || isMark(of)) &&
    [height, reorgs].every(Number.isSafeInteger) &&
    [hashes, lookupIds, watches].every(isRecord) &&
    Object.values(watches).every((watch) => isRecord(watch) && isWatch(watch)) &&
    recent.every(isBlock) &&
    forks.every(isFork)
  );
}
