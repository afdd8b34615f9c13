import { createHash, timingSafeEqual } from 'node:crypto';
import rateLimit from '@fastify/rate-limit';
import {
  errorCodes,
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyPluginAsync,
  type FastifyRequest
} from 'fastify';
import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { hasCode, PlatformError } from '../errors.ts';

/** One row of a service's method table. */
export interface RpcMethod {
  /** What `params` must be; a method without a schema is called with whatever came, and should not look at it. */
  readonly params?: TSchema;
  /** A write needs the API key when the service has one. */
  readonly write: boolean;
  /**
   * @returns the result, or an `RpcAnswer` when the HTTP status is not 200
   * @throws {PlatformError} REQUEST_INVALID becomes -32602 with its reason; all else -32603 without one, and a log line
   */
  run(params: unknown): unknown;
}

/** A method whose `run` is typed by its schema. */
export function rpcMethod<S extends TSchema>(method: {
  readonly params: S;
  readonly write: boolean;
  run(params: Static<S>): unknown;
}): RpcMethod {
  return method;
}

/** A result with an HTTP status of its own; the status counts for single calls only, a batch answers 200. */
export class RpcAnswer {
  readonly status: number;
  readonly result: unknown;

  constructor(status: number, result: unknown) {
    this.status = status;
    this.result = result;
  }
}

export interface JsonRpcOptions {
  /** Names are compared in lower case. */
  readonly methods: Readonly<Record<string, RpcMethod>>;
  /** When set, calls of write methods must carry it as `X-API-Key`. */
  readonly apiKey?: string | undefined;
  /** HTTP requests per minute and socket address; a batch counts as one. */
  readonly requestsPerMinute: number;
  /** Without the key, where there is one, at most OPEN_BODY_BYTES. */
  readonly bodyLimitBytes: number;
  /** Calls in one batch, default 50. */
  readonly batchLimit?: number;
}

type Id = string | number | object | null;
interface Failure {
  readonly jsonrpc: '2.0';
  readonly error: { readonly code: number; readonly message: string };
  readonly id: Id;
}
type Reply = { readonly jsonrpc: '2.0'; readonly result: unknown; readonly id: Id } | Failure;
/** What came of one call: nothing to say for a notification. */
interface Outcome {
  readonly status: number;
  readonly reply: Reply | undefined;
}
interface Row extends RpcMethod {
  readonly validator: Validator | undefined;
}

const OPEN_BODY_BYTES = 100_000;
/** Taken for a body that does not say how long it is. */
const FIRST_BYTES = 1_024;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
const UNAUTHORIZED = -32001;
const RATE_LIMITED = -32029;

/**
 * JSON-RPC 2.0 over `POST /`: single calls, batches and notifications.
 *
 * The HTTP status is 200 whatever the reply says (204 when there is nothing to say), except 401, 413, 415, 429 and
 * the status of an `RpcAnswer`. Ids come back as they were sent, digit for digit.
 *
 * @see https://www.jsonrpc.org/specification, and the section "Errors" of the specification for -32001 and -32029
 */
export const jsonRpc: FastifyPluginAsync<JsonRpcOptions> = async (app, options) => {
  const table = new Map<string, Row>(
    Object.entries(options.methods).map(([name, method]) => [
      name.toLowerCase(),
      { ...method, validator: method.params && Compile(method.params) }
    ])
  );
  const batchLimit = options.batchLimit ?? 50;

  app.removeAllContentTypeParsers();
  // Only JSON's own types: a browser can send any other one across origins without asking.
  const types = ['application/json', 'application/json-rpc', 'application/jsonrequest'];
  app.addContentTypeParser(types, async ({ headers }: FastifyRequest, body: AsyncIterable<Buffer>) => {
    const isOpen = options.apiKey !== undefined && !sameSecret(options.apiKey, headers['x-api-key']);
    const mostBytes = isOpen ? Math.min(options.bodyLimitBytes, OPEN_BODY_BYTES) : options.bodyLimitBytes;
    return parseJson(await readBody(body, headers['content-length'], mostBytes));
  });
  app.setErrorHandler(async (caught: FastifyError | PlatformError, request, reply) => {
    const [status, failure] = describeRefusal(caught, options.bodyLimitBytes);
    if (status === 500) request.log.error({ err: caught }, 'request failed');
    return reply.code(status).send(failure);
  });
  await app.register(rateLimit, { global: false });

  const limit = {
    max: options.requestsPerMinute,
    timeWindow: 60_000,
    keyGenerator: ({ socket }: FastifyRequest) => rateLimit.normalizeIP(socket.remoteAddress ?? ''), // an IPv6 /64 is one
    errorResponseBuilder: (_: unknown, { ttl }: { ttl: number }) =>
      new PlatformError('RATE_LIMITED', { reason: `retry in ${Math.ceil(ttl / 1000)} s` })
  };
  app.post('/', { config: { rateLimit: limit } }, async (request, reply) => {
    const calls: unknown[] = Array.isArray(request.body) ? request.body : [request.body];
    const isBatch = Array.isArray(request.body);
    if (calls.length === 0) return failure(null, INVALID_REQUEST, 'empty batch');
    if (calls.length > batchLimit) return failure(null, INVALID_REQUEST, `more than ${batchLimit} calls in a batch`);
    if (options.apiKey !== undefined && !sameSecret(options.apiKey, request.headers['x-api-key'])) {
      const needsKey = calls.some((call) => findMethod(table, call)?.write === true);
      if (needsKey) return reply.code(401).send(failure(isBatch ? null : idOf(calls[0]), UNAUTHORIZED, 'Unauthorized'));
    }
    const outcomes: Outcome[] = [];
    for (const call of calls) outcomes.push(await answer(table, call, request.log)); // in order: a read sees the write before it
    const replies = outcomes.flatMap(({ reply }) => reply ?? []);
    if (replies.length === 0) return reply.code(204).send();
    return reply.code(isBatch ? 200 : outcomes[0]!.status).send(isBatch ? replies : replies[0]);
  });
};

/** Carries out one call. Never throws. */
async function answer(table: ReadonlyMap<string, Row>, call: unknown, log: FastifyBaseLogger): Promise<Outcome> {
  const id = idOf(call);
  if (!isCall(call)) return { status: 200, reply: failure(id, INVALID_REQUEST, 'not a JSON-RPC 2.0 request object') };
  const outcome = await run(findMethod(table, call), call, id, log);
  return 'id' in call ? outcome : { ...outcome, reply: undefined };
}

async function run(method: Row | undefined, call: Call, id: Id, log: FastifyBaseLogger): Promise<Outcome> {
  if (!method)
    return { status: 200, reply: failure(id, METHOD_NOT_FOUND, `method not found: ${call.method.slice(0, 64)}`) };
  const params = call.params === undefined || isEmptyArray(call.params) ? {} : call.params;
  const [fault] = method.validator?.Check(params) === false ? method.validator.Errors(params) : [];
  if (fault)
    return {
      status: 200,
      reply: failure(id, INVALID_PARAMS, `params${fault.instancePath.slice(0, 200)} ${fault.message}`)
    };
  try {
    const returned = await method.run(params);
    const { status, result } = returned instanceof RpcAnswer ? returned : { status: 200, result: returned };
    return { status, reply: { jsonrpc: '2.0', result: result ?? null, id } };
  } catch (caught) {
    if (hasCode(caught, 'REQUEST_INVALID')) {
      return { status: 200, reply: failure(id, INVALID_PARAMS, String(caught.detail['reason'] ?? caught.message)) };
    }
    log.error({ err: caught, method: call.method }, `${call.method} failed`);
    return { status: 200, reply: failure(id, INTERNAL_ERROR, 'internal error') };
  }
}

interface Call {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: unknown;
  readonly id?: Id;
}

function isCall(call: unknown): call is Call {
  if (!isObject(call) || call['jsonrpc'] !== '2.0' || typeof call['method'] !== 'string') return false;
  return (call['params'] === undefined || isStructured(call['params'])) && (!('id' in call) || isId(call['id']));
}

function findMethod(table: ReadonlyMap<string, Row>, call: unknown): Row | undefined {
  return isCall(call) ? table.get(call.method.toLowerCase()) : undefined;
}

function idOf(call: unknown): Id {
  return isObject(call) && isId(call['id']) ? call['id'] : null;
}

function isId(value: unknown): value is Id {
  return value === null || typeof value === 'string' || typeof value === 'number' || exactJson.isRawJSON(value);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  isStructured(value) && !Array.isArray(value) && !exactJson.isRawJSON(value);
const isStructured = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isEmptyArray = (value: unknown) => Array.isArray(value) && value.length === 0;

function failure(id: Id, code: number, message: string): Failure {
  return { jsonrpc: '2.0', error: { code, message }, id };
}

/** What is said to a request that never became a call. */
function describeRefusal(caught: FastifyError | PlatformError, bodyLimitBytes: number): [status: number, Failure] {
  if (hasCode(caught, 'RATE_LIMITED'))
    return [429, failure(null, RATE_LIMITED, `rate limited: ${caught.detail['reason']}`)];
  if (caught instanceof SyntaxError) return [200, failure(null, PARSE_ERROR, 'parse error')];
  if (caught.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return [413, failure(null, INVALID_REQUEST, `request body is larger than ${bodyLimitBytes} bytes`)];
  }
  if (caught.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return [415, failure(null, INVALID_REQUEST, 'send Content-Type: application/json')];
  }
  const status = 'statusCode' in caught && caught.statusCode !== undefined ? caught.statusCode : 500;
  return [
    status,
    status < 500 ? failure(null, INVALID_REQUEST, 'invalid request') : failure(null, INTERNAL_ERROR, 'internal error')
  ];
}

/** Digests have one length, so the comparison takes the same time whatever was sent. */
function sameSecret(expected: string, given: string | string[] | undefined): boolean {
  const digest = (secret: string) => createHash('sha256').update(secret).digest();
  return typeof given === 'string' && timingSafeEqual(digest(expected), digest(given));
}

/** The parts of `JSON` that TypeScript's library does not declare yet. */
interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is object;
}
const exactJson = JSON as unknown as ExactJson;

/** Into one piece of memory: kept in pieces of a byte, as a body may come, it would take a hundred times as much. */
async function readBody(body: AsyncIterable<Buffer>, length: string | undefined, mostBytes: number): Promise<string> {
  const refuseAbove = (size: number) => {
    if (!(size <= mostBytes)) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
  };
  refuseAbove(Number(length ?? 0));
  let whole = Buffer.alloc(Number(length ?? FIRST_BYTES));
  let filled = 0;
  for await (const piece of body) {
    refuseAbove(filled + piece.length);
    if (filled + piece.length > whole.length) {
      const larger = Buffer.alloc(Math.max(2 * whole.length, filled + piece.length));
      whole.copy(larger, 0, 0, filled);
      whole = larger;
    }
    filled += piece.copy(whole, filled);
  }
  return whole.toString('utf8', 0, filled);
}

/** Whole numbers beyond 2^53 keep their digits: as an id they are echoed, as a number parameter they are refused. */
function parseJson(text: string): unknown {
  try {
    return exactJson.parse(text, (_, value, { source }) =>
      source !== undefined && Number.isInteger(value) && !Number.isSafeInteger(value)
        ? exactJson.rawJSON(source)
        : value
    );
  } catch (cause) {
    throw cause instanceof SyntaxError ? cause : new SyntaxError('unreadable JSON', { cause }); // nested too deep
  }
}
