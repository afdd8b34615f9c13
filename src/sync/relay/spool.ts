import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordHead, RelayRecord } from './record.ts';

/** Bytes after which a new file is begun; files that the stream has whole are removed. */
const FILE_BYTES = 32 * 2 ** 20;
/** Two 32-bit lengths before each record: of its head and of its body. */
const LENGTHS = 8;

interface Entry {
  readonly head: RecordHead;
  /** Offset of its body in its file. */
  readonly at: number;
}

/** One file: records from position `first` on, without a gap. */
interface Segment {
  readonly first: number;
  readonly path: string;
  readonly file: FileHandle;
  readonly entries: Entry[];
  sizeBytes: number;
}

/**
 * The messages of one database that are broadcast and may not be in the stream yet, on disk and in order.
 *
 * Positions count from 1 and are never used twice; together with `publisher`, a random name that is kept beside the files, they name
 * a record. The last record stays, so that a successor knows what was spooled last. One caller at a time may change it.
 */
export class Spool {
  readonly publisher: string;
  readonly #directory: string;
  #segments: Segment[];
  #next: number;
  #acknowledged = 0;

  private constructor(directory: string, publisher: string, segments: Segment[]) {
    this.#directory = directory;
    this.publisher = publisher;
    this.#segments = segments;
    const last = segments.at(-1);
    this.#next = last ? endOf(last) : 1;
  }

  /** Reads what an earlier process left; a record that was not written whole is cut off, with those behind it. */
  static async open(directory: string): Promise<Spool> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const publisher = await readPublisher(join(directory, 'publisher'));
    const numbers = (await readdir(directory))
      .filter((name) => /^\d+\.spool$/.test(name))
      .map((name) => Number.parseInt(name, 10))
      .sort((a, b) => a - b);
    let segments: Segment[] = [];
    for (const first of numbers) {
      const segment = await readSegment(directory, first);
      const before = segments.at(-1);
      if (before && endOf(before) !== first) {
        await Promise.all(segments.map(remove)); // what lies behind a gap is all that can follow
        segments = [];
      }
      segments.push(segment);
    }
    return new Spool(directory, publisher, segments);
  }

  /** Position of the oldest record that is there; equal to `next` when none is. */
  get first(): number {
    return this.#segments[0]?.first ?? this.#next;
  }

  /** Position of the next record that is appended. */
  get next(): number {
    return this.#next;
  }

  /** The last record; undefined when there is none. */
  get last(): RecordHead | undefined {
    return this.#segments.at(-1)?.entries.at(-1)?.head;
  }

  /** Whether the oldest record says where it continues, and needs none before it. */
  get beginsWithBreak(): boolean {
    return this.#segments[0]?.entries[0]?.head.type === 'break';
  }

  /** Records and bytes that the stream has not acknowledged. */
  get waiting(): { readonly records: number; readonly bytes: number } {
    const from = Math.max(this.first, this.#acknowledged + 1);
    let bytes = 0;
    for (const { first, entries } of this.#segments)
      for (const { head } of entries.slice(Math.max(0, from - first))) bytes += head.size;
    return { records: this.next - from, bytes };
  }

  /**
   * Finds records with these bodies, one after the other; only points may stand between them.
   *
   * @param hashes SHA-256 in hex, oldest first
   * @returns the position of the last; null when they are not here, or more than once: a branch that came back has equal bytes
   */
  find(hashes: readonly string[]): number | null {
    if (hashes.length === 0) return null;
    const seen = this.#segments.flatMap(({ first, entries }) =>
      entries.flatMap(({ head: { type, sha256 } }, index) => (type === 'point' ? [] : [{ sha256, at: first + index }]))
    );
    const ends = seen.filter((_, last) =>
      hashes.every((hash, index) => seen[last + 1 - hashes.length + index]?.sha256 === hash)
    );
    return ends.length === 1 ? ends[0]!.at : null;
  }

  /**
   * Returns whether what follows a message of the stream is here. A directory that was restored gives its positions to other messages;
   * a `point` may be one by which the stream was taken over.
   */
  mayHave({ position, type, sha256 }: Pick<RecordHead, 'type' | 'sha256'> & { readonly position: number }): boolean {
    if (position + 1 < this.first || position >= this.next) return false;
    const head = this.#find(position)?.entry.head;
    return head === undefined || type === 'point' || head.sha256 === sha256;
  }

  /** Adds records; durable when it returns. After an error only `restart` may follow. */
  async append(records: readonly RelayRecord[]): Promise<void> {
    const before = this.#segments.at(-1);
    const segment = before && before.sizeBytes < FILE_BYTES ? before : await create(this.#directory, this.next);
    const parts: Uint8Array[] = [];
    const entries: Entry[] = [];
    let end = segment.sizeBytes;
    for (const { head, body } of records) {
      const text = Buffer.from(JSON.stringify(head));
      const lengths = Buffer.alloc(LENGTHS);
      lengths.writeUInt32LE(text.length, 0);
      lengths.writeUInt32LE(body.length, 4);
      parts.push(lengths, text, body);
      entries.push({ head, at: end + LENGTHS + text.length });
      end += LENGTHS + text.length + body.length;
    }
    for (const part of parts) if (part.length > 0) await writeAll(segment.file, part);
    await segment.file.datasync();
    for (const entry of entries) segment.entries.push(entry);
    segment.sizeBytes = end;
    if (segment !== before) this.#segments.push(segment);
    this.#next = endOf(segment);
  }

  /** Drops every record and begins with this one, under the next position, which a file keeps at every moment. */
  async restart(record: RelayRecord): Promise<void> {
    const begun = await create(this.#directory, this.next);
    const dropped = this.#segments;
    this.#segments = [begun];
    await Promise.all(dropped.map((each) => (each.path === begun.path ? each.file.close() : remove(each))));
    await this.append([record]);
  }

  /** Notes that the stream has all records up to this position. */
  async forget(position: number): Promise<void> {
    this.#acknowledged = Math.max(this.#acknowledged, position);
    while (this.#segments.length > 1 && endOf(this.#segments[0]!) <= this.#acknowledged + 1)
      await remove(this.#segments.shift()!);
  }

  /** @throws {Error} when it is not there, or is not what was written */
  async read(position: number): Promise<RelayRecord> {
    const found = this.#find(position);
    if (!found) throw new Error(`record ${position} is not in the spool`);
    const { segment, entry } = found;
    const body = Buffer.alloc(entry.head.size);
    await segment.file.read(body, 0, body.length, entry.at);
    const { head } = entry;
    if (createHash('sha256').update(body).digest('hex') !== head.sha256)
      throw new DamagedSpool(`record ${position} is not what was written to ${segment.path}`);
    return { head, body };
  }

  #find(position: number): { readonly segment: Segment; readonly entry: Entry } | undefined {
    const segment = this.#segments.find((each) => position >= each.first && position < endOf(each));
    const entry = segment?.entries[position - segment.first];
    return segment && entry && { segment, entry };
  }

  async close(): Promise<void> {
    await Promise.all(this.#segments.map(({ file }) => file.close()));
    this.#segments = [];
  }
}

/** The files are not what was written. */
export class DamagedSpool extends Error {}

async function readPublisher(path: string): Promise<string> {
  const known = await readFile(path, 'utf8').catch(() => '');
  if (/^[0-9a-f]{16}$/.test(known)) return known;
  const made = randomBytes(8).toString('hex');
  await writeFile(path, made, { mode: 0o600, flush: true });
  return made;
}

function endOf({ first, entries }: Segment): number {
  return first + entries.length;
}

async function create(directory: string, first: number): Promise<Segment> {
  const path = join(directory, `${first}.spool`);
  return { first, path, file: await open(path, 'w+', 0o600), entries: [], sizeBytes: 0 };
}

async function remove({ file, path }: Segment): Promise<void> {
  await file.close().catch(() => undefined); // closed or not, it goes
  await rm(path, { force: true });
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

async function readSegment(directory: string, first: number): Promise<Segment> {
  const path = join(directory, `${first}.spool`);
  const file = await open(path, 'r+');
  const { size } = await file.stat();
  const entries: Entry[] = [];
  let end = 0;
  for (let found = await readEntry(file, end, size); found; found = await readEntry(file, end, size)) {
    entries.push(found);
    end = found.at + found.head.size;
  }
  await file.truncate(end);
  await file.close();
  // Appended to where it ends, whatever was read.
  return { first, path, file: await open(path, 'a+', 0o600), entries, sizeBytes: end };
}

async function readEntry(file: FileHandle, at: number, size: number): Promise<Entry | null> {
  if (at + LENGTHS > size) return null;
  const lengths = Buffer.alloc(LENGTHS);
  await file.read(lengths, 0, LENGTHS, at);
  const [headBytes, bodyBytes] = [lengths.readUInt32LE(0), lengths.readUInt32LE(4)];
  const body = at + LENGTHS + headBytes;
  if (body + bodyBytes > size) return null;
  const text = Buffer.alloc(headBytes);
  await file.read(text, 0, headBytes, at + LENGTHS);
  try {
    const head = JSON.parse(text.toString()) as RecordHead;
    return head.size === bodyBytes ? { head, at: body } : null;
  } catch {
    return null;
  }
}
