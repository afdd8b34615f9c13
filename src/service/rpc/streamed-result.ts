/** A part of a JSON text. */
export type Piece = string | Uint8Array;

/**
 * A long result whose JSON is made in parts. Each part is made when the caller has taken those before it, so that what is in
 * memory does not depend on how long the result is. A caller that leaves ends the making.
 *
 * What fails after the first part breaks the connection off, since half of the answer is sent: parts should fail before it.
 */
export class StreamedResult<T = unknown> {
  /** Type of the JSON value that the parts make together. */
  declare readonly type: T;
  readonly #parts: () => AsyncIterable<Piece>;

  /** @param parts pieces of one JSON text; called once */
  constructor(parts: () => AsyncIterable<Piece>) {
    this.#parts = parts;
  }

  /**
   * Streams a list, or an object that holds one.
   *
   * @param pages the rows of the list as JSON, some at a time, each with a comma before it; a page should be of some 48 KB
   * @param around JSON before and after the list, such as `{"rows":` and `,"watermark":1}`
   */
  static ofRows<T>(pages: () => AsyncIterable<Uint8Array>, around = { before: '', after: '' }): StreamedResult<T> {
    return new StreamedResult(async function* () {
      let isFirst = true;
      yield `${around.before}[`;
      for await (const rows of pages()) {
        yield isFirst ? rows.subarray(1) : rows;
        isFirst = false;
      }
      yield `]${around.after}`;
    });
  }

  /** Returns the pieces of its JSON, to be read once; each may be gone when the next is asked for. */
  pieces(): AsyncIterable<Piece> {
    return this.#parts();
  }
}
