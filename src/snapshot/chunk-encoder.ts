const CHUNK_CHARACTERS = 512 * 1024;

/** Gathers pieces of JSON text and hands them on as UTF-8 chunks of half a megabyte or more. */
export class ChunkEncoder {
  readonly #sink: (chunk: Buffer) => void;
  readonly #size: number;
  #pieces: string[] = [];
  #characters = 0;

  /** @param size characters that make a chunk full; one long piece makes a longer chunk */
  constructor(sink: (chunk: Buffer) => void, size = CHUNK_CHARACTERS) {
    this.#sink = sink;
    this.#size = size;
  }

  /** @returns true when this piece filled a chunk, which went to the sink */
  append(piece: string): boolean {
    this.#pieces.push(piece);
    this.#characters += piece.length;
    if (this.#characters < this.#size) return false;
    this.flush();
    return true;
  }

  flush(): void {
    if (this.#characters === 0) return;
    this.#sink(Buffer.from(this.#pieces.join(''), 'utf8'));
    this.#pieces = [];
    this.#characters = 0;
  }
}
