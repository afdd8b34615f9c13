import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { oneOf } from '../schema/parameters.ts';
import { READINESS, type Readiness } from './readiness.ts';

const RETRY_AFTER_S = 5;

const LiveSchema = Type.Object({ status: Type.Literal('live') });
const ReadySchema = Type.Object({ status: oneOf(READINESS) });

interface ProbeDeps {
  /** MUST answer from memory, or within a time limit of its own. */
  readonly readiness: () => Readiness | Promise<Readiness>;
}

/** `GET /livez` and `GET /readyz`: one word each, open without a key, for whatever restarts or routes to this process. */
export const probeRoutes: FastifyPluginAsyncTypebox<ProbeDeps> = async (app, { readiness }) => {
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
        doc: { tag: 'State', summary: 'Whether the service can be used; 503 with a word why not' }
      },
      schema: { response: { 200: ReadySchema, 503: ReadySchema } }
    },
    async (_, reply) => {
      const status = await readiness();
      if (status !== 'ready') reply.code(503).header('retry-after', RETRY_AFTER_S);
      return reply.send({ status });
    }
  );
};
