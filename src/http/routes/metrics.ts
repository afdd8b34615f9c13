import type { FastifyPluginAsync } from 'fastify';
import type { AppDeps } from '../deps.ts';

/** `GET /metrics`, in the Prometheus text format, with the key like everything else; and the count of all answers. */
export const metricsRoutes: FastifyPluginAsync<Pick<AppDeps, 'metrics'>> = async (app, { metrics }) => {
  app.get(
    '/metrics',
    { config: { doc: { tag: 'State', summary: 'Metrics in the Prometheus text format' } } },
    async (_, reply) => reply.type(metrics.contentType).send(await metrics.render())
  );
};
