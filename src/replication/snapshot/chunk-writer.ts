const CHUNK_BYTES = 2 ** 20;
/** Bytes at which a chunk is passed on; the rest of its buffer is room for the row that filled it. */
const FULL_BYTES = 0.75 * CHUNK_BYTES;

/** Gathers JSON text as UTF-8 and hands it on in chunks of most of a megabyte. */
export class ChunkWriter {
  readonly #sink: (chunk: Buffer) => Promise<void>;
  readonly #fullBytes: number;
  /** No more than were in flight at once. */
  readonly #spare: Buffer<ArrayBuffer>[] = [];
  /** The current chunk; a caller that has reserved room writes into it from `length` on. */
  bytes = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  length = 0;

  /**
   * @param sink fulfilled when the chunk's memory may be used again
   * @param fullBytes when a chunk is handed on; one long piece makes a longer chunk
   */
  constructor(sink: (chunk: Buffer) => Promise<void>, fullBytes = FULL_BYTES) {
    this.#sink = sink;
    this.#fullBytes = fullBytes;
  }

  /** Makes room for this many bytes. */
  reserve(size: number): void {
    if (this.length + size <= this.bytes.length) return;
    this.flush();
    if (size > this.bytes.length) this.bytes = Buffer.allocUnsafeSlow(size);
  }

  text(text: string): void {
    this.reserve(3 * text.length);
    this.length += this.bytes.write(text, this.length, 'utf8');
  }

  /** @returns true when a chunk was full and went to the sink */
  flushWhenFull(): boolean {
    if (this.length < this.#fullBytes) return false;
    this.flush();
    return true;
  }

  flush(): void {
    if (this.length === 0) return;
    const { bytes } = this;
    const reuse = () => void (bytes.length === CHUNK_BYTES && this.#spare.push(bytes));
    void this.#sink(bytes.subarray(0, this.length)).then(reuse);
    this.bytes = this.#spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
    this.length = 0;
  }
}
