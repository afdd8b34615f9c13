import { Readable } from 'node:stream';
import rateLimit from '@fastify/rate-limit';
import { type FastifyInstance, type FastifyReply, fastify, LogController } from 'fastify';
import { createAddressReader, createPeerReader } from '../service/address.ts';
import { createAuthenticator } from '../service/auth.ts';
import { checkRequest } from '../service/checks.ts';
import { lazyCompilers } from '../service/compilers.ts';
import { allowOrigins } from '../service/cross-origin.ts';
import { errorHandler } from '../service/errors.ts';
import { FairQueue } from '../service/fair-queue.ts';
import { ClientLimiter } from '../service/ingress/client-limiter.ts';
import { frontDoor } from '../service/ingress/front-door.ts';
import { documentRoutes } from '../service/openapi.ts';
import { databaseOf, refuseInvalid } from '../service/parameters.ts';
import { ResponseBuffer } from '../service/response-buffer.ts';
import { consoleRoutes } from '../service/routes/console.ts';
import { documentationRoutes } from '../service/routes/documentation.ts';
import { metricsRoutes } from '../service/routes/metrics.ts';
import type { AppDeps } from './http/deps.ts';
import { readyActor } from './http/ready.ts';
import { catalogRoutes } from './routes/catalog.ts';
import { checkpointRoutes } from './routes/checkpoint.ts';
import { debugRoutes } from './routes/debug.ts';
import { digestRoutes } from './routes/digest.ts';
import { haltRoutes } from './routes/halt.ts';
import { healthRoutes } from './routes/health.ts';
import { pageRoutes } from './routes/pages.ts';
import { probeRoutes } from './routes/probes.ts';
import { schemaRoutes } from './routes/schema.ts';
import { snapshotRoutes } from './routes/snapshots.ts';
import { statusRoutes } from './routes/status.ts';
import { isSubscription, subscribeRoutes } from './routes/subscribe.ts';
import { transparencyRoutes } from './routes/transparency.ts';
import { validatorRoutes } from './routes/validators.ts';

export type { ActorAsks, ActorControl, ActorDirectory, AppDeps, HttpConfig } from './http/deps.ts';

const BODY_LIMIT_BYTES = 4_096;

/**
 * The front door: REST and the WebSocket upgrade on one port. It listens when the caller says so: `app.listen(...)`.
 *
 * Order of checks: 401, 400 dbType, 403 mode, 404 combination, 400 parameters or body, 429, 503.
 * `app.close()` closes subscribers with 1012 and, after SHUTDOWN_GRACE_MS, every connection that is left.
 *
 * @throws {PlatformError} CONFIG_INVALID
 */
export function createApp(deps: AppDeps): FastifyInstance {
  const { config, log, directory, fanOut } = deps;
  const authenticator = createAuthenticator({
    readers: config.SYNC_API_KEY,
    operators: config.SYNC_OPERATOR_KEY
  });
  const addressOf = createAddressReader(config.TRUST_PROXY);
  const clientLimiter = new ClientLimiter({
    maxPerAddress: config.HTTP_MAX_PER_IP + config.WS_MAX_PER_IP,
    addressOf: createPeerReader(config.TRUST_PROXY),
    onTurnedAway: () => deps.metrics.refused('RATE_LIMITED')
  });
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    forceCloseConnections: 'idle',
    ...frontDoor({
      clientLimiter,
      maxConnections: config.MAX_CONNECTIONS,
      isUpgrade: ({ url, headers }) => isSubscription(url, headers.upgrade)
    }),
    // `verbose`: a finding carries the schema that it broke, whose description is the rule.
    ajv: { customOptions: { coerceTypes: false, verbose: true } },
    schemaController: { compilersFactory: lazyCompilers },
    schemaErrorFormatter: refuseInvalid,
    frameworkErrors: (caught, request, untyped) => {
      // The router cannot read the path, so it is nobody's: without the key it stays unknown.
      const reply = untyped as unknown as FastifyReply;
      if (!authenticator.configured || authenticator.admits(request.headers, false))
        reply.code(caught.statusCode ?? 400).send({ error: caught.message.slice(0, 200) }); // it quotes the path
      else reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'missing or invalid Bearer token' });
    }
  }) as unknown as FastifyInstance;

  if (deps.tracing) app.register(deps.tracing);
  const document = documentRoutes(app, deps.version);
  if (config.CORS_ORIGINS) allowOrigins(app, config.CORS_ORIGINS);
  // Not before the plugins above, one of which may answer first.
  void app.after(() => {
    app.addHook('onRequest', async (request) =>
      checkRequest(request, { authenticator, mode: config.SYNC_MODE, directory })
    );
  });
  app.addHook('preHandler', async (request, reply) => {
    if (request.method !== 'HEAD' || !request.routeOptions.config.reads) return;
    readyActor(directory, databaseOf(request));
    return reply.type('application/json; charset=utf-8').send(Readable.from([])); // a length would be taken for the body's
  });
  const responses = new ResponseBuffer();
  app.addHook('onSend', async (_, reply, payload) => responses.hold(reply, payload));
  app.setErrorHandler(errorHandler({ withCode: true }));
  app.setNotFoundHandler(async (_, reply) => reply.code(404).send({ error: 'not found' }));

  // What is a moment's work for a source is asked of it one at a time, whichever route it is for.
  const turns = new FairQueue(addressOf);

  app.register(rateLimit, { global: false });
  app.register(probeRoutes, deps);
  app.register(healthRoutes, deps);
  app.register(statusRoutes, deps);
  app.register(catalogRoutes, deps);
  app.register(schemaRoutes, { ...deps, addressOf, turns });
  app.register(snapshotRoutes, { ...deps, addressOf, turns });
  app.register(pageRoutes, { ...deps, addressOf });
  app.register(checkpointRoutes, { ...deps, addressOf, turns });
  app.register(digestRoutes, { ...deps, addressOf });
  app.register(transparencyRoutes, { ...deps, addressOf, turns });
  app.register(subscribeRoutes, { ...deps, addressOf, onFault: (socket) => clientLimiter.fail(socket) });
  app.register(validatorRoutes, { ...deps, addressOf });
  app.register(haltRoutes, { ...deps, addressOf });
  app.register(debugRoutes, { ...deps, addressOf, authenticator });
  app.register(documentationRoutes, { document });
  app.register(consoleRoutes, deps);
  app.register(metricsRoutes, deps);

  // The route's pattern and not the path: a caller must not be able to make up series.
  app.addHook('onResponse', async ({ routeOptions, method }, reply) =>
    deps.metrics.answered(routeOptions.url ?? 'unknown', method, reply.statusCode, reply.elapsedTime / 1000)
  );

  app.addHook('onResponse', async ({ raw }, { statusCode }) => {
    if (statusCode === 429) clientLimiter.refuse(raw.socket);
  });

  app.addHook('onError', async (_request, _reply, { code = 'INTERNAL' }) => deps.metrics.refused(code));

  let isClosing = false;
  app.addHook('onSend', async (_, reply) => void (isClosing && reply.header('connection', 'close')));
  app.addHook('preClose', async () => {
    isClosing = true;
    fanOut.close();
    const patience = setTimeout(() => app.server.closeAllConnections(), config.SHUTDOWN_GRACE_MS);
    app.server.once('close', () => clearTimeout(patience));
  });
  return app;
}
