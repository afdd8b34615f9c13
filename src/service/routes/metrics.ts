import type { FastifyPluginAsync } from 'fastify';

interface MetricsDeps {
  readonly metrics: { readonly contentType: string; render(): Promise<string> };
}

/** `GET /metrics`, in the Prometheus text format, with the key like everything else; and the count of all answers. */
export const metricsRoutes: FastifyPluginAsync<MetricsDeps> = async (app, { metrics }) => {
  app.get(
    '/metrics',
    { config: { isDiagnostic: true, doc: { tag: 'State', summary: 'Metrics in the Prometheus text format' } } },
    async (_, reply) => reply.type(metrics.contentType).send(await metrics.render())
  );
};
