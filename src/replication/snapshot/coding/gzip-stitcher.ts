import { availableParallelism } from 'node:os';
import { constants, crc32, createDeflateRaw } from 'node:zlib';
import type { Append, Compressor } from './compressor.ts';

/** Magic number, deflate, no flags, no time, fastest, unknown system. @see RFC 1952 section 2.3 */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
/** A final block that holds nothing but its end mark. @see RFC 1951 section 3.2.6 */
const LAST_BLOCK = Buffer.from([0x03, 0x00]);
/** A window of 8 KiB holds the rows before: a quarter less work than 32 KiB, and shorter distances make it smaller too. */
const OPTIONS = { level: 1, windowBits: 13, flush: constants.Z_FULL_FLUSH, chunkSize: 256 * 1024 } as const;

/** One compressor on libuv's pool. A full flush after each chunk makes chunks independent. */
class Deflater {
  readonly #stream = createDeflateRaw(OPTIONS);
  #out: Buffer[] = [];

  constructor() {
    this.#stream.on('data', (bytes: Buffer) => this.#out.push(bytes)).on('error', () => undefined); // `deflate` reports it
  }

  deflate(chunk: Buffer): Promise<Buffer[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer[]>();
    this.#stream.write(chunk, (fault) => {
      const rest = this.#stream.read() as Buffer | null;
      const out = rest === null ? this.#out : [...this.#out, rest];
      this.#out = [];
      if (fault) reject(fault);
      else resolve(out);
    });
    return promise;
  }

  close(): void {
    this.#stream.destroy();
  }
}

/**
 * Compresses chunks in parallel on libuv's pool and appends them, in order, as ONE gzip member.
 *
 * Each chunk becomes raw deflate blocks that end at a byte boundary and refer to nothing before them, so they can be
 * made apart and laid one after the other.
 */
export class GzipStitcher implements Compressor {
  readonly #append: Append;
  readonly #maxInFlight: number;
  readonly #idle: Deflater[] = [];
  #tail: Promise<void>;
  #inFlight = 0;
  #crc = 0;
  #length = 0;
  #landed = Promise.withResolvers<void>();

  constructor(append: Append, maxInFlight = availableParallelism() + 1) {
    this.#append = append;
    this.#maxInFlight = maxInFlight;
    this.#tail = append(HEADER);
  }

  push(chunk: Buffer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#crc = crc32(chunk, this.#crc);
    this.#length += chunk.length;
    this.#inFlight++;
    const deflater = this.#idle.pop() ?? new Deflater();
    const compressed = deflater.deflate(chunk).then((parts) => {
      this.#idle.push(deflater);
      resolve();
      return parts;
    });
    this.#tail = Promise.all([compressed, this.#tail]).then(async ([parts]) => {
      for (const part of parts) await this.#append(part);
      this.#inFlight--;
      this.#landed.resolve();
      this.#landed = Promise.withResolvers();
    });
    this.#tail.catch(() => undefined); // `ready` and `finish` report it
    return promise;
  }

  get ready(): Promise<void> | undefined {
    return this.#inFlight < this.#maxInFlight ? undefined : this.#whenReady();
  }

  async finish(): Promise<void> {
    await this.#tail;
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(this.#crc, 0);
    trailer.writeUInt32LE(this.#length % 2 ** 32, 4);
    await this.#append(Buffer.concat([LAST_BLOCK, trailer]));
    for (const deflater of this.#idle) deflater.close();
  }

  async #whenReady(): Promise<void> {
    while (this.#inFlight >= this.#maxInFlight) await Promise.race([this.#landed.promise, this.#tail]);
  }
}
