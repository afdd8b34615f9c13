import type { Connection } from '../../../db/connection.ts';
import { unknownHashes } from '../../../wire/data/database.ts';
import { type BlockHead, readBlockHeads } from '../../tables/block-hashes.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import { HIGHEST } from '../changes/spans.ts';
import { readTableFacts } from '../changes/table-facts.ts';
import { differingSpans, sumsOf } from '../changes/table-watch.ts';
import { isWatched, readBounds, readWatch } from '../changes/watch-reader.ts';
import { toId } from './lookup-id.ts';
import { readLookupMemory } from './lookup-reader.ts';
import { SourceMemory } from './memory.ts';
import { RECENT_BLOCKS, type ResumePoint, SUM_ALGORITHM } from './resume-point.ts';

/**
 * Makes the memory of a source for which everything up to the tip counts as broadcast; a replica of an earlier time
 * compares itself. Call it inside a snapshot.
 *
 * @param tip null: there is no block yet
 */
export async function memoryAtTip(
  connection: Connection,
  layout: SourceLayout,
  tip: BlockHead | null
): Promise<SourceMemory> {
  const hashes = tip?.hashes ?? unknownHashes(layout.dbType);
  const height = tip?.height ?? -1;
  // A fork may lie below the tip: the blocks under it are known as well.
  const heads =
    tip && layout.heads ? await readBlockHeads(connection, layout.heads, height - RECENT_BLOCKS + 1, height) : [];
  const memory = new SourceMemory(layout.dbType, {
    height,
    blockTime: tip?.blockTime ?? null,
    hashes,
    recent: heads.map((head) => ({ height: head.height, hashes: head.hashes })),
    openGroup: null
  });
  memory.learn();
  const facts = await readTableFacts(connection);
  memory.blocksTime = facts.get('blocks')?.updateTime ?? null;
  const bounds = await readBounds(connection, layout, height);
  for (const plan of layout.plans) {
    if (plan.class === 'lookup') memory.lookups.set(plan.name, await readLookupMemory(connection, plan));
    if (isWatched(plan)) memory.watches.set(plan.name, await readWatch(connection, layout, plan, facts, bounds));
  }
  return memory;
}

/**
 * Makes the memory as the predecessor left it; changes since then go with the next group. Call it inside a snapshot.
 *
 * @param isLogged a binary log names what changed since; without one the old rows of large tables are learned as they are
 */
export async function resumeMemory(
  connection: Connection,
  layout: SourceLayout,
  point: ResumePoint,
  isLogged: boolean
): Promise<SourceMemory> {
  // An earlier version did not record it: a reader at one of its blocks may be on another branch with the same hashes.
  const forks = point.forks ?? [{ fork: 0, height: point.height }];
  const memory = new SourceMemory(layout.dbType, { ...point, forks });
  const facts = await readTableFacts(connection);
  const bounds = await readBounds(connection, layout, point.height);
  const watches = point.algorithm === SUM_ALGORITHM ? point.watches : {};
  for (const plan of layout.plans) {
    const { name } = plan;
    if (plan.class === 'lookup') memory.lookups.set(name, { lastId: toId(point.lookupIds[name]), recentIds: null });
    if (!isWatched(plan)) continue;
    const kept = watches[name];
    const watch = await readWatch(connection, layout, plan, facts, bounds, kept?.from);
    memory.watches.set(name, watch);
    watch.times = undefined;
    if (!kept || kept.sums === null)
      watch.require([[watch.from, HIGHEST], ...(watch.ranging.isNullable ? [null] : [])]);
    else watch.require(differingSpans(kept, sumsOf(watch.fine, watch.from, kept.shift)));
    watch.require(kept?.pending ?? []);
    if (kept) watch.lastId = kept.lastId;
    watch.isLooked = point.unsettled !== undefined && !point.unsettled.includes(name);
  }
  if (!isLogged && [...memory.watches.values()].some(({ unknownSpans }) => unknownSpans.length > 0)) memory.learn();
  return memory;
}
