import type { FastifyRequest } from 'fastify';
import { PlatformError } from '../../errors.ts';
import { isNear } from '../callers/address.ts';
import type { Authenticator } from '../callers/auth.ts';
import type { RouteDoc } from '../schema/route-doc.ts';

/** Declarations of any service's routes; the frame checks them before the route runs. */
declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route changes what the service does: it needs an operator's key, also where all else is open. */
    readonly operator?: boolean;
    /** Open without a key, whatever is configured. */
    readonly open?: boolean;
    /** Whether the route asks for a key of its own, and costs its callers nothing. */
    readonly isFree?: boolean;
    /** Whether the route shows the inside: without a configured key, only callers of this machine or of its own networks may ask. */
    readonly isDiagnostic?: boolean;
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
  if (config.isDiagnostic && !authenticator.configured && !isNear(request.raw, 'network'))
    throw new PlatformError('UNAUTHORIZED', { reason: NO_KEY_SET });
  if (config.operator && !authenticator.admitsOperator(request.headers))
    throw new PlatformError('UNAUTHORIZED', { reason: "missing or invalid key of the service's operator" });
}

/** The answer to a caller from elsewhere where no key is set. */
const NO_KEY_SET =
  'this tells of the inside of the service: set its key to read it from elsewhere than this machine and private networks';

/** The answer to a caller without the key. */
export const MISSING_KEY = 'missing or invalid key: send Authorization: Bearer <key> or X-API-Key: <key>';
