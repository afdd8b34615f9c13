import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { readPlainly } from '../../service/rpc/plain-values.ts';
import type { RouteDoc } from '../../service/schema/route-doc.ts';
import { FEE_QUESTIONS, MOST_ACTION_LETTERS } from '../../wire/fee-questions.ts';
import { type Coin, findCoin } from '../coins.ts';
import type { FairReads } from '../fair-reads.ts';
import { INDEXER_METHODS, type IndexerMethod } from '../indexer-calls.ts';
import { KeptSchedules } from '../kept-schedules.ts';
import { queryOf, valuesOf } from './fee-query.ts';
import { CoinSchema } from './parameters.ts';

/** Bytes of the body of `preflight`: the longest action in JSON, where a character takes six at most. */
const MOST_BODY_BYTES = 6 * MOST_ACTION_LETTERS + 10_000;
/** Calls of one network's indexer at once. */
export const ASKS_AT_ONCE = 4;

const SUMMARIES: Readonly<Record<IndexerMethod, string>> = {
  feeschedule: 'Tells what each thing that costs gas costs, as the indexer says',
  feequote: 'Tells what one action costs, as the indexer says',
  oraclefeequote: 'Tells what a dispenser that costs what an oracle says owes that oracle, as the indexer says',
  preflight: 'Tells whether the next block would take an action, as the indexer says'
};
const AnswerSchema = Type.Object(
  {},
  { additionalProperties: true, description: 'as the method of the indexer answers' }
);

interface Deps {
  readonly coins: () => readonly Coin[];
  /** Turns of callers at the indexer. */
  readonly asks: FairReads;
}

/** Adds the paths that the network's indexer answers. */
export function feeRoutes(app: FastifyInstance, { coins, asks }: Deps): void {
  const schedules = new KeptSchedules();
  const ask = async (method: IndexerMethod, request: FastifyRequest, given: unknown) => {
    const coin = findCoin(coins(), (request.params as { coin?: string }).coin);
    if (method === 'feeschedule') return await schedules.read(coin); // it has no parameters
    return await asks.take(coin, request, () => coin.askIndexer(method, given as object));
  };
  for (const coin of [{ coin: CoinSchema }, {}]) {
    const base = 'coin' in coin ? '/:coin/api' : '/api';
    const docOf = (method: IndexerMethod): { readonly doc?: RouteDoc } =>
      'coin' in coin
        ? { doc: { tag: 'State', summary: SUMMARIES[method], statuses: [400, 404, 429, 501, 502, 503] } }
        : {};
    for (const method of INDEXER_METHODS)
      app.get(
        `${base}/${method}`,
        {
          config: { open: true, ...docOf(method) },
          schema: {
            params: Type.Object(coin),
            querystring: queryOf(FEE_QUESTIONS[method]),
            response: { 200: AnswerSchema }
          }
        },
        async (request, reply) => {
          reply.header('cache-control', 'no-store');
          return await ask(
            method,
            request,
            valuesOf(FEE_QUESTIONS[method], request.query as Readonly<Record<string, string>>)
          );
        }
      );
    app.post(
      `${base}/preflight`,
      {
        bodyLimit: MOST_BODY_BYTES,
        config: { open: true, ...docOf('preflight') },
        schema: { params: Type.Object(coin), body: FEE_QUESTIONS.preflight, response: { 200: AnswerSchema } },
        preValidation: async (request) => {
          request.body = readPlainly(request.body, FEE_QUESTIONS.preflight as Type.TObject);
        }
      },
      async (request, reply) => {
        reply.header('cache-control', 'no-store');
        return await ask('preflight', request, request.body);
      }
    );
  }
}
