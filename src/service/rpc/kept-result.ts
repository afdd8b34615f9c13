import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

const deflate = promisify<Buffer, object, Buffer>(deflateRaw);

/** A shorter body gains nothing by compression. */
const SMALLEST_GZIP = 1_400;
/** Magic number, deflate, no flags, no time, no hint of the level, Unix. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);

/** Bytes of a result as they are sent, with their coding. */
export interface KeptBody {
  readonly bytes: Buffer;
  readonly coding: 'gzip' | 'identity';
}

/**
 * A result that many callers get: its JSON is made once, and compressed once. A single call is answered with these bytes; in a
 * batch it is an ordinary value.
 */
export class KeptResult<T = unknown> {
  readonly value: T;
  readonly #json: Buffer;
  #deflated: Promise<Buffer> | undefined;

  constructor(value: T) {
    this.value = value;
    this.#json = Buffer.from(JSON.stringify(value));
  }

  toJSON(): T {
    return this.value;
  }

  /** Its JSON. */
  get json(): Buffer {
    return this.#json;
  }

  /** Returns the result between two short texts. @param takesGzip whether the caller takes gzip */
  async between(before: string, after: string, takesGzip: boolean): Promise<KeptBody> {
    const parts = [Buffer.from(before), this.#json, Buffer.from(after)] as const;
    if (!takesGzip || this.#json.length < SMALLEST_GZIP) return { bytes: Buffer.concat(parts), coding: 'identity' };
    const [head, json, tail] = parts;
    this.#deflated ??= deflate(json, { finishFlush: constants.Z_SYNC_FLUSH });
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(crc32(tail, crc32(json, crc32(head))), 0);
    trailer.writeUInt32LE((head.length + json.length + tail.length) % 2 ** 32, 4);
    const bytes = [GZIP_HEADER, ...stored(head, false), await this.#deflated, ...stored(tail, true), trailer];
    return { bytes: Buffer.concat(bytes), coding: 'gzip' };
  }
}

const MOST_STORED = 65_535;

/** Returns deflate blocks that hold their bytes as they are. @see RFC 1951, section 3.2.4 */
function stored(bytes: Buffer, isLast: boolean): readonly Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += MOST_STORED) {
    const block = bytes.subarray(at, at + MOST_STORED);
    const head = Buffer.alloc(5);
    head.writeUInt8(isLast && at + MOST_STORED >= bytes.length ? 1 : 0, 0);
    head.writeUInt16LE(block.length, 1);
    head.writeUInt16LE(~block.length & 0xffff, 3);
    blocks.push(head, block);
  }
  return blocks;
}
