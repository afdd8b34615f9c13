import rateLimit from '@fastify/rate-limit';
import {
  type FastifyInstance,
  type FastifyPluginCallback,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  fastify,
  LogController
} from 'fastify';
import type { FrameConfig } from '../config/service.ts';
import type { Logger } from '../log.ts';
import type { RequestMetrics } from '../observe/metrics/metrics.ts';
import { AuditLog } from './audit/audit-log.ts';
import { auditOperators, auditRoutes } from './audit/audit-routes.ts';
import { type AddressReader, createAddressReader, createPeerReader } from './callers/address.ts';
import { type AcceptedTokens, type Authenticator, createAuthenticator } from './callers/auth.ts';
import { allowOrigins } from './callers/cross-origin.ts';
import { Hosts } from './callers/hosts.ts';
import { RequestWindows } from './callers/request-windows.ts';
import { codeOfStatus, errorHandler } from './errors.ts';
import { ClientLimiter } from './ingress/client-limiter.ts';
import { type IngressOptions, ingress } from './ingress/ingress.ts';
import { hasContent } from './ingress/refusals.ts';
import { WorkBudget } from './ingress/work-budget.ts';
import { type CountWrongKey, countRefusedKeys, wrongKeyCounter } from './ingress/wrong-keys.ts';
import { OtherServices } from './platform/other-services.ts';
import { checkKey, MISSING_KEY } from './routes/checks.ts';
import { consoleRoutes } from './routes/console.ts';
import type { ConsoleFile } from './routes/console-files.ts';
import { debugRoutes, type ServiceActors } from './routes/debug.ts';
import { documentationRoutes } from './routes/documentation.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { probeRoutes } from './routes/probes.ts';
import { READINESS, type Readiness } from './routes/readiness.ts';
import { jsonRpc, type RpcOptions } from './rpc/json-rpc.ts';
import { describeMethods } from './rpc/openrpc.ts';
import { lazyCompilers } from './schema/compilers.ts';
import { type Documentation, documentRoutes } from './schema/openapi.ts';
import { refuseInvalid } from './schema/parameters.ts';
import { HeldBodies } from './stream/held-bodies.ts';
import { RequestBodies } from './stream/request-bodies.ts';
import { Turns } from './turns/turns.ts';

/** The part of a service's configuration that the frame reads. */
type FrameSettings = Pick<
  FrameConfig,
  | 'TRUST_PROXY'
  | 'PUBLIC_HOSTS'
  | 'CORS_ORIGINS'
  | 'HTTP_MAX_PER_IP'
  | 'MAX_CONNECTIONS'
  | 'SHUTDOWN_GRACE_MS'
  | 'CONSOLE_SERVICES'
  | 'CONSOLE_SERVICES_KEY'
>;

/** Parts of the frame that a service's own routes receive. */
export interface FrameParts {
  readonly authenticator: Authenticator;
  /** Returns the address under which a caller's requests are counted. */
  readonly addressOf: AddressReader;
  readonly clientLimiter: ClientLimiter;
  readonly countWrongKey: CountWrongKey;
  /** Budget of work for each address. */
  readonly budget: WorkBudget;
  /** Queue for callers' questions. */
  readonly turns: Turns;
  readonly requestBodies: RequestBodies;
  /** Operations that changed something. */
  readonly audit: AuditLog;
}

/** A service, as a list of what it has. */
export interface ServiceDefinition {
  /** `sync`, `hub`, `decoder`. */
  readonly name: string;
  readonly version: string;
  /** The mode that the service runs in; absent for a service without modes. */
  readonly mode?: string;
  readonly config: FrameSettings;
  readonly log: Logger;
  readonly keys: AcceptedTokens;
  /** Other secrets that nobody may guess, by their variables. */
  readonly secrets?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly documentation: Documentation;
  readonly readiness: () => Readiness | Promise<Readiness>;
  readonly actors: ServiceActors;
  /** Names of the charts of each kind of actor, in the order in which a page shows them. */
  readonly charts?: Readonly<Record<string, readonly string[]>>;
  readonly metrics: RequestMetrics;
  /** The console page's built files; empty where there are none. */
  readonly consoleFiles: ReadonlyMap<string, ConsoleFile>;
  /** Registered before everything else: it sees each request. */
  readonly tracing?: FastifyPluginCallback | undefined;
  /** Directory of the audit log; without it the log ends with the process. */
  readonly stateDirectory?: string | null;
  /** Path of the console page; `/` when absent. A service with a page of its own at `/` sets it. */
  readonly consolePath?: string;
  readonly rpc?: RpcOptions;
  /** Without the key a path that is none looks like one that needs it; else it is 404. */
  readonly hidesPaths?: boolean;
  /** The service's own checks, after the key and before parameters and body. */
  readonly check?: (request: FastifyRequest) => void;
  /** The requests that become WebSockets, and how many of those an address may have. */
  readonly upgrades?: { readonly accept: IngressOptions['isUpgrade']; readonly maxPerAddress: number };
  /** Registers the service's own routes. */
  readonly routes?: (app: FastifyInstance, parts: FrameParts) => void;
}

/** Calls, and parts of long answers. */
const AT_ONCE = 16;
const LEAST_KEY_LETTERS = 16;
/** Letters of one part of a path; names of tokens are the longest. */
const MAX_PART_LETTERS = 1_024;
/** Most bytes of a REST body; JSON-RPC has a limit of its own. */
const BODY_LIMIT_BYTES = 4_096;

/**
 * Creates the frame of every service: what stands before its routes, and the routes that each has (`/livez`, `/readyz`,
 * `/metrics`, `/debug/*`, `/openapi.json`, `/docs`, the console at `/`; with methods `POST /`, `POST /{COIN}/` and
 * `/openrpc.json`). It listens when the caller says so: `listen(app, …)`.
 *
 * Order of checks: 401, the service's own, 400 parameters or body, 429, 503. `app.close()` lets requests end and, after
 * SHUTDOWN_GRACE_MS, ends every connection that is left.
 *
 * @throws {PlatformError} CONFIG_INVALID
 */
export function createFrame(service: ServiceDefinition): FastifyInstance {
  const { config, metrics } = service;
  const authenticator = createAuthenticator(service.keys);
  warnOfShortKeys(service);
  if (config.CONSOLE_SERVICES_KEY !== undefined && !config.CONSOLE_SERVICES?.length)
    service.log.warn('CONSOLE_SERVICES_KEY is set and not used: name the services in CONSOLE_SERVICES, or unset it');
  const writes = Object.values(service.rpc?.methods ?? {}).some(({ write }) => write);
  if (config.CORS_ORIGINS?.includes('*') && writes && !authenticator.configured)
    service.log.warn(
      `CORS_ORIGINS is * and no key is set: any web page may write here; set ${service.documentation.keys}, or list origins`
    );
  const addressOf = createAddressReader(config.TRUST_PROXY);
  const budget = new WorkBudget();
  const clientLimiter = new ClientLimiter({
    maxPerAddress: config.HTTP_MAX_PER_IP + (service.upgrades?.maxPerAddress ?? 0),
    maxConnections: config.MAX_CONNECTIONS,
    addressOf: createPeerReader(config.TRUST_PROXY),
    callerOf: addressOf,
    budget,
    onTurnedAway: () => metrics.refused('RATE_LIMITED')
  });
  const turns = new Turns({ atOnce: service.rpc?.atOnce ?? AT_ONCE });
  const countWrongKey = wrongKeyCounter(authenticator, clientLimiter, metrics);
  const answers = new HeldBodies();
  const requestBodies = new RequestBodies({ addressOf, authenticator, budget, clientLimiter });
  const audit = new AuditLog(service.stateDirectory ?? null, service.log);
  const parts = { authenticator, addressOf, clientLimiter, countWrongKey, budget, turns, requestBodies, audit };
  const app = fastify(serverOptions(service, parts)) as unknown as FastifyInstance;
  readJson(app, requestBodies);

  const hosts = new Hosts(config.PUBLIC_HOSTS, config.CORS_ORIGINS);
  app.addHook('onRequest', async ({ raw, headers }) => {
    addressOf(raw); // it is known from here on
    const isUpgrade = headers.upgrade !== undefined;
    if (authenticator.admits(headers, isUpgrade)) return; // no page of a stranger has the key
    hosts.checkName(raw, authenticator.configured);
    if (isUpgrade) hosts.checkOrigin(raw);
  });
  if (service.tracing) app.register(service.tracing);
  const document = documentRoutes(app, service.version, service.documentation);
  if (config.CORS_ORIGINS) allowOrigins(app, config.CORS_ORIGINS);
  // Not before the plugins above, one of which may answer first.
  void app.after(() => {
    app.addHook('onRequest', async (request) => {
      if (request.is404 && !service.hidesPaths) return;
      checkKey(request, authenticator);
      if (!request.routeOptions.config.open) service.check?.(request);
    });
  });
  app.addHook('onSend', async ({ raw, headers, routeOptions }, reply, payload) => {
    // Without a word a cache may keep an answer for as long as it likes.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-cache');
    const isWhole = typeof payload === 'string' || Buffer.isBuffer(payload);
    const owes = !routeOptions.config.isFree && !authenticator.admits(headers, false);
    if (isWhole && owes) budget.charge(addressOf(raw), { bytes: payload.length });
    return await answers.hold(addressOf(raw), reply, payload);
  });
  auditOperators(app, parts);
  app.setErrorHandler(errorHandler({ withCode: service.documentation.codesAlways ? 'always' : true }));
  app.setNotFoundHandler(async (_, reply) => refuse(service, reply, 404, 'not found'));
  app.register(rateLimit, { global: false, store: RequestWindows });
  registerRoutes(app, service, parts, document);
  measure(app, metrics, clientLimiter);
  countRefusedKeys(app, countWrongKey);
  metrics.tellReadiness(READINESS, service.readiness);
  endGracefully(app, config.SHUTDOWN_GRACE_MS);
  return app;
}

/** Replaces Fastify's own reader of JSON, which keeps a body in the pieces in which it came, and counts none. */
function readJson(app: FastifyInstance, bodies: RequestBodies): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addHook('onRequest', async ({ raw }, reply) => {
    if (hasContent(raw.headers)) reply.raw.once('close', () => bodies.release(raw));
  });
  app.addContentTypeParser('application/json', (request, payload, done) => {
    const mostBytes = request.routeOptions.bodyLimit ?? BODY_LIMIT_BYTES;
    bodies.read(request, payload, mostBytes, (text) => text).then((text) => void parse(request, text, done), done);
  });
}

/** Says at the start that a key can be guessed. */
function warnOfShortKeys({ keys, secrets = {}, documentation, log }: ServiceDefinition): void {
  const remedy = `set one of ${LEAST_KEY_LETTERS} or more, such as that of: openssl rand -hex 32`;
  const warn = (what: string, key: string, where: string) =>
    log.warn(`${what} has ${key.length} characters, so that it can be guessed (${where}): ${remedy}`);
  const isShort = (key: string) => key.length < LEAST_KEY_LETTERS;
  const short = [...(keys.readers ?? []), ...(keys.operators ?? [])].find(isShort);
  if (short !== undefined) warn('a key', short, documentation.keys);
  for (const [name, given] of Object.entries(secrets)) {
    const shortOne = [given ?? []].flat().find(isShort);
    if (shortOne !== undefined) warn('a secret', shortOne, name);
  }
}

/** Refuses what reaches no route. */
function refuse(
  { documentation }: ServiceDefinition,
  reply: FastifyReply,
  status: number,
  error: string
): FastifyReply {
  reply.code(status).header('cache-control', 'no-store');
  return reply.send(documentation.codesAlways ? { error, code: codeOfStatus(status) } : { error });
}

/** Leaves out the slash behind a path of several parts: clients in use may end each with one. */
function withoutEndSlash(url: string): string {
  const [path = ''] = url.split('?', 1);
  if (!path.endsWith('/') || path.indexOf('/', 1) < 0 || path.indexOf('/', 1) === path.length - 1) return url;
  return `${path.slice(0, -1)}${url.slice(path.length)}`;
}

function serverOptions(
  service: ServiceDefinition,
  { authenticator, clientLimiter, countWrongKey }: FrameParts
): FastifyServerOptions {
  const { log, upgrades, documentation } = service;
  return {
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // A request that logs is rare, and to make a logger for each costs more than to find its route.
    childLoggerFactory: (logger) => logger,
    bodyLimit: BODY_LIMIT_BYTES,
    routerOptions: { maxParamLength: MAX_PART_LETTERS },
    ...(service.hidesPaths ? {} : { rewriteUrl: ({ url = '/' }) => withoutEndSlash(url) }),
    forceCloseConnections: 'idle',
    // What answers ends after the front door: a request that comes while it closes gets its answer too.
    return503OnClosing: false,
    ...ingress({
      clientLimiter,
      withCode: documentation.codesAlways === true,
      ...(upgrades?.accept ? { isUpgrade: upgrades.accept } : {})
    }),
    // Closed schemas refuse unknown fields. `verbose`: a finding carries the schema that it broke, whose description is the rule.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, verbose: true } },
    schemaController: { compilersFactory: lazyCompilers },
    schemaErrorFormatter: refuseInvalid,
    frameworkErrors: (caught, request, untyped) => {
      const reply = untyped as unknown as FastifyReply;
      if (!service.hidesPaths || !authenticator.configured || authenticator.admits(request.headers, false))
        return void refuse(service, reply, caught.statusCode ?? 400, caught.message.slice(0, 200)); // it quotes the path
      countWrongKey(request.raw);
      refuse(service, reply.header('www-authenticate', 'Bearer'), 401, MISSING_KEY);
    }
  };
}

function registerRoutes(
  app: FastifyInstance,
  service: ServiceDefinition,
  parts: FrameParts,
  document: ReturnType<typeof documentRoutes>
): void {
  const {
    name,
    version,
    mode = null,
    consolePath = '/',
    rpc,
    documentation,
    actors,
    charts = {},
    readiness,
    config
  } = service;
  const { title, description } = documentation;
  const openRpc = rpc && describeMethods(rpc.methods, { title, version, description });
  app.register(probeRoutes, { readiness });
  service.routes?.(app, parts);
  if (rpc && openRpc) app.register(jsonRpc, { ...parts, rpc, document: openRpc });
  const others = new OtherServices(config.CONSOLE_SERVICES ?? [], config.CONSOLE_SERVICES_KEY);
  const own = { version, service: name, mode, console: consolePath, actors, charts, readiness };
  app.register(debugRoutes, { ...parts, ...own, others });
  app.register(auditRoutes, parts);
  app.register(documentationRoutes, { ...parts, document, methods: openRpc?.methods, console: consolePath });
  app.register(consoleRoutes, service);
  app.register(metricsRoutes, service);
}

function measure(app: FastifyInstance, metrics: RequestMetrics, clientLimiter: ClientLimiter): void {
  // The route's pattern and not the path: a caller must not be able to make up series.
  app.addHook('onResponse', async ({ routeOptions, method }, reply) =>
    metrics.answered(routeOptions.url ?? 'unknown', method, reply.statusCode, reply.elapsedTime / 1000)
  );
  app.addHook('onResponse', async ({ raw }, { statusCode }) => {
    if (statusCode === 429) clientLimiter.refuse(raw);
  });
  app.addHook('onError', async (_request, _reply, { code = 'INTERNAL' }) => metrics.refused(code));
}

function endGracefully(app: FastifyInstance, graceMs: number): void {
  let isClosing = false;
  app.addHook('onSend', async (_, reply) => void (isClosing && reply.header('connection', 'close')));
  app.addHook('preClose', async () => {
    isClosing = true;
    const patience = setTimeout(() => app.server.closeAllConnections(), graceMs).unref();
    app.server.once('close', () => clearTimeout(patience));
  });
}
