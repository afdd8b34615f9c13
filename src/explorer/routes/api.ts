import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type, { type TProperties, type TSchema } from 'typebox';
import { PlatformError } from '../../errors.ts';
import { errorHandler } from '../../service/errors.ts';
import type { Limit } from '../../service/limits.ts';
import { oneOf } from '../../service/parameters.ts';
import type { RouteDoc } from '../../service/route-doc.ts';
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
import { isCurrent, questionKey, tellFreshness } from './freshness.ts';
import { CoinSchema, pagingSchema, QuerySchema, readQuestion } from './parameters.ts';
import { StatusSchema, statusOf } from './status.ts';

/** What the routes of an explorer answer from. */
export interface ApiDeps {
  /** The networks that are served now. */
  readonly coins: () => readonly Coin[];
  /** Of requests by an address. */
  readonly limit: Limit;
  /** Bytes of answers that are kept for each network until its next block. */
  readonly cacheBytes: number;
  /** In which callers take turns. */
  readonly reads: FairReads;
  /** Of this program: another one may tell the same in another form. */
  readonly version: string;
  /** Seconds since a hub last said where databases are; null where none is asked. */
  readonly hubAgeS: () => number | null;
}

/** One path of a method: the parts behind its name. */
interface Path {
  readonly method: string;
  readonly parts: '' | '/:query' | '/:query/:type';
  readonly params?: TProperties;
  readonly querystring?: TSchema;
  readonly response?: TSchema;
  readonly doc?: RouteDoc;
  readonly answer: (request: FastifyRequest, reply: FastifyReply, coinOf: () => Coin) => unknown;
}

/** They tell of the service, so they need no network in their path, however many it serves. */
const OF_SERVICE: ReadonlySet<string | undefined> = new Set(['/api/ping', '/api/status']);

/** What answers are read from. */
interface Reading extends Pick<ApiDeps, 'reads' | 'version'> {
  readonly cacheOf: (coin: Coin) => AnswerCache;
}

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

/** The routes of an explorer: `/{COIN}/api/{method}/{query}/{type}`, and the same without the code where one network is served. */
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
    for (const { method, parts, params = {}, querystring, response, doc, answer } of paths) {
      for (const coin of [{ coin: CoinSchema }, {}]) {
        const url = `${'coin' in coin ? '/:coin' : ''}/api/${method}${parts}`;
        const isOfOne = !('coin' in coin || OF_SERVICE.has(url));
        plugin.get(
          url,
          {
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
    for (const rest of ['/:coin/api', '/:coin/api/*', '/api', '/api/*'])
      plugin.get(rest, { config: { open: true } }, async () => {
        throw new PlatformError('RECORD_UNKNOWN', { reason: 'there is no such method; /openapi.json lists them' });
      });
  });
}

function statePaths(coins: ApiDeps['coins'], hubAgeS: ApiDeps['hubAgeS']): Path[] {
  const doc = { tag: 'State', headers: LIMIT_HEADERS, statuses: STATUSES } as const;
  const PingSchema = Type.Object({ status: Type.Literal('success') });
  return [
    {
      ...{ method: 'ping', parts: '', response: PingSchema, doc: { ...doc, summary: 'Whether the service answers' } },
      answer: () => ({ status: 'success' })
    },
    {
      ...{ method: 'status', parts: '', response: StatusSchema, doc: { ...doc, summary: 'How every network stands' } },
      answer: () => statusOf(coins(), hubAgeS())
    }
  ];
}

function recordPaths(
  [method, { takes, types, schema, summary, tag }]: [string, (typeof RECORDS)[string]],
  reading: Reading
): Path[] {
  const path = {
    method,
    response: Type.Object({ data: schema }),
    doc: { tag, summary, headers: HEADERS, statuses: READ_STATUSES },
    answer: reader(reading, method)
  };
  if (takes === undefined) return [{ ...path, parts: '' }];
  const query = QuerySchema(takes);
  return [
    missing(method, '', '{query}'),
    { ...path, parts: '/:query', params: { query } },
    ...(types ? [{ ...path, parts: '/:query/:type' as const, params: { query, type: oneOf(types) } }] : [])
  ];
}

function listPaths([method, list]: [string, List], reading: Reading): Path[] {
  const types = Object.keys(list.types);
  const path = {
    method,
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
  return [
    list.all ? { ...path, parts: '' } : missing(method, '', '{query}'),
    ...(needsType(list) ? [missing(method, '/:query', `{type}: ${types.join(', ')}`)] : []),
    ...(list.usual === undefined ? [] : [{ ...path, parts: '/:query' as const, params: { query: usual } }]),
    ...(types.length === 0 ? [] : [{ ...path, parts: '/:query/:type' as const, params: { query, type: oneOf(types) } }])
  ];
}

function listSchema({ columns }: List) {
  return Type.Object({
    data: Type.Array(rowSchema(columns)),
    total: Type.Union([Type.String({ pattern: '^\\d+$' }), Type.Null()], {
      description: 'how many rows there are; null while a long list is being counted: ask again'
    }),
    runtime: Type.String({ pattern: '^\\d+ms$' }),
    next: Type.Union([Type.String(), Type.Null()], { description: 'cursor of the next page; null: this is the last' })
  });
}

/** A path that lacks a part. */
function missing(method: string, parts: Path['parts'], what: string): Path {
  return {
    method,
    parts,
    answer: () => {
      throw new PlatformError('PARAMETER_MISSING', { reason: `${method} needs ${what} in its path` });
    }
  };
}

/** Answers from the cache of the network, else from its actor. */
function reader({ cacheOf, reads, version }: Reading, method: string, list?: List): Path['answer'] {
  return async (request, reply, coinOf) => {
    const coin = coinOf();
    const { params, query, headers } = request;
    const format: Question['format'] = list && prefersCsv(headers.accept) ? 'csv' : 'json';
    const question = { ...readQuestion(method, list, params as object, query as Record<string, string>), format };
    if (list) varyBy(reply, 'accept');
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

/** What is allowed to other origins has made it vary by the origin already. */
function varyBy(reply: FastifyReply, field: string): void {
  const before = reply.getHeader('vary');
  reply.header('vary', before === undefined ? field : `${before}, ${field}`);
}

/** The query string of the page after this one. */
function nextQuery(query: object, cursor: string): URLSearchParams {
  const { page: _, ...kept } = query as Record<string, string>;
  return new URLSearchParams({ ...kept, cursor });
}
