import { type ConfigAnswer, type ConfigTree, countEntries, entriesOf } from './store/config-tree.ts';

/**
 * Returns whether changes since a watermark, merged into what was known, are the whole configuration. They are not
 * after a removal, which no change tells of, nor where the hub has another history, such as a restored backup.
 */
export function isWhole(known: ConfigAnswer, changes: ConfigAnswer, merged: ConfigTree): boolean {
  if (isBelow(changes.watermark, known.watermark) || isBelow(changes.seq, known.seq)) return false;
  if (changes.entries !== undefined) return changes.entries === countEntries(merged);
  // A hub that does not count its entries wrote something, and the changes do not have it.
  return !isBelow(known.seq, changes.seq) || !holdsAll(known.configs, changes.configs);
}

const isBelow = (one: number | undefined, other: number | undefined): boolean =>
  one !== undefined && other !== undefined && one < other;

function holdsAll(tree: ConfigTree, part: ConfigTree): boolean {
  for (const { coin, network, module, param, value } of entriesOf(part))
    if (tree[coin]?.[network]?.[module]?.[param] !== value) return false;
  return true;
}
