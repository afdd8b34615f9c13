import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import Type, { type TProperties, type TSchema } from 'typebox';
import { PlatformError } from '../../errors.ts';
import type { Limit } from '../../service/callers/limits.ts';
import { errorHandler } from '../../service/errors.ts';
import { oneOf, refuseInvalid } from '../../service/schema/parameters.ts';
import type { RouteDoc } from '../../service/schema/route-doc.ts';
import { OrNull } from '../../wire/or-null.ts';
import { type Coin, findCoin } from '../coins.ts';
import type { FairReads } from '../fair-reads.ts';
import { rowSchema } from '../lists/columns.ts';
import type { List } from '../lists/list.ts';
import { LISTS, needsType } from '../lists/lists.ts';
import { PUBLIC_NAMES } from '../public-names.ts';
import type { Question } from '../question.ts';
import { RECORDS } from '../records/records.ts';
import { prefersCsv } from './accept.ts';
import { AnswerCache } from './answer-cache.ts';
import { feeRoutes } from './fees.ts';
import { fileRoutes } from './files.ts';
import { isCurrent, questionKey, tellFreshness } from './freshness.ts';
import { otherRoutes } from './others.ts';
import { CoinSchema, type Paged, pagingSchema, QuerySchema, readQuestion } from './parameters.ts';
import { StatusSchema, statusOf } from './status.ts';

/** Dependencies of an explorer's routes. */
export interface ApiDeps {
  /** The networks that are served now. */
  readonly coins: () => readonly Coin[];
  /** Limit of requests by an address. */
  readonly limit: Limit;
  /** Bytes of answers that are kept for each network until its next block. */
  readonly cacheBytes: number;
  /** Queue in which callers take turns. */
  readonly reads: FairReads;
  /** The same for calls of the indexer. */
  readonly asks: FairReads;
  /** Version of this program: another version may give another form of an answer. */
  readonly version: string;
  /** Seconds since a hub last said where databases are; null where none is asked. */
  readonly hubAgeS: () => number | null;
}

/** One path of a method. */
interface Path {
  /** Behind `/{COIN}/api/`. */
  readonly path: string;
  readonly params?: TProperties;
  readonly querystring?: TSchema;
  readonly response?: TSchema;
  readonly doc?: RouteDoc;
  readonly answer: (request: FastifyRequest, reply: FastifyReply, coinOf: () => Coin) => unknown;
}

/** Paths about the service, which need no network, however many it serves. */
const OF_SERVICE: ReadonlySet<string | undefined> = new Set(['/api/ping', '/api/status']);

/** Access to the answers. */
interface Reading extends Pick<ApiDeps, 'reads' | 'version'> {
  readonly cacheOf: (coin: Coin) => AnswerCache;
}

const RuntimeSchema = Type.String({ pattern: '^\\d+ms$', description: 'how long it took' });
const PingSchema = Type.Object({ status: Type.Literal('success') });
/** Answer of a service that runs. */
export const PING = { status: 'success' } as const;

/** The part of the documentation with the paths that need no code of a network. */
export const ONE_NETWORK = 'One network';

const LIMIT_HEADERS = { RateLimit: 'what is left of the limit', 'RateLimit-Policy': 'the limit' };
const HEADERS = {
  'X-Block-Height': 'height of the newest block that was read',
  'X-Lag-Blocks': 'blocks that it is behind the decoder',
  'X-Stopped-Seconds': 'since the ledger does not go on, whatever its lag; absent while it does',
  ETag: 'changes with the newest block; absent where more than the ledger decides the answer',
  'Cache-Control': '`no-store`, `public, no-cache`, or `immutable` for what no reorg can reach',
  ...LIMIT_HEADERS
};
const LIST_HEADERS = { ...HEADERS, Link: 'of CSV: the next page', Vary: 'an answer is JSON or CSV, by `Accept`' };
export const STATUSES = [400, 404, 429, 502, 503] as const;
const READ_STATUSES = [304, ...STATUSES] as const;

/** Adds the routes of an explorer: `/{COIN}/api/{method}/{query}/{type}`, and the same without the code where one network is served. */
export function apiRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const { coins, limit, cacheBytes, hubAgeS } = deps;
  void app.register(async (plugin) => {
    plugin.setErrorHandler(errorHandler({ withCode: 'always', names: PUBLIC_NAMES }));
    plugin.addHook('onRequest', async (request, reply) => {
      await limit.take(request, reply);
      if (!OF_SERVICE.has(request.routeOptions.url)) coinOf(request);
    });
    const coinOf = ({ params }: FastifyRequest) => findCoin(coins(), (params as { coin?: string }).coin);
    const caches = new WeakMap<Coin, AnswerCache>();
    const cacheOf = (coin: Coin): AnswerCache => {
      const cache = caches.get(coin) ?? new AnswerCache(coin, cacheBytes);
      caches.set(coin, cache);
      return cache;
    };
    const reading = { ...deps, cacheOf };
    const paths = [
      ...statePaths(coins, hubAgeS),
      ...Object.entries(RECORDS).flatMap((record) => recordPaths(record, reading)),
      ...Object.entries(LISTS).flatMap((list) => listPaths(list, reading))
    ];
    for (const { path, params = {}, querystring, response, doc, answer } of paths) {
      for (const coin of [{ coin: CoinSchema }, {}]) {
        const url = `${'coin' in coin ? '/:coin' : ''}/api/${path}`;
        const isOfOne = !('coin' in coin || OF_SERVICE.has(url));
        plugin.get(
          url,
          {
            schemaErrorFormatter: refusePath,
            config: { open: true, ...(doc ? { doc: isOfOne ? { ...doc, tag: ONE_NETWORK } : doc } : {}) },
            schema: {
              params: Type.Object({ ...coin, ...params }),
              ...(querystring ? { querystring } : {}),
              ...(response ? { response: { 200: response } } : {})
            }
          },
          async (request, reply) => answer(request, reply, () => coinOf(request))
        );
      }
    }
    otherRoutes(plugin, deps);
    fileRoutes(plugin, deps);
    feeRoutes(plugin, deps);
    for (const rest of ['/:coin/api', '/:coin/api/*', '/api', '/api/*'])
      plugin.get(rest, { config: { open: true } }, async () => {
        throw new PlatformError('RECORD_UNKNOWN', { reason: 'there is no such method; /openapi.json lists them' });
      });
  });
}

/** A `{type}` that a method does not have is no path of it. */
const refusePath: NonNullable<RouteShorthandOptions['schemaErrorFormatter']> = (faults, part) =>
  faults.some(({ instancePath }) => part === 'params' && instancePath === '/type')
    ? new PlatformError('RECORD_UNKNOWN', { reason: 'the method has no such {type}; /openapi.json lists them' })
    : refuseInvalid(faults, part);

function statePaths(coins: ApiDeps['coins'], hubAgeS: ApiDeps['hubAgeS']): Path[] {
  const doc = { tag: 'State', headers: LIMIT_HEADERS, statuses: STATUSES } as const;
  return [
    {
      path: 'ping',
      response: PingSchema,
      doc: { ...doc, summary: 'Tells whether the service answers' },
      answer: () => PING
    },
    {
      path: 'status',
      response: StatusSchema,
      doc: { ...doc, summary: 'Tells how every network stands' },
      answer: () => statusOf(coins(), hubAgeS())
    }
  ];
}

/** Meaning of each named part of a path. */
const PARTS: Readonly<Record<string, string>> = {
  tick1: 'ticker, or the coin of the chain',
  tick2: 'ticker, or the coin of the chain',
  address: 'address'
};

function recordPaths([method, record]: [string, (typeof RECORDS)[string]], reading: Reading): Path[] {
  const { takes, types, schema, summary, tag, paths, isPaged, parameters = [] } = record;
  const named = Object.fromEntries(parameters.map((name) => [name, Type.Optional(QuerySchema(name))]));
  const paged: Paged = {
    ...isPaged,
    areAll: true,
    parameters: Object.fromEntries(parameters.map((name) => [name, true]))
  };
  const query = QuerySchema(takes ?? '');
  const whole: Omit<Path, 'path'> = {
    response: Type.Object({ ...schema.properties, runtime: RuntimeSchema }),
    ...(isPaged
      ? { querystring: pagingSchema(paged) }
      : parameters.length > 0
        ? { querystring: Type.Object(named) }
        : {}),
    doc: { tag, summary, headers: HEADERS, statuses: READ_STATUSES },
    answer: reader(reading, method, paged)
  };
  const made = (path: string): Path => {
    const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
    const params = names.map((name) => {
      if (name === 'query') return [name, query] as const;
      return [name, name === 'type' && types ? oneOf(types) : QuerySchema(PARTS[name] ?? name)] as const;
    });
    return { ...whole, path, params: Object.fromEntries(params) };
  };
  if (paths) return paths.map(made);
  if (takes === undefined) return [made(method)];
  return [missing(method, '{query}'), made(`${method}/:query`), ...(types ? [made(`${method}/:query/:type`)] : [])];
}

function listPaths([method, list]: [string, List], reading: Reading): Path[] {
  const types = Object.keys(list.types);
  const whole: Omit<Path, 'path'> = {
    querystring: pagingSchema(list),
    response: listSchema(list),
    doc: {
      tag: list.tag,
      summary: list.summary,
      otherMediaType: 'text/csv',
      headers: LIST_HEADERS,
      statuses: READ_STATUSES
    },
    answer: reader(reading, method, list)
  };
  const query = QuerySchema('an address, a ticker, a block or an action, as the type says');
  const usual = QuerySchema(`of the type ${list.usual}`);
  const made = (path: string): Path => {
    const params = path.endsWith('/:type')
      ? { query, type: oneOf(types) }
      : path.includes(':query')
        ? { query: usual }
        : {};
    return { ...whole, path, params };
  };
  if (list.paths) return list.paths.map(made);
  return [
    list.all ? made(method) : missing(method, '{query}'),
    ...(needsType(list) ? [missing(`${method}/:query`, `{type}: ${types.join(', ')}`)] : []),
    ...(list.usual === undefined ? [] : [made(`${method}/:query`)]),
    ...(types.length === 0 ? [] : [made(`${method}/:query/:type`)])
  ];
}

function listSchema({ columns, more, beside }: List) {
  const row = rowSchema(columns);
  return Type.Object({
    data: Type.Array(more ? Type.Object({ ...row.properties, ...more.schema }) : row),
    total: OrNull(Type.Integer({ minimum: 0 }), {
      description: 'how many rows there are; null while a long list is being counted: ask again'
    }),
    ...(beside?.schema ?? {}),
    runtime: RuntimeSchema,
    next: OrNull(Type.String(), { description: 'cursor of the next page; null: this is the last' })
  });
}

/** Returns a path that lacks a part, which is refused. */
function missing(path: string, what: string): Path {
  return {
    path,
    answer: () => {
      throw new PlatformError('PARAMETER_MISSING', { reason: `${path.split('/')[0]} needs ${what} in its path` });
    }
  };
}

/** Answers from the cache of the network, else from its actor. */
function reader({ cacheOf, reads, version }: Reading, method: string, paged: Paged): Path['answer'] {
  const isList = method in LISTS;
  return async (request, reply, coinOf) => {
    const coin = coinOf();
    const { params, query, headers } = request;
    const format: Question['format'] = isList && prefersCsv(headers.accept) ? 'csv' : 'json';
    const question = {
      ...readQuestion(method, paged, params as Record<string, string>, query as Record<string, string>),
      format
    };
    if (isList) varyBy(reply, 'accept');
    const cache = cacheOf(coin);
    const key = questionKey(question);
    const { mark } = cache;
    if (key !== null && mark !== null && isCurrent(request, reply, { key, coin, version, mark, kept: cache.kept(key) }))
      return reply.code(304).send();
    const kept = key === null ? null : cache.kept(key);
    const ask = () => (key === null ? coin.read(question) : cache.read(question, key));
    const { body, ...read } = kept ?? (await reads.take(coin, request, ask));
    if (tellFreshness(request, reply, { key, coin, version, ...read })) return reply.code(304).send();
    if (format === 'csv' && read.next) reply.header('link', `<?${nextQuery(query as object, read.next)}>; rel="next"`);
    reply.header('content-type', `${format === 'csv' ? 'text/csv' : 'application/json'}; charset=utf-8`);
    return body;
  };
}

/** Adds a field to `vary`, which may hold the origin already. */
function varyBy(reply: FastifyReply, field: string): void {
  const before = reply.getHeader('vary');
  reply.header('vary', before === undefined ? field : `${before}, ${field}`);
}

/** Returns the query string of the page after this one. */
function nextQuery(query: object, cursor: string): URLSearchParams {
  const { page: _, ...kept } = query as Record<string, string>;
  return new URLSearchParams({ ...kept, cursor });
}
