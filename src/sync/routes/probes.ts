import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { oneOf } from '../../service/parameters.ts';
import type { AppDeps } from '../http/deps.ts';
import { READINESS, readiness } from '../http/readiness.ts';

const RETRY_AFTER_S = 5;

const LiveSchema = Type.Object({ status: Type.Literal('live') });
const ReadySchema = Type.Object({ status: oneOf(READINESS) });

/** `GET /livez` and `GET /readyz`: one word each, open without a key, for whatever restarts or routes to this process. */
export const probeRoutes: FastifyPluginAsyncTypebox<Pick<AppDeps, 'config' | 'directory'>> = async (
  app,
  { config, directory }
) => {
  app.get(
    '/livez',
    {
      config: { open: true, doc: { tag: 'State', summary: 'Whether the process answers' } },
      schema: { response: { 200: LiveSchema } }
    },
    async () => ({ status: 'live' as const })
  );
  app.get(
    '/readyz',
    {
      config: {
        open: true,
        doc: { tag: 'State', summary: 'Whether every database is caught up; 503 with a word why not' }
      },
      schema: { response: { 200: ReadySchema, 503: ReadySchema } }
    },
    async (_, reply) => {
      const status = readiness(directory, config.READY_MAX_LAG);
      if (status !== 'ready') reply.code(503).header('retry-after', RETRY_AFTER_S);
      return reply.send({ status });
    }
  );
};
