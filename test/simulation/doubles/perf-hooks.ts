/** `node:perf_hooks` for threads whose loops never lag. */
export const monitorEventLoopDelay = () => ({ enable: () => true, reset: () => undefined, max: 0 });
