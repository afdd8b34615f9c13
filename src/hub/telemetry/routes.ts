import { createHmac } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import type { HubConfig } from '../../config/services/hub.ts';
import { PlatformError } from '../../errors.ts';
import { createAuthenticator } from '../../service/callers/auth.ts';
import { createLimit } from '../../service/callers/limits.ts';
import { prefixOf } from '../../service/callers/prefix.ts';
import type { FrameParts } from '../../service/frame.ts';
import { type InTurn, partsOf } from '../../service/rpc/calls.ts';
import { StreamedResult } from '../../service/rpc/streamed-result.ts';
import { wholeNumber } from '../../service/schema/parameters.ts';
import { sendPieces } from '../../service/stream/sending.ts';
import { Turns } from '../../service/turns/turns.ts';
import { PingSchema } from '../../wire/telemetry.ts';
import { pagesOf } from '../pages.ts';
import type { HubDatabase } from '../store/database.ts';
import { MOST_INSTALLATIONS } from '../store/pings.ts';
import { KeptCensus, WINDOWS, type Window } from './kept-census.ts';
import type { PlaceOf } from './places.ts';

/** Settings of the hub that the collector reads. */
export type TelemetrySettings = Pick<HubConfig, 'TELEMETRY_ENABLED' | 'TELEMETRY_IP_SALT' | 'TELEMETRY_ADMIN_KEY'>;

interface TelemetryDeps extends Pick<FrameParts, 'addressOf' | 'turns'> {
  readonly database: HubDatabase;
  readonly config: TelemetrySettings;
  readonly placeOf: PlaceOf;
}

const BODY_LIMIT_BYTES = 8_192;
const PER_MINUTE = 10;
/** An installation sends one. */
const PINGS_PER_DAY = 50;
/**
 * Limits of pings: one is stored at a time, since each locks what all writers wait for. A sender with too many waiting is refused,
 * and no other.
 */
const PING_TURNS = { atOnce: 1, patienceMs: 5_000, mostOfOne: 16, mostWaiting: 128 };
const PAGE_ROWS = 100;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 365;

const tag = 'Telemetry';
const DaysSchema = Type.Object({
  days: Type.Optional(wholeNumber({ min: 1, digits: 3, default: DEFAULT_DAYS, note: `at most ${MAX_DAYS}` }))
});
const WindowSchema = Type.Object({
  days: Type.Optional(
    wholeNumber({ min: 1, digits: 3, default: DEFAULT_DAYS, note: `counted are the next of ${WINDOWS.join(', ')}` })
  )
});
const Groups = Type.Array(Type.Object({ key: Type.String(), count: Type.Integer() }));
const Counted = Type.Optional(Groups);
const CensusSchema = Type.Object({
  enabled: Type.Boolean(),
  window_days: Type.Optional(Type.Integer()),
  operators: Type.Optional(
    Type.Integer({
      description: 'installations that were heard of; absent where fewer than five addresses told of them'
    })
  ),
  byVersion: Counted,
  byOs: Counted,
  byCountry: Counted,
  byArch: Counted,
  byDocker: Counted,
  modules: Counted,
  chains: Counted,
  chainModules: Type.Optional(
    Type.Array(
      Type.Object({ coin: Type.String(), network: Type.String(), module: Type.String(), count: Type.Integer() })
    )
  )
});
const statusOf = <const S extends string>(status: S) => Type.Object({ status: Type.Literal(status) });
const OperatorsSchema = Type.Object({
  enabled: Type.Boolean(),
  window_days: Type.Integer(),
  operators: Type.Array(Type.Unsafe<object>({ type: 'object', additionalProperties: true }))
});

/**
 * The telemetry collector. No address of a sender is stored or logged: its keyed hash is, where there is a salt, and its
 * country and region, where there is a database of addresses.
 *
 * @see the section "Telemetry collector (hub REST)" of the specification
 */
export const telemetryRoutes: FastifyPluginAsyncTypebox<TelemetryDeps> = async (
  app,
  { database, config, addressOf, turns, placeOf }
) => {
  const limit = createLimit(app, { name: 'telemetry', max: PER_MINUTE, windowMs: 60_000, addressOf });
  const daily = createLimit(app, { name: 'telemetry-day', max: PINGS_PER_DAY, windowMs: 86_400_000, addressOf });
  const admin = createAuthenticator({ readers: config.TELEMETRY_ADMIN_KEY });
  const enabled = config.TELEMETRY_ENABLED;
  const pingTurns = new Turns(PING_TURNS);
  const census = new KeptCensus((days) => database.survey('takeCensus', days));

  app.post(
    '/telemetry',
    {
      bodyLimit: BODY_LIMIT_BYTES,
      config: { open: true, doc: { tag, summary: 'Takes a usage ping', statuses: [403, 413, 429, 503] } },
      schema: { body: PingSchema, response: { 200: statusOf('success'), 403: statusOf('disabled') } },
      onRequest: async (request, reply) => {
        if (!enabled) return await reply.code(403).send({ status: 'disabled' });
        await limit.take(request, reply);
        await daily.take(request, reply);
      }
    },
    async ({ body, raw }) => {
      const address = addressOf(raw);
      const sender = { ...placeOf(address), ip_hash: hashOf(address, config.TELEMETRY_IP_SALT) };
      const isGone = () => raw.socket.destroyed;
      const store = () => database.push('insertPing', body, sender);
      await pingTurns.take({ address, isGone }, store);
      return { status: 'success' as const };
    }
  );
  app.get(
    '/telemetry/summary',
    {
      config: {
        open: true,
        doc: { tag, summary: 'How many run what; no group of fewer than five is told', statuses: [429, 503] }
      },
      schema: { querystring: WindowSchema, response: { 200: CensusSchema } },
      onRequest: async (request, reply) => await limit.take(request, reply)
    },
    async ({ query }) => {
      if (!enabled) return { enabled };
      const days = windowOf(daysOf(query.days));
      return { enabled, window_days: days, ...(await census.read(days)) };
    }
  );
  app.get(
    '/telemetry/operators',
    {
      config: {
        open: true,
        isFree: true,
        doc: {
          tag,
          summary: 'Each installation, those heard of first last; needs TELEMETRY_ADMIN_KEY',
          statuses: [401, 429]
        }
      },
      schema: { querystring: DaysSchema, response: { 200: OperatorsSchema } },
      onRequest: async (request, reply) => {
        await limit.take(request, reply); // guesses count as all else does
        if (!admin.admits(request.headers, false))
          throw new PlatformError('UNAUTHORIZED', { reason: 'send TELEMETRY_ADMIN_KEY as X-API-Key' });
      }
    },
    async (request, reply) => {
      const days = daysOf(request.query.days);
      const address = addressOf(request.raw);
      const isGone = () => request.raw.socket.destroyed;
      const inTurn: InTurn = (work) => turns.take({ address, isGone }, work);
      const pages = () =>
        pagesOf(MOST_INSTALLATIONS, PAGE_ROWS, (last, atOnce) =>
          database.page('pageOfInstallations', days, last ?? null, atOnce)
        );
      const before = `{"enabled":${enabled},"window_days":${days},"operators":`;
      const parts = partsOf(StreamedResult.ofRows(pages, { before, after: '}' }).pieces(), inTurn);
      return await sendPieces(reply, parts, () => undefined);
    }
  );
};

/** Returns the hash of an address; null without a salt, for anyone could then try all addresses. */
function hashOf(address: string, salt: string | undefined): string | null {
  return salt === undefined ? null : createHmac('sha256', salt).update(prefixOf(address, 48)).digest('hex');
}

function windowOf(days: number): Window {
  return WINDOWS.find((window) => window >= days) ?? MAX_DAYS;
}

function daysOf(text: string | undefined): number {
  const days = Number(text ?? DEFAULT_DAYS);
  if (days > MAX_DAYS) throw new PlatformError('REQUEST_INVALID', { reason: `days must be at most ${MAX_DAYS}` });
  return days;
}
