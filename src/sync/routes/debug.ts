import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import type { AddressReader } from '../../service/address.ts';
import type { Authenticator } from '../../service/auth.ts';
import { createLimit } from '../../service/limits.ts';
import { databaseOf, databaseParams, wholeNumber } from '../../service/parameters.ts';
import { type DatabaseId, DatabaseIdSchema, databaseKey } from '../../wire/database.ts';
import type { SubscriberView } from '../fan-out/subscriber.ts';
import type { AppDeps } from '../http/deps.ts';
import { syncPipeline } from '../http/pipeline.ts';
import { readiness } from '../http/readiness.ts';

const AfterSchema = Type.Object({
  after: Type.Optional(wholeNumber({ min: 0, note: 'the last entry that the caller has' }))
});

/** A console looks twice a second. */
const REQUESTS_PER_MINUTE = 600;
/** So long one look at the databases serves everybody. */
const LOOK_MS = 250;
/** Of each database the slowest subscribers are told, and so many entries at once: `seq` is then that of the last one. */
const MAX_SUBSCRIBERS = 200;
const MAX_ENTRIES = 1_000;

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
  readonly authenticator: Authenticator;
};

/**
 * `GET /debug/actors`: actors, machines, restarts and last transitions. `GET /debug/live?after=seq`: the same with reports,
 * subscribers and what happened since, for the console. For an operator: `POST /debug/actors/:dbType/:chain/:network/ACTION`.
 */
export const debugRoutes: FastifyPluginAsyncTypebox<DebugDeps> = async (app, deps) => {
  const { version, config, actorsView, timeline, control, directory, fanOut, addressOf, authenticator } = deps;

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
    summary: 'The same with reports, subscribers and what happened since an entry',
    statuses: [429]
  } as const;
  const subscribersOf = (id: DatabaseId) => {
    const all = config.SYNC_MODE === 'server' ? fanOut.subscribers(id) : [];
    return { subscribers: all.toSorted(slowestFirst).slice(0, MAX_SUBSCRIBERS), subscriber_count: all.length };
  };
  let databases = { text: '', at: Number.NEGATIVE_INFINITY };
  const look = () => {
    if (performance.now() - databases.at < LOOK_MS) return databases.text;
    const found = actorsView().map(({ transitions: _, ...actor }) => ({
      key: databaseKey(actor.id),
      ...actor,
      report: directory.lastReport(actor.id) ?? null,
      ...subscribersOf(actor.id)
    }));
    const pipeline = syncPipeline(config.SYNC_MODE, found, directory.discovered);
    const text = `"databases":${JSON.stringify(found)},"pipeline":${JSON.stringify(pipeline)}`;
    databases = { text, at: performance.now() };
    return databases.text;
  };
  const limitedRoutes: FastifyPluginAsyncTypebox = async (limited) => {
    createLimit(limited, { name: 'debug-live', max: REQUESTS_PER_MINUTE, windowMs: 60_000, addressOf }).guard(limited);
    limited.get(
      '/debug/live',
      { config: { doc: live }, schema: { querystring: AfterSchema } },
      async (request, reply) => {
        const entries = timeline.since(Number(request.query.after ?? 0)).slice(0, MAX_ENTRIES);
        const head = {
          now: Date.now(),
          version,
          mode: config.SYNC_MODE,
          readiness: readiness(directory, config.READY_MAX_LAG),
          operated: authenticator.admitsOperator(request.headers),
          seq: entries.length === MAX_ENTRIES ? entries.at(-1)!.seq : timeline.seq,
          entries
        };
        return reply.type('application/json; charset=utf-8').send(`${JSON.stringify(head).slice(0, -1)},${look()}}`);
      }
    );
  };
  await app.register(limitedRoutes);

  for (const action of ['kill', 'restart', 'pause', 'verify'] as const) {
    app.post(
      `/debug/actors/:dbType/:chain/:network/${action}`,
      {
        config: {
          operator: true,
          ...(action === 'verify' ? { mode: 'client' as const } : {}),
          doc: {
            tag: 'Operator',
            summary: ACTIONS[action],
            description: 'Needs the SYNC_OPERATOR_KEY; where that is not set, the SYNC_API_KEY.'
          }
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

function slowestFirst(a: SubscriberView, b: SubscriberView): number {
  const [stalledA, stalledB] = [a.state === 'stalled', b.state === 'stalled'];
  return Number(stalledB) - Number(stalledA) || (b.lag ?? -1) - (a.lag ?? -1) || b.bufferedBytes - a.bufferedBytes;
}
