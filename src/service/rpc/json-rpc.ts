import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { AddressReader } from '../callers/address.ts';
import type { Authenticator } from '../callers/auth.ts';
import { createLimit, limitDocuments } from '../callers/limits.ts';
import { tellFailure } from '../errors.ts';
import { type Payer, payerOf } from '../ingress/payer.ts';
import { MOST_CHARGED_MS, type WorkBudget } from '../ingress/work-budget.ts';
import type { CountWrongKey } from '../ingress/wrong-keys.ts';
import type { RequestBodies } from '../stream/request-bodies.ts';
import { sendPieces } from '../stream/sending.ts';
import { type Aside, Turns } from '../turns/turns.ts';
import { isLocalRequest } from './caller.ts';
import { hasReply, type InTurn, idOf, MethodTable, type Outcome, piecesOf } from './calls.ts';
import { parseExactBody } from './exact-body.ts';
import { JsonResult } from './json-result.ts';
import { KeptResult } from './kept-result.ts';
import { type RpcCaller, type RpcMethod, rpcMethod } from './method.ts';
import { type OpenRpc, OpenRpcSchema } from './openrpc.ts';
import { failure, failureOf, type Reply, refusalOf } from './replies.ts';
import { type Piece, StreamedResult } from './streamed-result.ts';

/** The JSON-RPC face of a service. */
export interface RpcOptions {
  /** Names are compared in lower case. */
  readonly methods: Readonly<Record<string, RpcMethod>>;
  /** HTTP requests per minute and address; a batch counts as one unless `countsCalls`. */
  readonly requestsPerMinute: number;
  /** Each call of a batch counts as a request: one may cost the node seconds. */
  readonly countsCalls?: boolean;
  /** Without the key, where there is one, at most OPEN_BODY_BYTES. */
  readonly bodyLimitBytes: number;
  /** Calls in one batch, default 50. */
  readonly batchLimit?: number;
  /** Calls, and parts of long answers, under way at once, default 16; addresses take turns. */
  readonly atOnce?: number;
  /** Whether the service serves the network of a public code, as in `POST /LTC/`. */
  readonly serves: (code: string) => boolean;
}

interface RpcDeps {
  readonly rpc: RpcOptions;
  readonly document: OpenRpc;
  readonly authenticator: Authenticator;
  readonly addressOf: AddressReader;
  readonly countWrongKey: CountWrongKey;
  readonly budget: WorkBudget;
  readonly turns: Turns;
  readonly requestBodies: RequestBodies;
  readonly audit: AuditLog;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const OPEN_BODY_BYTES = 100_000;
const BATCH_LIMIT = 50;
/** JSON's own types alone: a browser can send any other one across origins without asking. */
const MEDIA_TYPES = ['application/json', 'application/json-rpc', 'application/jsonrequest'];

/** Writes of a batch at once: they may wait for each other, and take no reader's turn meanwhile. */
const WRITES_AT_ONCE = 4;

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
 * the status of an `RpcAnswer`, and 503 of a probe that fails. Ids come back as they were sent, digit for digit.
 *
 * @see https://www.jsonrpc.org/specification, and the section "Errors" of the specification for -32001 and -32029
 */
export const jsonRpc: FastifyPluginAsync<RpcDeps> = async (
  app,
  { rpc, document, authenticator, addressOf, countWrongKey, budget, turns, requestBodies, audit }
) => {
  const { bodyLimitBytes, batchLimit = BATCH_LIMIT, serves } = rpc;
  const kept = new KeptResult(document);
  const discover = rpcMethod({
    summary: 'This description, OpenRPC 1.3.2',
    result: OpenRpcSchema,
    write: false,
    run: () => kept
  });
  const table = new MethodTable({ ...rpc.methods, 'rpc.discover': discover });
  const hasKey = ({ headers }: FastifyRequest) => !authenticator.configured || authenticator.admits(headers, false);

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(MEDIA_TYPES, async (request: FastifyRequest, body: AsyncIterable<Buffer>) => {
    const mostBytes = hasKey(request) ? bodyLimitBytes : Math.min(bodyLimitBytes, OPEN_BODY_BYTES);
    return await requestBodies.read(request, body, mostBytes, parseExactBody);
  });
  app.setErrorHandler(async (caught: FastifyError | PlatformError, request, reply) => {
    const [status, body] = refusalOf(caught, bodyLimitBytes);
    if (status === 500) tellFailure(request, caught);
    return reply.code(status).send(body);
  });
  const writeTurns = new Turns({ atOnce: WRITES_AT_ONCE });
  const limit = createLimit(app, {
    name: 'rpc',
    max: rpc.requestsPerMinute,
    windowMs: 60_000,
    addressOf,
    authenticator
  });

  const documentLimit = limitDocuments(app, addressOf);

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
    const isLocal = isLocalRequest(request.raw);
    if (calls.some((call) => table.needsKey(call, { isLocal })) && !hasKey(request))
      return reply.code(401).send(failure(isBatch ? null : idOf(calls[0]), 'UNAUTHORIZED', 'Unauthorized'));
    if (rpc.countsCalls) for (const _ of calls.slice(1)) await limit.take(request, reply);
    const address = addressOf(request.raw);
    const { charge, pay } = payerOf({ addressOf, authenticator, budget }, request);
    const callerOf = (aside: Aside): RpcCaller => ({
      address,
      get hasKey() {
        countWrongKey(request.raw);
        return hasKey(request);
      },
      isLocal,
      charge,
      aside,
      audit: async (operation, target, outcome) => {
        audit.add({ at: new Date().toISOString(), from: address, operation, target, reason: null, outcome });
        await audit.written;
      }
    });
    const isGone = () => request.raw.socket.destroyed;
    const inTurn: InTurn = async (work) => {
      await pay({});
      return await turns.take({ address, isGone }, work);
    };
    const answer = async (call: unknown): Promise<Outcome> => {
      await pay({ calls: 1 });
      const work = async (aside: Aside) => {
        const began = performance.now();
        let waitedMs = 0; // another program's time
        const timed: Aside = async (wait) => {
          const from = performance.now();
          try {
            return await aside(wait);
          } finally {
            waitedMs += performance.now() - from;
          }
        };
        const outcome = await table.answer(call, callerOf(timed), request.log);
        charge({ ms: Math.min(performance.now() - began - waitedMs, MOST_CHARGED_MS) });
        return outcome;
      };
      try {
        if (table.isProbe(call)) return await work((wait) => wait());
        return await (table.isWrite(call)
          ? writeTurns.take({ address, isGone, isLasting: true }, work)
          : turns.take({ address, isGone }, work));
      } catch (caught) {
        return { status: 200, reply: hasReply(call) ? failureOf(idOf(call), caught) : undefined };
      }
    };
    if (isBatch && calls.some(hasReply))
      return await sendPieces(reply, repliesTo(calls, { answer, isGone, inTurn, table }), charge);
    const outcomes: Outcome[] = [];
    for (const call of calls) outcomes.push(await answer(call));
    const [only] = outcomes;
    if (isBatch || !only?.reply) return reply.code(204).send();
    return await sendReply(request, reply, { ...only, reply: only.reply }, { charge, inTurn });
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
    const about = { tag: 'Documentation', summary: 'The JSON-RPC methods, OpenRPC 1.3.2', statuses: [429] } as const;
    app.get(
      path,
      {
        config: { open: true, doc: about },
        schema: pathOf(path),
        onRequest: async (request, reply) => {
          await documentLimit.take(request, reply);
          checkCode(request);
        }
      },
      (_, reply) => reply.type(JSON_TYPE).send(kept.json)
    );
  }
};

/**
 * Yields the replies of a batch, each made when its reader has taken those before, in order: a read sees the write
 * before it. Of a caller that has left, only its writes are carried out.
 */
async function* repliesTo(
  calls: readonly unknown[],
  {
    answer,
    isGone,
    inTurn,
    table
  }: {
    readonly answer: (call: unknown) => Promise<Outcome>;
    readonly isGone: () => boolean;
    readonly inTurn: InTurn;
    readonly table: MethodTable;
  }
): AsyncGenerator<Piece> {
  const left = [...calls];
  try {
    let mark = '[';
    for (let call = left.shift(); call !== undefined; call = left.shift()) {
      if (isGone() && !table.isWrite(call)) continue;
      if (yield* replyTo(mark, () => answer(call), inTurn)) mark = ',';
    }
    yield ']';
  } finally {
    for (const call of left) if (table.isWrite(call)) await answer(call);
  }
}

/**
 * Yields one reply. It is a generator of its own, so that nothing keeps this reply in memory while the next call waits.
 *
 * @returns whether there is one
 */
async function* replyTo(mark: string, answer: () => Promise<Outcome>, inTurn: InTurn): AsyncGenerator<Piece, boolean> {
  const { reply } = await answer();
  if (!reply) return false;
  yield mark;
  yield* piecesOf(reply, inTurn);
  return true;
}

/**
 * Sends the reply to one call. A whole one goes at once to where unread answers are counted, and costs its caller as any answer does:
 * who owes waits before the next call, and not with megabytes in hand that nobody counts.
 */
async function sendReply(
  { headers }: FastifyRequest,
  answer: FastifyReply,
  { status, reply }: Outcome & { readonly reply: Reply },
  { charge, inTurn }: { readonly charge: Payer['charge']; readonly inTurn: InTurn }
): Promise<FastifyReply> {
  if ('result' in reply && reply.result instanceof StreamedResult)
    return await sendPieces(answer, piecesOf(reply, inTurn), charge);
  if (!('result' in reply && (reply.result instanceof KeptResult || reply.result instanceof JsonResult))) {
    return answer.code(status).type(JSON_TYPE).send(JSON.stringify(reply));
  }
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:\s*,|\s*$))/.test(String(headers['accept-encoding'] ?? ''));
  const after = `,"id":${JSON.stringify(reply.id)}}`;
  const { bytes, coding } = await reply.result.between('{"jsonrpc":"2.0","result":', after, takesGzip);
  if (coding === 'gzip') answer.header('content-encoding', 'gzip');
  return answer.header('vary', 'accept-encoding').type(JSON_TYPE).send(bytes);
}
