/**
 * A long result whose JSON is made in parts. Each part is made when the caller has taken those before it, so that what is in
 * memory does not depend on how long the result is. A caller that leaves ends the making.
 *
 * What fails after the first part breaks the connection off, since half of the answer is sent: parts should fail before it.
 */
export class StreamedResult<T = unknown> {
  /** What the parts are, together, as JSON. */
  declare readonly type: T;
  readonly #parts: () => AsyncIterable<string>;

  /** @param parts pieces of one JSON text; called once */
  constructor(parts: () => AsyncIterable<string>) {
    this.#parts = parts;
  }

  /**
   * A list, or what holds one.
   *
   * @param pages the rows of the list, some at a time; a page should be of some 100 KB
   * @param around JSON before and after the list, such as `{"rows":` and `,"watermark":1}`
   */
  static ofRows<T>(
    pages: () => AsyncIterable<readonly object[]>,
    around = { before: '', after: '' }
  ): StreamedResult<T> {
    return new StreamedResult(async function* () {
      let mark = `${around.before}[`;
      for await (const rows of pages()) {
        if (rows.length === 0) continue;
        yield mark + rows.map((row) => JSON.stringify(row)).join(',');
        mark = ',';
      }
      yield `${mark === ',' ? '' : mark}]${around.after}`;
    });
  }

  /** The pieces of its JSON, to be read once. */
  pieces(): AsyncIterable<string> {
    return this.#parts();
  }
}
