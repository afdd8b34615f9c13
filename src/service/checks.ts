import type { FastifyRequest } from 'fastify';
import { PlatformError } from '../errors.ts';
import type { Authenticator } from './auth.ts';
import type { RouteDoc } from './route-doc.ts';

/** What a route of any service declares; the frame checks it before anything of the route runs. */
declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route changes what the service does: it needs an operator's key, also where all else is open. */
    readonly operator?: boolean;
    /** Open without a key, whatever is configured. */
    readonly open?: boolean;
    readonly doc?: RouteDoc;
  }
}

/** Checks the caller's key. @throws {PlatformError} UNAUTHORIZED */
export function checkKey(request: FastifyRequest, authenticator: Authenticator): void {
  const { config } = request.routeOptions;
  if (config.open) return;
  const isUpgrade = request.headers.upgrade?.toLowerCase() === 'websocket';
  if (authenticator.configured && !authenticator.admits(request.headers, isUpgrade))
    throw new PlatformError('UNAUTHORIZED', { reason: MISSING_KEY });
  if (config.operator && !authenticator.admitsOperator(request.headers))
    throw new PlatformError('UNAUTHORIZED', { reason: "missing or invalid key of the service's operator" });
}

/** The answer to a caller without the key. */
export const MISSING_KEY = 'missing or invalid key: send Authorization: Bearer <key> or X-API-Key: <key>';
