import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import type { AddressReader } from '../address.ts';
import type { Authenticator } from '../auth.ts';
import { createLimit } from '../limits.ts';
import { idOf, MethodTable } from './calls.ts';
import { readExactBody } from './exact-body.ts';
import { JsonResult } from './json-result.ts';
import { KeptResult } from './kept-result.ts';
import { type RpcMethod, rpcMethod } from './method.ts';
import { type OpenRpc, OpenRpcSchema } from './openrpc.ts';
import { failure, type Id, refusalOf } from './replies.ts';

/** The JSON-RPC face of a service. */
export interface RpcOptions {
  /** Names are compared in lower case. */
  readonly methods: Readonly<Record<string, RpcMethod>>;
  /** HTTP requests per minute and address; a batch counts as one. */
  readonly requestsPerMinute: number;
  /** Without the key, where there is one, at most OPEN_BODY_BYTES. */
  readonly bodyLimitBytes: number;
  /** Calls in one batch, default 50. */
  readonly batchLimit?: number;
  /** Whether the service serves the network of a public code, as in `POST /LTC/`. */
  readonly serves: (code: string) => boolean;
}

interface RpcDeps {
  readonly rpc: RpcOptions;
  readonly document: OpenRpc;
  readonly authenticator: Authenticator;
  readonly addressOf: AddressReader;
}

const OPEN_BODY_BYTES = 100_000;
const BATCH_LIMIT = 50;
/** JSON's own types alone: a browser can send any other one across origins without asking. */
const MEDIA_TYPES = ['application/json', 'application/json-rpc', 'application/jsonrequest'];

const CallsSchema = Type.Unsafe<unknown>({
  description: 'a call `{"jsonrpc": "2.0", "method", "params", "id"}`, or an array of calls'
});

const CodeSchema = Type.Object({
  coin: Type.String({ maxLength: 32, description: 'public code of a network that the service serves, such as LTC' })
});
const pathOf = (path: string) => (path.includes(':coin') ? { params: CodeSchema } : {});

/**
 * JSON-RPC 2.0 over `POST /` and `POST /{COIN}/`: single calls, batches and notifications. `GET /openrpc.json` and
 * `rpc.discover` tell the methods.
 *
 * The HTTP status is 200 whatever the reply says (204 when there is nothing to say), except 401, 404 (COIN), 413, 415, 429
 * and the status of an `RpcAnswer`. Ids come back as they were sent, digit for digit.
 *
 * @see https://www.jsonrpc.org/specification, and the section "Errors" of the specification for -32001 and -32029
 */
export const jsonRpc: FastifyPluginAsync<RpcDeps> = async (app, { rpc, document, authenticator, addressOf }) => {
  const { bodyLimitBytes, batchLimit = BATCH_LIMIT, serves } = rpc;
  const discover = rpcMethod({
    summary: 'This description, OpenRPC 1.3.2',
    result: OpenRpcSchema,
    write: false,
    run: () => document
  });
  const table = new MethodTable({ ...rpc.methods, 'rpc.discover': discover });
  const hasKey = ({ headers }: FastifyRequest) => !authenticator.configured || authenticator.admits(headers, false);

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(MEDIA_TYPES, async (request: FastifyRequest, body: AsyncIterable<Buffer>) => {
    const mostBytes = hasKey(request) ? bodyLimitBytes : Math.min(bodyLimitBytes, OPEN_BODY_BYTES);
    return await readExactBody(body, request.headers['content-length'], mostBytes);
  });
  app.setErrorHandler(async (caught: FastifyError | PlatformError, request, reply) => {
    const [status, body] = refusalOf(caught, bodyLimitBytes);
    if (status === 500) request.log.error({ err: caught }, 'request failed');
    return reply.code(status).send(body);
  });
  const limit = createLimit(app, { name: 'rpc', max: rpc.requestsPerMinute, windowMs: 60_000, addressOf });

  const checkCode = ({ params }: FastifyRequest) => {
    const { coin } = params as { coin?: string };
    if (coin === undefined || serves(coin)) return;
    const reason = `this service does not serve the network ${coin.slice(0, 16)}`;
    throw new PlatformError('COIN_NOT_AVAILABLE', { reason });
  };
  const answerCalls = async (request: FastifyRequest, reply: FastifyReply) => {
    const isBatch = Array.isArray(request.body);
    const calls: unknown[] = Array.isArray(request.body) ? request.body : [request.body];
    if (calls.length === 0) return failure(null, 'INVALID_REQUEST', 'empty batch');
    if (calls.length > batchLimit) return failure(null, 'INVALID_REQUEST', `more than ${batchLimit} calls in a batch`);
    if (calls.some((call) => table.needsKey(call)) && !hasKey(request))
      return reply.code(401).send(failure(isBatch ? null : idOf(calls[0]), 'UNAUTHORIZED', 'Unauthorized'));
    const outcomes = [];
    for (const call of calls) outcomes.push(await table.answer(call, request.log)); // in order: a read sees the write before it
    const replies = outcomes.flatMap(({ reply: each }) => each ?? []);
    if (replies.length === 0) return reply.code(204).send();
    if (isBatch) return reply.send(replies);
    const [only] = replies;
    if (only && 'result' in only && (only.result instanceof KeptResult || only.result instanceof JsonResult))
      return await sendKept(request, reply, only.result, only.id);
    return reply.code(outcomes[0]!.status).send(only);
  };

  const doc = {
    tag: 'JSON-RPC',
    summary: 'JSON-RPC 2.0: the methods are in /openrpc.json',
    statuses: [200, 204, 401, 413, 415, 429]
  } as const;
  for (const path of ['/', '/:coin', '/:coin/']) {
    app.post(
      path,
      {
        config: { open: true, ...(path === '/:coin' ? {} : { doc }) },
        schema: { body: CallsSchema, ...pathOf(path) },
        onRequest: async (request, reply) => {
          await limit.take(request, reply);
          checkCode(request);
        }
      },
      answerCalls
    );
  }
  for (const path of ['/openrpc.json', '/:coin/openrpc.json']) {
    const about = { tag: 'Documentation', summary: 'The JSON-RPC methods, OpenRPC 1.3.2' } as const;
    app.get(
      path,
      { config: { open: true, doc: about }, schema: pathOf(path), onRequest: async (request) => checkCode(request) },
      async () => document
    );
  }
};

async function sendKept(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  result: KeptResult | JsonResult,
  id: Id
): Promise<FastifyReply> {
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:\s*,|\s*$))/.test(String(headers['accept-encoding'] ?? ''));
  const { bytes, coding } = await result.between(
    '{"jsonrpc":"2.0","result":',
    `,"id":${JSON.stringify(id)}}`,
    takesGzip
  );
  if (coding === 'gzip') reply.header('content-encoding', 'gzip');
  return reply.header('vary', 'accept-encoding').type('application/json; charset=utf-8').send(bytes);
}
