import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { RouteDoc } from '../../service/route-doc.ts';
import { type Coin, findCoin } from '../coins.ts';
import type { FairReads } from '../fair-reads.ts';
import type { IndexerMethod } from '../indexer-calls.ts';
import { CoinSchema } from './parameters.ts';

/** Bytes of the body of `preflight`: the longest action in JSON. */
const MOST_BODY_BYTES = 400_000;
const MOST_QUERY_LETTERS = 8_192;
/** Calls of one network's indexer at once. */
export const ASKS_AT_ONCE = 4;

const Action = Type.String({ pattern: '^[A-Za-z0-9_]{1,32}$', description: 'name of an action' });
const params = (most: number) =>
  Type.Optional(Type.String({ maxLength: most, description: 'what follows the name on the wire: `0|TOK|5|…`' }));
const Source = Type.Optional(
  Type.String({ maxLength: 4_096, description: 'address that acts; without it nothing is tried' })
);
const FeeMode = Type.Optional(Type.Union([Type.Literal('xchain'), Type.Literal('native')]));
const preflight = (most: number) =>
  Type.Object({ action: Action, params: params(most), source: Source, feeMode: FeeMode });
const QUERIES = {
  feeschedule: Type.Object({}),
  feequote: Type.Object({
    ...{ action: Action, params: params(MOST_QUERY_LETTERS), source: Source },
    feeOutputSats: Type.Optional(Type.String({ pattern: '^[0-9]{1,16}$', description: 'satoshis paid as the fee' }))
  }),
  oraclefeequote: Type.Object({
    oracleAddress: Type.String({ minLength: 1, maxLength: 256 }),
    giveTick: Type.String({ minLength: 1, maxLength: 250 }),
    fiatCode: Type.String({ pattern: '^[A-Z]{3,5}$' }),
    giveCoin: Type.Optional(Type.String({ maxLength: 32 })),
    getCoin: Type.Optional(Type.String({ maxLength: 32 })),
    giveEscrow: Type.Optional(Type.String({ pattern: '^[0-9]{1,40}(?:\\.[0-9]{1,18})?$' })),
    blockTime: Type.Optional(
      Type.String({ pattern: '^[0-9]{1,12}$', description: 'unix seconds; default: the newest block' })
    )
  }),
  preflight: preflight(MOST_QUERY_LETTERS)
} satisfies Readonly<Record<IndexerMethod, object>>;
const SUMMARIES: Readonly<Record<IndexerMethod, string>> = {
  feeschedule: 'What each thing that costs gas costs, as the indexer says',
  feequote: 'What one action costs, as the indexer says',
  oraclefeequote: 'What a dispenser that costs what an oracle says owes that oracle, as the indexer says',
  preflight: 'Whether the next block would take an action, as the indexer says'
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

/** Paths that the network's indexer answers. */
export function feeRoutes(app: FastifyInstance, { coins, asks }: Deps): void {
  const ask = async (method: IndexerMethod, request: FastifyRequest, given: unknown) => {
    const coin = findCoin(coins(), (request.params as { coin?: string }).coin);
    const { blockTime, ...others } = given as { blockTime?: string };
    const asked = blockTime === undefined ? others : { ...others, blockTime: Number(blockTime) };
    return await asks.take(coin, request, () => coin.askIndexer(method, asked));
  };
  for (const coin of [{ coin: CoinSchema }, {}]) {
    const base = 'coin' in coin ? '/:coin/api' : '/api';
    const docOf = (method: IndexerMethod): { readonly doc?: RouteDoc } =>
      'coin' in coin
        ? { doc: { tag: 'State', summary: SUMMARIES[method], statuses: [400, 404, 429, 501, 502, 503] } }
        : {};
    for (const method of Object.keys(QUERIES) as IndexerMethod[])
      app.get(
        `${base}/${method}`,
        {
          config: { open: true, ...docOf(method) },
          schema: { params: Type.Object(coin), querystring: QUERIES[method], response: { 200: AnswerSchema } }
        },
        async (request, reply) => {
          reply.header('cache-control', 'no-store');
          return await ask(method, request, request.query);
        }
      );
    app.post(
      `${base}/preflight`,
      {
        bodyLimit: MOST_BODY_BYTES,
        config: { open: true, ...docOf('preflight') },
        schema: { params: Type.Object(coin), body: preflight(MOST_BODY_BYTES), response: { 200: AnswerSchema } }
      },
      async (request, reply) => {
        reply.header('cache-control', 'no-store');
        return await ask('preflight', request, request.body);
      }
    );
  }
}
