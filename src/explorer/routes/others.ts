import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import { type Coin, findCoin } from '../coins.ts';
import type { FairReads } from '../fair-reads.ts';
import type { Question } from '../question.ts';
import { CoinSchema, QuerySchema } from './parameters.ts';

/** Addresses of one question. */
const MAX_ADDRESSES = 20;
const MAX_BALANCES = 500;
const AddressesSchema = Type.Object({
  addresses: Type.Array(QuerySchema('an address'), { minItems: 1, maxItems: MAX_ADDRESSES })
});
const BalancesSchema = Type.Object({
  data: Type.Array(Type.Unknown(), {
    description: 'the answer of `balances` to each address, in their order, all at one block'
  })
});

interface Deps {
  readonly coins: () => readonly Coin[];
  readonly reads: FairReads;
}

/** Adds paths in use that are no list and no record: a POST, and what an explorer cannot answer. */
export function otherRoutes(app: FastifyInstance, { coins, reads }: Deps): void {
  const coinOf = ({ params }: FastifyRequest): Coin => findCoin(coins(), (params as { coin?: string }).coin);
  for (const base of ['/:coin', '']) {
    const coin = base === '' ? {} : { coin: CoinSchema };
    app.post(`${base}/api/contract/:query/call`, { config: { open: true } }, async () => {
      throw new PlatformError('RECORD_UNKNOWN', { reason: 'no contract runs here' });
    });
    const doc = {
      tag: 'State',
      summary: `Tells what several addresses hold, at most ${MAX_ADDRESSES}`,
      statuses: [400, 404, 429, 503]
    };
    app.post(
      `${base}/api/balances`,
      {
        config: { open: true, ...(base === '' ? {} : { doc }) },
        schema: { params: Type.Object(coin), body: AddressesSchema, response: { 200: BalancesSchema } }
      },
      async (request, reply) => {
        const served = coinOf(request);
        const { addresses: queries } = request.body as { readonly addresses: readonly string[] };
        const question: Question = {
          method: 'balances',
          queries,
          parameters: {},
          page: 1,
          limit: MAX_BALANCES,
          order: 'asc',
          format: 'json'
        };
        const { body, height } = await reads.take(served, request, () => served.read(question));
        if (height !== null) reply.header('x-block-height', height);
        return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send(body);
      }
    );
  }
}
