import type { BlockHashes } from '../../../wire/data/database.ts';
import { readBlockHeads } from '../../tables/block-hashes.ts';
import { readGroupsAbove } from '../apply/undo-journal.ts';
import type { Replica } from './replica.ts';

/** Reads the hashes of one of the replica's own blocks; null where it has none. */
export async function ownHashes({ store }: Pick<Replica, 'store'>, height: number): Promise<BlockHashes | null> {
  const { writer, context } = store;
  const { heads, only } = context.schema;
  if (!only) return heads ? ((await readBlockHeads(writer, heads, height, height))[0]?.hashes ?? null) : null;
  // A replica without blocks knows the hashes of its own block, and of the blocks before its groups.
  const { state } = store;
  if (height === state.height) return state.hashes;
  const groups = await readGroupsAbove(writer, height);
  return groups.find(({ base }) => base.height === height)?.base.hashes ?? null;
}
