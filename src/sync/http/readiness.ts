import type { DatabaseId } from '../../wire/database.ts';
import type { ActorDirectory } from './deps.ts';

/** One word for load balancers; from `halted` to `ready`, the worst of all databases counts. */
export const READINESS = ['halted', 'unavailable', 'starting', 'behind', 'ready'] as const;
export type Readiness = (typeof READINESS)[number];

/** @param maxLag blocks that a database may be behind (READY_MAX_LAG) */
export function readiness(directory: Omit<ActorDirectory, 'lookup'>, maxLag: number): Readiness {
  const words = directory.list().map((id) => readinessOf(id, directory, maxLag));
  if (!directory.discovered || words.length === 0) return 'starting';
  return READINESS.find((word) => words.includes(word)) ?? 'ready';
}

function readinessOf(id: DatabaseId, directory: Omit<ActorDirectory, 'lookup'>, maxLag: number): Readiness {
  const report = directory.lastReport(id);
  if (report?.replica?.halt) return 'halted';
  if (!directory.isUp(id) || report?.circuit === 'open') return 'unavailable';
  if (!report || report.lagBlocks === null || report.replica?.complete === false) return 'starting';
  return report.lagBlocks > maxLag ? 'behind' : 'ready';
}
