import { type BlockHashes, sameBlock } from '../../../wire/data/database.ts';
import type { MissedChanges } from '../../../wire/data/snapshot.ts';
import { mergeSpans, type Span } from '../changes/spans.ts';
import type { Fork, OlderChanges, RecentBlock } from './resume-point.ts';

/** Bounds of the parts that are listed over all groups, and of scoped tables over older groups: each broadcast writes the list to disk. */
const LISTED_MAX = 5_000;
/** Parts of tables that one reader must receive. */
const MISSED_MAX = 5_000;
/** Reorgs that are remembered one by one. */
const FORKS_MAX = 50;

type Spans = OlderChanges['spans'];

const countOf = (spans: Spans) => Object.values(spans).reduce((sum, list) => sum + list.length, 0);

/**
 * Lists the blocks with the older rows that their groups sent, for readers that were away: of all tables for the newest
 * groups, up to a limit; of scoped tables only for those before them.
 */
export function listOlder(recent: readonly RecentBlock[], isScoped: (table: string) => boolean): RecentBlock[] {
  let [room, scopedRoom] = [LISTED_MAX, LISTED_MAX];
  const newestFirst = recent.toReversed().map((block): RecentBlock => {
    const { older, scoped: known, ...bare } = block;
    if (older === undefined) return block;
    if (older) room -= countOf(older.spans);
    if (older && room >= 0) return block;
    const of = Object.entries(older?.spans ?? known ?? {}).filter(([table]) => isScoped(table));
    const scoped = older || known ? Object.fromEntries(of) : undefined;
    scopedRoom -= scoped ? countOf(scoped) : 0;
    return { ...bare, older: null, ...(scoped && scopedRoom >= 0 && { scoped }) };
  });
  return newestFirst.reverse();
}

/** Returns the parts of tables that blocks list. */
export function partsOf(blocks: readonly RecentBlock[]): number {
  return blocks.reduce((sum, { older, scoped }) => sum + countOf(older?.spans ?? scoped ?? {}), 0);
}

/** Remembers one more reorg; the oldest ones become one that covers them. */
export function addFork(forks: readonly Fork[], fork: Fork): Fork[] {
  const [first, second, ...rest] = forks;
  if (!first || !second || forks.length < FORKS_MAX) return [...forks, fork];
  const both = {
    fork: Math.min(first.fork, second.fork),
    height: Math.max(first.height, second.height),
    // Readers that left this one far below are asked to take more than they need.
    isUnlisted: true
  };
  return [both, ...rest, fork];
}

/** The broadcast groups. */
export interface Told {
  readonly recent: readonly RecentBlock[];
  readonly forks: readonly Fork[];
  /** Tables that are divided by their scope. */
  readonly isScoped: (table: string) => boolean;
}

/**
 * Returns the older rows that a reader at one block has missed up to another block, by the groups after it. The result
 * may include rows of later groups.
 *
 * @returns null where it is not known, or that other block was not broadcast
 */
export function missedSince(
  since: number,
  head: { readonly height: number; readonly hashes: BlockHashes },
  { recent, forks, isScoped }: Told
): Pick<MissedChanges, 'from' | 'spans' | 'others'> | null {
  const [own, last] = [since, head.height].map((at) => recent.find(({ height }) => height === at));
  // A block from before the start: what changed before that is not known.
  if (own?.lookupsBefore === undefined || since > head.height) return null;
  if (!last || !sameBlock(last.hashes, head.hashes)) return null;
  const hidden = forks.filter(({ fork, height }) => fork <= since && since <= height);
  // A reader whose tip lies within a group got its blocks before the last one changed their rows.
  const from = Math.min(since + 1, own.within ?? since + 1, ...hidden.map(({ fork }) => fork));
  const blocks = recent.filter(({ height }) => height >= from);
  if (blocks.filter(({ height }) => height <= head.height).length !== head.height - from + 1) return null;
  // Amendments of its own block may have come after the reader left.
  if (from === since + 1 && (own.amended ?? 0) > 0) blocks.push(own);
  const [spans, others]: [Record<string, Span[]>, Record<string, Span[]>] = [{}, {}];
  // Who had an orphaned group that nobody knows in full may have rows that no group names.
  let areListed = !forks.some(({ height, isUnlisted }) => isUnlisted && since <= height);
  for (const { lookupsBefore, older, scoped } of blocks) {
    if (lookupsBefore === undefined || (older === null && !scoped)) return null;
    areListed &&= older !== null;
    for (const [table, list] of Object.entries(older?.spans ?? scoped ?? {})) {
      const parts = isScoped(table) ? spans : others;
      parts[table] = (parts[table] ?? []).concat(list);
    }
  }
  for (const parts of [spans, others])
    for (const [table, list] of Object.entries(parts)) parts[table] = mergeSpans(list);
  if (countOf(spans) > MISSED_MAX) return null;
  return { from, spans, others: areListed && countOf(others) <= MISSED_MAX ? others : null };
}
