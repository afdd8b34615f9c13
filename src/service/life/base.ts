import type { FastifyPluginCallback } from 'fastify';
import manifest from '../../../package.json' with { type: 'json' };
import type { Counters } from '../../observe/counters.ts';
import type { Metrics } from '../../observe/metrics/metrics.ts';
import { NO_TRACE, type Trace } from '../../observe/trace.ts';
import { readWebFiles } from '../../process/program.ts';
import { type ActorName, actorKey } from '../../wire/state/actor.ts';
import type { TimelineEntry } from '../../wire/state/timeline.ts';
import { type ConsoleFile, prepareConsoleFiles } from '../routes/console-files.ts';

/** Common parts of every service: version, console, metrics and traces. The frame takes it as it is. */
export interface ServiceBase {
  readonly version: string;
  readonly consoleFiles: ReadonlyMap<string, ConsoleFile>;
  readonly metrics: Metrics;
  readonly trace: Trace;
  /** A span for each request; undefined where nobody takes traces. */
  readonly tracing: FastifyPluginCallback | undefined;
  /** Options of the service's supervisor: they feed metrics and traces. */
  readonly observers: {
    onTimelineEvent(entry: TimelineEntry): void;
    onCounters(id: ActorName, counters: Counters): void;
  };
  /** Sends the traces that are left; bounded. */
  close(): Promise<void>;
}

/**
 * Opens it. What makes traces is not even loaded where nobody takes them.
 *
 * @param service as traces name it, like `sync server`
 * @param collector OTEL_EXPORTER_OTLP_ENDPOINT
 */
export async function openServiceBase(
  service: string,
  collector: string | undefined,
  metrics: Metrics
): Promise<ServiceBase> {
  const { name, version } = manifest;
  const traced = { name: `${name} ${service}`, version };
  const tracing = collector ? (await import('../../observe/tracing.ts')).openTracing(collector, traced) : undefined;
  return {
    version,
    consoleFiles: await prepareConsoleFiles(readWebFiles()),
    metrics,
    trace: tracing ?? NO_TRACE,
    tracing: tracing?.plugin,
    observers: {
      onTimelineEvent(entry) {
        metrics.note(entry);
        tracing?.note(entry);
      },
      onCounters(id, counters) {
        metrics.add(id, counters);
        for (const { facts, ...work } of counters.work)
          tracing?.record({ ...work, facts: { database: actorKey(id), ...facts } });
      }
    },
    close: async () => tracing?.close()
  };
}
