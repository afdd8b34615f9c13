import { type FileHandle, open } from 'node:fs/promises';
import type { PlatformError } from '../../errors.ts';
import type { SnapshotCoding } from '../../wire/data/snapshot.ts';
import type { Reader } from './reader.ts';
import { type Block, SharedBlocks } from './shared-blocks.ts';

/** Response headers that the build's own read decided, by lower-case name. */
export type ArtifactHeaders = Readonly<Record<string, string>>;

const PREFETCHING_READERS = 4;

/**
 * One snapshot file: written by one build, read by any number of requests while it grows.
 *
 * Bytes that exist never change; once complete nothing does. The store that made it moves it on; the rest reads.
 */
export class Artifact {
  readonly buildId: string;
  readonly coding: SnapshotCoding;
  readonly path: string;
  /** Database and query: the content of the file, at any block. */
  readonly resource: string;
  /** Resource, coding and state of the database: equal keys may share the file. */
  readonly key: string;
  /** Time by `performance.now()`. */
  readonly createdAt = performance.now();
  #headers: ArtifactHeaders | undefined;
  #sizeBytes = 0;
  #completeAt: number | null = null;
  #error: PlatformError | undefined;
  /** Readings of the file that have not ended. */
  #readings = 0;
  /** Open for all of them. */
  #file: Promise<FileHandle> | undefined;
  readonly #readers = new Set<Reader>();
  readonly #onLeft: (last: Reader) => void;
  #changed = Promise.withResolvers<void>();
  readonly #blocks = new SharedBlocks(() => {
    this.#file ??= open(this.path, 'r');
    return this.#file;
  });

  constructor(options: {
    readonly buildId: string;
    readonly coding: SnapshotCoding;
    readonly path: string;
    readonly resource: string;
    readonly key: string;
    /** Called when its last reader has left. */
    readonly onLeft?: (last: Reader) => void;
  }) {
    this.buildId = options.buildId;
    this.coding = options.coding;
    this.path = options.path;
    this.resource = options.resource;
    this.key = options.key;
    this.#onLeft = options.onLeft ?? (() => undefined);
  }

  /** Strong: two builds at one height differ in bytes, and so do two codings. */
  get etag(): string {
    return `"${this.buildId}-${this.coding}"`;
  }
  get headers(): ArtifactHeaders {
    return this.#headers ?? {};
  }
  get sizeBytes(): number {
    return this.#sizeBytes;
  }
  get complete(): boolean {
    return this.#completeAt !== null;
  }
  /** On the clock of `performance.now()`; null while it grows. */
  get completeAt(): number | null {
    return this.#completeAt;
  }
  get error(): PlatformError | undefined {
    return this.#error;
  }
  /** Whether it is being built or read: such an artifact stays. */
  get inUse(): boolean {
    return this.#readers.size > 0 || this.#readings > 0 || (!this.complete && this.#error === undefined);
  }

  /** The callers that wait for it or read it. */
  get readers(): ReadonlySet<Reader> {
    return this.#readers;
  }

  enter(reader: Reader): void {
    this.#readers.add(reader);
  }

  leave(reader: Reader): void {
    if (!this.#readers.delete(reader) || this.#readers.size > 0) return;
    this.#notify();
    this.#onLeft(reader);
  }

  opened(headers: ArtifactHeaders): void {
    this.#headers ??= headers;
    this.#notify();
  }

  grew(sizeBytes: number): void {
    this.#sizeBytes = Math.max(this.#sizeBytes, sizeBytes);
    this.#notify();
  }

  finish(sizeBytes: number): void {
    this.#sizeBytes = sizeBytes;
    this.#completeAt = performance.now();
    this.#notify();
  }

  fail(error: PlatformError): void {
    this.#error = error;
    this.#notify();
  }

  /** Waits until the headers are known. @throws {PlatformError} the build's error */
  async whenOpened(): Promise<this> {
    while (this.#headers === undefined) await this.#nextChange();
    return this;
  }

  /** Waits until there are bytes beyond the offset or the file is complete. @throws {PlatformError} the build's error */
  async whenBeyond(offset: number): Promise<void> {
    while (this.#sizeBytes <= offset && !this.complete) await this.#nextChange();
  }

  /** Waits until it is neither built nor read. */
  async whenIdle(): Promise<void> {
    while (this.inUse) await this.#changed.promise;
  }

  /**
   * Yields the bytes from `start` to `end` inclusive; to the end of the finished file when `end` is null, waiting for
   * the build.
   *
   * The artifact stays until the generator has ended. A block's memory is used again when the next one is asked for.
   *
   * @throws {PlatformError} the build's error, however much was read
   */
  async *read(start: number, end: number | null): AsyncGenerator<Uint8Array> {
    this.#readings++;
    let block: Block | undefined;
    try {
      for (let position = start; end === null || position <= end; ) {
        await this.whenBeyond(position);
        const limit = Math.min(this.#sizeBytes, end === null ? Number.POSITIVE_INFINITY : end + 1);
        if (position >= limit) return;
        block = await this.#blocks.take(position, this.#sizeBytes - position);
        const bytes = block.bytes.subarray(0, limit - position);
        position += bytes.length;
        if (position < limit && this.#mayPrefetch) this.#blocks.prefetch(position, this.#sizeBytes - position);
        yield bytes;
        block.release();
        block = undefined;
      }
    } finally {
      block?.release();
      if (--this.#readings === 0) this.#close();
      this.#notify();
    }
  }

  /** Reads of a growing file take larger blocks later; with many readers, blocks would leave the cache before they come. */
  get #mayPrefetch(): boolean {
    return this.complete && this.#readings <= PREFETCHING_READERS;
  }

  #close(): void {
    void this.#file?.then((file) => file.close()).catch(() => undefined); // if it could not be opened, its readers know
    this.#file = undefined;
  }

  /** Waits for the next change. The store's watchdog fails a build that makes no progress, which bounds this wait. */
  async #nextChange(): Promise<void> {
    if (this.#error) throw this.#error;
    await this.#changed.promise;
    if (this.#error) throw this.#error;
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
