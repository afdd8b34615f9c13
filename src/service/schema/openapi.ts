import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify';
import Type, { type TSchema } from 'typebox';
import type { RouteDoc } from './route-doc.ts';

/** One operation of the document, as far as this service uses the standard. */
export interface Operation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly operationId: string;
  readonly security?: readonly never[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: true; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}
type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;
interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly schema: JsonSchema }>>;
  readonly content?: Content;
}
/** TypeBox's schemas are JSON Schema, which is what OpenAPI 3.1 takes. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** @see the OpenAPI Specification 3.1 */
export interface OpenApi {
  readonly openapi: '3.1.1';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, JsonSchema>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

const ERROR = Type.String({ description: 'what is wrong, for people' });
const ErrorSchema = Type.Object({
  error: ERROR,
  code: Type.Optional(Type.String({ description: 'what is wrong, for programs; transparency errors have none' }))
});
/** Error of a service whose errors always have a code. */
const CodedErrorSchema = Type.Object({
  error: ERROR,
  code: Type.String({ description: 'what is wrong, for programs' })
});
const ERROR_REFERENCE = { $ref: '#/components/schemas/Error' };

/** Description of a service as a whole, in `/openapi.json` and `/openrpc.json`. */
export interface Documentation {
  readonly title: string;
  /** Paragraphs with a blank line between them; what is in backticks is code. */
  readonly description: string;
  /** The parts, in their order; each route names one. */
  readonly tags: readonly string[];
  /** Keys that the service takes, and where an operator sets them. */
  readonly keys: string;
  /** Messages that no route's schema holds, by name. */
  readonly schemas?: Readonly<Record<string, TSchema>>;
  /** Every error has a code, also those of requests that reach no route. Default: only those of ERRORS have. */
  readonly codesAlways?: true;
  /** Statuses that a route answers by what the service checks before it. */
  readonly statusesOf?: (config: FastifyContextConfig) => readonly number[];
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  101: 'The connection is a WebSocket now',
  200: 'The answer',
  202: 'It is being done',
  206: 'A range of an artifact that was begun before',
  303: 'What was found has a page of its own',
  304: 'What If-None-Match names is still current',
  204: 'There is nothing to say',
  400: 'A parameter or the body is wrong',
  401: 'The key is missing or wrong',
  403: 'The service does not do this in its mode',
  404: 'There is no such network, database, block or record here',
  413: 'More than one answer or request may hold',
  415: 'The body is not JSON',
  416: 'The artifact has no such bytes',
  429: 'More than the limit allows from this address',
  500: 'A failure of the service itself',
  503: 'Not now: the actor is starting, or its database does not answer'
};

/** Keeps every route that is registered from now on. @returns the document over them; call it when the app is ready */
export function documentRoutes(
  app: FastifyInstance,
  version: string,
  { title, description, tags, keys, schemas = {}, codesAlways, statusesOf }: Documentation
): () => OpenApi {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => void (route.method !== 'HEAD' && route.config?.doc && routes.push(route)));
  return () => {
    const paths: Record<string, Record<string, Operation>> = {};
    for (const route of routes) {
      const path = route.url.replace(/:(\w+)/g, '{$1}');
      paths[path] = {
        ...paths[path],
        [String(route.method).toLowerCase()]: operationOf(route, route.config!.doc!, statusesOf)
      };
    }
    return {
      openapi: '3.1.1',
      info: { title, version, description },
      servers: [{ url: '/' }],
      security: [{ bearer: [] }, { apiKey: [] }],
      tags: tags.map((name) => ({ name })),
      paths,
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: keys },
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: keys }
        },
        schemas: { Error: codesAlways ? CodedErrorSchema : ErrorSchema, ...schemas } as unknown as Readonly<
          Record<string, JsonSchema>
        >
      }
    };
  };
}

function operationOf(
  { url, method, schema = {}, config = {} }: RouteOptions,
  doc: RouteDoc,
  statusesOf: Documentation['statusesOf']
): Operation {
  const parameters = [
    ...parametersOf('path', schema.params as JsonSchema | undefined),
    ...parametersOf('query', schema.querystring as JsonSchema | undefined)
  ];
  const answers = (schema.response ?? {}) as Readonly<Record<string, JsonSchema>>;
  const isAboutDatabase = url.includes(':dbType');
  const named = [...Object.keys(answers).map(Number), ...(doc.statuses ?? [])];
  const statuses = new Set([
    ...named,
    ...(named.some((status) => status < 300) ? [] : [200]),
    ...(parameters.length > 0 || schema.body ? [400] : []),
    ...(config.open ? [] : [401]),
    ...(statusesOf?.(config) ?? []),
    ...(isAboutDatabase ? [404, 503] : []),
    500
  ]);
  const responses = [...statuses].map((status) => [status, responseOf(status, answers[status], doc)] as const);
  return {
    tags: [doc.tag],
    summary: doc.summary,
    ...(doc.description === undefined ? {} : { description: doc.description }),
    operationId: `${String(method).toLowerCase()}${url.replace(/[^A-Za-z]+(\w?)/g, (_, next: string) => next.toUpperCase())}`,
    ...(config.open ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(schema.body ? { requestBody: { required: true, content: json(schema.body as JsonSchema) } } : {}),
    responses: Object.fromEntries(responses)
  };
}

function parametersOf(place: Parameter['in'], schema: JsonSchema | undefined): Parameter[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description === undefined ? {} : { description: String(description) }),
    schema: rest
  }));
}

function responseOf(status: number, schema: JsonSchema | undefined, doc: RouteDoc): Response {
  const description = STATUS_TEXTS[status] ?? `Status ${status}`;
  if (status >= 400) return { description, ...errorOf(status, schema, doc) };
  const { headers = {}, mediaType = 'application/json', otherMediaType } = doc;
  const hasHeaders = (status === 200 || status === 304) && Object.keys(headers).length > 0;
  const other = otherMediaType === undefined ? {} : { [otherMediaType]: TEXT };
  return {
    description,
    ...(hasHeaders ? { headers: headersOf(headers) } : {}),
    ...(status === 200 && (schema || doc.mediaType)
      ? { content: { [mediaType]: { schema: schema ?? TEXT.schema }, ...other } }
      : {}),
    ...(status !== 200 && schema ? { content: json(schema) } : {})
  };
}

const TEXT = { schema: { type: 'string' } } as const;
const RETRY_AFTER = { 'Retry-After': 'seconds to wait' };

/** Describes an error as a page or as JSON; one that is over soon says when to come again. */
function errorOf(
  status: number,
  schema: JsonSchema | undefined,
  { errorPages }: RouteDoc
): Omit<Response, 'description'> {
  if (errorPages) return { content: { 'text/html': TEXT } };
  const isForNow = schema === undefined && (status === 429 || status === 503);
  return {
    ...(isForNow ? { headers: headersOf(RETRY_AFTER) } : {}),
    content: json(schema ?? ERROR_REFERENCE)
  };
}

function headersOf(texts: Readonly<Record<string, string>>): NonNullable<Response['headers']> {
  const headers = Object.entries(texts).map(([name, description]) => [name, { description, ...TEXT }] as const);
  return Object.fromEntries(headers);
}

const json = (schema: JsonSchema | TSchema): Content => ({ 'application/json': { schema: schema as JsonSchema } });
