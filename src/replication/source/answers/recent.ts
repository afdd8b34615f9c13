/**
 * Wraps a read whose result is kept for a moment: later callers get it, and concurrent callers share the read.
 *
 * A failed read is forgotten at once.
 */
export function recent<T>(maxAgeMs: number, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly value: Promise<T>; readonly at: number } | undefined;
  return () => {
    if (last && performance.now() - last.at < maxAgeMs) return last.value;
    const value = read();
    const begun = { value, at: performance.now() };
    last = begun;
    value.catch(() => {
      if (last === begun) last = undefined;
    });
    return value;
  };
}
