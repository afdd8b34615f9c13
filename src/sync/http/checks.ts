import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { PlatformError } from '../../errors.ts';
import { databaseOf } from '../../service/schema/parameters.ts';
import { type DatabaseId, DB_TYPES, type DbType, databaseKey } from '../../wire/data/database.ts';
import type { ActorDirectory } from './deps.ts';

/** Declarations of sync's routes, beside those that the frame knows. */
declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route belongs to this SYNC_MODE only. */
    readonly mode?: 'server' | 'client';
    /** The route is about databases of this type only; the reason is the text of its refusal of others. */
    readonly only?: { readonly dbType: DbType; readonly reason: string };
    /** Subject of the route, as its refusals name it. */
    readonly subject?: string;
    /** The answer is read from the database: HEAD is answered without reading. */
    readonly reads?: boolean;
  }
}

interface Checks {
  readonly mode: 'server' | 'client';
  readonly directory: Pick<ActorDirectory, 'discovered' | 'list'>;
}

/**
 * Checks what stands between the key and the parameters, in this order.
 *
 * @throws {PlatformError} REQUEST_INVALID (dbType), WRONG_MODE, DATABASE_UNKNOWN, ACTOR_NOT_READY
 */
export function checkDatabase(request: FastifyRequest, { mode, directory }: Checks): void {
  const { config } = request.routeOptions;
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
