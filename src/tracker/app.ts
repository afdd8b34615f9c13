import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { TrackerConfig } from '../config/services/tracker.ts';
import { readinessOf } from '../follower/report.ts';
import { createLimit } from '../service/callers/limits.ts';
import type { FrameParts, ServiceDefinition } from '../service/frame.ts';
import { createRpcFrame, type RpcAppDeps } from '../service/life/rpc-frame.ts';
import { healthRoute } from '../service/routes/health.ts';
import { takePaidTurn } from '../service/turns/paid-turn.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import {
  AfterSchema,
  CoinsSchema,
  FirstSeenSchema,
  InfoSchema,
  LimitTextSchema,
  MAX_PAGE,
  OwnerSchema,
  type TrackerMethodDeps,
  TrackerQuestions,
  trackerMethods
} from './methods.ts';
import { TrackerStatusSchema, trackerStatusOf } from './report.ts';

/** Parts that the tracker's process hands to its front door. */
interface TrackerAppDeps extends RpcAppDeps, Pick<ServiceDefinition, 'actors'>, TrackerMethodDeps {
  readonly config: ServiceDefinition['config'] &
    Pick<TrackerConfig, 'UTXO_TRACKER_API_KEY' | 'UTXO_TRACKER_RATE_LIMIT_RPM'>;
}

/** Reads of callers under way: fewer than the connections of the actor, which looks at the mempool on the others. */
const READS_AT_ONCE = 6;

/**
 * Creates the tracker's front door: JSON-RPC and the same reads by GET, in the frame that every service has.
 *
 * @throws {PlatformError} CONFIG_INVALID
 */
export function createTrackerApp(deps: TrackerAppDeps): FastifyInstance {
  const { config, view } = deps;
  const questions = new TrackerQuestions(deps);
  return createRpcFrame({
    ...deps,
    name: 'tracker',
    readers: config.UTXO_TRACKER_API_KEY,
    keyVariable: 'UTXO_TRACKER_API_KEY',
    description:
      'Keeps the unspent outputs of a chain by their scripts.\n\nJSON-RPC and the reads by GET are open; all else needs the key where there is one.',
    readiness: () => readinessOf(view()),
    rpc: {
      methods: trackerMethods(questions, view),
      requestsPerMinute: config.UTXO_TRACKER_RATE_LIMIT_RPM,
      atOnce: READS_AT_ONCE,
      serves: deps.serves
    },
    routes: (app, parts) => registerReads(app, questions, deps, parts)
  });
}

const Owner = Type.Object({ address: OwnerSchema });
const Page = Type.Object({ limit: Type.Optional(LimitTextSchema), after: Type.Optional(AfterSchema) });
const STATUSES = [400, 429, 503];
const tag = 'State';

function registerReads(
  app: FastifyInstance,
  questions: TrackerQuestions,
  { config, view }: TrackerAppDeps,
  parts: FrameParts
): void {
  const inTurn = <T>(request: FastifyRequest, read: () => Promise<T>) => takePaidTurn(parts, request, read);
  healthRoute(app, {
    path: '/status',
    summary: 'Whether it runs and reaches its database; 503 with the same body while it does not',
    schema: TrackerStatusSchema,
    read: () => trackerStatusOf(view(), monotonicMs()),
    isWell: ({ status }) => status === 'healthy'
  });
  app.register(async (reads) => {
    const { addressOf, authenticator } = parts;
    const max = config.UTXO_TRACKER_RATE_LIMIT_RPM;
    createLimit(reads, { name: 'reads', max, windowMs: 60_000, addressOf, authenticator }).guard(reads);
    reads.get<{ Params: { address: string }; Querystring: { limit?: string; after?: string } }>(
      '/utxos/:address',
      {
        config: {
          open: true,
          doc: {
            tag,
            summary:
              'Coins that may be spent: a bare list of 10,000 at most, whose headers name its block (X-Block-Hash), whether coins that wait are whole (X-Mempool-Ready), and the next page (Link); with `limit` or `after` page by page',
            statuses: STATUSES
          }
        },
        schema: {
          params: Owner,
          querystring: Page,
          response: { 200: Type.Union([CoinsSchema, CoinsSchema.properties.utxos]) }
        }
      },
      async (request, reply) => {
        const { params, query } = request;
        if (query.limit === undefined && query.after === undefined) {
          questions.refuseUnfit();
          const { list, blockHash, isMempoolReady, next } = await inTurn(request, () =>
            questions.coinList(params.address)
          );
          reply.header('x-mempool-ready', String(isMempoolReady));
          if (blockHash !== null) reply.header('x-block-hash', blockHash);
          if (next !== null) reply.header('link', `<?limit=${MAX_PAGE}&after=${next}>; rel="next"`);
          return reply.type('application/json; charset=utf-8').send(list);
        }
        const limit = query.limit === undefined ? undefined : Number(query.limit);
        const json = await inTurn(request, () => questions.coins(params.address, limit, query.after ?? null));
        // Frees the page at once: left to the garbage collector, pages would trigger a collection every few requests.
        reply.raw.once('finish', () => void json.buffer.transfer(0));
        return reply.type('application/json; charset=utf-8').send(json);
      }
    );
    reads.get<{ Params: { address: string } }>(
      '/firstseen/:address',
      {
        config: { open: true, doc: { tag, summary: 'The first block that paid to it', statuses: STATUSES } },
        schema: { params: Owner, response: { 200: FirstSeenSchema } }
      },
      async (request, reply) => {
        questions.refuseUnfit();
        const found = await inTurn(request, () => questions.firstSeen(request.params.address));
        return reply.type('application/json').send(JSON.stringify(found));
      }
    );
    reads.get<{ Params: { address: string } }>(
      '/balance/:address',
      {
        config: { open: true, doc: { tag, summary: 'What its confirmed coins are worth', statuses: STATUSES } },
        schema: { params: Owner, response: { 200: Type.Number({ description: 'coins, 8 decimal places' }) } }
      },
      async (request, reply) => {
        questions.refuseUnfit();
        const { balance } = await inTurn(request, () => questions.balance(request.params.address));
        return reply.type('application/json').send(balance);
      }
    );
    reads.get<{ Params: { address: string } }>(
      '/info/:address',
      {
        config: { open: true, doc: { tag, summary: 'What it has and ever received', statuses: STATUSES } },
        schema: { params: Owner, response: { 200: InfoSchema } }
      },
      (request) => inTurn(request, () => questions.info(request.params.address))
    );
  });
}
