import type { SnapshotFrom } from 'xstate';
import type { auditMachine } from '../../../../machines/sync/audit.ts';

/** Tables that one text names. */
const MAX_NAMED = 5;

/** Returns the time of the next comparison, for an operator. */
export function nextComparison(schedule: SnapshotFrom<typeof auditMachine>): string | null {
  const { dueHeight } = schedule.context;
  if (schedule.matches('unavailable')) return 'name a source that offers digests in SYNC_SOURCES';
  if (schedule.matches('comparing')) return null;
  if (schedule.matches('missed')) return 'compared again after the next block, or in a minute at most';
  if (schedule.matches('scheduled')) return `compared again at block ${dueHeight} at the latest`;
  return 'compared as soon as no block waits and the source has sent everything';
}

/** Returns the first names of a list, and how many more there are. */
export function namesOf(tables: readonly string[]): string {
  const more = tables.length > MAX_NAMED ? ` and ${tables.length - MAX_NAMED} more` : '';
  return tables.slice(0, MAX_NAMED).join(', ') + more;
}
