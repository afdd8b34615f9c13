/** A position in bytes that advances with each read. Each method throws RangeError when it would pass the end. */
export class ByteCursor {
  readonly bytes: Buffer;
  offset = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Bytes after the position. */
  get left(): number {
    return this.bytes.length - this.offset;
  }

  skip(sizeBytes: number): void {
    if (sizeBytes > this.bytes.length - this.offset) {
      throw new RangeError(`${sizeBytes} bytes are announced at byte ${this.offset}, but only ${this.left} follow`);
    }
    this.offset += sizeBytes;
  }

  /** Returns a view of the next bytes. */
  take(sizeBytes: number): Buffer {
    this.skip(sizeBytes);
    return this.bytes.subarray(this.offset - sizeBytes, this.offset);
  }

  byte(): number {
    this.skip(1);
    return this.bytes[this.offset - 1]!;
  }

  uint32(): number {
    this.skip(4);
    return this.bytes.readUInt32LE(this.offset - 4);
  }

  /** Reads eight bytes, little-endian: the base units of an output. */
  uint64(): bigint {
    this.skip(8);
    return this.bytes.readBigUInt64LE(this.offset - 8);
  }

  /** Reads a number of one, three, five or nine bytes. Above 2^53 it is inexact, which is more than any block holds. */
  varInt(): number {
    const first = this.byte();
    if (first < 0xfd) return first;
    if (first === 0xfd) return this.byte() + this.byte() * 0x100;
    const low = this.uint32();
    return first === 0xfe ? low : low + this.uint32() * 2 ** 32;
  }

  /**
   * Reads the number of parts that follow.
   *
   * @param leastBytes least bytes of one part: a number that cannot fit is refused before any part is read
   */
  count(leastBytes: number): number {
    const count = this.varInt();
    if (count * leastBytes > this.left) {
      throw new RangeError(
        `${count} parts are announced before byte ${this.offset}, but only ${this.left} bytes follow`
      );
    }
    return count;
  }
}
