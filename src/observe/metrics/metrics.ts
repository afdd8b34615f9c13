import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ActorName } from '../../wire/state/actor.ts';
import type { TimelineEntry } from '../../wire/state/timeline.ts';
import { type Counters, takeCounters } from '../counters.ts';
import { describeActors, type MeasuredActor } from './actors.ts';
import { describeEventLoop, SELDOM_MS } from './event-loop.ts';
import { DATABASE, type DatabaseLabels, labelsOf, SECONDS } from './labels.ts';

/** The metrics that a service's frame reads and writes. */
export interface RequestMetrics {
  readonly contentType: string;
  /** Returns all metrics in the Prometheus text format. */
  render(): Promise<string>;
  /** Registers the metric of readiness. @param words all answers of `/readyz` @param read returns the present one */
  tellReadiness(words: readonly string[], read: () => string | Promise<string>): void;
  /** Counts a request that was not served. @param code of ERRORS, or the framework's */
  refused(code: string): void;
  /** Counts one answer. @param route the route's pattern, never the requested path */
  answered(route: string, method: string, status: number, seconds: number): void;
}

/** All metrics of a service, as `GET /metrics` shows them. */
export interface Metrics extends RequestMetrics {
  /** Counts an entry of an actor's timeline. */
  note(entry: TimelineEntry): void;
  /** Registers what runs. @param version of the program */
  tellBuild(version: string): void;
  /** Adds the counters of an actor's thread. */
  add(id: ActorName, counters: Counters): void;
}

/** Adds the counters of a thread; without labels, those of the main thread. */
export type TakeCounters = (labels: Partial<DatabaseLabels>, counters: Counters) => void;

/** A service with metrics. */
interface MeasuredService {
  /** First word of every metric's name: `sync`, `decoder`. */
  readonly service: string;
  actors(): readonly MeasuredActor[];
  /** Registers further metrics of this service. */
  readonly describe?: (registry: Registry) => TakeCounters;
}

/** Creates the metrics of a service. @see https://prometheus.io/docs/practices/naming/ */
export function createMetrics({ service, actors, describe }: MeasuredService): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: SELDOM_MS });
  describeEventLoop(registry);
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter<L>({ name: `${service}_${name}`, help, labelNames: [...labelNames], registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Histogram<L>({
      name: `${service}_${name}`,
      help,
      labelNames: [...labelNames],
      buckets: SECONDS,
      registers
    });

  let readReadiness = async (): Promise<Readonly<Record<string, number>>> => ({});
  new Gauge({
    name: `${service}_readiness`,
    help: '1 for the word that /readyz says',
    labelNames: ['state'],
    registers,
    async collect() {
      for (const [state, holds] of Object.entries(await readReadiness())) this.set({ state }, holds);
    }
  });
  describeActors(registry, service, actors);
  const takeOwn = describe?.(registry);

  const restarts = counter('actor_restarts_total', 'deaths of an actor, by cause', [...DATABASE, 'cause']);
  const transitions = counter('machine_transitions_total', 'changes of state, by machine', [...DATABASE, 'machine']);
  const blocks = counter('blocks_total', 'blocks sent (out) or applied (in)', [...DATABASE, 'direction']);
  const failedAsks = counter('actor_ask_failures_total', 'messages that were refused or failed', [...DATABASE, 'code']);
  const asks = histogram('actor_ask_seconds', 'time from a message to its reply', ['direction']);
  const requests = histogram('http_request_seconds', 'answers of the front door, by route and status', [
    'route',
    'method',
    'status'
  ]);
  const refusals = counter('refusals_total', 'requests that were refused or failed, by code', ['code']);
  const queries = histogram('query_seconds', 'statements at MariaDB, from sending to the end of the result', DATABASE);
  const gc = counter('actor_gc_seconds_total', 'garbage collection of the thread', DATABASE);
  const take: TakeCounters = (labels, counters) => {
    for (const ms of counters.queryMs) queries.observe(labels, ms / 1000);
    if (counters.counts.gcMs) gc.inc(labels, counters.counts.gcMs / 1000);
    takeOwn?.(labels, counters);
  };

  return {
    contentType: registry.contentType,
    render: () => {
      const own = takeCounters(); // of the main thread
      if (own) take({}, own);
      return registry.metrics();
    },
    tellBuild(version) {
      const build = { service, version, node: process.versions.node };
      const name = 'platform_build_info';
      new Gauge({ name, help: '1, with what runs', labelNames: Object.keys(build), registers }).set(build, 1);
    },
    tellReadiness: (words, read) => {
      readReadiness = async () => {
        const now = await read();
        return Object.fromEntries(words.map((word) => [word, Number(word === now)]));
      };
    },
    add: (id, counters) => take(labelsOf(id), counters),
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
