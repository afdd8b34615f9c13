import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';
import type { Append, Compressor } from './coding.ts';

const deflate = promisify(deflateRaw);

/** Magic number, deflate, no flags, no time, fastest, unknown system. @see RFC 1952 section 2.3 */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
/** A final block that holds nothing but its end mark. @see RFC 1951 section 3.2.6 */
const LAST_BLOCK = Buffer.from([0x03, 0x00]);
/** A window of 8 KiB holds the rows before: a quarter less work than 32 KiB, and shorter distances make it smaller too. */
const OPTIONS = { level: 1, windowBits: 13, finishFlush: constants.Z_FULL_FLUSH, chunkSize: 256 * 1024 } as const;

/**
 * Compresses chunks in parallel on libuv's pool and appends them, in order, as ONE gzip member.
 *
 * Each chunk becomes raw deflate blocks that end at a byte boundary and refer to nothing before them, so they can be
 * made apart and laid one after the other.
 */
export class GzipStitcher implements Compressor {
  readonly #write: Append;
  readonly #maxInFlight: number;
  #tail: Promise<void>;
  #inFlight = 0;
  #crc = 0;
  #length = 0;
  #landed = Promise.withResolvers<void>();

  constructor(write: Append, maxInFlight = availableParallelism() + 1) {
    this.#write = write;
    this.#maxInFlight = maxInFlight;
    this.#tail = write(HEADER);
  }

  push(chunk: Buffer): void {
    this.#crc = crc32(chunk, this.#crc);
    this.#length += chunk.length;
    this.#inFlight++;
    const compressed = deflate(chunk, OPTIONS);
    this.#tail = Promise.all([compressed, this.#tail]).then(async ([bytes]) => {
      await this.#write(bytes);
      this.#inFlight--;
      this.#landed.resolve();
      this.#landed = Promise.withResolvers();
    });
    this.#tail.catch(() => undefined); // told by `ready` and `finish`
  }

  get ready(): Promise<void> | undefined {
    return this.#inFlight < this.#maxInFlight ? undefined : this.#whenReady();
  }

  async finish(): Promise<void> {
    await this.#tail;
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(this.#crc, 0);
    trailer.writeUInt32LE(this.#length % 2 ** 32, 4);
    await this.#write(Buffer.concat([LAST_BLOCK, trailer]));
  }

  async #whenReady(): Promise<void> {
    while (this.#inFlight >= this.#maxInFlight) await Promise.race([this.#landed.promise, this.#tail]);
  }
}
