import type { RecentBlock } from './resume-point.ts';

/** Parts of tables that are listed over all groups: the list goes to disk with each broadcast. */
const LISTED_MAX = 5_000;

/** The blocks with what their groups told of older rows: of the newest groups, as far as all of it may be listed. */
export function listOlder(recent: readonly RecentBlock[]): RecentBlock[] {
  let room = LISTED_MAX;
  const newestFirst = recent.toReversed().map((block) => {
    if (!block.older) return block;
    room -= Object.values(block.older.spans).reduce((sum, spans) => sum + spans.length, 0);
    return room < 0 ? { ...block, older: null } : block;
  });
  return newestFirst.reverse();
}
