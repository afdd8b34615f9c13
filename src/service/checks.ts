import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { PlatformError } from '../errors.ts';
import { type DatabaseId, DB_TYPES, type DbType, databaseKey } from '../wire/database.ts';
import type { Authenticator } from './auth.ts';
import { databaseOf } from './parameters.ts';
import type { RouteDoc } from './route-doc.ts';

/** What a route declares, and the root hook checks before anything of its own runs. */
declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route belongs to this SYNC_MODE only. */
    readonly mode?: 'server' | 'client';
    /** The route changes what the service does: it needs an operator's Bearer, also where all else is open. */
    readonly operator?: boolean;
    /** The route is about databases of this type only; the reason is the text of its refusal of others. */
    readonly only?: { readonly dbType: DbType; readonly reason: string };
    /** What the route is about, in its refusals. */
    readonly subject?: string;
    /** Open without a key, whatever is configured. */
    readonly open?: boolean;
    /** What it answers is read from the database: HEAD is answered without. */
    readonly reads?: boolean;
    readonly doc?: RouteDoc;
  }
}

interface Checks {
  readonly authenticator: Authenticator;
  readonly mode: 'server' | 'client';
  /** `discovered`: false until it is known which databases there are. */
  readonly directory: { readonly discovered: boolean; list(): readonly DatabaseId[] };
}

/**
 * The checks that come before parameters and body, in their order.
 *
 * @throws {PlatformError} UNAUTHORIZED, REQUEST_INVALID (dbType), WRONG_MODE, DATABASE_UNKNOWN, ACTOR_NOT_READY
 */
export function checkRequest(request: FastifyRequest, { authenticator, mode, directory }: Checks): void {
  const { config } = request.routeOptions;
  const isUpgrade = request.headers.upgrade?.toLowerCase() === 'websocket';
  if (config.open) return;
  if (authenticator.configured && !authenticator.admits(request.headers, isUpgrade))
    throw new PlatformError('UNAUTHORIZED', { reason: 'missing or invalid Bearer token' });
  if (config.operator && !authenticator.admitsOperator(request.headers))
    throw new PlatformError('UNAUTHORIZED', { reason: "missing or invalid Bearer token of the service's operator" });
  if (request.is404) return;
  const { dbType } = request.params as Partial<DatabaseId>;
  if (dbType !== undefined) checkDbType(dbType, config.only);
  if (config.mode !== undefined && config.mode !== mode)
    throw new PlatformError('WRONG_MODE', {
      reason: `${config.subject ?? 'this route is'} only available in ${config.mode} mode`
    });
  if (dbType !== undefined) checkKnown(databaseOf(request), directory);
}

function checkDbType(dbType: string, only: FastifyContextConfig['only']): void {
  if (!(DB_TYPES as readonly string[]).includes(dbType))
    throw new PlatformError('REQUEST_INVALID', { reason: 'dbType must be indexer or decoder' });
  if (only && dbType !== only.dbType) throw new PlatformError('REQUEST_INVALID', { reason: only.reason });
}

function checkKnown(id: DatabaseId, directory: Checks['directory']): void {
  const key = databaseKey(id);
  if (directory.list().some((known) => databaseKey(known) === key)) return;
  throw directory.discovered
    ? new PlatformError('DATABASE_UNKNOWN', { reason: 'chain/network not found' })
    : new PlatformError('ACTOR_NOT_READY', { reason: 'the hub has not answered yet' });
}
