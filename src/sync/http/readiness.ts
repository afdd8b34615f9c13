import { type Readiness, worstOf } from '../../service/routes/readiness.ts';
import type { DatabaseId } from '../../wire/data/database.ts';
import type { DatabaseReport } from '../../wire/state/report.ts';
import type { ActorDirectory } from './deps.ts';

/** @param maxLag blocks that a database may be behind (READY_MAX_LAG) */
export function readiness(directory: Omit<ActorDirectory, 'lookup'>, maxLag: number): Readiness {
  if (!directory.discovered) return 'starting';
  return worstOf(directory.list().map((id) => readinessOf(id, directory, maxLag)));
}

function readinessOf(id: DatabaseId, directory: Omit<ActorDirectory, 'lookup'>, maxLag: number): Readiness {
  const report = directory.lastReport(id);
  if (report?.replica?.halt) return 'halted';
  if (!directory.isUp(id) || report?.circuit === 'open' || report?.databaseSilentS) return 'unavailable';
  if (!report || report.lagBlocks === null || isStarting(report)) return 'starting';
  // How far the source is now is not known.
  if (report.replica?.sourceSilentS) return 'behind';
  return report.lagBlocks > maxLag ? 'behind' : 'ready';
}

/** Returns whether a replica is not yet complete. A live one that waits for amendments of its last block had all of the blocks before. */
function isStarting({ replica }: DatabaseReport): boolean {
  return replica?.complete === false && !replica.settling;
}
