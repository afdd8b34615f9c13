import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { databaseKey } from '../../wire/database.ts';
import { databaseOf } from '../checks.ts';
import type { AppDeps } from '../deps.ts';

const AfterSchema = Type.Object({
  after: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$', description: 'after must be a non-negative integer' }))
});

type DebugDeps = Pick<AppDeps, 'config' | 'actorsView' | 'timeline' | 'control' | 'directory' | 'fanOut'>;

/**
 * `GET /debug/actors`: actors, machines, restarts and last transitions. `GET /debug/live?after=seq`: the same with reports,
 * subscribers and what happened since, for the console. For an operator: `POST /debug/actors/:dbType/:chain/:network/ACTION`.
 */
export const debugRoutes: FastifyPluginAsyncTypebox<DebugDeps> = async (app, deps) => {
  const { config, actorsView, timeline, control, directory, fanOut } = deps;

  app.get('/debug/actors', async () => actorsView());

  app.get('/debug/live', { schema: { querystring: AfterSchema } }, async (request) => ({
    now: Date.now(),
    mode: config.SYNC_MODE,
    operated: config.SYNC_API_KEY !== undefined,
    seq: timeline.seq,
    databases: actorsView().map(({ transitions: _, ...actor }) => ({
      key: databaseKey(actor.id),
      ...actor,
      report: directory.lastReport(actor.id) ?? null,
      subscribers: config.SYNC_MODE === 'server' ? fanOut.subscribers(actor.id) : []
    })),
    entries: timeline.since(Number(request.query.after ?? 0))
  }));

  for (const action of ['kill', 'restart', 'pause'] as const) {
    app.post(
      `/debug/actors/:dbType/:chain/:network/${action}`,
      { config: { operator: true } },
      async (request, reply) => {
        const id = databaseOf(request);
        request.log.warn({ database: id, from: request.ip }, `actor ${action} asked for by an operator`);
        await control[action](id);
        return reply.code(202).send({ ok: true, action, ...id });
      }
    );
  }
};
