import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { DatabaseIdSchema, databaseKey } from '../../wire/database.ts';
import type { AddressReader } from '../address.ts';
import { databaseOf } from '../checks.ts';
import type { AppDeps } from '../deps.ts';
import { databaseParams, wholeNumber } from '../parameters.ts';
import { readiness } from '../readiness.ts';

const AfterSchema = Type.Object({
  after: Type.Optional(wholeNumber({ min: 0, note: 'the last entry that the caller has' }))
});

const AnswerSchema = Type.Object({ ok: Type.Boolean(), action: Type.String(), ...DatabaseIdSchema.properties });
const ACTIONS = {
  kill: "Ends an actor's thread as a crash would",
  restart: 'Stops an actor and starts it anew',
  pause: 'Stops an actor until it is restarted',
  verify: 'Compares a replica with its source as soon as it is at rest'
} as const;

type DebugDeps = Pick<
  AppDeps,
  'version' | 'config' | 'actorsView' | 'timeline' | 'control' | 'directory' | 'fanOut'
> & {
  readonly addressOf: AddressReader;
};

/**
 * `GET /debug/actors`: actors, machines, restarts and last transitions. `GET /debug/live?after=seq`: the same with reports,
 * subscribers and what happened since, for the console. For an operator: `POST /debug/actors/:dbType/:chain/:network/ACTION`.
 */
export const debugRoutes: FastifyPluginAsyncTypebox<DebugDeps> = async (app, deps) => {
  const { version, config, actorsView, timeline, control, directory, fanOut, addressOf } = deps;

  app.get(
    '/debug/actors',
    {
      config: {
        doc: { tag: 'Operator', summary: 'Every actor with its state machines, restarts and last transitions' }
      }
    },
    async () => actorsView()
  );

  const live = {
    tag: 'Operator',
    summary: 'The same with reports, subscribers and what happened since an entry'
  } as const;
  app.get('/debug/live', { config: { doc: live }, schema: { querystring: AfterSchema } }, async (request) => ({
    now: Date.now(),
    version,
    mode: config.SYNC_MODE,
    readiness: readiness(directory, config.READY_MAX_LAG),
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

  for (const action of ['kill', 'restart', 'pause', 'verify'] as const) {
    app.post(
      `/debug/actors/:dbType/:chain/:network/${action}`,
      {
        config: {
          operator: true,
          ...(action === 'verify' ? { mode: 'client' as const } : {}),
          doc: { tag: 'Operator', summary: ACTIONS[action], description: 'Always needs a configured key.' }
        },
        schema: { params: databaseParams(), response: { 202: AnswerSchema } }
      },
      async (request, reply) => {
        const id = databaseOf(request);
        request.log.warn({ database: id, from: addressOf(request.raw) }, `actor ${action} asked for by an operator`);
        await control[action](id);
        return reply.code(202).send({ ok: true, action, ...id });
      }
    );
  }
};
