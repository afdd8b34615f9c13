import type { Limits } from '../../coin/limits.ts';
import type { Effects } from '../state/effects.ts';
import { LIST_OF_TICKS, type List } from '../state/facts.ts';
import { tickKey } from '../state/keys.ts';
import { memberRow } from '../state/rows.ts';

/** Rows that most units of a block come to. */
const ROWS_PER_UNIT = 3;

/**
 * Writes all members of lists that a block edited, under the newest edit of each, where readers look for them.
 *
 * A short list is kept whole with every block that edits it. A long one is kept when as many items were changed as it
 * has members. Until then its members are those kept last, with the changes of the edits since. A block keeps as many
 * members as the limits and its units allow; one list alone may exceed the limits.
 *
 * @param edited newest edit of each list that the block edited, by the root of the list, the oldest edit first
 * @param room units that the block has left
 */
export function keepLists(edited: ReadonlyMap<number, number>, effects: Effects, limits: Limits, room: number): void {
  const most = room * ROWS_PER_UNIT;
  let kept = 0;
  for (const [root, edit] of edited) {
    const list = effects.get('list', String(root))!;
    const { size } = list.members;
    const isDue = size <= limits.wholeList || list.changes >= size;
    if (!isDue || kept + size > most || (kept > 0 && kept + size > limits.blockListRows)) continue;
    kept += size;
    for (const id of idsOf(list, effects)) effects.rows.push(memberRow(edit, id));
    effects.set('list', String(root), { ...list, changes: 0 });
  }
}

function idsOf({ type, members }: List, effects: Effects): number[] {
  const items = [...members];
  if (type === LIST_OF_TICKS) {
    effects.requestTokens(items);
    return items.map((item) => effects.get('token', tickKey(item))!.id);
  }
  effects.request(items.map((address) => ({ kind: 'addressId', key: address }) as const));
  return items.map((address) => effects.get('addressId', address)!);
}
