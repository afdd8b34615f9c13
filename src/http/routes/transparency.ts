import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import type { AddressReader } from '../address.ts';
import { databaseOf } from '../checks.ts';
import type { AppDeps } from '../deps.ts';
import { errorHandler } from '../errors.ts';
import { createLimit } from '../limits.ts';
import { readyActor } from '../ready.ts';

const REQUESTS_PER_MINUTE = 600;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

const RootsQuerySchema = Type.Object({
  page: Type.Optional(Type.String({ pattern: '^\\d{1,9}$' })),
  limit: Type.Optional(Type.String({ pattern: '^0*[1-9]\\d{0,14}$' }))
});

/** `GET /transparency/:dbType/:chain/:network/{roots,proof/:block_index,root/latest}`. */
export const transparencyRoutes: FastifyPluginAsyncTypebox<
  Pick<AppDeps, 'directory'> & { readonly addressOf: AddressReader }
> = async (app, { directory, addressOf }) => {
  app.setErrorHandler(errorHandler({ withCode: false }));
  const limit = createLimit(app, { name: 'transparency', max: REQUESTS_PER_MINUTE, windowMs: 60_000, addressOf });
  app.addHook('preHandler', (request, reply) => limit.take(request, reply));
  const base = '/transparency/:dbType/:chain/:network';
  const subject = 'transparency log';

  app.get(`${base}/roots`, { config: { subject }, schema: { querystring: RootsQuerySchema } }, async (request) => {
    const page = Number(request.query.page ?? 0);
    const rows = Math.min(Number(request.query.limit ?? DEFAULT_LIMIT), MAX_LIMIT);
    return readyActor(directory, databaseOf(request)).ask('transparency.roots', { page, limit: rows });
  });

  app.get(`${base}/proof/:block_index`, { config: { subject, mode: 'server' } }, async (request) => {
    const text = (request.params as { block_index: string }).block_index;
    const blockIndex = /^\d{1,16}$/.test(text) ? Number(text) : 0;
    if (blockIndex < 1 || !Number.isSafeInteger(blockIndex))
      throw new PlatformError('REQUEST_INVALID', { reason: 'block_index must be a positive integer' });
    return readyActor(directory, databaseOf(request)).ask('transparency.proof', { blockIndex });
  });

  app.get(`${base}/root/latest`, { config: { subject, mode: 'server' } }, async (request) =>
    readyActor(directory, databaseOf(request)).ask('transparency.latest', {})
  );
};
