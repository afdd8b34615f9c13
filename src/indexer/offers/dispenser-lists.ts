import type { DispenserLists } from '../state/offer.ts';

/**
 * Returns lists after an edit, without those that count no more. At most one for each time of the last hour is left,
 * and the one that counts now.
 *
 * @param edit later than all edits before @param now median time of a block; no later one has an earlier time
 */
export function withEdit(
  lists: readonly DispenserLists[],
  edit: DispenserLists,
  now: number
): readonly DispenserLists[] {
  const kept = lists.filter(({ from }) => from < edit.from);
  const counting = kept.findLastIndex(({ from }) => from <= now);
  return [...kept.slice(Math.max(0, counting)), edit];
}
