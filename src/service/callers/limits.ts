import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '../../errors.ts';
import { databaseKey } from '../../wire/data/database.ts';
import { databaseOf } from '../schema/parameters.ts';
import type { AddressReader } from './address.ts';
import type { Authenticator } from './auth.ts';
import { prefixOf } from './prefix.ts';

type State = Awaited<ReturnType<ReturnType<FastifyInstance['createRateLimit']>>>;
const isFull = (state: State, increment: boolean): boolean =>
  !state.isAllowed && (increment ? state.isExceeded : state.remaining <= 0);

/** Factor for a network of IPv6 (48 bits) over the budget of each of its addresses. */
const NETWORK = 16;
/** Factor for a caller with the service's key: another service asks for all of its own callers. */
const KNOWN = 100;

/** A budget of requests by address. */
export interface Limit {
  /** Counts the request. @throws {PlatformError} RATE_LIMITED */
  take(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Refuses when nothing is left, and counts nothing. @throws {PlatformError} RATE_LIMITED */
  check(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Puts every route of a plugin under the limit: answers count, refusals do not. */
  guard(plugin: FastifyInstance): void;
}

/**
 * Creates a limit over the plugin's store, with the RateLimit header fields on every answer that it had a say in.
 *
 * @param name the policy's name in the header fields
 * @param perDatabase true: an address has a budget for each database
 * @param authenticator callers that it admits have a budget of their own, KNOWN times as much; undefined: there are none
 * @see draft-ietf-httpapi-ratelimit-headers
 */
export function createLimit(
  app: FastifyInstance,
  {
    name,
    max,
    windowMs,
    addressOf,
    perDatabase = false,
    authenticator
  }: {
    name: string;
    max: number;
    windowMs: number;
    addressOf: AddressReader;
    perDatabase?: boolean;
    authenticator?: Pick<Authenticator, 'admits'>;
  }
): Limit {
  const keyOf = (request: FastifyRequest, address: string) =>
    perDatabase ? `${address} ${databaseKey(databaseOf(request))}` : address;
  const networkOf = (request: FastifyRequest) => prefixOf(addressOf(request.raw), 48);
  const keyOfCaller = (request: FastifyRequest) => keyOf(request, addressOf(request.raw));
  const count = app.createRateLimit({ max, timeWindow: windowMs, keyGenerator: keyOfCaller });
  const countKnown = app.createRateLimit({ max: KNOWN * max, timeWindow: windowMs, keyGenerator: keyOfCaller });
  const isKnown = ({ headers }: FastifyRequest) => authenticator?.admits(headers, false) ?? false;
  const countNetwork = app.createRateLimit({
    max: NETWORK * max,
    timeWindow: windowMs,
    keyGenerator: (request) => keyOf(request, networkOf(request))
  });
  const counted = async (request: FastifyRequest, increment: boolean) => {
    if (isKnown(request)) return await countKnown(request, { increment });
    const own = await count(request, { increment });
    if (!isFull(own, increment) && networkOf(request) !== addressOf(request.raw)) {
      const network = await countNetwork(request, { increment });
      if (isFull(network, increment)) return network;
    }
    return own;
  };
  const run = async (request: FastifyRequest, reply: FastifyReply, increment: boolean): Promise<void> => {
    const state = await counted(request, increment);
    if (state.isAllowed) return;
    const waitS = Math.max(1, state.ttlInSeconds);
    const most = isKnown(request) ? KNOWN * max : max;
    reply.header('ratelimit-policy', `"${name}";q=${most};w=${windowMs / 1000}`);
    reply.header('ratelimit', `"${name}";r=${state.remaining};t=${waitS}`);
    if (!isFull(state, increment)) return;
    reply.header('retry-after', waitS);
    throw new PlatformError('RATE_LIMITED', {
      reason: `more than ${most} requests in ${windowMs / 1000} s from this address; retry in ${waitS} s`,
      retryAfterS: waitS
    });
  };
  return {
    take: (request, reply) => run(request, reply, true),
    check: (request, reply) => run(request, reply, false),
    guard: (plugin) => {
      plugin.addHook('preHandler', (request, reply) => run(request, reply, false));
      plugin.addHook('onSend', async (request, reply) => {
        if (reply.statusCode < 400) await run(request, reply, true);
      });
    }
  };
}

const DOCUMENTS_PER_MINUTE = 60;

/** Returns the limit of documents such as /openapi.json: they have megabytes, and each caller is sent them anew. */
export const limitDocuments = (app: FastifyInstance, addressOf: AddressReader): Limit =>
  createLimit(app, { name: 'documents', max: DOCUMENTS_PER_MINUTE, windowMs: 60_000, addressOf });
