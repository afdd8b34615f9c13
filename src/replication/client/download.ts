import { EventEmitter, once } from 'node:events';
import { type FileHandle, mkdir, open, statfs, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../../errors.ts';
import { arrivalOf } from './arrival.ts';
import { discardDownload, type Receipt, readReceipt, writeReceipt } from './download-receipt.ts';
import { ACCEPT_SNAPSHOT, readSnapshotHead, type SnapshotHead, wholeNumber } from './snapshot-head.ts';
import type { SourceClient } from './source-client.ts';
import type { OpenResponse } from './source-connection.ts';

/** Consecutive attempts that bring no byte before a download gives up. */
const MAX_IDLE_ATTEMPTS = 6;
const RETRY_DELAY_MS = 500;
/** Less than this many bytes in this much time is a stall; the second one in a row ends the download. */
const STALL_MS = 30_000;
const STALL_BYTES = 16 * 1024;
const ATTEMPTS_OF_A_STALL = MAX_IDLE_ATTEMPTS / 2;
const READ_BYTES = 256 * 1024;
/** Left free on the disk. */
const DISK_RESERVE_BYTES = 64 * 2 ** 20;

/** A response whose bytes are being stored. */
interface Arriving {
  readonly response: OpenResponse;
  readonly bytes: AsyncIterable<Buffer>;
}

interface DownloadOptions {
  /** Default: the full snapshot. */
  readonly path?: string;
  /** Disk limit of a body of unknown length. */
  readonly expectedBytes?: number | undefined;
  readonly stallMs?: number;
  /** Called with the reason of each wait. */
  readonly onWait?: (waitMs: number, fault: PlatformError) => void;
}

/**
 * The body of a full snapshot on its way into a private file, readable while it grows.
 *
 * A cut is resumed where it happened (`Range` with `If-Range`), also after a restart of the process. A source that meanwhile
 * built another snapshot makes it start over; readers of the old one get SOURCE_TRUNCATED.
 */
export class Download {
  readonly head: SnapshotHead;
  readonly path: string;
  readonly #source: SourceClient;
  readonly #receipt: Receipt;
  readonly #options: DownloadOptions;
  readonly #aborter = new AbortController();
  readonly #progress = new EventEmitter();
  #size: number;
  #total: number | null;
  #state: 'running' | 'complete' | PlatformError;

  private constructor(source: SourceClient, path: string, receipt: Receipt, size: number, options: DownloadOptions) {
    this.#source = source;
    this.#options = options;
    this.path = path;
    this.#receipt = receipt;
    this.head = readSnapshotHead(receipt.headers, source.id.dbType);
    this.#size = size;
    this.#total = wholeNumber(receipt.headers['content-length']);
    this.#state = receipt.complete ? 'complete' : 'running';
    this.#progress.setMaxListeners(0);
  }

  /** Continues a predecessor's file, else begins. The first headers are in when this returns. */
  static async open(source: SourceClient, file: string, options: DownloadOptions = {}): Promise<Download> {
    const { path = source.modePath('snapshot'), expectedBytes = null } = options;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const kept = await readReceipt(file, source, path);
    if (kept) {
      const download = new Download(source, file, kept.receipt, kept.size, options);
      if (!kept.receipt.complete) void download.#run(null);
      return download;
    }
    await checkDisk(dirname(file), expectedBytes);
    const response = await source.get(path, ACCEPT_SNAPSHOT);
    if (response.status !== 200) return source.refuse(response, path);
    const bytes = arrivalOf(response.body);
    try {
      await checkDisk(dirname(file), wholeNumber(response.headers['content-length']));
      const receipt = { source: source.url, path, headers: response.headers, complete: false };
      const download = new Download(source, file, receipt, 0, options);
      await writeFile(file, '', { mode: 0o600 });
      await writeReceipt(file, receipt);
      void download.#run({ response, bytes });
      return download;
    } catch (caught) {
      response.body.destroy();
      throw caught;
    }
  }

  /** 0 to 100, or null while the length is not known. */
  get percent(): number | null {
    if (this.#state === 'complete') return 100;
    return this.#total === null ? null : Math.min(100, (100 * this.#size) / this.#total);
  }

  get sizeBytes(): number {
    return this.#size;
  }

  /** Yields the body from its first byte; waits for missing bytes. @throws the error that ended the download */
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

  /** Stops the download; the file stays, to be resumed. */
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

  async #run(first: Arriving | null): Promise<void> {
    let arriving = first;
    let file: FileHandle | undefined;
    try {
      file = await open(this.path, 'r+');
      for (let idle = 0; ; ) {
        const before = this.#size;
        const fault = await this.#receive(arriving, file).then(
          () => null,
          (caught: unknown) => PlatformError.from(caught, 'SOURCE_UNREACHABLE')
        );
        arriving = null;
        if (fault === null && this.#isComplete) {
          await file.datasync();
          await writeReceipt(this.path, { ...this.#receipt, complete: true });
          return this.#end('complete');
        }
        if (this.#aborter.signal.aborted) return;
        if (fault?.code === 'SOURCE_TRUNCATED') throw fault;
        if (fault && hasStalled(fault)) idle += ATTEMPTS_OF_A_STALL;
        else idle = this.#size > before ? 0 : idle + 1;
        if (idle >= MAX_IDLE_ATTEMPTS)
          throw fault ?? new PlatformError('SOURCE_TRUNCATED', { reason: 'the download makes no progress' });
        const retryAfterMs = 1000 * Number(fault?.detail['retryAfterS'] ?? 0);
        if (fault) this.#options.onWait?.(retryAfterMs, fault);
        const waitMs = Math.max(RETRY_DELAY_MS * Math.max(1, idle), retryAfterMs);
        await sleep(waitMs, undefined, { signal: this.#aborter.signal });
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
  async #receive(given: Arriving | null, file: FileHandle): Promise<void> {
    const arriving = given ?? (await this.#resume());
    if (arriving === null) return;
    const { response, bytes } = arriving;
    const { stallMs = STALL_MS } = this.#options;
    let seen = this.#size;
    const watch = setInterval(() => {
      const moved = this.#size - seen;
      seen = this.#size;
      const reason = `${this.#source.url} sent ${moved} bytes in ${stallMs} ms: the download has stalled`;
      if (moved < STALL_BYTES)
        response.body.destroy(
          new PlatformError('SOURCE_UNREACHABLE', { reason, source: this.#source.url, stalled: true })
        );
    }, stallMs);
    try {
      for await (const chunk of bytes) {
        if (this.#aborter.signal.aborted) break;
        await file.write(chunk, 0, chunk.length, this.#size);
        this.#size += chunk.length;
        this.#progress.emit('change');
      }
    } finally {
      clearInterval(watch);
    }
    this.#ended = response.status === 200;
  }

  /** @returns null when there is nothing more */
  async #resume(): Promise<Arriving | null> {
    const { path } = this.#receipt;
    const { etag } = this.head;
    if (etag === null && this.#size > 0)
      throw new PlatformError('SOURCE_TRUNCATED', {
        reason: 'the download was interrupted, and its source cannot resume it'
      });
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
    if (fits && same) return { response, bytes: arrivalOf(response.body) };
    if (response.status >= 400) return this.#source.refuse(response, path);
    response.body.on('error', () => undefined).destroy();
    await discardDownload(this.path);
    throw new PlatformError('SOURCE_TRUNCATED', {
      reason: 'the source has built another snapshot meanwhile',
      source: this.#source.url
    });
  }
}

const hasStalled = ({ detail }: PlatformError): boolean => detail['stalled'] === true;

async function checkDisk(directory: string, needed: number | null): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const free = bavail * bsize;
  if (free < (needed ?? 0) + DISK_RESERVE_BYTES) {
    throw new PlatformError('DISK_FULL', {
      reason: `${directory} has ${free} bytes free, the snapshot needs ${needed ?? 'more'}`
    });
  }
}
