import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { createFrame, type FrameParts } from '../service/frame.ts';
import { databaseOf } from '../service/schema/parameters.ts';
import { FairQueue } from '../service/turns/fair-queue.ts';
import type { DatabaseId } from '../wire/data/database.ts';
import { SYNC_DOCUMENTATION } from './documentation.ts';
import { describeActor } from './http/actor-description.ts';
import { checkDatabase } from './http/checks.ts';
import type { AppDeps } from './http/deps.ts';
import { syncPipeline } from './http/pipeline.ts';
import { readiness } from './http/readiness.ts';
import { readyActor } from './http/ready.ts';
import { catalogRoutes } from './routes/catalog.ts';
import { checkpointRoutes } from './routes/checkpoint.ts';
import { digestRoutes } from './routes/digest.ts';
import { healthRoutes } from './routes/health.ts';
import { operatorRoutes } from './routes/operator.ts';
import { pageRoutes } from './routes/pages.ts';
import { schemaRoutes } from './routes/schema.ts';
import { snapshotRoutes } from './routes/snapshots.ts';
import { statusRoutes } from './routes/status.ts';
import { isSubscription, subscribeRoutes } from './routes/subscribe.ts';
import { transparencyRoutes } from './routes/transparency.ts';
import { validatorRoutes } from './routes/validators.ts';

export type { ActorAsks, ActorDirectory, AppDeps, HttpConfig, SyncActorControl } from './http/deps.ts';

/**
 * Creates sync's front door: REST and the WebSocket upgrade on one port, in the frame of every service.
 *
 * Order of checks: 401, 400 dbType, 403 mode, 404 combination, 400 parameters or body, 429, 503.
 * `app.close()` closes subscribers with 1012 and, after SHUTDOWN_GRACE_MS, every connection that is left.
 *
 * @throws {PlatformError} CONFIG_INVALID
 */
export function createApp(deps: AppDeps): FastifyInstance {
  const { config, directory } = deps;
  return createFrame({
    ...deps,
    name: 'sync',
    mode: config.SYNC_MODE,
    hidesPaths: true,
    keys: { readers: config.SYNC_API_KEY, operators: config.SYNC_OPERATOR_KEY },
    documentation: SYNC_DOCUMENTATION,
    readiness: () => readiness(directory, config.READY_MAX_LAG),
    actors: {
      list: deps.actorsView,
      timeline: deps.timeline,
      control: deps.control,
      describe: (id: DatabaseId) => describeActor(id, deps),
      pipeline: () => {
        const lanes = deps.actorsView().map((actor) => ({ ...actor, ...describeActor(actor.id, deps) }));
        return syncPipeline(deps.origin ? 'edge' : config.SYNC_MODE, lanes, {
          isKnown: directory.discovered,
          isUp: deps.hubIsUp?.() ?? null
        });
      }
    },
    check: (request) => checkDatabase(request, { mode: config.SYNC_MODE, directory }),
    upgrades: {
      accept: ({ url, headers }) => isSubscription(url, headers.upgrade),
      maxPerAddress: config.WS_MAX_PER_IP
    },
    routes: (app, parts) => registerRoutes(app, deps, parts)
  });
}

function registerRoutes(app: FastifyInstance, deps: AppDeps, { addressOf, clientLimiter }: FrameParts): void {
  app.addHook('preHandler', async (request, reply) => {
    if (request.method !== 'HEAD' || !request.routeOptions.config.reads) return;
    readyActor(deps.directory, databaseOf(request));
    return reply.type('application/json; charset=utf-8').send(Readable.from([])); // a length would be taken for the body's
  });
  const { origin } = deps;
  if (origin)
    app.addHook('onRoute', (route) => {
      if (route.config?.reads && route.method === 'GET')
        route.handler = (request, reply) => origin.answer(request, reply);
    });
  // A source answers short questions one at a time, across all routes.
  const turns = new FairQueue(addressOf);
  const limited = { ...deps, addressOf };
  app.register(healthRoutes, deps);
  app.register(statusRoutes, deps);
  app.register(catalogRoutes, deps);
  app.register(schemaRoutes, { ...limited, turns });
  app.register(snapshotRoutes, { ...limited, turns });
  app.register(pageRoutes, limited);
  app.register(checkpointRoutes, { ...limited, turns });
  app.register(digestRoutes, limited);
  app.register(transparencyRoutes, { ...limited, turns });
  app.register(subscribeRoutes, { ...limited, onFault: (socket) => clientLimiter.fail(socket) });
  app.register(validatorRoutes, limited);
  app.register(operatorRoutes, limited);
  app.addHook('preClose', async () => deps.fanOut.close());
}
