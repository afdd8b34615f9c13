import { FastifyOtelInstrumentation } from '@fastify/otel';
import { type Attributes, context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider
} from '@opentelemetry/sdk-trace';
import type { FastifyPluginCallback } from 'fastify';
import { type ActorName, actorKey } from '../wire/state/actor.ts';
import type { SpanRecord } from './counters.ts';
import type { SpanAttributes, Trace } from './trace.ts';

const EXPORT_EVERY_MS = 1_000;
const EXPORT_TIMEOUT_MS = 3_000;
/** Requests that probes and the console send all the time. `POST /` is JSON-RPC. */
const UNTRACED = /^GET \/(?:livez|readyz|health|metrics|debug\/live|console\/.*|subscribe\/.*)?$/;
/** States of a replica that are traced as work, by the first word of their name. */
const REPLICA_WORK = new Set(['bootstrapping', 'catchingUp', 'verifying', 'rollingBack', 'reconciling']);

/** An entry of an actor's timeline that becomes spans: a transition of a machine, or a death. */
type TracedEntry = { readonly actor: ActorName; readonly at: number } & (
  | { readonly kind: 'transition'; readonly machine: string; readonly to: string }
  | { readonly kind: 'death' | 'start' | 'message' | 'blocks' }
);

/** A trace that is sent to a collector. */
interface Tracing extends Trace {
  /** Plugin that makes a span of each request. Register it before any route. */
  readonly plugin: FastifyPluginCallback;
  /** Makes spans of the states of a replica's machine. */
  note(entry: TracedEntry): void;
  /** Sends the remaining spans. Takes at most some seconds. */
  close(): Promise<void>;
}

/** Collector of traces, and the traces that it gets. */
interface TracingOptions {
  /** Base URL of a collector that takes OTLP by HTTP. */
  readonly endpoint: string;
  /** Header fields of each request to it. */
  readonly headers: Readonly<Record<string, string>>;
  /** Attributes of this process, with `service.name` and `service.version`. */
  readonly resource: Readonly<Record<string, string>>;
  /** Rule by which traces are kept, as OpenTelemetry names it: `parentbased_always_on`. */
  readonly sampler: string;
  /** Part that a rule by ratio keeps, 0 to 1. */
  readonly ratio: number;
}

/** Returns the rule by which traces are kept. Without a decision of a caller, `parentbased_` decides as the rest of its name. */
function samplerOf({ sampler: name, ratio }: TracingOptions): Sampler {
  const own = name.replace('parentbased_', '');
  const root = { always_on: new AlwaysOnSampler(), always_off: new AlwaysOffSampler() }[own];
  const sampler = root ?? new TraceIdRatioBasedSampler(ratio);
  return own === name ? sampler : new ParentBasedSampler({ root: sampler });
}

/**
 * Opens traces by OpenTelemetry. Import this file only when they are wanted: it alone loads the packages.
 *
 * @see https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
export function openTracing(options: TracingOptions): Tracing {
  const exporter = new OTLPTraceExporter({
    url: `${options.endpoint}/v1/traces`,
    headers: { ...options.headers },
    timeoutMillis: EXPORT_TIMEOUT_MS
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes(options.resource),
    sampler: samplerOf(options),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS
      })
    ]
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const requests = new FastifyOtelInstrumentation({
    instrumentHooks: false,
    instrumentHandler: false,
    ignorePaths: ({ url, method }) => UNTRACED.test(`${method === 'HEAD' ? 'GET' : method} ${url.split('?', 1)[0]}`),
    requestHook: (span, { method, routeOptions }) => void span.updateName(`${method} ${routeOptions.url ?? 'unknown'}`)
  });
  requests.setTracerProvider(provider);
  const tracer = provider.getTracer(options.resource['service.name']!, options.resource['service.version']);
  const begin = (name: string, facts: SpanAttributes, from?: number, below?: Span) =>
    tracer.startSpan(
      name,
      { attributes: attributesOf(facts), ...(from === undefined ? {} : { startTime: from }) },
      below ? trace.setSpan(context.active(), below) : context.active()
    );

  const record = ({ name, facts = {}, from, to, parts = [] }: SpanRecord, below?: Span) => {
    const span = begin(name, facts, from, below);
    for (const part of parts) record(part, span);
    span.end(to);
  };
  const passage = new Passage(begin);

  return {
    plugin: requests.plugin() as FastifyPluginCallback,
    record: (work) => record(work),
    note: (entry) => passage.note(entry),
    step: (name, facts, run, from) => {
      const span = begin(name, facts, from);
      return context.with(trace.setSpan(context.active(), span), async () => {
        try {
          return await run();
        } catch (caught) {
          span.setStatus({ code: SpanStatusCode.ERROR, message: (caught as Error).message });
          throw caught;
        } finally {
          span.end();
        }
      });
    },
    async close() {
      await provider.shutdown().catch(() => undefined); // an unreachable collector is not a failure of the service
      context.disable();
    }
  };
}

const attributesOf = (facts: SpanAttributes): Attributes =>
  Object.fromEntries(Object.entries(facts).map(([name, value]) => [`sync.${name}`, value]));

type Begin = (name: string, facts: SpanAttributes, from?: number, below?: Span) => Span;

/** Makes spans of a replica's states: one for each state, below that of its parent state. */
class Passage {
  readonly #begin: Begin;
  readonly #open = new Map<string, readonly { readonly name: string; readonly span: Span }[]>();

  constructor(begin: Begin) {
    this.#begin = begin;
  }

  note(entry: TracedEntry): void {
    const database = actorKey(entry.actor);
    if (entry.kind === 'death') this.#move(database, [], entry.at);
    if (entry.kind !== 'transition' || entry.machine !== 'replica') return;
    const path = entry.to.split('.');
    this.#move(database, REPLICA_WORK.has(path[0]!) ? path : [], entry.at);
  }

  /** Ends the spans of states that were left and begins those of states that were entered. */
  #move(database: string, path: readonly string[], at: number): void {
    const open = this.#open.get(database) ?? [];
    const names = path.map((_, depth) => `replica.${path.slice(0, depth + 1).join('.')}`);
    const kept = open.filter(({ name }, depth) => name === names[depth]);
    for (const { span } of open.slice(kept.length).reverse()) span.end(at);
    for (const name of names.slice(kept.length))
      kept.push({ name, span: this.#begin(name, { database }, at, kept.at(-1)?.span) });
    if (kept.length > 0) this.#open.set(database, kept);
    else this.#open.delete(database);
  }
}
