import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';

/**
 * Pause between two looks at the event loop, in milliseconds. prom-client's own is 10: a service that has nothing to do would wake a
 * hundred times a second for it.
 */
const RESOLUTION_MS = 500;
/** prom-client's own looks, of which none is told. */
export const SELDOM_MS = 3_600_000;

/** Returns a statistic of delays, in nanoseconds. */
type Statistic = (delay: ReturnType<typeof monitorEventLoopDelay>) => number;
/** All of them by the word in their metrics' names. */
const STATISTICS: Readonly<Record<string, Statistic>> = {
  min: (delay) => delay.min,
  max: (delay) => delay.max,
  mean: (delay) => delay.mean,
  p50: (delay) => delay.percentile(50),
  p90: (delay) => delay.percentile(90),
  p99: (delay) => delay.percentile(99)
};
const nameOf = (statistic: string) => `nodejs_eventloop_lag_${statistic}_seconds`;

/**
 * Tells the delay of the event loop in place of prom-client's metrics, under their names, since the last look at them. A delay is what
 * comes on top of the pause: 0 where the loop is never late.
 */
export function describeEventLoop(registry: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  for (const statistic of [...Object.keys(STATISTICS), 'stddev']) registry.removeSingleMetric(nameOf(statistic));
  const read = (of: Statistic) => (delay.count === 0 ? 0 : Math.max(0, of(delay) / 1e6 - RESOLUTION_MS) / 1e3);
  const gauges: readonly { readonly of: Statistic; readonly gauge: Gauge }[] = Object.entries(STATISTICS).map(
    ([statistic, of], at) => {
      const collect = () => {
        if (at > 0) return; // one look tells all
        for (const [gauge, value] of gauges.map((each) => [each.gauge, read(each.of)] as const)) gauge.set(value);
        delay.reset();
      };
      const help = `delay of the main thread's event loop since the last look: ${statistic}`;
      return { of, gauge: new Gauge({ name: nameOf(statistic), help, registers: [registry], collect }) };
    }
  );
}
