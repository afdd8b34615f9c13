import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import type { Circuit } from '../../wire/state/report.ts';
import type { AppDeps } from '../http/deps.ts';

const HealthSchema = Type.Object({
  status: Type.String(),
  mode: Type.String(),
  databases: Type.Array(
    Type.Object({
      chain: Type.String(),
      network: Type.String(),
      dbType: Type.String(),
      circuit: Type.Union([Type.String(), Type.Null()])
    })
  ),
  last_updated: Type.String()
});

/** `GET /health`: 503 only while a circuit is open; a halted or restarting actor is not ill health of the process. */
export const healthRoutes: FastifyPluginAsyncTypebox<Pick<AppDeps, 'config' | 'directory'>> = async (
  app,
  { config, directory }
) => {
  app.get(
    '/health',
    {
      config: {
        doc: { tag: 'State', summary: "The databases' circuit breakers; 503 with the same body while one is open" }
      },
      schema: { response: { 200: HealthSchema, 503: HealthSchema } }
    },
    async (_, reply) => {
      const databases = directory.list().map((id) => {
        const circuit: Circuit | null = directory.isUp(id) ? (directory.lastReport(id)?.circuit ?? null) : null;
        return { chain: id.chain, network: id.network, dbType: id.dbType, circuit };
      });
      const isDegraded = databases.some(({ circuit }) => circuit === 'open');
      return reply.code(isDegraded ? 503 : 200).send({
        status: isDegraded ? 'degraded' : 'healthy',
        mode: config.SYNC_MODE,
        databases,
        last_updated: new Date().toISOString()
      });
    }
  );
};
