import type { FastifyPluginAsync } from 'fastify';
import { databaseOf } from '../checks.ts';
import type { AppDeps } from '../deps.ts';

/** `GET /debug/actors`, and for an operator `POST /debug/actors/:dbType/:chain/:network/{kill,restart}`. */
export const debugRoutes: FastifyPluginAsync<Pick<AppDeps, 'actorsView' | 'control'>> = async (
  app,
  { actorsView, control }
) => {
  app.get('/debug/actors', async () => actorsView());
  for (const action of ['kill', 'restart'] as const) {
    app.post(
      `/debug/actors/:dbType/:chain/:network/${action}`,
      { config: { operator: true } },
      async (request, reply) => {
        const id = databaseOf(request);
        request.log.warn({ database: id }, `actor ${action} asked for by an operator`);
        await control[action](id);
        return reply.code(202).send({ ok: true, action, ...id });
      }
    );
  }
};
