import { randomUUID } from 'node:crypto';
import type { FastifyPluginCallback } from 'fastify';
import manifest from '../../../package.json' with { type: 'json' };
import type { TracingConfig } from '../../config/tracing.ts';
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

/** Opens traces where the configuration wants them. @param name of the service where the configuration gives none */
async function openTracing(config: TracingConfig, name: string) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SERVICE_NAME: named } = config;
  if (endpoint === undefined || config.OTEL_SDK_DISABLED) return undefined;
  const tracing = await import('../../observe/tracing.ts');
  return tracing.openTracing({
    endpoint,
    headers: Object.fromEntries(config.OTEL_EXPORTER_OTLP_HEADERS ?? []),
    // Two processes of one name have instances of their own.
    resource: {
      'service.name': name,
      'service.version': manifest.version,
      'service.instance.id': randomUUID(),
      ...Object.fromEntries(config.OTEL_RESOURCE_ATTRIBUTES ?? []),
      ...(named === undefined ? {} : { 'service.name': named })
    },
    sampler: config.OTEL_TRACES_SAMPLER,
    ratio: config.OTEL_TRACES_SAMPLER_ARG ?? 1
  });
}

/**
 * Opens it. What makes traces is not even loaded where nobody takes them.
 *
 * @param service as traces name it, like `sync server`
 */
export async function openServiceBase(service: string, config: TracingConfig, metrics: Metrics): Promise<ServiceBase> {
  const { name, version } = manifest;
  metrics.tellBuild(version);
  const tracing = await openTracing(config, `${name} ${service}`);
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
