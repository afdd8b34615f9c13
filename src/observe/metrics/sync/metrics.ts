import { createMetrics, type Metrics } from '../metrics.ts';
import { describeCounters } from './counter-metrics.ts';
import { describeDatabases } from './databases.ts';
import type { MeasuredProcess } from './measured.ts';
import { describeProcess } from './process.ts';

/** Creates all metrics of sync's `GET /metrics`. */
export function createSyncMetrics(sources: MeasuredProcess): Metrics {
  return createMetrics({
    service: 'sync',
    actors: () => sources.databases(),
    describe: (registry) => {
      describeDatabases(registry, sources);
      describeProcess(registry, sources);
      return describeCounters(registry, sources.mode);
    }
  });
}
