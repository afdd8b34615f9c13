import { EventEmitter, once } from 'node:events';
import { type FileHandle, mkdir, open, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../errors.ts';
import {
  ACCEPT_SNAPSHOT,
  type OpenResponse,
  readSnapshotHead,
  type SnapshotHead,
  type SourceClient
} from './source-client.ts';

/** Consecutive attempts that bring no byte before a download gives up. */
const MAX_IDLE_ATTEMPTS = 6;
const RETRY_DELAY_MS = 500;
const READ_BYTES = 256 * 1024;
/** Left free on the disk. */
const DISK_RESERVE_BYTES = 64 * 2 ** 20;

/** What is kept beside the file, so that a successor can resume it. */
interface Receipt {
  readonly source: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly complete: boolean;
}

/**
 * The body of a full snapshot on its way into a private file, readable while it grows.
 *
 * A cut is resumed where it happened (`Range` with `If-Range`), also after a restart of the process. A source that meanwhile
 * built another snapshot makes it start over; whoever reads the old one gets SOURCE_TRUNCATED.
 */
export class Download {
  readonly head: SnapshotHead;
  readonly path: string;
  readonly #source: SourceClient;
  readonly #receipt: Receipt;
  readonly #aborter = new AbortController();
  readonly #progress = new EventEmitter();
  #size: number;
  #total: number | null;
  #state: 'running' | 'complete' | PlatformError;

  private constructor(source: SourceClient, path: string, receipt: Receipt, size: number) {
    this.#source = source;
    this.path = path;
    this.#receipt = receipt;
    this.head = readSnapshotHead(receipt.headers, source.id.dbType);
    this.#size = size;
    this.#total = lengthOf(receipt.headers);
    this.#state = receipt.complete ? 'complete' : 'running';
    this.#progress.setMaxListeners(0);
  }

  /** Continues what a predecessor left in the file, else begins. The first headers are in when this returns. */
  static async open(source: SourceClient, file: string, path = source.modePath('snapshot')): Promise<Download> {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const kept = await readReceipt(file, source.url, path);
    if (kept) {
      const download = new Download(source, file, kept.receipt, kept.size);
      if (!kept.receipt.complete) void download.#run(null);
      return download;
    }
    const response = await source.get(path, ACCEPT_SNAPSHOT);
    if (response.status !== 200) return source.refuse(response, path);
    await checkDisk(dirname(file), lengthOf(response.headers));
    const receipt = { source: source.url, path, headers: response.headers, complete: false };
    await writeFile(file, '', { mode: 0o600 });
    const download = new Download(source, file, receipt, 0);
    await download.#writeReceipt(false);
    void download.#run(response);
    return download;
  }

  /** 0 to 100, or null while the length is not known. */
  get percent(): number | null {
    if (this.#state === 'complete') return 100;
    return this.#total === null ? null : Math.min(100, (100 * this.#size) / this.#total);
  }

  get sizeBytes(): number {
    return this.#size;
  }

  /** The body from its first byte; waits for what is not there yet. @throws what ended the download */
  async *read(): AsyncGenerator<Buffer> {
    const file = await open(this.path, 'r');
    try {
      for (let at = 0; ; ) {
        if (at < this.#size) {
          const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, this.#size - at));
          const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
          if (bytesRead === 0)
            throw new PlatformError('SOURCE_TRUNCATED', { reason: `${this.path} is shorter than what was written` });
          at += bytesRead;
          yield buffer.subarray(0, bytesRead);
        } else if (this.#state === 'complete') return;
        else if (this.#state === 'running') await once(this.#progress, 'change');
        else throw this.#state;
      }
    } finally {
      await file.close();
    }
  }

  /** Stops; the file stays, to be resumed. */
  abort(): void {
    this.#aborter.abort();
    this.#end(new PlatformError('SOURCE_TRUNCATED', { reason: 'the download was stopped' }));
  }

  /** Removes the file: it is loaded, or of no use. */
  async discard(): Promise<void> {
    this.abort();
    await discardDownload(this.path);
  }

  #end(state: 'complete' | PlatformError): void {
    if (this.#state === 'running') this.#state = state;
    this.#progress.emit('change');
  }

  async #run(first: OpenResponse | null): Promise<void> {
    let response = first;
    let file: FileHandle | undefined;
    try {
      file = await open(this.path, 'r+');
      for (let idle = 0; ; ) {
        const before = this.#size;
        const fault = await this.#receive(response, file).then(
          () => null,
          (caught: unknown) => PlatformError.from(caught, 'SOURCE_UNREACHABLE')
        );
        response = null;
        if (fault === null && this.#isComplete) {
          await file.datasync();
          await this.#writeReceipt(true);
          return this.#end('complete');
        }
        if (this.#aborter.signal.aborted) return;
        if (fault?.code === 'SOURCE_TRUNCATED') throw fault;
        idle = this.#size > before ? 0 : idle + 1;
        if (idle >= MAX_IDLE_ATTEMPTS)
          throw fault ?? new PlatformError('SOURCE_TRUNCATED', { reason: 'the download makes no progress' });
        await sleep(RETRY_DELAY_MS * Math.max(1, idle), undefined, { signal: this.#aborter.signal });
      }
    } catch (caught) {
      this.#end(PlatformError.from(caught, 'SOURCE_UNREACHABLE'));
    } finally {
      await file?.close();
    }
  }

  #ended = false;
  get #isComplete(): boolean {
    return this.#total === null ? this.#ended : this.#size >= this.#total;
  }

  /** Takes one response to its end, asking for the rest of the file when there is none yet. */
  async #receive(given: OpenResponse | null, file: FileHandle): Promise<void> {
    const response = given ?? (await this.#resume());
    if (response === null) return;
    for await (const chunk of response.body as AsyncIterable<Buffer>) {
      if (this.#aborter.signal.aborted) break;
      await file.write(chunk, 0, chunk.length, this.#size);
      this.#size += chunk.length;
      this.#progress.emit('change');
    }
    this.#ended = response.status === 200;
  }

  /** @returns null when there is nothing more */
  async #resume(): Promise<OpenResponse | null> {
    const { path } = this.#receipt;
    const { etag } = this.head;
    if (etag === null && this.#size > 0)
      throw new PlatformError('SOURCE_TRUNCATED', { reason: 'the download broke, and its source cannot resume it' });
    const headers =
      this.#size === 0 ? ACCEPT_SNAPSHOT : { ...ACCEPT_SNAPSHOT, range: `bytes=${this.#size}-`, 'if-range': etag! };
    const response = await this.#source.get(path, headers, this.#aborter.signal);
    const [, from, total] = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(response.headers['content-range'] ?? '') ?? [];
    if (total !== undefined && total !== '*') this.#total = Number(total);
    const same = etag === null || response.headers['etag'] === undefined || response.headers['etag'] === etag;
    if (response.status === 416 && same && this.#total !== null) {
      await response.body.dump();
      return null;
    }
    const fits = response.status === 206 ? Number(from) === this.#size : response.status === 200 && this.#size === 0;
    if (fits && same) return response;
    if (response.status >= 400) return this.#source.refuse(response, path);
    response.body.on('error', () => undefined).destroy();
    await discardDownload(this.path);
    throw new PlatformError('SOURCE_TRUNCATED', {
      reason: 'the source has built another snapshot meanwhile',
      source: this.#source.url
    });
  }

  async #writeReceipt(complete: boolean): Promise<void> {
    await writeFile(receiptPath(this.path), JSON.stringify({ ...this.#receipt, complete }), { mode: 0o600 });
  }
}

/** Removes a download and its receipt, whoever made it. */
export async function discardDownload(file: string): Promise<void> {
  await rm(receiptPath(file), { force: true });
  await rm(file, { force: true });
}

const receiptPath = (file: string): string => `${file}.json`;

/** What a predecessor left, when it can be resumed: same source, strong tag. */
async function readReceipt(
  file: string,
  source: string,
  path: string
): Promise<{ receipt: Receipt; size: number } | null> {
  try {
    const receipt = JSON.parse(await readFile(receiptPath(file), 'utf8')) as Receipt;
    const { size } = await stat(file);
    const usable = receipt.source === source && receipt.path === path && /^"/.test(receipt.headers['etag'] ?? '');
    return usable && (size > 0 || !receipt.complete) ? { receipt, size } : null;
  } catch {
    return null; // nothing there, or half-written: it is fetched anew
  }
}

function lengthOf(headers: Readonly<Record<string, string>>): number | null {
  const length = headers['content-length'];
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : null;
}

async function checkDisk(directory: string, needed: number | null): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const free = bavail * bsize;
  if (free < (needed ?? 0) + DISK_RESERVE_BYTES) {
    throw new PlatformError('DISK_FULL', {
      reason: `${directory} has ${free} bytes free, the snapshot needs ${needed ?? 'more'}`
    });
  }
}
