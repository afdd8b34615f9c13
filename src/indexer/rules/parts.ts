/** Work in parts, and its result. It yields after each part. */
export type Parts<T> = Generator<void, T>;

/**
 * Goes on with work for one part at least, until it is done or a time is over.
 *
 * @param until a time of performance.now()
 * @returns its result; undefined where parts are left
 */
export function runUntil<T>(work: Parts<T>, until: number): { readonly result: T } | undefined {
  for (;;) {
    const { done, value } = work.next();
    if (done) return { result: value };
    if (performance.now() >= until) return undefined;
  }
}
