import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { OrNull } from '../../wire/or-null.ts';
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
      circuit: OrNull(Type.String())
    })
  ),
  relay: Type.Optional(
    Type.Array(
      Type.Object({
        chain: Type.String(),
        network: Type.String(),
        dbType: Type.String(),
        state: Type.String(),
        reason: OrNull(Type.String()),
        waiting: Type.Integer(),
        waiting_bytes: Type.Integer()
      })
    )
  ),
  last_updated: Type.String()
});

/**
 * `GET /health`: 503 only while a circuit is open; a halted or restarting actor is not ill health of the process. A stream that is
 * behind degrades it with 200: subscribers of this server get everything.
 */
export const healthRoutes: FastifyPluginAsyncTypebox<Pick<AppDeps, 'config' | 'directory' | 'relay'>> = async (
  app,
  { config, directory, relay }
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
      const isOpen = databases.some(({ circuit }) => circuit === 'open');
      const streams = directory.list().flatMap(({ chain, network, dbType }) => {
        const found = relay?.view({ chain, network, dbType });
        if (!found) return [];
        const { state, reason, waiting, waitingBytes } = found;
        return { chain, network, dbType, state, reason, waiting, waiting_bytes: waitingBytes };
      });
      const isDegraded = isOpen || streams.some(({ state }) => state === 'away');
      return reply.code(isOpen ? 503 : 200).send({
        status: isDegraded ? 'degraded' : 'healthy',
        mode: config.SYNC_MODE,
        databases,
        ...(relay ? { relay: streams } : {}),
        last_updated: new Date().toISOString()
      });
    }
  );
};
