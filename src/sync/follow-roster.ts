import type { Supervisor } from '../../actors/runtime/supervision/supervisor.ts';
import type { SyncConfig } from '../config/services/sync.ts';
import { type ErrorCode, PlatformError } from '../errors.ts';
import type { DiscoveredDatabase } from '../hub/client.ts';
import type { Logger } from '../log.ts';
import type { ValidatorIdentity } from '../replication/client/validator-identity.ts';
import type { ActorNotices, MainAsks } from '../replication/protocol.ts';
import type { ResumePoint } from '../replication/source/reading/resume-point.ts';
import { type DatabaseCoordinates, type DatabaseId, databaseKey } from '../wire/data/database.ts';
import { actorSpec } from './actor-specs.ts';
import type { SyncActorAsks } from './actors.ts';
import { refuseUnmatched } from './chain-settings.ts';
import { excludeDatabases } from './exclusions.ts';
import type { Roster } from './roster.ts';

interface Following {
  readonly config: SyncConfig;
  readonly log: Logger;
  readonly roster: Roster;
  readonly supervisor: Supervisor<SyncActorAsks, MainAsks, ActorNotices>;
  readonly whereIs: (id: DatabaseId) => DatabaseCoordinates | undefined;
  readonly resume: (id: DatabaseId) => ResumePoint | null;
  readonly adopts: (id: DatabaseId) => boolean;
  readonly sourceCa: string | undefined;
  readonly finderKey: string;
  readonly validator: ValidatorIdentity | null;
}

/** Somebody else ends these, by a GRANT or by stopping the other client; so they are tried again at each look at the hub. */
const SOLVED_OUTSIDE: ReadonlySet<ErrorCode> = new Set(['DATABASE_REFUSED', 'DATABASE_SHARED', 'REPLICA_LOCKED']);

/**
 * Makes the actors match what the hub names now: new ones start, those no longer named stop, and those whose
 * coordinates changed or that wait for somebody outside start over.
 *
 * @throws {PlatformError} CONFIG_INVALID at the first look, when a setting matches nothing
 */
export async function followRoster(
  named: readonly DiscoveredDatabase[],
  { config, log, roster, supervisor, whereIs, resume, adopts, sourceCa, finderKey, validator }: Following
): Promise<void> {
  const graceMs = config.SHUTDOWN_GRACE_MS;
  const exclusions = config.SYNC_MODE === 'client' ? config.SYNC_EXCLUDE : [];
  const { kept, unmatched } = excludeDatabases(named, exclusions);
  if (!roster.discovered) {
    if (config.SYNC_MODE === 'client') refuseUnmatched(named, config);
    for (const entry of unmatched) log.warn(`SYNC_EXCLUDE entry ${entry} matches no database that the hub names`);
  }
  const coordinates = (id: DatabaseId) => {
    refuseShared(id, roster.ids(), whereIs);
    return whereIs(id);
  };
  const { appeared, moved, gone } = roster.update(kept);
  for (const id of gone) {
    log.warn({ database: databaseKey(id) }, 'the hub no longer names this database; its actor stops');
    await supervisor.stop(id, graceMs);
  }
  for (const { id } of appeared) {
    log.info({ database: databaseKey(id) }, 'database found');
    supervisor.start(actorSpec(id, config, { coordinates, resume, adopts, sourceCa, finderKey, validator }));
  }
  const waiting = supervisor
    .list()
    .filter(
      ({ id, state, reason }) => roster.find(id) && state === 'parked' && reason && SOLVED_OUTSIDE.has(reason.code)
    );
  for (const { id } of [...moved, ...waiting]) await supervisor.restart(id, graceMs);
}

/**
 * Refuses a database that is in the place of another chain's: their rows would mix.
 *
 * @throws {PlatformError} DATABASE_SHARED
 */
export function refuseShared(id: DatabaseId, all: readonly DatabaseId[], whereIs: Following['whereIs']): void {
  const placeOf = (of: DatabaseId) => {
    const { host, port, name } = whereIs(of) ?? {};
    return `${name} at ${host}:${port}`;
  };
  const place = placeOf(id);
  const isOther = ({ chain, network }: DatabaseId) => chain !== id.chain || network !== id.network;
  const other = all.find((each) => isOther(each) && placeOf(each) === place);
  if (!other) return;
  const reason = `database ${place} is named for ${databaseKey(id)} and for ${databaseKey(other)}`;
  throw new PlatformError('DATABASE_SHARED', { reason });
}
