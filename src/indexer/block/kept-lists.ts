import type { Limits } from '../../coin/limits.ts';
import type { Effects } from '../state/effects.ts';
import { LIST_OF_TICKS, type List } from '../state/facts.ts';
import { tickKey } from '../state/keys.ts';
import { memberRow } from '../state/rows.ts';

/** Rows that most units of a block come to. */
const ROWS_PER_UNIT = 3;
/** Bytes of a block's actions that pay a member. What they pay otherwise comes to a row for each four of them. */
const BYTES_PER_MEMBER = 8;

/**
 * Writes all members of lists that a block edited, under the newest edit of each, where readers look for them.
 *
 * A list that no edit changed is not kept again. A short list is kept whole with every block that changes it, as far as
 * the bytes of the block pay for its members; as many as one short list may have are free. Any other list is kept when as
 * many items were changed as it has members. Until then its members are those kept last, with the changes of the edits
 * since. A block keeps as many members as the limits and its units allow; one list alone may exceed the limits.
 *
 * @param edited newest edit of each list that the block edited, by the root of the list, the oldest edit first
 * @param room units that the block has left, and bytes of its actions
 */
export function keepLists(
  edited: ReadonlyMap<number, number>,
  effects: Effects,
  limits: Limits,
  room: { readonly units: number; readonly bytes: number }
): void {
  const due = dueOf(edited, effects, limits, room);
  effects.request(due.map(([root]) => ({ kind: 'list', key: String(root) }) as const));
  const kept = due.map(([root, edit]) => ({ root, edit, list: effects.get('list', String(root))! }));
  const ofTicks = ({ list }: { readonly list: List }) => list.type === LIST_OF_TICKS;
  effects.requestTokens(kept.filter(ofTicks).flatMap(({ list }) => [...list.members]));
  effects.request(
    kept
      .filter((each) => !ofTicks(each))
      .flatMap(({ list }) => [...list.members].map((address) => ({ kind: 'addressId', key: address }) as const))
  );
  for (const { root, edit, list } of kept) {
    for (const id of idsOf(list, effects)) effects.rows.push(memberRow(edit, id));
    effects.set('list', String(root), { ...list, changes: 0 });
  }
}

/** Returns the lists that are kept, with their newest edits. No member is read. */
function dueOf(
  edited: ReadonlyMap<number, number>,
  effects: Effects,
  limits: Limits,
  room: { readonly units: number; readonly bytes: number }
): (readonly [root: number, edit: number])[] {
  const due: (readonly [root: number, edit: number])[] = [];
  const most = room.units * ROWS_PER_UNIT;
  let paid = Math.max(limits.wholeList, room.bytes / BYTES_PER_MEMBER);
  let kept = 0;
  for (const [root, edit] of edited) {
    const { size, changes } = effects.listCount(root);
    const isRenewed = changes >= size;
    // An empty list has no rows: what changed since it was kept last stays counted, as a restart counts it.
    const isDue = size > 0 && changes > 0 && (isRenewed || size <= Math.min(limits.wholeList, paid));
    if (!isDue || kept + size > most || (kept > 0 && kept + size > limits.blockListRows)) continue;
    kept += size;
    if (!isRenewed) paid -= size;
    due.push([root, edit]);
  }
  return due;
}

function idsOf({ type, members }: List, effects: Effects): number[] {
  const items = [...members];
  return type === LIST_OF_TICKS
    ? items.map((item) => effects.get('token', tickKey(item))!.id)
    : items.map((address) => effects.get('addressId', address)!);
}
