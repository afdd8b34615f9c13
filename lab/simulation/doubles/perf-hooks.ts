/** `node:perf_hooks` for threads whose loops never lag. */
export const monitorEventLoopDelay = () => ({ enable: () => true, reset: () => undefined, max: 0 });

/** Sees nothing: what the collector of garbage does is not simulated. */
export class PerformanceObserver {
  observe(): void {
    // There is nothing to be seen.
  }
  disconnect(): void {
    // Nor to be left.
  }
}

export const constants = { NODE_PERFORMANCE_GC_MAJOR: 4 };
