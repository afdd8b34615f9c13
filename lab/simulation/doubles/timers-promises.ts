/** `node:timers/promises` in simulated time. */
export function setTimeout<T>(delayMs: number, value: T, { signal }: { signal?: AbortSignal } = {}): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const refuse = () => {
    clearTimeout(timer);
    reject(new DOMException('The operation was aborted', { name: 'AbortError', cause: signal?.reason }));
  };
  const timer = globalThis.setTimeout(() => {
    signal?.removeEventListener('abort', refuse);
    resolve(value);
  }, delayMs);
  if (signal?.aborted) refuse();
  else signal?.addEventListener('abort', refuse, { once: true });
  return promise;
}

/** A turn of the loop. */
export function setImmediate(): Promise<void> {
  return setTimeout(0, undefined);
}
