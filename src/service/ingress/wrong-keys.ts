import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { RequestMetrics } from '../../observe/metrics/metrics.ts';
import type { Authenticator } from '../callers/auth.ts';
import type { ClientLimiter } from './client-limiter.ts';

/** Counts a request's key if it is wrong, once; called where a key decides the answer. */
export type CountWrongKey = (request: IncomingMessage) => void;

/** Name under which requests with a wrong key are counted. */
const WRONG_KEY = 'WRONG_KEY';
/** Statuses that a right key would have spared the caller. */
const OWED_TO_KEY: ReadonlySet<number> = new Set([401, 413, 421]);

/**
 * Counts wrong keys where a key decides. A request that needs none is no guess: a proxy, a browser or a client's library may have
 * added a key of another service.
 */
export function wrongKeyCounter(
  { hasWrongKey }: Pick<Authenticator, 'hasWrongKey'>,
  clientLimiter: Pick<ClientLimiter, 'refuseKey'>,
  metrics: Pick<RequestMetrics, 'refused'>
): CountWrongKey {
  const counted = new WeakSet<IncomingMessage>();
  return (request) => {
    if (counted.has(request) || !hasWrongKey(request.headers)) return;
    counted.add(request);
    clientLimiter.refuseKey(request);
    metrics.refused(WRONG_KEY);
  };
}

/** Counts those of requests that were refused for want of a key. */
export function countRefusedKeys(app: FastifyInstance, countWrongKey: CountWrongKey): void {
  app.addHook('onResponse', async ({ raw }, { statusCode }) => {
    if (OWED_TO_KEY.has(statusCode)) countWrongKey(raw);
  });
}
