import type { OlderChanges, RecentBlock } from '../../actors/protocol.ts';
import type { GroupBlock } from './block-reader.ts';
import type { ScopedMemory } from './scoped-window.ts';

/** Older blocks that are listed over all groups: the list goes to disk with each broadcast. */
const LISTED_MAX = 5_000;

/** What a group tells of older blocks, seen from before it. @returns null when that is nothing */
export function olderChanges(
  { rescoped, lastIds }: NonNullable<GroupBlock['changes']>,
  scoped: ReadonlyMap<string, ScopedMemory>
): OlderChanges | null {
  const grown = [...scoped].filter(([table, { lastId }]) => (lastIds.get(table) ?? lastId) > lastId);
  if (grown.length === 0 && Object.keys(rescoped).length === 0) return null;
  return { rescoped, lastIdsBefore: Object.fromEntries(grown.map(([table, { lastId }]) => [table, lastId])) };
}

/** The blocks with what their groups told of older ones: of the newest groups, as far as all of it may be listed. */
export function listOlder(recent: readonly RecentBlock[]): RecentBlock[] {
  let room = LISTED_MAX;
  const newestFirst = recent.toReversed().map((block) => {
    if (!block.older) return block;
    room -= Object.values(block.older.rescoped).reduce((sum, heights) => sum + heights.length, 0);
    return room < 0 ? { ...block, older: null } : block;
  });
  return newestFirst.reverse();
}
