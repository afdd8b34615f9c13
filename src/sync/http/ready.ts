import { PlatformError } from '../../errors.ts';
import type { DatabaseId } from '../../wire/data/database.ts';
import type { ActorAsks, ActorDirectory } from './deps.ts';

/**
 * Returns the actor of a database that can be asked now.
 *
 * @throws {PlatformError} ACTOR_NOT_READY, DATABASE_UNAVAILABLE while its circuit is open
 */
export function readyActor(directory: ActorDirectory, id: DatabaseId): ActorAsks {
  const actor = directory.lookup(id);
  if (directory.lastReport(id)?.circuit === 'open')
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: `circuit breaker open for ${id.chain}/${id.network}` });
  return actor;
}
