import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import { DatabaseDigestSchema, DigestParametersSchema, RangeRowsSchema, TableRangesSchema } from '../../wire/digest.ts';
import type { AddressReader } from '../address.ts';
import { databaseOf } from '../checks.ts';
import type { AppDeps } from '../deps.ts';
import { createLimit } from '../limits.ts';
import { databaseParams } from '../parameters.ts';
import { readyActor } from '../ready.ts';

const REQUESTS_PER_MINUTE = 600;
/** Every row of the database is hashed when the tip is new. */
const DEADLINE_MS = 300_000;

/**
 * `GET /digest/:dbType/:chain/:network`: digests of all tables, of one table's ranges (`table`, `from`, `to`, `block`), or
 * the rows of a range (`rows=1`). The body comes from the actor as JSON text and is passed on as it is.
 */
export const digestRoutes: FastifyPluginAsyncTypebox<
  Pick<AppDeps, 'directory'> & { readonly addressOf: AddressReader }
> = async (app, { directory, addressOf }) => {
  const limit = createLimit(app, { name: 'digest', max: REQUESTS_PER_MINUTE, windowMs: 60_000, addressOf });
  limit.guard(app);
  app.get(
    '/digest/:dbType/:chain/:network',
    {
      config: {
        mode: 'server',
        reads: true,
        doc: {
          tag: 'Comparison',
          summary: 'Digests of all tables, of the ranges of one, or the rows of a range',
          description: 'Order-independent sums of a hash per row, read in one snapshot at `block_height`.',
          statuses: [413, 429]
        }
      },
      schema: {
        params: databaseParams(),
        querystring: DigestParametersSchema,
        response: { 200: Type.Union([DatabaseDigestSchema, TableRangesSchema, RangeRowsSchema]) }
      }
    },
    async (request, reply) => {
      const { table = null, from, to, block, rows, settled } = request.query;
      const range =
        from === undefined || to === undefined
          ? null
          : { from: Number(from), to: Number(to), block: block === undefined ? null : Number(block) };
      const isWhole = from === undefined && to === undefined && block === undefined && rows === undefined;
      if (range ? table === null : !isWhole) {
        throw new PlatformError('REQUEST_INVALID', { reason: 'a range needs table, from and to' });
      }
      if (settled !== undefined && (table === null || range))
        throw new PlatformError('REQUEST_INVALID', { reason: 'settled is asked of a whole table' });
      const query = { table, range, rows: rows === '1', ...(settled ? { settled: true } : {}) };
      const actor = readyActor(directory, databaseOf(request));
      const { body } = await actor.ask('digest.read', { query }, { deadlineMs: DEADLINE_MS });
      return reply.type('application/json; charset=utf-8').send(body as never);
    }
  );
};
