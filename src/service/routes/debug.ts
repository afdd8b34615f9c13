import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type, { type TSchema } from 'typebox';
import { DatabaseIdSchema } from '../../wire/data/database.ts';
import { type ActorName, actorKey, actorNamed, subjectOf } from '../../wire/state/actor.ts';
import type { ActorView } from '../../wire/state/actor-view.ts';
import type { Pipeline } from '../../wire/state/pipeline.ts';
import { type ActorReport, presentReport } from '../../wire/state/report.ts';
import { type ServiceLook, ServiceLookSchema } from '../../wire/state/service-look.ts';
import type { TimelineReader } from '../../wire/state/timeline.ts';
import { ReasonSchema, reasonOf } from '../audit/audit-routes.ts';
import { type AddressReader, isNear } from '../callers/address.ts';
import type { Authenticator } from '../callers/auth.ts';
import { createLimit } from '../callers/limits.ts';
import type { OtherServices } from '../platform/other-services.ts';
import { platformView } from '../platform/platform-view.ts';
import { wholeNumber } from '../schema/parameters.ts';
import { historyRoute } from './history.ts';
import type { Readiness } from './readiness.ts';

/** Actions that an operator may apply to any actor. */
export interface ActorControl {
  /** Ends its thread as a crash would. */
  kill(id: ActorName): Promise<void>;
  restart(id: ActorName): Promise<void>;
  /** Stops it until `restart`. @param by who did so, and why */
  pause(id: ActorName, by: string): Promise<void>;
}

/** The actors of a service, as its console shows them. */
export interface ServiceActors {
  list(): readonly ActorView<ActorName>[];
  /** Events of the actors. */
  readonly timeline: TimelineReader;
  readonly control: ActorControl;
  /** The last report of an actor, and further fields that the console shows for its kind. */
  describe(id: ActorName): { readonly report: ActorReport | null };
  /** The way of blocks as the service knows it. */
  pipeline(): Pipeline;
}

interface DebugDeps {
  readonly version: string;
  readonly service: string;
  /** `server` or `client` of sync; null where a service has no modes. */
  readonly mode: string | null;
  /** Path of the console page. */
  readonly console: string;
  readonly actors: ServiceActors;
  /** Names of the charts of each kind of actor, in the order in which a page shows them. */
  readonly charts?: Readonly<Record<string, readonly string[]>>;
  readonly readiness: () => Readiness | Promise<Readiness>;
  readonly others: OtherServices;
  readonly addressOf: AddressReader;
  readonly authenticator: Authenticator;
}

const AfterSchema = Type.Object({
  after: Type.Optional(wholeNumber({ min: 0, note: 'the last entry that the caller has' }))
});
const ActorParams = {
  ...DatabaseIdSchema.properties,
  dbType: Type.String({ pattern: '^[a-z]{1,32}$', description: 'kind of database, or what the actor does' })
};
const AnswerSchema = Type.Object({ ok: Type.Boolean(), action: Type.String(), ...ActorParams });

/** A console looks twice a second. */
const REQUESTS_PER_MINUTE = 600;
/** One look at the actors is shared by all callers for this long. */
const LOOK_MS = 250;
/** Entries in one answer; `seq` is then that of the last one. */
const MAX_ENTRIES = 1_000;

const ACTIONS = {
  kill: "Ends an actor's thread as a crash would",
  restart: 'Stops an actor and starts it anew',
  pause: 'Stops an actor until it is restarted'
} as const;
export const NEEDS_OPERATOR = "Needs an operator's key.";

/**
 * `GET /debug/actors`: actors, machines, restarts and last transitions. `GET /debug/live?after=seq`: the same with reports
 * and what happened since, for the console. `GET /debug/pipeline`: the way of blocks, for the consoles of other services. For an operator:
 * `POST /debug/actors/:dbType/:chain/:network/ACTION`.
 */
export const debugRoutes: FastifyPluginAsyncTypebox<DebugDeps> = async (app, deps) => {
  const { actors, addressOf } = deps;
  app.get(
    '/debug/actors',
    {
      config: {
        isDiagnostic: true,
        doc: { tag: 'Operator', summary: 'Every actor with its state machines, restarts and last transitions' }
      }
    },
    async () => actors.list()
  );
  await app.register(liveRoute, deps);
  await app.register(historyRoute, deps);
  for (const action of ['kill', 'restart', 'pause'] as const) {
    app.post(
      `/debug/actors/:dbType/:chain/:network/${action}`,
      {
        config: { operator: true, doc: { tag: 'Operator', summary: ACTIONS[action], description: NEEDS_OPERATOR } },
        schema: { params: Type.Object(ActorParams), querystring: ReasonSchema, response: { 202: AnswerSchema } }
      },
      async (request, reply) => {
        const { dbType, chain, network } = request.params;
        const id = actorNamed(dbType, chain, network);
        request.log.warn(
          { database: actorKey(id), from: addressOf(request.raw) },
          `an operator asked for: ${action} actor`
        );
        const why = reasonOf(request);
        await actors.control[action](id, `from ${addressOf(request.raw)}${why ? `: ${why}` : ''}`);
        return reply.code(202).send({ ok: true, action, dbType: subjectOf(id), chain, network });
      }
    );
  }
};

const liveRoute: FastifyPluginAsyncTypebox<DebugDeps> = async (app, deps) => {
  const { version, service, mode, console, actors, charts = {}, addressOf, authenticator, others } = deps;
  const { timeline } = actors;
  const instance = randomUUID();
  const lookAtService = async (): Promise<ServiceLook> => {
    const readiness = await deps.readiness();
    return { instance, service, version, mode, console, readiness, pipeline: actors.pipeline() };
  };
  let look = { text: '', at: Number.NEGATIVE_INFINITY };
  const lookAtActors = () => {
    if (performance.now() - look.at < LOOK_MS) return look.text;
    const found = actors.list().map(({ transitions: _, ...actor }) => {
      const { report, ...more } = actors.describe(actor.id);
      const present = report && presentReport(report, actor.state === 'running');
      return { key: actorKey(actor.id), ...actor, charts: charts[actor.kind] ?? [], ...more, report: present };
    });
    const text = `"databases":${JSON.stringify(found)},"pipeline":${JSON.stringify(actors.pipeline())}`;
    look = { text, at: performance.now() };
    return look.text;
  };
  createLimit(app, { name: 'debug-live', max: REQUESTS_PER_MINUTE, windowMs: 60_000, addressOf }).guard(app);
  const doc = {
    tag: 'Operator',
    summary: 'The same with reports and what happened since an entry',
    statuses: [429]
  } as const;
  app.get(
    '/debug/live',
    { config: { isDiagnostic: true, doc }, schema: { querystring: AfterSchema } },
    async (request, reply) => {
      const entries = timeline.since(Number(request.query.after ?? 0)).slice(0, MAX_ENTRIES);
      // They were asked with a key, which a caller of this service may not have.
      const mayKnow = authenticator.configured || !others.isKeyed || isNear(request.raw, 'loopback');
      const otherServices = mayKnow ? others.list() : [];
      const own = otherServices.length > 0 ? await lookAtService() : null;
      const head = {
        now: Date.now(),
        version,
        service,
        mode,
        readiness: own?.readiness ?? (await deps.readiness()),
        platform: own && platformView(own, otherServices),
        operated: authenticator.admitsOperator(request.headers),
        seq: entries.length === MAX_ENTRIES ? entries.at(-1)!.seq : timeline.seq,
        entries
      };
      return reply
        .type('application/json; charset=utf-8')
        .send(`${JSON.stringify(head).slice(0, -1)},${lookAtActors()}}`);
    }
  );
  app.get(
    '/debug/pipeline',
    {
      config: {
        isDiagnostic: true,
        doc: { tag: 'Operator', summary: 'The service and the way of blocks as it knows it', statuses: [429] }
      },
      schema: { response: { 200: ServiceLookSchema as TSchema } }
    },
    lookAtService
  );
};
