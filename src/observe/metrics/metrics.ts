import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { TimelineEntry } from '../../../actors/runtime/timeline.ts';
import type { DatabaseId } from '../../wire/database.ts';
import { type Counters, takeCounters } from '../counters.ts';
import { describeTallies } from './counter-metrics.ts';
import { describeDatabases } from './databases.ts';
import { DATABASE, labelsOf, SECONDS } from './labels.ts';
import type { MeasuredProcess } from './measured.ts';
import { describeProcess } from './process.ts';

/** Everything that `GET /metrics` tells. */
export interface Metrics {
  readonly contentType: string;
  /** In the Prometheus text format. */
  render(): Promise<string>;
  /** Counts what happened to an actor. */
  note(entry: TimelineEntry): void;
  /** Adds what an actor's thread counted. */
  add(id: DatabaseId, counters: Counters): void;
  /** Counts a request that was not served. @param code of ERRORS, or the framework's */
  refused(code: string): void;
  /** Counts one answer of the front door. @param route the route's pattern, never the path that was asked for */
  answered(route: string, method: string, status: number, seconds: number): void;
}

/** @see https://prometheus.io/docs/practices/naming/ */
export function createMetrics(sources: MeasuredProcess): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter<L>({ name, help, labelNames: [...labelNames], registers });

  describeDatabases(registry, sources);
  describeProcess(registry, sources);

  const restarts = counter('sync_actor_restarts_total', 'deaths of an actor, by cause', [...DATABASE, 'cause']);
  const transitions = counter('sync_machine_transitions_total', 'changes of state, by machine', [
    ...DATABASE,
    'machine'
  ]);
  const blocks = counter('sync_blocks_total', 'blocks sent (out) or applied (in)', [...DATABASE, 'direction']);
  const failedAsks = counter('sync_actor_ask_failures_total', 'messages that were refused or failed', [
    ...DATABASE,
    'code'
  ]);
  const asks = new Histogram({
    name: 'sync_actor_ask_seconds',
    help: 'time from a message to its reply',
    labelNames: ['direction'],
    buckets: SECONDS,
    registers
  });
  const requests = new Histogram({
    name: 'sync_http_request_seconds',
    help: 'answers of the front door, by route and status',
    labelNames: ['route', 'method', 'status'],
    buckets: SECONDS,
    registers
  });

  const refusals = counter('sync_refusals_total', 'requests that were refused or failed, by code', ['code']);
  const counted = describeTallies(registry, sources.mode);

  return {
    contentType: registry.contentType,
    render: () => {
      counted({}, takeCounters()); // the main thread's own
      return registry.metrics();
    },
    add: (id, counters) => counted(labelsOf(id), counters),
    refused: (code) => refusals.inc({ code }),
    answered: (route, method, status, seconds) => requests.observe({ route, method, status }, seconds),
    note(entry) {
      const labels = labelsOf(entry.actor);
      if (entry.kind === 'death') restarts.inc({ ...labels, cause: entry.cause });
      else if (entry.kind === 'transition') transitions.inc({ ...labels, machine: entry.machine });
      else if (entry.kind === 'blocks')
        blocks.inc({ ...labels, direction: entry.direction }, entry.last - entry.first + 1);
      else if (entry.kind === 'message') {
        asks.observe({ direction: entry.direction }, entry.ms / 1000);
        if (entry.error) failedAsks.inc({ ...labels, code: entry.error });
      }
    }
  };
}
