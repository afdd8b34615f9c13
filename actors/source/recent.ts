/**
 * A read whose result may be used for a moment: who asks meanwhile gets the same, and who asks at the same time shares the read.
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
