import { constants, createZstdCompress } from 'node:zlib';
import type { Append, Compressor } from './compressor.ts';

const OPTIONS = {
  chunkSize: 256 * 1024,
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 }
} as const;
/** Chunks that wait for the compressor. */
const MAX_WAITING = 2;

/**
 * Compresses chunks one after the other as ONE zstd frame: level 1 on one core outruns what reads the rows.
 *
 * Frames of chunks that were compressed apart could be laid side by side, but not every reader goes on after the first.
 */
export class ZstdCompressor implements Compressor {
  readonly #stream = createZstdCompress(OPTIONS);
  readonly #written: Promise<void>;
  #waiting = 0;
  #taken = Promise.withResolvers<void>();

  constructor(append: Append) {
    this.#written = this.#write(append);
    this.#written.catch((caught: Error) => this.#stream.destroy(caught)); // `ready` and `finish` report it
    this.#stream.on('error', () => this.#taken.resolve());
  }

  push(chunk: Buffer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting++;
    this.#stream.write(chunk, (fault) => {
      this.#waiting--;
      this.#taken.resolve();
      this.#taken = Promise.withResolvers();
      if (!fault) resolve();
    });
    return promise;
  }

  get ready(): Promise<void> | undefined {
    return this.#waiting < MAX_WAITING ? undefined : this.#whenReady();
  }

  async finish(): Promise<void> {
    this.#stream.end();
    await this.#written;
  }

  async #write(append: Append): Promise<void> {
    for await (const bytes of this.#stream) await append(bytes as Buffer);
  }

  async #whenReady(): Promise<void> {
    while (this.#waiting >= MAX_WAITING) await Promise.race([this.#taken.promise, this.#written]);
  }
}
