import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { atEnd } from './cleanup.ts';

/** One span, as a collector gets it. */
interface CollectedSpan {
  readonly service: string;
  /** Attributes of the process that made it. */
  readonly resource: Readonly<Record<string, string | number>>;
  /** Header fields of the request with it. */
  readonly headers: IncomingHttpHeaders;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly ms: number;
  readonly attributes: Readonly<Record<string, string | number>>;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
}
interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}
interface OtlpSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
}

/** A collector of traces that takes OTLP by HTTP as JSON. @returns its base URL and all that came so far */
export async function startCollector(): Promise<{ url: string; spans: CollectedSpan[] }> {
  const spans: CollectedSpan[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    const { resourceSpans } = (await json(request)) as Export;
    for (const { resource, scopeSpans } of resourceSpans) {
      const attributes = readAttributes(resource.attributes);
      const from = { service: String(attributes['service.name']), resource: attributes, headers: request.headers };
      spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...readSpan(span), ...from }))));
    }
    response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans };
}

function readSpan(span: OtlpSpan): Omit<CollectedSpan, 'service' | 'resource' | 'headers'> {
  const { name, traceId, spanId, parentSpanId, startTimeUnixNano, endTimeUnixNano, attributes } = span;
  const ms = Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6;
  return {
    name,
    traceId,
    spanId,
    parentSpanId: parentSpanId || undefined,
    ms,
    attributes: readAttributes(attributes)
  };
}

const readAttributes = (attributes: readonly Attribute[]): Record<string, string | number> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
